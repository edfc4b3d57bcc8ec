import CTAP2
import CTAPHID
import ControlProtocol
import CryptoPrimitives
import EventLoopTests
import HelperProcess
import Synchronization
import Testing

@testable import Prompts

/// A person who answers each dialog when the test says so, or closes it.
private final class Person: PromptBackEnd {
  enum Act: Sendable {
    case agrees
    case refuses
    case closes
    case types(String)
  }

  let report = PromptReport(.terminal)
  let notifications: (any PromptBackEnd)?
  private let (acts, acting) = AsyncStream.makeStream(of: Act.self)
  private let dialogs = Mutex((opened: 0, closed: 0, shown: [String]()))

  init(notifications: Person? = nil) { self.notifications = notifications }

  /// How many dialogs were opened.
  var opened: Int { dialogs.withLock { $0.opened } }
  /// How many were closed afterwards.
  var closed: Int { dialogs.withLock { $0.closed } }
  /// The headlines or remarks shown, in order.
  var shown: [String] { dialogs.withLock { $0.shown } }

  func does(_ act: Act) { acting.yield(act) }
  /// Waits until `count` dialogs were shown.
  func sees(_ count: Int) async { while shown.count < count { await Task.yield() } }

  func open(_ dialog: PromptText) async throws(PromptFailure) { dialogs.withLock { $0.opened += 1 } }

  func close() async { dialogs.withLock { $0.closed += 1 } }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    dialogs.withLock { $0.shown.append(dialog.remark ?? dialog.headline) }
    for await act in acts {
      switch act {
      case .agrees: return .agreed
      case .refuses: throw .noAnswer(.declined)
      case .closes: throw .closed
      case .types(let text): return .typed(secret(text))
      }
    }
    throw .noAnswer(.cancelled)
  }
}

/// The other requests, beside the one whose dialog is closed.
private final class OtherRequests: Sendable {
  private let isThere = Atomic(false)

  /// Whether one waits.
  var wait: Bool { isThere.load(ordering: .relaxed) }
  /// From now on, one waits.
  func come() { isThere.store(true, ordering: .relaxed) }
}

// Holds: PROMPT-18
/// Dialogs that the person closes without a button.
struct ClosedDialogTests {
  private let person = Person()
  private let clock = ManualClock()
  private let others = OtherRequests()
  private let verifier = PassphraseVerifier()

  private static let signIn = UserPrompt(purpose: .signIn, rpID: "example.com")

  init() { verifier.remember(secret("right")) }

  private func prompter() -> UserPrompter { UserPrompter(testing: person, verifier: verifier, clock: clock) }

  /// Asks for a client that gets keepalives.
  private func ask(
    _ prompter: UserPrompter, _ prompt: UserPrompt = signIn, verification: Bool = false
  ) -> Task<String, Never> {
    let status = RequestStatus(report: { _ in }, isAwaited: { [others] in others.wait })
    let origin = RequestOrigin(door: .device(node: nil), status: status)
    return Task { await prompter.outcome(of: prompt, verification: verification, from: origin) }
  }

  /// Closes the dialog that is shown, and waits until the request waits.
  private func close(_ prompter: UserPrompter) async {
    person.does(.closes)
    while await prompter.recalls == nil { await Task.yield() }
  }

  @Test func `a closed dialog answers nothing, and the person can ask for it again`() async {
    let prompter = prompter()
    let asked = ask(prompter)
    for count in 1...3 {
      await person.sees(count)
      #expect(await !prompter.askAgain(), "it is open")
      await close(prompter)
      #expect(prompter.isAsking)
      #expect(await prompter.askAgain())
      #expect(await !prompter.askAgain(), "once for each close")
    }
    await person.sees(4)
    person.does(.agrees)
    #expect(await asked.value == "present")
    #expect(person.opened == 4)
    #expect(await !prompter.askAgain())
    #expect(clock.sleeperCount == 0)
  }

  /// What the person does in the notification.
  enum Choice: CaseIterable {
    case again
    case refused
    case closed
    case unanswered
  }

