import CryptoPrimitives
import Synchronization

/// Recognises the passphrase that opened the vault, without Argon2 in a ceremony.
///
/// While the vault is open it keeps, in locked memory, HMAC-SHA-512 of the passphrase under a key that is random for
/// each unlocking. No file has it, and locking the vault removes it.
final class PassphraseVerifier: Sendable {
  /// Wrong tries in a row, over all ceremonies, after which verification is refused until the vault is unlocked again.
  static let triesPerUnlocking = 8

  /// The result of a try.
  enum Outcome: Equatable, Sendable {
    case right
    /// Wrong; `triesLeft` more wrong tries are allowed before `blocked`.
    case wrong(triesLeft: Int)
    /// Wrong too often: the vault must be locked.
    case blocked
    /// The vault is locked, so that there is nothing to compare with.
    case locked
  }

  private struct Known {
    let key: SecretBytes
    let digest: SecretBytes
    var triesLeft = PassphraseVerifier.triesPerUnlocking
  }

  private let known = Mutex<Known?>(nil)
  private let ifBlocked = Mutex<(@Sendable () -> Void)?>(nil)

  /// Sets the action to call after each try whose verdict is `blocked`.
  func ifBlocked(_ action: @escaping @Sendable () -> Void) { ifBlocked.withLock { $0 = action } }

  /// Remembers the passphrase that has just opened the vault, and allows all tries again.
  func remember(_ passphrase: SecretBytes) {
    let key = SecretBytes.random(count: 64)
    let digest = Self.digest(passphrase, key)
    known.withLock { $0 = Known(key: key, digest: digest) }
  }

  /// Forgets the passphrase when the vault is locked.
  func forget() { known.withLock { $0 = nil } }

  /// How many wrong tries there may be before `blocked`; all of them while the vault is locked.
  var triesLeft: Int { known.withLock { $0?.triesLeft } ?? Self.triesPerUnlocking }

  /// Compares a passphrase in constant time, and counts the try.
  func verify(_ passphrase: SecretBytes) -> Outcome {
    let outcome = compare(passphrase)
    if outcome == .blocked, let action = ifBlocked.withLock({ $0 }) { action() }
    return outcome
  }

  private func compare(_ passphrase: SecretBytes) -> Outcome {
    known.withLock { known in
      guard var now = known else { return .locked }
      guard now.triesLeft > 0 else { return .blocked }
      if Self.digest(passphrase, now.key).isEqual(to: now.digest) {
        now.triesLeft = Self.triesPerUnlocking
        known = now
        return .right
      }
      now.triesLeft -= 1
      known = now
      return now.triesLeft > 0 ? .wrong(triesLeft: now.triesLeft) : .blocked
    }
  }

  private static func digest(_ passphrase: SecretBytes, _ key: SecretBytes) -> SecretBytes {
    SecretBytes(count: HMACSHA512.size) { digest in
      passphrase.withUnsafeBytes { passphrase in
        key.withUnsafeBytes { HMACSHA512.authenticate(passphrase, key: $0, into: digest) }
      }
    }
  }
}
