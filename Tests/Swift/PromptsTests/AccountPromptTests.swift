import Assuan
import CTAP2
import CTAPHID
import ControlProtocol
import CryptoPrimitives
import EventLoop
import EventLoopTests
import Fingerprint
import Glibc
import HelperProcess
import Messages
import ProcessIO
import ProtectorProtocol
import Recovery
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import Prompts

/// Types the answers of the test; a dialog without a field stays open until it is withdrawn, or the test agrees.
private final class Typist: PromptBackEnd {
  private struct State {
    var dialogs: [PromptText] = []
    var answers: [String]
    var agrees = false
    var refuses = false
    var refusesPassphrase = false
    var isOpen = true
    var canBeQueued = false
    var closings = 0
  }

  private let state: Mutex<State>
  let report = PromptReport(.terminal)
  /// The dialogs that were shown, in order.
  var shown: [PromptText] { state.withLock { $0.dialogs } }

  /// - Parameter answers: typed for PAM, in order; then "pw".
  init(_ answers: [String] = [], refuses: Bool = false) {
    state = Mutex(State(answers: answers, refuses: refuses))
  }

  var isOpen: Bool { state.withLock { $0.isOpen } }
  /// How often a dialog was closed.
  var closings: Int { state.withLock { $0.closings } }
  var canBeQueued: Bool { state.withLock { $0.canBeQueued } }

  func refusesPassphrase(_ refuses: Bool) { state.withLock { $0.refusesPassphrase = refuses } }
  func isOfGNOME() { state.withLock { $0.canBeQueued = true } }
  func isGone() { state.withLock { $0.isOpen = false } }
  func agree() { state.withLock { $0.agrees = true } }
  func refuse() { state.withLock { $0.refuses = true } }
  func shows(_ count: Int) async { await eventually { self.shown.count >= count } }
  func close() async { state.withLock { $0.closings += 1 } }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    state.withLock { $0.dialogs.append(dialog) }
    if state.withLock({ $0.refuses }) { throw .noAnswer(.declined) }
    if dialog.takesPassphrase {
      guard dialog.entry == .account else {
        guard !state.withLock({ $0.refusesPassphrase }) else { throw .noAnswer(.declined) }
        return .typed(secret("right"))
      }
      let answer = state.withLock { $0.answers.isEmpty ? "pw" : $0.answers.removeFirst() }
      guard answer == "never" else { return .typed(secret(answer)) }
    }
    await eventually { Task.isCancelled || self.state.withLock { $0.agrees || $0.refuses } }
    if state.withLock({ $0.refuses }) { throw .noAnswer(.declined) }
    guard state.withLock({ $0.agrees }) else { throw .noAnswer(.cancelled) }
    return .agreed
  }
}

/// The end of `liquid-auth-pam`, which the test scripts; it counts its conversations.
private final class ScriptedAccount: Sendable {
  private struct State {
    var conversations: [[AccountMessage]]
    var answers: [String] = []
    var begun = 0
    var ended = 0
    var isResumed: Bool
  }

  private let state: Mutex<State>
  var answers: [String] { state.withLock { $0.answers } }
  var begun: Int { state.withLock { $0.begun } }

  /// - Parameter pauses: whether a remark or an error is followed by nothing until ``resume()``.
  init(_ conversations: [AccountMessage]..., pauses: Bool = false) {
    state = Mutex(State(conversations: conversations, isResumed: !pauses))
  }

  func resume() { state.withLock { $0.isResumed = true } }
  func allEnded() async { await eventually { self.state.withLock { $0.ended == $0.begun } } }

  /// As ``HelperProcess/converse(_:)``.
  func converse(_ request: AccountRequest) -> Result<AccountConversation, ProtectorFailure> {
    let messages = state.withLock { $0.conversations.isEmpty ? nil : $0.conversations.removeFirst() }
    guard let messages else { return .failure(ProtectorFailure(.noService, "nothing listens at its socket")) }
    state.withLock { $0.begun += 1 }
    var ends: [Int32] = [-1, -1]
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    let end = ends[1]
    Task {
      await OwnThread.run { self.play(messages, on: end) }
      self.state.withLock { $0.ended += 1 }
    }
    return .success(AccountConversation(request, over: ends[0]))
  }

