import CTAP2
import ControlDoor
import CryptoPrimitives
import Recovery

/// What stands behind the control door: the rest of the daemon, as its requests see it.
protocol ControlDesk: Sendable {
  /// How things are; never waits for a person.
  func status() async -> AuthenticatorStatus
  /// Forgets what the vault holds; never waits for a person.
  func lock() async
  /// Plugs the device in or out; never waits for a person.
  func device(_ action: DeviceAction) async throws(ControlFailure)

  /// Verifies the vault's passphrase in full, and opens the vault if it is locked.
  ///
  /// - Returns: that unlocking; what it allows ends when the vault is locked.
  func unlock(_ passphrase: SecretBytes) async throws(ControlFailure) -> Unlocking
  /// Makes an empty store where there is none, after the vault's passphrase.
  func newStore(_ passphrase: SecretBytes) async throws(ControlFailure)
  /// Accepts a store that was modified outside liquid-auth, after the vault's passphrase.
  func acceptStore(_ passphrase: SecretBytes) async throws(ControlFailure)

  /// Answers a CTAP2 message, in its turn behind those of all doors; cancelling the task withdraws it.
  ///
  /// - Parameter client: tells the connections of the control door apart.
  func respond(to message: [UInt8], client: UInt64) async -> [UInt8]
  /// Works for a wallet in the same turn; cancelling the task withdraws what is asked of a person.
  func inTurn(
    _ body: @escaping @Sendable (Authenticator) async throws(ControlFailure) -> [UInt8]
  ) async throws(ControlFailure) -> [UInt8]
  /// Works on the open vault, and on what the authenticator has in memory, in the same turn, so that no ceremony is
  /// disturbed.
  ///
  /// - Throws: `passphraseRequired` while the vault is locked, and what `body` throws.
  func withOpenVault<Result: Sendable>(
    _ body: @escaping @Sendable (OpenVault, inout Authenticator) throws(ControlFailure) -> Result
  ) async throws(ControlFailure) -> Result
}
