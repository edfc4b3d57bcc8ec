/// One command of CTAP §6: one file, one line in the table below.
public protocol AuthenticatorCommand: Sendable {
  /// What the client asks.
  associatedtype Request: AuthenticatorRequest
  /// What it is told.
  associatedtype Response: AuthenticatorResponse

  /// The first byte of the message.
  static var code: UInt8 { get }
  /// The command's name in the standard, for logs.
  static var name: String { get }

  /// Serves one request.
  static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response
}
