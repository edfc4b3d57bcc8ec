/// The answer to both `/response` endpoints: the user whom the server recognized.
public struct User: Equatable, Sendable, Decodable {
  /// A passkey that the server knows.
  public struct Credential: Equatable, Sendable, Decodable {
    /// The credential id in base64url, as the server has it.
    public var credId: String
    /// The name of the device that made it.
    public var device: String?
  }

  /// The account's address.
  public var wallet: String
  /// All passkeys of the account.
  public var credentials: [Credential]
  /// The pairing, if the server makes pairings.
  public var pairing: DurablePairing?
}

extension User {
  private enum CodingKeys: CodingKey {
    case wallet, credentials, pairing
  }

  /// Reads a user; a pairing in a form that this wallet does not know is none, and the sign-in counts.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    wallet = try members.decode(String.self, forKey: .wallet)
    credentials = try members.decode([Credential].self, forKey: .credentials)
    pairing = try? members.decode(DurablePairing.self, forKey: .pairing)
  }
}

/// The body of a refusal by a Liquid Auth server, or by the framework below it.
///
/// `{reason, error}` is the service's own form, `{statusCode, message}` that of NestJS. Every member may be missing.
struct ErrorBody: Decodable {
  /// A reason code: `not_found`, `unauthorized`, `not_implemented`.
  let reason: String?
  /// The status according to the framework.
  let statusCode: Int?
  /// The message for users; `nil` if there is none.
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
    // After a failed validation, NestJS has a list of sentences, and in `error` only the status in words.
    let list = (try? members.decode([String].self, forKey: .message))?.joined(separator: ", ")
    let sentence = list ?? (try? members.decode(String.self, forKey: .message))
    message = sentence ?? (try? members.decode(String.self, forKey: .error))
  }
}
