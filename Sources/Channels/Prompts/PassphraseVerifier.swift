package import CryptoPrimitives
import Recovery
import Synchronization

/// Recognises the passphrase that opened the vault, without Argon2 in a ceremony.
///
/// While the vault is open it keeps, in locked memory, HMAC-SHA-512 of the passphrase under a key that is random for
/// each unlocking. No file has it, and locking the vault removes it. If another slot opened the vault, the first
/// passphrase is checked with the vault's file.
package final class PassphraseVerifier: Sendable {
  /// The number of wrong tries in a row, passphrases, fingers and PAM together, over all ceremonies, after which
  /// verification is refused until the vault is unlocked again.
  package static let triesPerUnlocking = 8
  /// The number of last tries that are for the passphrase only: wrong fingers and answers to PAM do not use them up.
  static let triesOfPassphrase = UserPrompter.triesPerDialog

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

  /// Checks a passphrase with the vault's file, and remembers it if it is right; `nil` if that was not possible.
  package typealias Check = @Sendable (SecretBytes) async -> Bool?

  private enum Known {
    case locked
    /// The vault is open, and nobody has typed its passphrase.
    case unknown
    case digest(SecretBytes, key: SecretBytes)
  }

  private struct State {
    var known = Known.locked
    /// Kept while the vault is locked: only its passphrase allows all tries again.
    var wrongPassphrases = 0
    /// The wrong tries of each other means since it verified, or since the last right passphrase.
    var wrongByMeans: [VerificationMeans: Int] = [:]

    var triesLeft: Int {
      max(0, PassphraseVerifier.triesPerUnlocking - wrongPassphrases - wrongByMeans.values.reduce(0, +))
    }
  }

  private let state = Mutex(State())
  private let actions = Mutex<(ifBlocked: @Sendable () -> Void, check: Check)?>(nil)

  package init() {}

  /// Sets what is called after each try whose verdict is `blocked`, and what checks a passphrase that is not known yet.
  package func set(ifBlocked: @escaping @Sendable () -> Void, check: @escaping Check) {
    actions.withLock { $0 = (ifBlocked, check) }
  }

  /// Remembers the passphrase that has just opened the vault, and allows all tries again.
  package func remember(_ passphrase: SecretBytes) {
    let key = SecretBytes.random(count: 64)
    let digest = Self.digest(passphrase, key)
    state.withLock { $0 = State(known: .digest(digest, key: key)) }
  }

  /// Notes that the vault was opened without its passphrase.
  package func expect() { state.withLock { $0.known = .unknown } }

  /// Forgets the passphrase when the vault is locked.
  package func forget() { state.withLock { $0.known = .locked } }

  /// Whether only the right passphrase may unlock the vault.
  package var isBlocked: Bool { state.withLock { $0.triesLeft == 0 } }

  /// How many wrong tries are allowed before `blocked` (uvRetries, CTAP §6.5.3); all eight while the vault is locked.
  var triesLeft: Int {
    state.withLock { if case .locked = $0.known { Self.triesPerUnlocking } else { $0.triesLeft } }
  }

  /// Compares a passphrase in constant time, or checks it with the vault's file; counts the try.
  func verify(_ passphrase: SecretBytes) async -> Outcome {
    let actions = actions.withLock { $0 }
    let isRight: Bool
    switch state.withLock({ ($0.known, $0.triesLeft) }) {
    case (.locked, _): return .locked
    case (_, 0):
      actions?.ifBlocked()
      return .blocked
    case (.digest(let digest, let key), _): isRight = Self.digest(passphrase, key).isEqual(to: digest)
    case (.unknown, _):
      guard let checked = await actions?.check(passphrase) else { return .locked }
      isRight = checked
    }
    let outcome = count(isRight)
    if outcome == .blocked { actions?.ifBlocked() }
    return outcome
  }

  /// How many wrong tries of fingers and PAM together are still allowed before only the passphrase verifies, 0 to 5.
  var triesOfMeans: Int { state.withLock { max(0, $0.triesLeft - Self.triesOfPassphrase) } }

  /// Counts a try of a means other than the passphrase.
  ///
  /// A right try gives back those that this means used up, and no others.
  func count(_ means: VerificationMeans, isRight: Bool) {
    state.withLock { state in
      if isRight {
        state.wrongByMeans[means] = nil
      } else if state.triesLeft > Self.triesOfPassphrase {
        state.wrongByMeans[means, default: 0] += 1
      }
    }
  }

  private func count(_ isRight: Bool) -> Outcome {
    state.withLock { state in
      if isRight {
        (state.wrongPassphrases, state.wrongByMeans) = (0, [:])
        return .right
      }
      state.wrongPassphrases += 1
      return state.triesLeft > 0 ? .wrong(triesLeft: state.triesLeft) : .blocked
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