  private func play(_ messages: [AccountMessage], on end: Int32) {
    defer { close(end) }
    let limit = ContinuousClock.now + .patience
    guard AccountPipe.request(from: end, until: limit) == .verify else { return }
    for message in messages {
      guard AccountPipe.write(message, to: end) else { return }
      switch message {
      case .asks:
        guard let answer = AccountPipe.answer(from: end, until: limit) else { return }
        let text = answer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        state.withLock { $0.answers.append(text) }
      case .says, .reports: while !state.withLock({ $0.isResumed }), ContinuousClock.now < limit { usleep(1000) }
      default: break
      }
    }
    var byte: UInt8 = 0
    while read(end, &byte, 1) > 0 {}
  }
}

/// Verification by PAM, with dialogs and a conversation of the test.
struct AccountPromptTests {
  private let clock = ManualClock()
  private let screen = ScriptedScreen(isLocked: false)
  private let lines = Lines()

  private var verifier: PassphraseVerifier {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    return verifier
  }

  private func prompt(_ means: [VerificationMeans] = [.pam]) -> UserPrompt {
    var prompt = UserPrompt(purpose: .signIn, rpID: "example.com")
    prompt.means = means
    return prompt
  }

  private func prompter(
    _ dialogs: Typist, _ account: ScriptedAccount, readFingers: UserPrompter.ReadFingers? = nil
  ) -> UserPrompter {
    UserPrompter(
      testing: dialogs, verifier: verifier, clock: clock, log: lines.add, readFingers: readFingers,
      screen: screen, converse: account.converse)
  }

  // Holds: ACCOUNT-2
  @Test func `the answer to a question verifies, in a dialog with the page`() async throws {
    let (dialogs, account) = (Typist(["secret"]), ScriptedAccount([.asks("Password: "), .accepted]))
    let prompter = prompter(dialogs, account)
    #expect(try await prompter.confirm(prompt(), verification: true).verification == .pam)
    #expect(dialogs.shown.map(\.details) == [["Site: example.com", "", "The system asks: \"Password: \""]])
    #expect(dialogs.shown.map(\.agree) == ["Sign in"] && dialogs.shown.map(\.label) == ["Your answer:"])
    #expect(account.answers == ["secret"] && lines.all == [])
    await account.allEnded()
  }

