import CBOR

/// The `options` of makeCredential and getAssertion: CTAP §6.1.1 and §6.2.1.
///
/// Each is `nil` when the request does not name it; unknown names are ignored.
struct CeremonyOptions: Sendable {
  /// The credential must be discoverable.
  let rk: Bool?
  /// User presence is requested.
  let up: Bool?
  /// The user must be verified by the authenticator itself.
  let uv: Bool?

  init(_ map: CBORMap?) throws(CBORError) {
    rk = try map?.optionalBool("rk")
    up = try map?.optionalBool("up")
    uv = try map?.optionalBool("uv")
  }

  private init(rk: Bool?, up: Bool?) { (self.rk, self.up, uv) = (rk, up, nil) }

  /// The same without `uv`: a pinUvAuthParam replaces it.
  var withoutVerification: Self { Self(rk: rk, up: up) }
}

/// `pinUvAuthParam` and `pinUvAuthProtocol` of a request.
struct PINUVAuthParameters: Sendable {
  /// The MAC with a pinUvAuthToken; empty selects a key.
  let param: [UInt8]?
  /// The protocol of that token.
  let version: UInt64?

  /// The MAC, which the command requires: CTAP §6.8.2, §6.10.2, §6.11.
  ///
  /// - Throws: `puatRequired` without a MAC, `missingParameter` and `invalidParameter` for its protocol.
  func required() throws(CTAPError) -> PINUVAuthParam {
    guard let param else { throw CTAPError(.puatRequired, "pinUvAuthParam is missing") }
    return try read(param)
  }

  /// Reads a MAC that is present, with its protocol.
  func read(_ param: [UInt8]) throws(CTAPError) -> PINUVAuthParam {
    guard let version else { throw CTAPError(.missingParameter, "pinUvAuthParam without pinUvAuthProtocol") }
    return PINUVAuthParam(bytes: param, version: try PINUVAuthProtocol(number: version))
  }
}

/// A pinUvAuthParam to check.
struct PINUVAuthParam: Sendable {
  let bytes: [UInt8]
  let version: PINUVAuthProtocol
}
