import CTAP2
import CTAPHID
import ControlProtocol
import CryptoPrimitives
import EventLoop
import EventLoopTests
import Glibc
import Messages
import ProcessIO
import Recovery
import Synchronization
import TestVectors
import Testing

@testable import HelperProcess
@testable import Prompts

/// A user who types these passphrases, one after the other in each dialog, or presses a button.
final class ScriptedBackEnd: PromptBackEnd {
  let report = PromptReport(.terminal)
  let typed: [String]
  let refuses: Bool
  let seen = Mutex<[String]>([])
  /// The dialogs, in order.
  let texts = Mutex<[PromptText]>([])
  private let next = Mutex(0)

  init(typed: [String] = [], refuses: Bool = false) {
    self.typed = typed
    self.refuses = refuses
  }

  func open(_ dialog: PromptText) async throws(PromptFailure) { next.withLock { $0 = 0 } }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    texts.withLock { $0.append(dialog) }
    let kind = dialog.takesPassphrase ? "passphrase" : "confirm"
    seen.withLock { $0.append(dialog.remark ?? "\(kind) \(dialog.headline)") }
    let number = next.withLock { next in
      next += 1
      return next - 1
    }
    guard !refuses, !dialog.takesPassphrase || number < typed.count else { throw .noAnswer(.declined) }
    return dialog.takesPassphrase ? .typed(secret(typed[number])) : .agreed
  }
}

extension UserPrompter {
  /// Prompts with the back end under test, or with one that the test scripts.
  init(
    testing backEnd: any PromptBackEnd, verifier: PassphraseVerifier? = nil, others: [String] = [],
    catalogue: Catalogue = .english, clock: any MonotonicClock = ManualClock(),
    log: @escaping @Sendable (String) -> Void = { _ in }, readFingers: UserPrompter.ReadFingers? = nil,
    freeReader: (@Sendable () -> Bool)? = nil, screen: (any LockableScreen)? = nil,
    converse: UserPrompter.Converse? = nil,
    programs: @escaping @Sendable (Door) -> Door.Programs = { _ in Door.Programs() }
  ) {
    self.init(
      backEnd, verifier: verifier, readFingers: readFingers, freeReader: freeReader, screen: screen,
      converse: converse, otherKeys: { others },
      programs: programs, catalogue: catalogue, clock: clock, executor: globalConcurrentExecutor, log: log)
  }

  /// Prompts for a request of no client.
  func confirm(_ prompt: UserPrompt, verification: Bool) async throws(UserInteractionError) -> CTAP2.Confirmation {
    try await confirm(prompt, verification: verification, from: nil)
  }

  /// Prompts for presence only.
  func confirm(_ prompt: UserPrompt) async throws(UserInteractionError) {
    _ = try await confirm(prompt, verification: false)
  }

  /// The result of a prompt as text, so that it can be compared; what verified, if something did.
  func outcome(of prompt: UserPrompt, verification: Bool = false, from origin: RequestOrigin? = nil) async -> String {
    do throws(UserInteractionError) {
      let confirmation = try await confirm(prompt, verification: verification, from: origin)
      return confirmation.userVerified ? "\(confirmation.verification)" : "present"
    } catch {
      return "\(error)"
    }
  }
}

extension PromptText {
  /// The only dialog of a ceremony.
  init(_ prompt: UserPrompt) { self = PromptPages(prompt).last }

  static func unlock(for reason: UnlockReason? = nil) -> PromptText { unlock(for: reason, in: .english) }
}

extension PromptPages {
  /// The dialogs of a prompt in English.
  init(_ prompt: UserPrompt, askedThrough doorLines: [String] = [], beside others: [String] = []) {
    self.init(prompt, askedThrough: doorLines, beside: others, in: .english)
  }
}

/// A screen that the test locks.
final class ScriptedScreen: LockableScreen {
  private let lock: Mutex<(answer: Bool?, isTold: Bool)>
  private let hangs = Mutex(false)
  private let hanging = Mutex(0)

  /// - Parameters:
  ///   - isLocked: `nil` if that cannot be known.
  init(isLocked: Bool?) { lock = Mutex((isLocked, true)) }

  /// - Parameter isTold: whether a wait ends.
  func set(isLocked: Bool?, isTold: Bool = true) { lock.withLock { $0 = (isLocked, isTold) } }

  /// Sets whether ``isLocked()`` waits, at most ``patience``.
  func hang(_ hangs: Bool) { self.hangs.withLock { $0 = hangs } }

  /// Waits until a call of ``isLocked()`` waits.
  func isAsked() async { await eventually { self.hanging.withLock { $0 } > 0 } }

  func isLocked() -> Bool? {
    if hangs.withLock({ $0 }) { hanging.withLock { $0 += 1 } }
    let limit = ContinuousClock.now + .patience
    while hangs.withLock({ $0 }), ContinuousClock.now < limit { usleep(1000) }
    return lock.withLock { $0.answer }
  }

  func waitUntilLocked(_ cancellation: Cancellation) -> Bool {
    while true {
      if lock.withLock({ $0.isTold && $0.answer != false }) { return true }
      guard cancellation.wait(for: -1, 0, until: .now + .milliseconds(1)) == .timedOut else { return false }
    }
  }
}

/// Lines of a transaction, as they are.
func verbatim(_ lines: [String]) -> [Message] { lines.map(Message.init(verbatim:)) }

/// A text as a passphrase.
func secret(_ text: String) -> SecretBytes {
  var bytes = Array(text.utf8)
  return SecretBytes(consuming: &bytes)
}

/// A verifier that accepts one passphrase.
func verifier(knowing passphrase: String) -> PassphraseVerifier {
  let verifier = PassphraseVerifier()
  verifier.remember(secret(passphrase))
  return verifier
}
