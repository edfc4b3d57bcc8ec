import CTAP2
import CTAPHID
import ControlProtocol
import EventLoopTests
import Fingerprint
import HelperProcess
import ProcessIO
import Recovery
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import Prompts

/// A dialog that stays open until it is withdrawn, or gets the answer of the test.
private final class OpenDialog: PromptBackEnd {
  private struct State {
    var opening = 0
    var dialogs: [PromptText] = []
    var answer: Bool?
    /// Whether `open` waits.
    var isHeld = false
    var isOpen = true
    var refusesPassphrase = false
    var canBeQueued = false
  }

  private let state = Mutex(State())

  let report = PromptReport(.terminal)
  var canBeQueued: Bool { state.withLock { $0.canBeQueued } }
  /// How many dialogs the prompter has begun to open.
  var opening: Int { state.withLock { $0.opening } }
  /// The dialogs that were shown, in order.
  var shown: [PromptText] { state.withLock { $0.dialogs } }
  var isOpen: Bool { state.withLock { $0.isOpen } }

  func answer(_ agrees: Bool) { state.withLock { $0.answer = agrees } }
  func refusesPassphrase(_ refuses: Bool) { state.withLock { $0.refusesPassphrase = refuses } }
  func isOfGNOME() { state.withLock { $0.canBeQueued = true } }
  func hold(_ holds: Bool) { state.withLock { $0.isHeld = holds } }
  func isGone(_ gone: Bool) { state.withLock { $0.isOpen = !gone } }
  func opens(_ count: Int) async { await eventually { self.opening >= count } }
  func shows(_ count: Int) async { await eventually { self.shown.count >= count } }

  func open(_ dialog: PromptText) async throws(PromptFailure) {
    state.withLock { $0.opening += 1 }
    await eventually { Task.isCancelled || !self.state.withLock { $0.isHeld } }
  }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    state.withLock { $0.dialogs.append(dialog) }
    if dialog.takesPassphrase {
      guard !state.withLock({ $0.refusesPassphrase }) else { throw .noAnswer(.declined) }
      return .typed(secret("right"))
    }
    await eventually { Task.isCancelled || self.state.withLock { $0.answer != nil } }
    switch state.withLock({ $0.answer.take() }) {
    case true?: return .agreed
    case false?: throw .noAnswer(.declined)
    case nil: throw .noAnswer(.cancelled)
    }
  }
}

/// A reader whose results come from the test; it counts how often it was started and ended.
private final class ScriptedReader: Sendable {
  private struct State {
    var results: [FingerprintResult] = []
    var failure: FingerprintFailure?
    var hangs = false
    var started = 0
    var ended = 0
    var freed = 0
    var isClaimedLate = false
  }

  private let state = Mutex(State())
  /// As ``FingerprintReader/free()``.
  func free() -> Bool {
    state.withLock { state in
      state.freed += 1
      return state.isClaimedLate
    }
  }
  /// How often it was tried to free the reader.
  var triesToFree: Int { state.withLock { $0.freed } }
  func freed(_ count: Int) async { await eventually { self.triesToFree >= count } }
  func isClaimedLate(_ late: Bool) { state.withLock { $0.isClaimedLate = late } }
  var counts: (started: Int, ended: Int) { state.withLock { ($0.started, $0.ended) } }

  func put(_ result: FingerprintResult) { state.withLock { $0.results.append(result) } }
  func fail(_ words: String) { state.withLock { $0.failure = .failed(words) } }
  /// Sets whether waits hang, even after a cancellation.
  func hang(_ hangs: Bool) { state.withLock { $0.hangs = hangs } }
  func started(_ count: Int) async { await eventually { self.counts.started >= count } }
  func ended(_ count: Int) async { await eventually { self.counts.ended >= count } }

  /// As ``FingerprintReader/read(_:)``.
  func read(_ cancellation: Cancellation) -> Result<FingerprintResult, FingerprintFailure> {
    state.withLock { $0.started += 1 }
    defer { state.withLock { $0.ended += 1 } }
    while true {
      let (result, failure, hangs) = state.withLock { state in
        (
          state.hangs || state.results.isEmpty ? nil : state.results.removeFirst(), state.failure, state.hangs
        )
      }
      if let result { return .success(result) }
      if let failure { return .failure(failure) }
      let event = cancellation.wait(for: -1, 0, until: .now + .milliseconds(1))
      if event == .cancelled, !hangs { return .failure(.cancelled) }
    }
  }
}

/// Verification by a finger, with dialogs and a reader of the test.
struct FingerPromptTests {
  private let dialog = OpenDialog()
  private let reader = ScriptedReader()
  private let screen = ScriptedScreen(isLocked: false)
  private let clock = ManualClock()

