import CTAP2
import CryptoPrimitives
import Synchronization

/// The person, asked through a back end; verified, where that is set up, by the vault's passphrase.
struct DialogInteraction: UserInteraction {
  /// How often a passphrase can be tried in one dialog.
  static let triesPerDialog = 3

  /// Shows the dialogs.
  let dialogs: any DialogBackEnd
  /// Compares a passphrase with that of the open vault; `nil` with `--verification none`.
  let verify: (@Sendable (SecretBytes) -> PassphraseVerifier.Outcome)?
  /// How many wrong passphrases there may still be.
  var triesLeft: @Sendable () -> Int = { PassphraseVerifier.triesPerUnlocking }

  var canVerify: Bool { verify != nil }
  var verificationTriesLeft: Int { triesLeft() }

  func confirm(_ prompt: UserPrompt, verification: Bool) async throws(UserInteractionError) -> Confirmation {
    // Who asks for verification has read `canVerify`.
    guard verify != nil || !verification else { throw .declined }
    let (pages, verify) = (PromptPages(prompt), verification ? verify : nil)
    try await dialogs.inOneTurn { dialogs async throws(UserInteractionError) in
      for page in pages.before { try await dialogs.confirm(page) }
      if let verify {
        try await Self.verify(pages.last, by: verify, in: dialogs)
      } else {
        try await dialogs.confirm(pages.last)
      }
    }
    return Confirmation(userVerified: verification)
  }

  private static func verify(
    _ text: PromptText, by verify: @Sendable (SecretBytes) -> PassphraseVerifier.Outcome,
    in dialogs: any DialogBackEnd
  ) async throws(UserInteractionError) {
    let tries = TriesLeft(triesPerDialog)
    try await dialogs.passphrase(text) { passphrase -> PassphraseVerdict<Void> in
      switch verify(passphrase) {
      case .right: .accepted(())
      case .wrong(let triesLeft): tries.wrong(atMost: triesLeft, then: .verificationFailed)
      case .blocked: .ended(.verificationBlocked)
      case .locked: .ended(.declined)
      }
    }
  }
}

/// Counts the tries of one dialog.
final class TriesLeft: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  /// One try was wrong; `atMost` so many are left for other reasons.
  func wrong<Accepted>(
    atMost limit: Int = .max, then last: UserInteractionError
  ) -> PassphraseVerdict<Accepted> {
    let count = left.withLock { left in
      left -= 1
      return left
    }
    return count > 0 ? .wrong(PromptText.wrongPassphrase(triesLeft: min(count, limit))) : .ended(last)
  }
}
