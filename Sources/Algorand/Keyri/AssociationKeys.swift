public import CryptoPrimitives
public import LiquidAuth

/// The port to Keyri's association keys, which the authenticator derives and never exports (Recovery §3).
///
/// Each user whom a service knows by a public user id has one P-256 key. Both calls may wait for the user: the
/// authenticator unlocks its vault and shows its prompts itself; cancelling the task withdraws the prompt.
public protocol AssociationKeys: Sendable {
  /// The public key of a user id, whose UTF-8 goes into the key unchanged.
  func publicKey(publicUserID: String) async throws(PortError) -> P256.PublicKey
  /// An ECDSA signature over the SHA-256 digest of `data`: SEQUENCE { r, s } in DER, 8 to 72 bytes.
  ///
  /// - Parameter service: the recipient of the signature, as the prompt shows it.
  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(PortError) -> [UInt8]
}
