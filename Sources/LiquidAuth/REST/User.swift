/// The answer to both `/response` endpoints: who the server takes us for.
public struct User: Equatable, Sendable, Decodable {
  /// A passkey that the server knows.
  public struct Credential: Equatable, Sendable, Decodable {
    /// The credential id in base64url, as the server has it.
    public var credId: String
    /// Which of the person's devices made it.
    public var device: String?
  }

  /// The account's address.
  public var wallet: String
  /// All passkeys of the account.
  public var credentials: [Credential]
}

/// What servers of Liquid Auth, and the framework below them, say when they refuse.
///
/// `{reason, error}` is the service's own, `{statusCode, message}` NestJS's. Nothing in it can be trusted to be there.
struct ErrorBody: Decodable {
  /// A word for programs: `not_found`, `unauthorized`, `not_implemented`.
  let reason: String?
  /// The framework's own idea of the status.
  let statusCode: Int?
  /// What it says to people; `nil` where it says nothing.
  let message: String?
  /// Whether there is a member `error` that is not null: a refusal, whatever the status says.
  let hasError: Bool

  private enum CodingKeys: CodingKey {
    case reason, error, statusCode, message
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    reason = try? members.decode(String.self, forKey: .reason)
    statusCode = try? members.decode(Int.self, forKey: .statusCode)
    hasError = try members.contains(.error) && !members.decodeNil(forKey: .error)
    // NestJS has a list of sentences where a request failed its validation, and in `error` only the status in words.
    let list = (try? members.decode([String].self, forKey: .message))?.joined(separator: ", ")
    let sentence = list ?? (try? members.decode(String.self, forKey: .message))
    message = sentence ?? (try? members.decode(String.self, forKey: .error))
  }
}
