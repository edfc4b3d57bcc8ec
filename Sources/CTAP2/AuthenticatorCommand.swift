public import CBOR

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

/// The parameters of a command.
public protocol AuthenticatorRequest: Sendable {
  /// Reads the parameters, all of them, and refuses what is malformed; members that nobody knows are passed over.
  init(parameters: CBORMap) throws(CTAPError)
  /// The relying party of the request, for logs.
  var rpID: String? { get }
}

extension AuthenticatorRequest {
  /// Most commands concern no relying party.
  public var rpID: String? { nil }
}

/// The answer to a command.
public protocol AuthenticatorResponse: Sendable {
  /// The response map; `nil` where the status byte is the whole answer.
  var parameters: CBORMap? { get }
}

/// The request of a command that takes no parameters.
public struct NoParameters: AuthenticatorRequest {
  /// Takes no member: the standard may give the command some, and a client may send them (CTAP §8).
  public init(parameters: CBORMap) {}
  /// Makes the only request there is.
  public init() {}
}

/// The answer of a command that only succeeds or fails.
public struct NoResponse: AuthenticatorResponse {
  /// Nothing follows the status.
  public var parameters: CBORMap? { nil }
}

/// The commands that are whole; any other byte is an invalid command.
enum AuthenticatorCommands {
  static let all: [any AuthenticatorCommand.Type] = [
    MakeCredential.self,
    GetAssertion.self,
    GetInfo.self,
    ClientPIN.self,
    Reset.self,
    GetNextAssertion.self,
    CredentialManagement.self,
    CredentialManagementPreview.self,
    Config.self,
    Selection.self,
    LargeBlobs.self,
  ]

  static subscript(code: UInt8) -> (any AuthenticatorCommand.Type)? { all.first { $0.code == code } }
}
