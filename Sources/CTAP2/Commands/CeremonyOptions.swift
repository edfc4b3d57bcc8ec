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
}

/// `pinUvAuthParam` and `pinUvAuthProtocol` of makeCredential and getAssertion.
struct PINUVAuthParameters: Sendable {
  /// The MAC with a pinUvAuthToken; empty is a question.
  let param: [UInt8]?
  /// The protocol of that token.
  let version: UInt64?

  /// Steps 1 and 2 of CTAP §6.1.2 and §6.2.2, for an authenticator without clientPIN and pinUvAuthToken.
  func refuse(on authenticator: Authenticator) async throws(CTAPError) {
    guard let param else { return }
    // 1. Empty: platforms of CTAP 2.0 ask "is it this key that you mean?" in this way, also of keys without a PIN.
    if param.isEmpty {
      _ = try await authenticator.confirm(UserPrompt(purpose: .select), verification: false)
      throw CTAPError(.pinNotSet, "an empty pinUvAuthParam was answered by the person")
    }
    // 2. There is no token, so there is no protocol that we support.
    guard version != nil else { throw CTAPError(.missingParameter, "pinUvAuthParam without pinUvAuthProtocol") }
    throw CTAPError(.invalidParameter, "a pinUvAuthProtocol that is not supported")
  }
}