  // Holds: ACCOUNT-3
  @Test func `after three wrong answers, the passphrase is asked for`() async {
    let dialogs = Typist()
    let account = ScriptedAccount(
      [.asks("a"), .says("no"), .wrong], [.asks("b"), .wrong], [.asks("c"), .wrong], [.asks("d"), .accepted])
    let prompter = prompter(dialogs, account)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    let entries = dialogs.shown.filter(\.takesPassphrase)
    #expect(
      entries.map(\.remark) == [
        nil, "Wrong answer, 2 tries left", "Wrong answer, 1 try left", "The system did not verify you",
      ])
    #expect(entries[1].details.suffix(2) == ["The system says: \"no\"", "The system asks: \"b\""])
    #expect(entries.map(\.label).last == "Vault passphrase:")
    #expect(account.answers == ["pw", "pw", "pw"])
    await account.allEnded()
  }

  // Holds: ACCOUNT-4
  @Test func `a refusal, a cancellation and the end of the time end the conversation`() async {
    let refused = ScriptedAccount([.asks("a")])
    #expect(await prompter(Typist(refuses: true), refused).outcome(of: prompt(), verification: true) == "declined")
    await refused.allEnded()

    let (dialogs, cancelled) = (Typist(["never"]), ScriptedAccount([.asks("a")]))
    let prompter = prompter(dialogs, cancelled)
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialogs.shows(1)
    asking.cancel()
    #expect(await asking.value == "cancelled")
    await cancelled.allEnded()

    let (open, late) = (Typist(["never"]), ScriptedAccount([.asks("a")]))
    let other = self.prompter(open, late)
    async let outcome = other.outcome(of: prompt(), verification: true)
    await open.shows(1)
    await clock.sleeper(until: UserPrompter.presence)
    clock.advance(by: UserPrompter.presence)
    #expect(await outcome == "timedOut")
    await late.allEnded()
  }

  // Holds: ACCOUNT-5
  @Test func `a remark without a question is shown with the page, and the button goes on`() async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Touch\u{202E}")]))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    dialogs.agree()
    #expect(await outcome == "passphrase")
    #expect(dialogs.shown[0].details == ["Site: example.com", "", "The system says: \"Touch\\u{202E}\""])
    #expect(dialogs.shown[0].agree == "Use passphrase" && !dialogs.shown[0].takesPassphrase)
    #expect(!dialogs.shown[0].isPresence, "no notification, which the desktop may hide")
    #expect(lines.all == [])
    await account.allEnded()
  }

  // Holds: ACCOUNT-5
  @Test func `on a page without room, the texts of PAM are cut to what fits`() throws {
    let (words, remarks) = (String(repeating: "\u{1F511}", count: 200), ["one", String(repeating: "%", count: 200)])
    for (size, count) in [(0, 0), (400, 6), (700, 10), (880, 14)] {
      var page = PromptText(UserPrompt(purpose: .signIn, rpID: "example.com"))
      page.headline = "Sign this message with your Algorand account?"
      page.details = (0..<count).map { _ in String(repeating: "x", count: size / count - 3) }
      for catalogue in [Catalogue.english, try .german()] {
        page.catalogue = catalogue
        for (question, remarks) in [(words, remarks), (words, []), (nil, remarks)] as [(String?, [String])] {
          let text = page.forAccount(question, remarks)
          _ = try AssuanLine.command("SETDESC", text.description)
          #expect(text.details.count <= WalletText.height + 2 && text.details.starts(with: page.details + [""]))
          #expect(text.details.last?.hasSuffix("\"...") == true, "the question, or the last remark")
          for next in [[], [.pam], [.fingerprint]] as [[VerificationMeans]] {
            page.means = next
            // A button of a desktop has room for that many characters.
            #expect(page.forAccount(question, remarks).agree.count <= 20 && page.forFinger(nil).agree.count <= 20)
          }
        }
      }
    }
  }

  // Holds: ACCOUNT-7
  @Test(arguments: [true, false])
  func `after a remark, a verification counts only if the page was open for half a second`(_ wasOpen: Bool) async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Touch"), .accepted], pauses: true))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    if wasOpen { clock.advance(by: UserPrompter.shortestReading) }
    account.resume()
    #expect(await outcome == (wasOpen ? "pam" : "passphrase"))
  }

  // Holds: ACCOUNT-7
  @Test(arguments: [true, false])
  func `the last remark before a verification takes nothing from the time of those before`(_ wasOpen: Bool) async {
    let messages: [AccountMessage] = [.says("Touch"), .says("Identified"), .accepted]
    let (dialogs, account) = (Typist(), ScriptedAccount(messages, pauses: true))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    if wasOpen { clock.advance(by: UserPrompter.shortestReading) }
    account.resume()
    #expect(await outcome == (wasOpen ? "pam" : "passphrase"))
  }

  // Holds: ACCOUNT-7
  @Test func `what one conversation showed does not count for the next`() async {
    let first: [AccountMessage] = [.says("Touch"), .says("Wrong"), .wrong]
    let (dialogs, account) = (Typist(), ScriptedAccount(first, [.says("Identified"), .accepted], pauses: true))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    clock.advance(by: UserPrompter.shortestReading)
    account.resume()
    #expect(await outcome == "passphrase")
    #expect(account.begun == 2)
  }

  // Holds: FINGER-15
  @Test func `a remark that was open does not verify if the screen is locked later`() async {
    let messages: [AccountMessage] = [.says("Touch"), .says("Identified"), .accepted]
    let (dialogs, account) = (Typist(), ScriptedAccount(messages, pauses: true))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    clock.advance(by: UserPrompter.shortestReading)
    screen.set(isLocked: true)
    account.resume()
    #expect(await outcome == "passphrase")
  }

  // Holds: ACCOUNT-4
  @Test func `a refusal counts while the screen is checked after a verification`() async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Touch"), .accepted], pauses: true))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    clock.advance(by: UserPrompter.shortestReading)
    screen.hang(true)
    account.resume()
    await screen.isAsked()
    dialogs.refuse()
    #expect(await outcome == "declined")
    screen.hang(false)
  }

  // Holds: FINGER-15, FINGER-16
  @Test(arguments: [true, false])
  func `after a remark, a verification does not count if the page may not be seen`(_ isLocked: Bool) async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Touch"), .accepted], pauses: true))
    if isLocked { screen.set(isLocked: true) } else { dialogs.isOfGNOME() }
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    clock.advance(by: UserPrompter.shortestReading)
    account.resume()
    #expect(await outcome == "passphrase")
    let words = "its stack decided without a question, and the request may not have been seen"
    #expect(lines.all == ["PAM cannot verify: \(words); see: man liquid-auth-pam"])
  }

  // Holds: FINGER-15, FINGER-16
  @Test func `an answer counts on a locked screen too, and in a dialog that can be queued`() async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Hello"), .asks("a"), .accepted]))
    screen.set(isLocked: true)
    dialogs.isOfGNOME()
    let prompter = prompter(dialogs, account)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "pam")
    #expect(lines.all == [])
  }

  // Holds: ACCOUNT-7
  @Test func `a verification does not count while another program takes the place of one that failed`() async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Touch"), .accepted], pauses: true))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    clock.advance(by: UserPrompter.shortestReading)
    dialogs.isGone()
    account.resume()
    #expect(await outcome == "passphrase")
  }

  // Holds: ACCOUNT-9
  @Test func `wrong answers count over requests, until the passphrase verifies`() async {
    let wrong: [AccountMessage] = [.asks("a"), .wrong]
    let (dialogs, account) = (Typist(), ScriptedAccount(wrong, wrong, wrong, wrong, wrong, [.asks("a"), .accepted]))
    let prompter = prompter(dialogs, account)
    dialogs.refusesPassphrase(true)
    for left in [5, 3] {
      #expect(await prompter.outcome(of: prompt(), verification: true) == "declined")
      #expect(prompter.verificationTriesLeft == left)
    }
    #expect(
      dialogs.shown.map(\.remark) == [
        nil, "Wrong answer, 2 tries left", "Wrong answer, 1 try left", "The system did not verify you",
        nil, "Wrong answer, 1 try left", "The system did not verify you",
      ])
    dialogs.refusesPassphrase(false)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    #expect(account.begun == 5 && prompter.verificationTriesLeft == 8)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "pam")
    #expect(account.begun == 6)
    await account.allEnded()
  }

  // Holds: ACCOUNT-9
  @Test func `each error of a stack that reads fingers counts over requests`() async {
    let wrong = AccountMessage.reports("Failed to match")
    let second = [wrong, wrong, .asks("a"), .accepted]
    let account = ScriptedAccount([.says("Touch"), wrong, wrong, wrong, .wrong], second, pauses: true)
    let dialogs = Typist()
    let prompter = prompter(dialogs, account)
    dialogs.refusesPassphrase(true)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialogs.shows(1)
    clock.advance(by: UserPrompter.shortestReading)
    account.resume()
    #expect(await outcome == "declined")
    #expect(prompter.verificationTriesLeft == 5)
    #expect(dialogs.shown.last?.remark == "The system did not verify you")
    #expect(await prompter.outcome(of: prompt(), verification: true) == "declined")
    #expect(prompter.verificationTriesLeft == 3 && account.answers == [])
    #expect(dialogs.shown.last?.remark == "The system did not verify you")
    #expect(await prompter.outcome(of: prompt(), verification: true) == "declined")
    #expect(prompter.verificationTriesLeft == 3 && account.begun == 2)
    #expect(lines.all == [])
    await account.allEnded()
  }

  // Holds: ACCOUNT-9
  @Test(arguments: ["declined", "cancelled"])
  func `a wrong finger counts also if the request ends before PAM has decided`(_ end: String) async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.reports("Failed to match")], [.asks("a"), .accepted]))
    let prompter = prompter(dialogs, account)
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialogs.shows(1)
    if end == "declined" { dialogs.refuse() } else { asking.cancel() }
    #expect(await asking.value == end)
    #expect(prompter.verificationTriesLeft == 7)
    await account.allEnded()
  }

  // Holds: ACCOUNT-9
  @Test func `an error after an answer is not another try, and a verification gives the tries back`() async {
    let last: [AccountMessage] = [.reports("no"), .asks("a"), .reports("expires soon"), .accepted]
    let (dialogs, account) = (Typist(), ScriptedAccount([.asks("a"), .reports("no"), .wrong], last))
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    #expect(await outcome == "pam")
    #expect(prompter.verificationTriesLeft == 8)
    let entries = dialogs.shown.filter(\.takesPassphrase)
    #expect(entries.map(\.remark) == [nil, "Wrong answer, 2 tries left"])
  }

  // Holds: ACCOUNT-9
  @Test func `a wrong try counts also if the page may not have been seen`() async {
    let (dialogs, account) = (Typist(), ScriptedAccount([.says("Touch"), .wrong]))
    screen.set(isLocked: true)
    let prompter = prompter(dialogs, account)
    dialogs.refusesPassphrase(true)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "declined")
    #expect(prompter.verificationTriesLeft == 7)
  }

  // Holds: ACCOUNT-9
  @Test func `a request that waited does not ask PAM after the tries are used up`() async {
    let verifier = self.verifier
    for _ in 0..<4 { verifier.count(.pam, isRight: false) }
    let wrong: [AccountMessage] = [.asks("a"), .wrong]
    let (dialogs, account) = (Typist(["never"]), ScriptedAccount([.asks("a")], wrong, wrong))
    let prompter = UserPrompter(testing: dialogs, verifier: verifier, clock: clock, converse: account.converse)
    let first = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialogs.shows(1)
    let later = (0..<2).map { _ in Task { await prompter.outcome(of: prompt(), verification: true) } }
    dialogs.refusesPassphrase(true)
    await eventually { prompter.turns.waitingCount == 2 }
    first.cancel()
    #expect(await first.value == "cancelled")
    for task in later { #expect(await task.value == "declined") }
    #expect(account.begun == 2 && prompter.verificationTriesLeft == 3)
  }

  // Holds: ACCOUNT-9
  @Test func `an answer counts also if the client withdraws the request before PAM has decided`() async {
    let (dialogs, account) = (Typist(["guess"]), ScriptedAccount([.asks("a")], [.asks("a"), .accepted]))
    let prompter = prompter(dialogs, account)
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await eventually { account.answers == ["guess"] }
    #expect(dialogs.closings == 0, "a terminal shows nothing that is typed until PAM has decided")
    asking.cancel()
    #expect(await asking.value == "cancelled")
    #expect(dialogs.closings == 1 && prompter.verificationTriesLeft == 7)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "pam")
    #expect(prompter.verificationTriesLeft == 8)
    await account.allEnded()
  }

  // Holds: ACCOUNT-7
  @Test(arguments: [AccountMessage.accepted, .wrong])
  func `a stack that asks and says nothing verifies nobody`(_ message: AccountMessage) async {
    let (dialogs, account) = (Typist(), ScriptedAccount([message], [message]))
    let prompter = prompter(dialogs, account)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    #expect(account.begun == 1)
    let words = """
      PAM cannot verify: its stack decided without a question or a message, so the request was not shown; see: \
      /etc/pam.d/liquid-auth
      """
    #expect(lines.all == [words])
    #expect(await prompter.problems(of: [.pam]).map(\.text) == [words])
    #expect(await prompter.problems(of: [.fingerprint]) == [])
  }

  // Holds: ACCOUNT-5
  @Test func `after an empty or too long answer, the question is asked again`() async {
    let dialogs = Typist(["", String(repeating: "a", count: 512), String(repeating: "b", count: 511)])
    let account = ScriptedAccount([.asks("a"), .accepted])
    let prompter = prompter(dialogs, account)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    for number in 1...2 {
      await clock.sleeper(until: UserPrompter.shortestReading * number)
      clock.advance(by: UserPrompter.shortestReading)
    }
    #expect(await outcome == "pam")
    #expect(dialogs.shown.map(\.remark) == [nil, "No answer entered", "The answer is too long"])
    #expect(account.answers == [String(repeating: "b", count: 511)])
  }

  // Holds: ACCOUNT-7
  @Test func `too many questions end the conversation`() async {
    let account = ScriptedAccount(Array(repeating: .asks("a"), count: 33) + [.accepted])
    let prompter = prompter(Typist(), account)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    #expect(account.answers.count == 32)
    #expect(lines.all == ["PAM cannot verify: it sends too many questions and messages"])
    await account.allEnded()
  }

  // Holds: FINGER-8
  @Test func `each means is tried in its order, and the passphrase is the last`() async {
    let noReader: UserPrompter.ReadFingers = { _ in .failure(.failed("there is no reader")) }
    let none = prompter(Typist(), ScriptedAccount(), readFingers: noReader)
    #expect(await none.outcome(of: prompt([.pam, .fingerprint]), verification: true) == "passphrase")
    let failures = [
      "PAM cannot verify: nothing listens at its socket", "a fingerprint cannot verify: there is no reader",
    ]
    #expect(lines.all == failures)
    #expect(await none.problems(of: [.pam, .fingerprint]).map(\.text) == failures)

    let noFinger: UserPrompter.ReadFingers = { _ in .failure(.noFinger) }
    let unenrolled = prompter(Typist(), ScriptedAccount(), readFingers: noFinger)
    #expect(await unenrolled.outcome(of: prompt([.fingerprint]), verification: true) == "passphrase")
    #expect(await unenrolled.problems(of: [.fingerprint]).map(\.remedy) == [Remedy(["fprintd-enroll"])])

    let dialogs = Typist()
    let second = prompter(dialogs, ScriptedAccount([.asks("a"), .accepted]), readFingers: noReader)
    #expect(await second.outcome(of: prompt([.fingerprint, .pam]), verification: true) == "pam")
    #expect(await second.problems(of: [.pam]) == [])

    let match: UserPrompter.ReadFingers = { _ in .success(.match) }
    let account = ScriptedAccount([.asks("a"), .accepted])
    let first = prompter(Typist(), account, readFingers: match)
    #expect(await first.outcome(of: prompt([.fingerprint, .pam]), verification: true) == "fingerprint")
    #expect(account.begun == 0)
  }
}

@Test func `without systemd, PAM is not an option, and no command of systemd is named`() {
  #expect(
    HelperProcess.noAccountService(hasSystemd: true).description
      == "nothing listens at the socket of liquid-auth-pam; start it with: systemctl --user start liquid-auth-pam.socket"
  )
  #expect(
    HelperProcess.noAccountService(hasSystemd: false).description
      == "verification by PAM needs a user service of systemd, and this machine does not run systemd; use fingerprint or "
      + "passphrase")
  let missing = ProtectorFailure(.noService, "")
  #expect(
    HelperProcess.startingAccountService(after: missing, hasSystemd: true)
      == ["systemctl", "--user", "start", "liquid-auth-pam.socket"])
  #expect(HelperProcess.startingAccountService(after: missing, hasSystemd: false) == nil)
  #expect(HelperProcess.startingAccountService(after: ProtectorFailure(.failed, ""), hasSystemd: true) == nil)
}
