import CTAP2
import ControlProtocol
import EventLoopTests
import Synchronization
import TestSupport
import Testing

@testable import Prompts

/// A program that answers after a time that the test sets.
private final class TimedBackEnd: PromptBackEnd {
  let report = PromptReport(.askpass, program: "/bin/true")
  let clock = ManualClock()
  let after = Mutex(Duration.zero)
  let refuses = Mutex(false)

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    clock.advance(by: after.withLock(\.self))
    if refuses.withLock(\.self) { throw .noAnswer(.declined) }
    return dialog.takesPassphrase ? .typed(secret("right")) : .agreed
  }
}

/// What the status says is wrong with the dialogs.
struct DialogFaultsTests {
  private let signIn = UserPrompt(purpose: .signIn, rpID: "example.com")
  private let backEnd = TimedBackEnd()

  private func answer(
    _ prompter: UserPrompter, after time: Duration, refuses: Bool = false, verifies: Bool = false
  ) async {
    backEnd.after.withLock { $0 = time }
    backEnd.refuses.withLock { $0 = refuses }
    _ = await prompter.outcome(of: signIn, verification: verifies)
  }

  // Holds: PERSON-13
  @Test(arguments: [(false, false), (true, false), (false, true)])
  func `a prompt that answers three times faster than a person can read is named`(refuses: Bool, verifies: Bool) async {
    let prompter = UserPrompter(testing: backEnd, verifier: verifier(knowing: "right"), clock: backEnd.clock)
    let quick = DialogFaults.quickest - .milliseconds(1)
    for _ in 0..<2 { await answer(prompter, after: quick, refuses: refuses, verifies: verifies) }
    #expect(await !prompter.answersByItself)
    await answer(prompter, after: quick, refuses: refuses, verifies: verifies)
    #expect(await prompter.answersByItself)
    await answer(prompter, after: quick)
    #expect(await prompter.answersByItself)
    // A person can be that fast, and then the count begins again.
    await answer(prompter, after: DialogFaults.quickest)
    #expect(await !prompter.answersByItself)
    for _ in 0..<2 { await answer(prompter, after: .zero) }
    #expect(await !prompter.answersByItself)
  }

  /// A back end that cannot show the first dialog.
  private final class Failing: PromptBackEnd {
    let report = PromptReport(.terminal)
    let problem: Problem? = Problem("no prompt can be shown")
    private let failures = Mutex(1)

    func open(_ dialog: PromptText) async throws(PromptFailure) {
      let fails = failures.withLock { failures in
        failures -= 1
        return failures >= 0
      }
      if fails { throw .unavailable("cannot start it") }
    }

    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer { .agreed }
  }

  @Test func `a problem with the last dialog is cleared when the next is shown`() async throws {
    let lines = Lines()
    let prompter = UserPrompter(testing: Failing(), log: lines.add)
    #expect(await prompter.problem?.text == "no prompt can be shown")
    #expect(await prompter.outcome(of: signIn) == "unavailable")
    #expect(lines.all == ["cannot start it"])
    #expect(await prompter.problem?.text == "no prompt can be shown")
    #expect(await prompter.outcome(of: signIn) == "present")
    #expect(await prompter.problem == nil, "dialogs work, whatever the environment suggests")
  }
}
