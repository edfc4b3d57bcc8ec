import CTAP2
import Synchronization

/// A person who does what a test says, in that order, and agrees to everything after that.
final class ScriptedPerson: UserInteraction {
  /// What the person does with one prompt.
  enum Operation: Sendable {
    /// Agrees, and passes verification when it is asked for.
    case agree
    /// Agrees, after something else has happened.
    case agreeAfter(@Sendable () -> Void)
    /// Agrees, but what the back end tells of it is this.
    case answer(userPresent: Bool, userVerified: Bool)
    /// Does not agree.
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
  }

  let canVerify: Bool
  var verificationTriesLeft: Int { script.withLock { $0.triesLeft } }
  private let script: Mutex<Script>

  init(canVerify: Bool = true, _ deeds: Operation...) {
    self.canVerify = canVerify
    script = Mutex(Script(deeds: deeds))
  }

  /// Every prompt so far.
  var shown: [Shown] { script.withLock { $0.shown } }

  /// Says how often verification can still fail.
  func hasTriesLeft(_ count: Int) { script.withLock { $0.triesLeft = count } }

  /// Says what happens to the prompts that come next.
  func will(_ deeds: Operation...) { script.withLock { $0.deeds = deeds } }

  func confirm(_ prompt: UserPrompt, verification: Bool) async throws(UserInteractionError) -> Confirmation {
    let operation = script.withLock { script in
      script.shown.append(Shown(prompt: prompt, verification: verification))
      return script.deeds.isEmpty ? .agree : script.deeds.removeFirst()
    }
    switch operation {
    case .agree: return Confirmation(userVerified: verification)
    case .agreeAfter(let event):
      event()
      return Confirmation(userVerified: verification)
    case .answer(let userPresent, let userVerified):
      return Confirmation(userPresent: userPresent, userVerified: userVerified)
    case .fail(let error): throw error
    case .wait:
      while !Task.isCancelled { await Task.yield() }
      throw .cancelled
    }
  }
}
