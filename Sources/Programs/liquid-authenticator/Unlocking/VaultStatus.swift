import ControlProtocol
import Recovery
import StateDirectory
import Vault

/// The state of the vault, for `liquid-auth status`.
struct VaultStatus: Sendable, Equatable {
  /// Whether ceremonies need no passphrase.
  var isUnlocked: Bool
  /// Identifies the phrase, 4 bytes; only while unlocked.
  var fingerprint: [UInt8]?
  /// Identifies the previous phrase, 4 bytes; only while unlocked, during a move to a new phrase.
  var previousFingerprint: [UInt8]?
  /// What unlocked the vault, if not the passphrase.
  var unlockedBy: String?
  /// Why the vault is locked, if it was open before.
  var lockReason: LockReason?
  /// What is wrong with vault or store, if anything.
  var fault: StateDirectoryError?
  /// The problem that the counter in the TPM showed at the last opening, if any.
  var counterProblem: Problem?
}

extension CurrentVault {
  /// The present state; reads the vault's file, and never waits for a person.
  var status: VaultStatus {
    VaultStatus(
      isUnlocked: current != nil, fingerprint: current?.keys.fingerprint,
      previousFingerprint: current?.previous?.keys.fingerprint,
      unlockedBy: openSlot.flatMap { $0.protector.isPassphrase ? nil : $0.protector.name }, lockReason: lockReason,
      fault: files.fault, counterProblem: files.counterFinding?.problem)
  }
}
