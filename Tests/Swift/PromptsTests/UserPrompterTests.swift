import CTAP2
import CTAPHID
import ControlProtocol
import CryptoPrimitives
import EventLoopTests
import HelperProcess
import Messages
import Synchronization
import TestSupport
import Testing

@testable import Prompts

/// A user who answers each dialog when the test does.
private final class SlowBackEnd: PromptBackEnd {
  private let (answers, answering) = AsyncStream.makeStream(of: Bool.self)
  private let dialogs = Mutex((open: 0, most: 0, shown: [String]()))

  let report = PromptReport(.terminal)
  /// The largest number of dialogs open at once.
  var most: Int { dialogs.withLock { $0.most } }
  /// The headlines shown, in order.
  var shown: [String] { dialogs.withLock { $0.shown } }

  /// Agrees to a dialog, with the passphrase where it asks for one; or refuses it.
  func answer(_ agrees: Bool = true) { answering.yield(agrees) }
  /// Waits until `count` dialogs were shown.
  func shows(_ count: Int) async { while shown.count < count { await Task.yield() } }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    dialogs.withLock { dialogs in
      dialogs.shown.append(dialog.headline)
      dialogs.open += 1
      dialogs.most = max(dialogs.most, dialogs.open)
    }
    defer { dialogs.withLock { $0.open -= 1 } }
    for await agrees in answers {
      guard agrees else { throw .noAnswer(.declined) }
      return dialog.takesPassphrase ? .typed(secret("right")) : .agreed
    }
    throw .noAnswer(.cancelled)
  }
}

private let signIn = UserPrompt(purpose: .signIn, rpID: "example.com")
private let select = UserPrompt(purpose: .select)

/// One request at a time, from any caller.
struct PromptQueueTests {
  private let slow = SlowBackEnd()
  private let clock = ManualClock()

  @Test func `a second dialog waits for the first`() async throws {
    let prompter = UserPrompter(testing: slow)
    let opened = Lines()
    prompter.observe { opened.add("opened") }
    let first = Task { try await prompter.confirm(select) }
    await slow.shows(1)
    let second = Task {
      try await prompter.passphrase(.unlock()) { typed, _ in
        typed.count == 5 ? PassphraseVerdict<Int>.accepted(7) : .ended(.declined)
      }
    }
    #expect(prompter.isAsking)
    #expect(opened.all == ["opened"])
    slow.answer()
    await slow.shows(2)
    #expect(prompter.isAsking)
    #expect(opened.all == ["opened", "opened"])
    slow.answer()
    try await first.value
    #expect(try await second.value == 7)
    #expect(slow.most == 1 && slow.shown.count == 2)
    #expect(!prompter.isAsking)
  }

  @Test func `a request cancelled while it waits shows no dialog`() async throws {
    let prompter = UserPrompter(testing: slow)
    let first = Task { try await prompter.confirm(select) }
    await slow.shows(1)
    let second = Task { try await prompter.confirm(select) }
    second.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await second.value }
    slow.answer()
    try await first.value
    #expect(slow.shown.count == 1)
  }

  // Holds: WALLET-11
  @Test(arguments: [false, true])
  func `dialogs of one request are not interrupted by another request`(verifies: Bool) async throws {
    let prompter = UserPrompter(testing: slow, verifier: verifier(knowing: "right"), clock: clock)
    let payment = UserPrompt.TransactionText(
      kind: Message(verbatim: "payment"), lines: verbatim(["Amount: 1"]), isToBeSigned: true)
    let group = UserPrompt.TransactionTexts(
      each: NonEmpty([payment, payment], last: payment), isGroup: true, common: [], inShort: verbatim(["You send: 3"]))
    let signing = Task {
      await prompter.outcome(of: UserPrompt(purpose: .wallet(.signTransactions(group))), verification: verifies)
    }
    await slow.shows(1)
    let other = Task { try await prompter.confirm(select) }
    for count in 1...4 {
      await slow.shows(count)
      clock.advance(by: UserPrompter.shortestReading)
      slow.answer()
    }
    #expect(await signing.value == (verifies ? "passphrase" : "present"))
    try await other.value
    #expect(
      slow.shown == (1...3).map { "Sign these 3 transactions? (part \($0) of 3)" }
        + ["Is this the authenticator you mean?"])
    #expect(slow.most == 1)
  }
}

/// The other requests, beside one whose client gets keepalives.
private final class OtherRequests: Sendable {
  private let isThere = Atomic(false)

  /// From now on, another request waits.
  func come() { isThere.store(true, ordering: .relaxed) }

