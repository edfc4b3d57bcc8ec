public import CryptoPrimitives

/// The port to the association keys of Keyri, which the authenticator derives and never gives away (Recovery §3).
///
/// Each person that a service knows by a public user id has one P-256 key. Both calls may wait for a person: the
/// authenticator opens its vault and shows its prompts itself; cancelling the task withdraws the prompt.
public protocol AssociationKeys: Sendable {
  /// The public key of a user id, whose UTF-8 goes into the key as it is.
  func publicKey(publicUserID: String) async throws(AuthenticatorFailure) -> P256.PublicKey
  /// An ECDSA signature over the SHA-256 digest of `data`: SEQUENCE { r, s } in DER, 8 to 72 bytes.
  ///
  /// - Parameter service: who gets the signature, as the prompt shows it.
  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(AuthenticatorFailure) -> [UInt8]
}