  private var verifier: PassphraseVerifier {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    return verifier
  }

  private func prompt(_ purpose: UserPrompt.Purpose = .signIn) -> UserPrompt {
    var prompt = UserPrompt(purpose: purpose, rpID: "example.com")
    prompt.means = [.fingerprint]
    return prompt
  }

  private func prompter(_ lines: Lines = Lines()) -> UserPrompter {
    UserPrompter(
      testing: dialog, verifier: verifier, clock: clock, log: lines.add,
      readFingers: reader.read, freeReader: reader.free, screen: screen)
  }

  // Holds: FINGER-2
  @Test func `a finger agrees to the page that is shown, and verifies`() async throws {
    let prompter = prompter()
    async let confirmation = prompter.confirm(prompt(), verification: true)
    await dialog.shows(1)
    reader.put(.match)
    #expect(try await confirmation.verification == .fingerprint)
    #expect(
      dialog.shown.map(\.details) == [["Site: example.com", "", "Touch the fingerprint reader to agree."]])
    #expect(dialog.shown.map(\.agree) == ["Use passphrase"])
    #expect(reader.counts == (1, 1))
  }

  // Holds: FINGER-3
  @Test func `three fingers that do not match leave only the passphrase`() async throws {
    let prompter = prompter()
    async let confirmation = prompter.confirm(prompt(), verification: true)
    for number in 1...3 {
      await dialog.shows(number)
      reader.put(.noMatch)
    }
    #expect(try await confirmation.verification == .passphrase)
    #expect(
      dialog.shown.map { $0.details.last ?? "" } == [
        "Touch the fingerprint reader to agree.", "The finger was not recognized, 2 tries left.",
        "The finger was not recognized, 1 try left.", "Site: example.com",
      ])
    #expect(dialog.shown.last?.remark == "The finger was not recognized")
  }

  // Holds: FINGER-7
  @Test func `a finger that is on the reader does not agree to a page that must be read`() async throws {
    let prompter = prompter()
    reader.put(.match)
    async let confirmation = prompter.confirm(prompt(.reset(importedPasskeys: 0)), verification: true)
    await dialog.shows(1)
    await clock.sleeper(until: UserPrompter.shortestReading)
    #expect(reader.counts.started == 0, "the reader starts when the page has been open long enough")
    clock.advance(by: UserPrompter.shortestReading)
    #expect(try await confirmation.userVerified)
  }

  // Holds: FINGER-9
  @Test(arguments: [UserPrompt.Purpose.signIn, .reset(importedPasskeys: 0)])
  func `a finger does not agree to a dialog that is not open yet`(_ purpose: UserPrompt.Purpose) async throws {
    let prompter = prompter()
    dialog.hold(true)
    reader.put(.match)
    async let confirmation = prompter.confirm(prompt(purpose), verification: true)
    await dialog.opens(1)
    clock.advance(by: UserPrompter.shortestReading)
    try await Task.sleep(for: .seconds(1))
    #expect(reader.counts.started == 0)
    dialog.hold(false)
    await dialog.shows(1)
    if purpose != .signIn { await clock.sleeper(until: UserPrompter.shortestReading * 2) }
    #expect(purpose == .signIn || reader.counts.started == 0, "the half second begins when the dialog is open")
    clock.advance(by: UserPrompter.shortestReading)
    #expect(try await confirmation.userVerified)
  }

  // Holds: FINGER-9
  @Test func `after a wrong finger, the next does not agree before the next dialog is open`() async throws {
    let prompter = prompter()
    async let confirmation = prompter.confirm(prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    dialog.hold(true)
    reader.put(.noMatch)
    reader.put(.match)
    await dialog.opens(2)
    try await Task.sleep(for: .seconds(1))
    #expect(reader.counts == (1, 1))
    dialog.hold(false)
    #expect(try await confirmation.verification == .fingerprint)
    #expect(reader.counts == (2, 2))
  }

  // Holds: FINGER-9
  @Test func `a finger does not agree while another program takes the place of one that failed`() async throws {
    let prompter = prompter()
    async let confirmation = prompter.confirm(prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    dialog.isGone(true)
    reader.put(.match)
    await dialog.shows(2)
    dialog.isGone(false)
    let touch = "Touch the fingerprint reader to agree."
    #expect(dialog.shown.map { $0.details.last } == [touch, touch])
    reader.put(.match)
    #expect(try await confirmation.userVerified)
    #expect(reader.counts == (2, 2))
  }

  // Holds: FINGER-14
  @Test func `wrong fingers count over requests, until the passphrase verifies`() async {
    let prompter = prompter()
    for (fingers, left) in [(3, 5), (2, 3)] {
      for _ in 0..<fingers { reader.put(.noMatch) }
      dialog.refusesPassphrase(true)
      #expect(await prompter.outcome(of: prompt(), verification: true) == "declined")
      #expect(prompter.verificationTriesLeft == left)
    }
    #expect(
      dialog.shown.compactMap { $0.details.last }.filter { $0.hasPrefix("The finger") } == [
        "The finger was not recognized, 2 tries left.", "The finger was not recognized, 1 try left.",
        "The finger was not recognized, 1 try left.",
      ])
    dialog.refusesPassphrase(false)
    let started = reader.counts.started
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    #expect(reader.counts.started == started)
    #expect(prompter.verificationTriesLeft == 8)
    reader.put(.match)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "fingerprint")
  }

  // Holds: FINGER-14
  @Test func `a wrong finger counts also after the client has withdrawn the request`() async {
    let prompter = prompter()
    reader.hang(true)
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialog.shows(1)
    await reader.started(1)
    asking.cancel()
    #expect(await asking.value == "cancelled")
    reader.put(.noMatch)
    reader.hang(false)
    await eventually { prompter.verificationTriesLeft == 7 }
  }

  // Holds: FINGER-12
  @Test(arguments: ["declined", "cancelled", "timedOut"])
  func `a reader that hangs delays no refusal, no cancellation and no time limit`(_ end: String) async {
    let prompter = prompter()
    reader.hang(true)
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialog.shows(1)
    await reader.started(1)
    switch end {
    case "declined": dialog.answer(false)
    case "cancelled": asking.cancel()
    default:
      await clock.sleeper(until: UserPrompter.presence)
      clock.advance(by: UserPrompter.presence)
    }
    #expect(await asking.value == end)
    #expect(reader.counts == (1, 0))
    reader.hang(false)
    await reader.ended(1)
  }

  // Holds: FINGER-4
  @Test func `a refusal ends the wait for a finger`() async {
    async let outcome = prompter().outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    dialog.answer(false)
    #expect(await outcome == "declined")
    await reader.ended(1)
  }

  // Holds: FINGER-4
  @Test func `a cancellation withdraws dialog and reader`() async {
    let prompter = prompter()
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialog.shows(1)
    await reader.started(1)
    asking.cancel()
    #expect(await asking.value == "cancelled")
    await reader.ended(1)
  }

  // Holds: FINGER-4
  @Test func `the wait ends with the time of the request`() async {
    let prompter = prompter()
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    await clock.sleeper(until: UserPrompter.presence)
    clock.advance(by: UserPrompter.presence)
    #expect(await outcome == "timedOut")
    await reader.ended(1)
  }

  // Holds: FINGER-4
  @Test func `after two minutes the reader is free, and the passphrase verifies`() async {
    let prompter = prompter()
    // Its client gets keepalives, so that the request has ten minutes.
    let origin = RequestOrigin(door: .device(node: nil), status: RequestStatus(report: { _ in }))
    let asking = Task { await prompter.outcome(of: prompt(), verification: true, from: origin) }
    await dialog.shows(1)
    await reader.started(1)
    await clock.sleeper(until: UserPrompter.answer)
    clock.advance(by: UserPrompter.answer)
    #expect(await asking.value == "passphrase")
    #expect(dialog.shown.last?.takesPassphrase == true)
    await reader.ended(1)
  }

  // Holds: FINGER-6
  @Test func `a reader that fails is logged, and the passphrase verifies`() async {
    let lines = Lines()
    let prompter = prompter(lines)
    reader.fail("there is no fingerprint reader")
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    #expect(dialog.shown.last?.takesPassphrase == true)
    #expect(lines.all == ["a fingerprint cannot verify: there is no fingerprint reader"])
    await reader.freed(1)
  }

  // Holds: FINGER-13
  @Test func `a reader that fprintd may claim late is released each half second, for a minute`() async {
    let prompter = prompter()
    reader.fail("fprintd did not answer; try again")
    reader.isClaimedLate(true)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    await eventually {
      // After the request, nothing else sleeps.
      if clock.sleeperCount > 0 { clock.advance(by: .milliseconds(500)) }
      return reader.triesToFree == 121
    }
  }

  // Holds: FINGER-15
  @Test func `while the screen is locked, no finger is read`() async {
    let prompter = prompter()
    screen.set(isLocked: true)
    reader.put(.match)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "passphrase")
    #expect(reader.counts.started == 0)
    #expect(dialog.shown.map(\.remark) == ["The screen was locked"])
    screen.set(isLocked: false)
    #expect(await prompter.outcome(of: prompt(), verification: true) == "fingerprint")
  }

  // Holds: FINGER-15
  @Test func `when the screen is locked, the wait for a finger ends`() async {
    let prompter = prompter()
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    screen.set(isLocked: true)
    #expect(await outcome == "passphrase")
    #expect(dialog.shown.last?.remark == "The screen was locked")
    await reader.ended(1)
  }

  // Holds: FINGER-15
  @Test(arguments: [true, nil])
  func `a match counts only if the screen is not locked then`(_ isLocked: Bool?) async {
    let lines = Lines()
    let prompter = prompter(lines)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    screen.set(isLocked: isLocked, isTold: false)
    reader.put(.match)
    #expect(await outcome == "passphrase")
    let words = "logind does not report whether the screen is locked; see: systemctl status systemd-logind"
    #expect(lines.all == (isLocked == nil ? ["a fingerprint cannot verify: \(words)"] : []))
  }

  // Holds: FINGER-4
  @Test func `a refusal counts while the screen is checked after a match`() async {
    let prompter = prompter()
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    screen.hang(true)
    reader.put(.match)
    await screen.isAsked()
    dialog.answer(false)
    #expect(await outcome == "declined")
    screen.hang(false)
  }

  // Holds: FINGER-9
  @Test func `a finger does not agree if the dialog is gone after the screen was checked`() async {
    let prompter = prompter()
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    screen.hang(true)
    reader.put(.match)
    await reader.ended(1)
    await screen.isAsked()
    dialog.isGone(true)
    screen.hang(false)
    await dialog.shows(2)
    #expect(!dialog.shown[1].takesPassphrase)
    dialog.answer(true)
    #expect(await outcome == "passphrase")
  }

  // Holds: FINGER-16
  @Test func `before a finger is read, a dialog that can be queued must be answered by its button`() async {
    dialog.isOfGNOME()
    let prompter = prompter()
    reader.put(.noMatch)
    async let outcome = prompter.outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    try? await Task.sleep(for: .seconds(1))
    #expect(reader.counts.started == 0)
    dialog.answer(true)
    await dialog.shows(3)
    reader.put(.match)
    #expect(await outcome == "fingerprint")
    #expect(dialog.shown.map(\.agree) == ["Use fingerprint", "Use passphrase", "Use passphrase"])
    #expect(
      dialog.shown.map(\.details.last) == [
        "Site: example.com", "Touch the fingerprint reader to agree.", "The finger was not recognized, 2 tries left.",
      ])
  }

  // Holds: FINGER-16
  @Test(arguments: ["declined", "cancelled", "timedOut"])
  func `the button of a dialog that can be queued may not be pressed`(_ end: String) async {
    dialog.isOfGNOME()
    let prompter = prompter()
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialog.shows(1)
    switch end {
    case "declined": dialog.answer(false)
    case "cancelled": asking.cancel()
    default:
      await clock.sleeper(until: UserPrompter.presence)
      clock.advance(by: UserPrompter.presence)
    }
    #expect(await asking.value == end)
    #expect(reader.counts.started == 0)
  }

  // Holds: FINGER-16
  @Test func `a button that was pressed before the page could be read starts no reader`() async {
    dialog.isOfGNOME()
    let prompter = prompter()
    async let outcome = prompter.outcome(of: prompt(.reset(importedPasskeys: 0)), verification: true)
    for number in 1...2 {
      await dialog.shows(number)
      if number == 2 { clock.advance(by: UserPrompter.shortestReading) }
      dialog.answer(true)
      if number == 1 {
        await clock.sleeper(until: UserPrompter.shortestReading)
        #expect(reader.counts.started == 0)
        clock.advance(by: UserPrompter.shortestReading)
      }
    }
    await dialog.shows(3)
    await clock.sleeper(until: UserPrompter.shortestReading * 3)
    clock.advance(by: UserPrompter.shortestReading)
    reader.put(.match)
    #expect(await outcome == "fingerprint")
    #expect(dialog.shown.map(\.agree) == ["Use fingerprint", "Use fingerprint", "Use passphrase"])
  }

  @Test func `without the setting, or for presence, no finger is read`() async {
    let prompter = prompter()
    #expect(await prompter.outcome(of: UserPrompt(purpose: .signIn), verification: true) == "passphrase")
    async let outcome = prompter.outcome(of: prompt())
    await dialog.shows(2)
    dialog.answer(true)
    #expect(await outcome == "present")
    #expect(reader.counts == (0, 0))
  }
}
