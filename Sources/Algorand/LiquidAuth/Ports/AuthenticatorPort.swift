/// The port to our own authenticator, over its control socket.
///
/// The wallet holds no key: it requests addresses, ids and signatures. Each call may wait for the user, since the
/// authenticator unlocks its vault and shows its prompts itself; cancelling the task withdraws the prompt.
public protocol AuthenticatorPort: Sendable {
  /// The address of the vault's first Algorand account, m/44'/283'/0'/0/0: 58 characters.
  func account() async throws(PortError) -> String
  /// The passkey with which that account signs in at a relying party.
  ///
  /// - Parameter host: the link's host, which the prompt shows if it is not the rp.id.
  func walletPasskey(rpID: String, host: String) async throws(PortError) -> WalletPasskey
  /// Answers one CTAP2 message: command byte ‖ CBOR in, status byte ‖ CBOR out (CTAP §8).
  func respond(to message: [UInt8]) async throws(PortError) -> [UInt8]
}

/// The passkey of an Algorand account at one relying party.
public struct WalletPasskey: Equatable, Sendable {
  /// The id to sign in with, 32 bytes: that of the record, or, without a record, that of phone wallets at counter 0
  /// (Recovery §3).
  public let credentialID: [UInt8]
  /// Whether the authenticator has a record of it; without one, this machine has not yet signed in there.
  public let isStored: Bool

  public init(credentialID: [UInt8], isStored: Bool) {
    self.credentialID = credentialID
    self.isStored = isStored
  }
}
