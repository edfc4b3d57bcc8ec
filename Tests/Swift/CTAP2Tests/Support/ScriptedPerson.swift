import CTAP2
import Recovery
import Synchronization

/// A user who follows a script, and agrees to every prompt after its end.
final class ScriptedPerson: UserInteraction {
  /// The reaction to one prompt.
  enum Operation: Sendable {
    /// Agrees, and passes verification when it is requested.
    case agree
    /// Agrees, after a side effect.
    case agreeAfter(@Sendable () -> Void)
    /// Agrees, and passes verification by this means when it is requested.
    case verify(by: HistoryEntry.Verification)
    /// Agrees, with these flags as the result of the back end.
    case answer(userPresent: Bool, userVerified: Bool)
    /// Fails with an error.
    case fail(UserInteractionError)
    /// Does nothing until the prompt is withdrawn.
    case wait
  }

  /// One prompt as it was shown.
  struct Shown: Equatable, Sendable {
    let prompt: UserPrompt
    let verification: Bool
  }

  private struct Script {
    var deeds: [Operation]
    var shown: [Shown] = []
    var triesLeft = 8
    var refused: [UserPrompt] = []
    var refusal = UserInteractionError.declined
  }

  let canVerify: Bool
  var verificationTriesLeft: Int { script.withLock { $0.triesLeft } }
  private let script: Mutex<Script>

  init(canVerify: Bool = true, _ deeds: Operation...) {
    self.canVerify = canVerify
    script = Mutex(Script(deeds: deeds))
  }

  /// All prompts so far.
  var shown: [Shown] { script.withLock { $0.shown } }

  /// Sets the number of verification tries that are left.
  func hasTriesLeft(_ count: Int) { script.withLock { $0.triesLeft = count } }

  /// Sets the reactions to the next prompts.
  func will(_ deeds: Operation...) { script.withLock { $0.deeds = deeds } }

  /// The prompts that were refused by policy.
  var refused: [UserPrompt] { script.withLock { $0.refused } }

  /// Sets the error of refusals by policy.
  func refusesByPolicy(with error: UserInteractionError) { script.withLock { $0.refusal = error } }

  func refuse(_ prompt: UserPrompt, from client: (any RequestClient)?) async -> UserInteractionError {
    script.withLock { script in
      script.refused.append(prompt)
      return script.refusal
    }
  }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    let operation = script.withLock { script in
      script.shown.append(Shown(prompt: prompt, verification: verification))
      return script.deeds.isEmpty ? .agree : script.deeds.removeFirst()
    }
    switch operation {
    case .agree: return Confirmation(userVerified: verification)
    case .agreeAfter(let event):
      event()
      return Confirmation(userVerified: verification)
    case .verify(let means): return Confirmation(verification: verification ? means : .none)
    case .answer(let userPresent, let userVerified):
      return Confirmation(userPresent: userPresent, userVerified: userVerified)
    case .fail(let error): throw error
    case .wait:
      while !Task.isCancelled { await Task.yield() }
      throw .cancelled
    }
  }
}