  @Test(arguments: Choice.allCases)
  func `a notification offers a closed dialog again`(_ choice: Choice) async {
    let notification = Person()
    let window = Person(notifications: notification)
    let prompter = UserPrompter(testing: PromptChain([window]) { _ in }, verifier: verifier, clock: clock)
    let asked = ask(prompter)
    await window.sees(1)
    window.does(.closes)
    await notification.sees(1)
    #expect(notification.shown == ["A request still waits for your answer"])
    switch choice {
    case .again: notification.does(.agrees)
    case .refused: notification.does(.refuses)
    case .closed:
      notification.does(.closes)
      while notification.closed == 0 { await Task.yield() }
      #expect(await prompter.askAgain())
    case .unanswered: #expect(await prompter.askAgain())
    }
    if choice != .refused {
      await window.sees(2)
      #expect(notification.closed == 1, "it is gone before the dialog is back")
      window.does(.agrees)
    }
    #expect(await asked.value == (choice == .refused ? "declined" : "present"))
    #expect(notification.opened == 1 && notification.closed == 1)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `the offer names the act and the site, and refuses with the same button`() {
    let register = UserPrompt(
      purpose: .register, rpID: "example.com", accountName: "al", accountDisplayName: "Alice")
    let offer = PromptText(register).offer
    #expect(offer.details == ["Make a new passkey?", "Site: example.com", #"Account: "al""#])
    #expect([offer.agree, offer.refuse] == ["Ask again", "Deny"])
    #expect(!offer.takesPassphrase)
    #expect(PromptText(UserPrompt(purpose: .reset(importedPasskeys: 0))).offer.refuse == "Keep")
  }

  @Test func `a dialog that was closed and comes back can be refused`() async {
    let prompter = prompter()
    let asked = ask(prompter)
    await close(prompter)
    #expect(await prompter.askAgain())
    await person.sees(2)
    person.does(.refuses)
    #expect(await asked.value == "declined")
  }

  @Test func `to close a dialog gives no more tries of the passphrase`() async {
    let prompter = prompter()
    let asked = ask(prompter, verification: true)
    for number in 1...3 {
      person.does(.types("wrong"))
      guard number < 3 else { break }
      await person.sees(2 * number)
      await close(prompter)
      #expect(await prompter.askAgain())
      await person.sees(2 * number + 1)
    }
    #expect(await asked.value == "verificationFailed")
    let remarks = [2, 1].map { "Wrong passphrase, \($0) tr\($0 == 1 ? "y" : "ies") left" }
    #expect(person.shown == ["Sign in with your passkey?"] + remarks.flatMap { [$0, $0] })
  }

  @Test func `a dialog that comes back must be read again`() async {
    let prompter = prompter()
    let asked = ask(prompter, UserPrompt(purpose: .setPIN))
    await person.sees(1)
    await close(prompter)
    clock.advance(by: .milliseconds(700))
    #expect(await prompter.askAgain())
    await person.sees(2)
    person.does(.agrees)
    await clock.sleeper(until: .milliseconds(1200))
    clock.advance(by: .milliseconds(500))
    await person.sees(3)
    clock.advance(by: .milliseconds(500))
    person.does(.agrees)
    #expect(await asked.value == "present")
  }

  @Test func `another request ends one whose dialog was closed, within a second`() async {
    let prompter = prompter()
    let asked = ask(prompter)
    await close(prompter)
    await clock.sleeper(until: .seconds(1))
    others.come()
    clock.advance(by: .seconds(1))
    #expect(await asked.value == "timedOut")
    #expect(await !prompter.askAgain())
    #expect(clock.sleeperCount == 0)
  }

  @Test func `the client and the ten minutes end a request whose dialog was closed`() async {
    let prompter = prompter()
    let withdrawn = ask(prompter)
    await close(prompter)
    withdrawn.cancel()
    #expect(await withdrawn.value == "cancelled")
    #expect(await !prompter.askAgain())
    let late = ask(prompter)
    await person.sees(2)
    await close(prompter)
    clock.advance(by: UserPrompter.requestTimeout)
    #expect(await late.value == "timedOut")
    #expect(await !prompter.askAgain())
    #expect(clock.sleeperCount == 0)
  }

  @Test func `without keepalives, to close a dialog refuses`() async {
    person.does(.closes)
    #expect(await prompter().outcome(of: Self.signIn) == "declined")
  }

  static let notices: [UserPrompt] = {
    var unserved = UserPrompt(purpose: .select)
    unserved.unservedSite = "example.com"
    return [
      UserPrompt(purpose: .alreadyRegistered, rpID: "example.com"),
      UserPrompt(purpose: .signIn, rpID: "example.com", accountCount: 0), unserved,
    ]
  }()

  @Test(arguments: notices.indices)
  func `to close a dialog that leaves nothing to decide refuses`(_ index: Int) async {
    person.does(.closes)
    #expect(await ask(prompter(), Self.notices[index]).value == "declined")
  }

  @Test func `to close a dialog beside which a touch is awaited refuses`() async {
    let prompter = prompter()
    let origin = RequestOrigin(door: .device(node: nil), status: RequestStatus(report: { _ in }))
    person.does(.closes)
    var dialog = PromptText.unlock()
    dialog.request = PromptRequest(origin, shown: {})
    await #expect(throws: UserInteractionError.declined) {
      try await prompter.passphrase(dialog) { _, _ in PassphraseVerdict<Void>.accepted(()) }
    }
  }
}