  /// The origin of the one.
  var origin: RequestOrigin {
    let status = RequestStatus(report: { _ in }, isAwaited: { self.isThere.load(ordering: .relaxed) })
    return RequestOrigin(door: .device(node: nil), status: status)
  }
}

/// The time limits of prompts, and the status that the client gets meanwhile.
struct PromptTimeTests {
  private let slow = SlowBackEnd()
  private let clock = ManualClock()

  private var prompter: UserPrompter {
    UserPrompter(testing: slow, verifier: verifier(knowing: "right"), clock: clock)
  }

  private func outcome(
    of purpose: UserPrompt.Purpose = .select, verification: Bool = false, from origin: RequestOrigin? = nil
  ) async -> String {
    await prompter.outcome(of: UserPrompt(purpose: purpose), verification: verification, from: origin)
  }

  @Test func `an answer in time counts, and leaves no sleeping task`() async {
    slow.answer()
    #expect(await outcome() == "present")
    slow.answer()
    #expect(await outcome(verification: true) == "passphrase")
    slow.answer(false)
    #expect(await outcome() == "declined")
    #expect(clock.sleeperCount == 0)
  }

  private static func signing(lines: Int) -> UserPrompt.Purpose {
    let text = UserPrompt.TransactionText(
      kind: Message(verbatim: "payment"), lines: verbatim(Array(repeating: "Label: value", count: lines)),
      isToBeSigned: true)
    return .wallet(.signTransactions(.init(each: NonEmpty(last: text), isGroup: false, common: [], inShort: [])))
  }

  static let ofWallets: [UserPrompt.Purpose] = [
    signing(lines: 1), .wallet(.signMessage("a")), .wallet(.showPasskey),
    .wallet(.signAssociation(publicUserID: "a", data: "d", service: "s")),
  ]

  // Holds: WALLET-11
  @Test(arguments: ofWallets)
  func `a wallet's prompt has ten minutes in all`(_ purpose: UserPrompt.Purpose) async {
    let asked = Task { await outcome(of: purpose, verification: true) }
    await clock.sleeper(until: .seconds(600))
    await clock.sleeper(until: .seconds(120))
    clock.advance(by: .milliseconds(119_999))
    slow.answer()
    #expect(await asked.value == "passphrase")
    #expect(clock.sleeperCount == 0)
  }

  @Test func `each dialog of a wallet's prompt has two minutes`() async {
    let asked = Task { await outcome(of: .wallet(.showPasskey)) }
    await clock.sleepers(2)
    clock.advance(by: .seconds(120))
    #expect(await asked.value == "timedOut")
    #expect(clock.sleeperCount == 0)
  }

