import CTAP2
import CryptoPrimitives
import Synchronization

@testable import liquid_authenticator

/// A person who types these passphrases, one after the other, or presses a button.
final class ScriptedDialogs: DialogBackEnd {
  let typed: [String]
  let refuses: Bool
  let seen = Mutex<[String]>([])

  init(typed: [String] = [], refuses: Bool = false) {
    self.typed = typed
    self.refuses = refuses
  }

  func confirm(_ text: PromptText) async throws(UserInteractionError) {
    seen.withLock { $0.append("confirm \(text.headline)") }
    if refuses { throw .declined }
  }

  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    seen.withLock { $0.append("passphrase \(text.headline)") }
    for passphrase in typed {
      switch await check(secret(passphrase)) {
      case .accepted(let accepted): return accepted
      case .wrong(let words): seen.withLock { $0.append(words) }
      case .ended(let reason): throw reason
      }
    }
    throw .declined
  }
}

/// A text as a passphrase.
func secret(_ text: String) -> SecretBytes {
  var bytes = Array(text.utf8)
  return SecretBytes(consuming: &bytes)
}
