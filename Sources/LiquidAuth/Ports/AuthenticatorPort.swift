public import CryptoPrimitives

/// The port to our own authenticator, over its control socket.
///
/// The wallet holds no key: it asks for addresses, ids and signatures. Each call may wait for a person, since the
/// authenticator opens its vault and shows its prompts itself; cancelling the task withdraws the prompt.
public protocol AuthenticatorPort: Sendable {
  /// The address of the vault's first Algorand account, m/44'/283'/0'/0/0: 58 characters.
  func account() async throws(PortError) -> String
  /// The passkey with which that account signs in at a relying party.
  ///
  /// - Parameter host: the link's, which the person is shown where it is not the relying party's id.
  func walletPasskey(rpID: String, host: String) async throws(PortError) -> WalletPasskey
  /// Answers one CTAP2 message: command byte ‖ CBOR in, status byte ‖ CBOR out (CTAP §8).
  func respond(to message: [UInt8]) async throws(PortError) -> [UInt8]
}

/// The passkey of an Algorand account at one relying party.
public struct WalletPasskey: Equatable, Sendable {
  /// The id to sign in with, 32 bytes: the record's, or, without a record, what phone wallets have at counter 0
  /// (Recovery §3).
  public let credentialID: [UInt8]
  /// Whether the authenticator has a record of it; without one, this machine has not been at this relying party yet.
  public let isStored: Bool

  /// Joins the two.
  public init(credentialID: [UInt8], isStored: Bool) {
    self.credentialID = credentialID
    self.isStored = isStored
  }
}

// MARK: - Association keys

/// The port to the association keys of Keyri, which the authenticator derives and never gives away (Recovery §3).
///
/// Each person that a service knows by a public user id has one P-256 key. Both calls may wait for a person: the
/// authenticator opens its vault and shows its prompts itself; cancelling the task withdraws the prompt.
public protocol AssociationKeys: Sendable {
  /// The public key of a user id, whose UTF-8 goes into the key as it is.
  func publicKey(publicUserID: String) async throws(PortError) -> P256.PublicKey
  /// An ECDSA signature over the SHA-256 digest of `data`: SEQUENCE { r, s } in DER, 8 to 72 bytes.
  ///
  /// - Parameter service: who gets the signature, as the prompt shows it.
  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(PortError) -> [UInt8]
}