  // Holds: WALLET-9
  /// Pages have 13 lines besides the dApp's: the first line is the kind, and the last page is the summary.
  @Test(arguments: [(13 * 19 - 1, 20), (13 * 19, 21), (13 * 39 - 1, 40)])
  func `a prompt of more than twenty pages has half a minute for each page`(lines: Int, pages: Int) async {
    let asked = Task { await outcome(of: Self.signing(lines: lines)) }
    for page in 1..<pages {
      await slow.shows(page)
      clock.advance(by: .seconds(30))
      slow.answer()
    }
    await slow.shows(pages)
    await clock.sleeper(until: .seconds(30 * pages))
    clock.advance(by: .seconds(30) - .milliseconds(1))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await asked.value == "timedOut")
    #expect(slow.shown.count == pages)
  }

  // Holds: MC-15, TIME-1
  @Test func `a prompt without an answer times out after 30 s`() async {
    let asked = Task { await outcome() }
    await clock.sleepers(1)
    clock.advance(by: .milliseconds(29_999))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await asked.value == "timedOut")
  }

  /// Asks for a client that gets keepalives.
  private func ask(beside others: OtherRequests) -> Task<String, Never> {
    Task { await outcome(from: others.origin) }
  }

  // Holds: TIME-1
  @Test func `a prompt whose client waits stays for ten minutes`() async {
    let asked = ask(beside: OtherRequests())
    await clock.sleeper(until: .seconds(30))
    clock.advance(by: .seconds(30))
    await clock.sleeper(until: .seconds(31))
    clock.advance(by: .milliseconds(569_999))
    await clock.sleeper(until: .seconds(600))
    #expect(slow.shown.count == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await asked.value == "timedOut")
  }

  // Holds: TIME-1
  @Test(arguments: [true, false])
  func `another request ends a prompt whose client waits, but not within half a minute`(comesLater: Bool) async {
    let others = OtherRequests()
    if !comesLater { others.come() }
    let asked = ask(beside: others)
    await clock.sleeper(until: .seconds(30))
    clock.advance(by: .milliseconds(29_999))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .milliseconds(1))
    if comesLater {
      await clock.sleeper(until: .seconds(31))
      others.come()
      clock.advance(by: .seconds(1))
    }
    #expect(await asked.value == "timedOut")
    #expect(clock.sleeperCount == 0)
  }

  @Test func `another request ends an unlocking, but not within two minutes`() async {
    let prompter = prompter
    let others = OtherRequests()
    others.come()
    let asked = Task { () async -> UserInteractionError? in
      let dialog = PromptText.unlock().asked(from: others.origin)
      do throws(UserInteractionError) {
        try await prompter.passphrase(dialog) { _, _ in PassphraseVerdict<Void>.accepted(()) }
        return nil
      } catch {
        return error
      }
    }
    await clock.sleeper(until: .seconds(120))
    clock.advance(by: .milliseconds(119_999))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await asked.value == .timedOut)
  }

  @Test func `a prompt that waits for its turn times out too`() async {
    let prompter = prompter
    let first = Task { try await prompter.passphrase(.unlock()) { _, _ in PassphraseVerdict<Void>.accepted(()) } }
    await slow.shows(1)
    let second = Task { await prompter.outcome(of: select) }
    await clock.sleeper(until: UserPrompter.presence)
    clock.advance(by: UserPrompter.presence)
    #expect(await second.value == "timedOut")
    first.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await first.value }
    #expect(slow.shown.count == 1)
  }

  @Test func `a withdrawn request ends as cancelled, not as timed out`() async {
    let asked = Task { await outcome() }
    await clock.sleepers(1)
    asked.cancel()
    #expect(await asked.value == "cancelled")
    #expect(clock.sleeperCount == 0)
  }

  // Holds: HID-24
  @Test func `the status is "waiting for the user" exactly while a prompt is open`() async {
    let (statuses, report) = AsyncStream.makeStream(of: KeepaliveStatus.self)
    slow.answer()
    slow.answer(false)
    let origin = RequestOrigin(door: .device(node: nil), status: RequestStatus { report.yield($0) })
    #expect(await outcome(from: origin) == "present")
    #expect(await outcome(from: origin) == "declined")
    report.finish()
    var told: [KeepaliveStatus] = []
    for await status in statuses { told.append(status) }
    #expect(told == [.upNeeded, .processing, .upNeeded, .processing])
  }
}

/// Requests that may have gone to other security keys as well.
struct PromptsBesideOtherKeysTests {
  static let directed: [UserPrompt.Purpose] = [
    .setPIN, .authorize(.credentialManagement), .change(.alwaysUV(true)), .reset(importedPasskeys: 0),
    .export(passkeys: 1, sites: nil),
  ]
  static let broadcast: [UserPrompt.Purpose] = [
    .select, .register, .alreadyRegistered, .signIn, .registerSecondFactor, .signInSecondFactor,
  ]

