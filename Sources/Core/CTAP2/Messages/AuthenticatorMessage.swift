public import CBOR

/// The parameters of a command.
public protocol AuthenticatorRequest: Sendable {
  /// Reads all parameters and refuses malformed ones; unknown members are ignored.
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

/// The request of a command without parameters.
public struct NoParameters: AuthenticatorRequest {
  /// Ignores all members: the standard may add some, and a client may send them (CTAP §8).
  public init(parameters: CBORMap) {}
}

/// The answer of a command that only succeeds or fails.
public struct NoResponse: AuthenticatorResponse {
  /// Nothing follows the status.
  public var parameters: CBORMap? { nil }
}

extension CBORMap {
  /// Adds the members of another map.
  mutating func add(_ other: CBORMap) {
    for pair in other.pairs { self[pair.key] = pair.value }
  }
}

extension Optional {
  /// The member of a request that its sub-command needs.
  ///
  /// - Throws: `missingParameter` if it is absent.
  func required(_ name: String) throws(CTAPError) -> Wrapped {
    guard let self else { throw CTAPError(.missingParameter, "\(name) is missing") }
    return self
  }
}
