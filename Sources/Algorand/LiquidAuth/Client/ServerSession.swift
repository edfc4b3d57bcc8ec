/// The requests of one sign-in to a Liquid Auth server: JSON in both directions, with the session's cookies.
struct ServerSession: Sendable {
  /// The most bytes of an answer that are read; the largest answers have a few kilobytes.
  static let maximumBodySize = 65_536

  let origin: WebOrigin
  /// The path below which the server is; empty for the root.
  let path: String
  let userAgent: UserAgent
  private let http: any HTTPPort
  private(set) var cookies: CookieJar

  init(origin: WebOrigin, path: String = "", userAgent: UserAgent, http: any HTTPPort) {
    (self.origin, self.path) = (origin, path)
    self.userAgent = userAgent
    self.http = http
    cookies = CookieJar(origin: origin)
  }

  /// Posts a body, and judges the answer by its status and its content.
  ///
  /// - Returns: the answer of the server, or its refusal.
  /// - Throws: for no answer, a redirect, a status of success other than 200 and 201, and content that is not JSON or
  ///   not of this type.
  mutating func post<Answer: Decodable>(
    _ path: String, _ body: some Encodable, for answer: Answer.Type = Answer.self
  ) async throws(LiquidAuthError) -> ServerVerdict<Answer> {
    let path = self.path + path
    let response = try await send(path, try Self.encode(body))
    cookies.store(response, forPath: path)
    if (300..<400).contains(response.status) {
      throw .redirected(to: response.header("Location") ?? "another place")
    }
    let error = try? Self.decode(ErrorBody.self, response.body)
    if let refusal = ServerRefusal(response.status, error) { return .refused(refusal) }
    guard [200, 201].contains(response.status) else { throw .unknownStatus(response.status) }
    try Self.checkIsJSON(response)
    return .accepted(try Self.decode(Answer.self, response.body))
  }

  private func send(_ path: String, _ body: [UInt8]) async throws(LiquidAuthError) -> HTTPResponse {
    let json = [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", "application/json")]
    let cookie = cookies.header(forPath: path).map { [$0] } ?? []
    let request = HTTPRequest(
      method: .post, url: origin.serialized + path, headers: [userAgent.header] + json + cookie, body: body)
    do throws(PortError) {
      let response = try await http.send(request, maximumBodySize: Self.maximumBodySize)
      guard response.body.count <= Self.maximumBodySize else { throw .tooLarge }
      return response
    } catch {
      throw .network(host: origin.authority, error)
    }
  }

  private static func checkIsJSON(_ response: HTTPResponse) throws(LiquidAuthError) {
    let type = response.header("Content-Type") ?? "no type"
    let mediaType = type.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
    guard mediaType.isEqualIgnoringCase(to: "application/json".utf8) else { throw .contentType(type) }
  }
}

/// A server's decision about a request.
enum ServerVerdict<Answer> {
  /// The request was accepted.
  case accepted(Answer)
  /// The request was refused.
  case refused(ServerRefusal)

  /// Returns the answer; throws a refusal as its general error.
  func get() throws(LiquidAuthError) -> Answer {
    switch self {
    case .accepted(let answer): return answer
    case .refused(let refusal): throw refusal.error
    }
  }
}

/// A server's refusal.
struct ServerRefusal: Equatable {
  /// The status code; if a refusal has a status of success, the status in the body, if larger.
  let status: Int
  /// The service's reason code.
  let reason: String?
  /// The server's message for users.
  let message: String

  /// Reads a refusal; `nil` if the answer is not one.
  ///
  /// A status from 400 on is a refusal whatever the body says, and a body with an error is one whatever the status
  /// says.
  init?(_ status: Int, _ body: ErrorBody?) {
    let statusInBody = body?.statusCode ?? 0
    guard status >= 400 || statusInBody >= 400 || body?.hasError == true else { return nil }
    self.status = status >= 400 ? status : max(status, statusInBody)
    reason = body?.reason
    message = body?.message ?? "it gave no reason"
  }

  /// Whether the object was not found: the service says 401 and `not_found` where others say 404.
  var isNotFound: Bool { status == 404 || (status == 401 && reason?.isSame(as: "not_found") == true) }

  /// Whether the server did not accept the user or the signature.
  var isUnauthorized: Bool { status == 401 }

  /// The general error of the refusal.
  var error: LiquidAuthError {
    switch status {
    case ..<400, 401, 403: .authenticationFailed(message)
    default: .serverError(status: status, message)
    }
  }
}

// MARK: - JSON

extension ServerSession {
  /// Writes a body.
  static func encode(_ body: some Encodable) throws(LiquidAuthError) -> [UInt8] {
    do { return try JSONCoding.encode(body) } catch { throw .unwritable }
  }

  /// Decodes a body; a member that is missing or of another type is an error that names it.
  static func decode<Content: Decodable>(_ type: Content.Type, _ json: [UInt8]) throws(LiquidAuthError) -> Content {
    do throws(JSONError) {
      return try JSONCoding.decode(type, from: json)
    } catch {
      if case .missing(let member) = error { throw .missingRequiredField(member) }
      throw .invalidJSON(error.description)
    }
  }
}

/// The user agent: RFC 9110 §10.1.5.
///
/// Liquid Auth servers look for an operating system in it: without one they fail, and with "Android" they expect the
/// client data of an Android app. It is the same on every machine, so that it reveals as little as possible.
public struct UserAgent: Hashable, Sendable {
  /// `LiquidAuthLinux/VERSION (X11; Linux x86_64)`.
  public let text: String

  /// Takes the program's version: digits and dots.
  public init(version: String) {
    precondition(version.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }, "a version is digits and dots")
    text = "LiquidAuthLinux/\(version) (X11; Linux x86_64)"
  }

  /// The header field of a request.
  public var header: HTTPHeader { HTTPHeader("User-Agent", text) }
}
