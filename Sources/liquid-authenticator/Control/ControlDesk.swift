import CTAP2
import ControlDoor
import CryptoPrimitives

/// What stands behind the control door: the rest of the daemon, as its requests see it.
protocol ControlDesk: Sendable {
  /// How things are; never waits for a person.
  func status() async -> AuthenticatorStatus
  /// Forgets what the vault holds; never waits for a person.
  func lock() async
  /// Plugs the device in or out; never waits for a person.
  func device(_ action: PlugDevice.Action) async throws

  /// Verifies the vault's passphrase in full, and opens the vault if it is locked.
  ///
  /// - Returns: that unlocking; what it allows ends when the vault is locked.
  func unlock(_ passphrase: SecretBytes) async throws -> Unlocking
  /// Makes an empty store where there is none, after the vault's passphrase.
  func newStore(_ passphrase: SecretBytes) async throws
  /// Accepts a store that was modified outside liquid-auth, after the vault's passphrase.
  func acceptStore(_ passphrase: SecretBytes) async throws

  /// Answers a CTAP2 message, in its turn behind those of all doors; cancelling the task withdraws it.
  ///
  /// - Parameter client: tells the connections of the control door apart.
  func respond(to message: [UInt8], client: UInt64) async -> [UInt8]
  /// Works with the authenticator in the same turn, so that no ceremony is disturbed; cancelling the task withdraws what
  /// is asked of a person.
  func inTurn<Answer: Sendable>(
    _ work: @escaping @Sendable (inout Authenticator) async throws -> Answer
  ) async throws -> Answer
}
