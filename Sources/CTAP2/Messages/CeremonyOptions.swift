import CBOR

/// The `options` of makeCredential and getAssertion: CTAP §6.1.1 and §6.2.1.
///
/// Each is `nil` when the request does not name it; names that nobody knows are passed over.
struct CeremonyOptions: Sendable {
  /// The credential is to be discoverable.
  let rk: Bool?
  /// A person's presence is asked for.
  let up: Bool?
  /// The person is to be verified by our own means.
  let uv: Bool?

  init(_ map: CBORMap?) throws(CBORError) {
    rk = try map?.optionalBool("rk")
    up = try map?.optionalBool("up")
    uv = try map?.optionalBool("uv")
  }

  private init(rk: Bool?, up: Bool?) { (self.rk, self.up, uv) = (rk, up, nil) }

  /// The same without `uv`: a pinUvAuthParam takes its place.
  var withoutVerification: Self { Self(rk: rk, up: up) }
}

/// `pinUvAuthParam` and `pinUvAuthProtocol` of a request.
struct PINUVAuthParameters: Sendable {
  /// The MAC with a pinUvAuthToken; empty is a question.
  let param: [UInt8]?
  /// The protocol of that token.
  let version: UInt64?

  /// The MAC to check, where a command cannot do without one: CTAP §6.8.2, §6.10.2, §6.11.
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

/// A pinUvAuthParam that is to be checked.
struct PINUVAuthParam: Sendable {
  let bytes: [UInt8]
  let version: PINUVAuthProtocol
}
