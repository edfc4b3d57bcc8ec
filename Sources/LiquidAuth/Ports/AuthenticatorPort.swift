/// The port to our own authenticator, over its control socket.
///
/// The wallet holds no key: it asks for addresses, ids and signatures. Each call may wait for a person, since the
/// authenticator opens its vault and shows its prompts itself; cancelling the task withdraws the prompt.
public protocol AuthenticatorPort: Sendable {
  /// The address of the vault's first Algorand account, m/44'/283'/0'/0/0: 58 characters.
  func account() async throws(AuthenticatorFailure) -> String
  /// The passkey with which that account signs in at a relying party.
  ///
  /// - Parameter host: the link's, which the person is shown where it is not the relying party's id.
  func walletPasskey(rpID: String, host: String) async throws(AuthenticatorFailure) -> WalletPasskey
  /// Answers one CTAP2 message: command byte ‖ CBOR in, status byte ‖ CBOR out (CTAP §8).
  func respond(to message: [UInt8]) async throws(AuthenticatorFailure) -> [UInt8]
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

/// Why the authenticator did not answer.
///
/// A sentence is the adapter's, whole: lower case, no full stop, what happened, then what to do. A CTAP2 status is no
/// failure but an answer.
public enum AuthenticatorFailure: Error, Equatable, Sendable {
  /// It is not running, or the connection to it broke off.
  case unreachable(String)
  /// The person did not open the vault, or no prompt could be shown.
  case declined
  /// Nobody answered the prompt in time.
  case timedOut
  /// It answered with a fault of its own.
  case refused(String)
}