  /// Dialogs that keep their text and are refused or agreed to at once.
  private struct Dialogs: PromptBackEnd {
    let report = PromptReport(.terminal)
    let refuses: Bool
    let shown = Lines()

    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
      shown.add(dialog.description)
      if refuses { throw .noAnswer(.declined) }
      return dialog.takesPassphrase ? .typed(secret("right")) : .agreed
    }
  }

  let clock = ManualClock()

  private func prompter(_ backEnd: Dialogs, _ others: [String] = ["Example Key"]) -> UserPrompter {
    UserPrompter(testing: backEnd, others: others, clock: clock)
  }

  private func unlocking(_ backEnd: Dialogs, _ verdict: PassphraseVerdict<Void>) async -> UserInteractionError? {
    let text = PromptText.unlock(for: .prompt(signIn))
    do throws(UserInteractionError) {
      try await prompter(backEnd).passphrase(text) { _, _ in verdict }
    } catch {
      return error
    }
    return nil
  }

  @Test func `a selection dialog asks which key to use, and names the other`() async {
    let backEnd = Dialogs(refuses: false)
    #expect(await prompter(backEnd).outcome(of: select) == "present")
    #expect(
      backEnd.shown.all == [
        """
        Is this the authenticator you mean?

        A site or a program asks which of your security keys to use.
        This does not sign you in.
        Also plugged in: "Example Key"
        To use another key instead, touch it.
        """
      ])
  }

  @Test func `names of other keys are escaped, at most three`() async {
    #expect(
      PromptPages(signIn, beside: ["a\nSite: bank.example", "b", "c", "d"]).last.details == [
        "Site: example.com", #"Also plugged in: "a\u{A}Site: bank.example""#, #"Also plugged in: "b""#,
        #"Also plugged in: "c""#, "To use another key instead, touch it.",
      ])
  }

  // Holds: MGMT-31
  @Test(arguments: broadcast)
  func `a refusal beside another key is held back until the client withdraws the request`(
    _ purpose: UserPrompt.Purpose
  ) async {
    let asked = Task { await prompter(Dialogs(refuses: true)).outcome(of: UserPrompt(purpose: purpose)) }
    await clock.sleepers(2)
    asked.cancel()
    #expect(await asked.value == "cancelled")
    #expect(clock.sleeperCount == 0)
  }

  @Test func `other dialogs are shown while a refusal is held back`() async throws {
    let prompter = prompter(Dialogs(refuses: true))
    let asked = (0..<2).map { _ in Task { await prompter.outcome(of: select) } }
    await clock.sleepers(4)
    #expect(!prompter.isAsking)
    clock.advance(by: .seconds(30))
    for refusal in asked { #expect(await refusal.value == "timedOut") }
  }

  // Holds: MGMT-31
  @Test func `a refusal beside another key is held back until the timeout`() async {
    let backEnd = Dialogs(refuses: true)
    let asked = Task { await unlocking(backEnd, .accepted(())) }
    await clock.sleeper(until: .seconds(30))
    clock.advance(by: .seconds(30))
    #expect(await asked.value == .timedOut)
    #expect(backEnd.shown.all.first?.contains("Also plugged in: \"Example Key\"") == true)
  }

  @Test func `a vault that stays locked beside another key is held back like a refusal`() async {
    let asked = Task { await unlocking(Dialogs(refuses: false), .ended(.wrongPassphrase)) }
    await clock.sleeper(until: .seconds(30))
    clock.advance(by: .seconds(30))
    #expect(await asked.value == .timedOut)
  }

  // Holds: POLICY-3
  @Test(arguments: broadcast)
  func `a refusal by policy shows no dialog, and beside another key waits like a refusal in a dialog`(
    _ purpose: UserPrompt.Purpose
  ) async {
    let backEnd = Dialogs(refuses: false)
    let prompt = UserPrompt(purpose: purpose)
    #expect(await prompter(backEnd, []).refuse(prompt, from: nil) == .declined)
    let refused = Task { await prompter(backEnd).refuse(prompt, from: nil) }
    await clock.sleeper(until: .seconds(30))
    clock.advance(by: .seconds(30))
    #expect(await refused.value == .timedOut)
    let withdrawn = Task { await prompter(backEnd).refuse(prompt, from: nil) }
    await clock.sleepers(1)
    withdrawn.cancel()
    #expect(await withdrawn.value == .cancelled)
    #expect(clock.sleeperCount == 0 && backEnd.shown.all.isEmpty)
  }

  @Test(arguments: broadcast)
  func `without another key, a refusal is answered at once`(_ purpose: UserPrompt.Purpose) async {
    let backEnd = Dialogs(refuses: true)
    let prompt = UserPrompt(purpose: purpose)
    #expect(await prompter(backEnd, []).outcome(of: prompt) == "declined")
    #expect(backEnd.shown.all == [PromptText(prompt).description])
  }

  // Holds: HYBRID-2
  @Test(arguments: [Door.controlSocket(process: 1), .anotherComputer(process: 1)])
  func `no other key is named to a program or another computer, and a refusal is answered at once`(
    _ door: Door
  ) async {
    let backEnd = Dialogs(refuses: true)
    let origin = RequestOrigin(door: door)
    #expect(await prompter(backEnd).outcome(of: signIn, from: origin) == "declined")
    #expect(await prompter(backEnd).refuse(signIn, from: origin) == .declined)
    let unlocking = PromptText.unlock(for: .prompt(signIn)).asked(from: origin)
    await #expect(throws: UserInteractionError.declined) { try await prompter(backEnd).agreement(to: unlocking) }
    #expect(backEnd.shown.all.count == 2 && backEnd.shown.all.allSatisfy { !$0.contains("plugged in") })
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: directed)
  func `a refusal of a request meant for this key only is answered at once`(_ purpose: UserPrompt.Purpose) async {
    let backEnd = Dialogs(refuses: true)
    let prompt = UserPrompt(purpose: purpose)
    #expect(await prompter(backEnd).outcome(of: prompt) == "declined")
    #expect(backEnd.shown.all == [PromptText(prompt).description])
  }
}
