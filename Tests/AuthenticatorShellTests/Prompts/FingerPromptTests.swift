import CTAP2
import CTAPHID
import Fingerprint
import ProcessIO
import Recovery
import Synchronization
import Testing

@testable import liquid_authenticator

/// A dialog that stays open until it is withdrawn, or gets the answer of the test.
private final class OpenDialog: PromptBackEnd {
  private let state = Mutex((dialogs: [PromptText](), answer: Bool?.none))

  let name = "test"
  /// The dialogs that were shown, in order.
  var shown: [PromptText] { state.withLock { $0.dialogs } }

  func answer(_ agrees: Bool) { state.withLock { $0.answer = agrees } }
  func shows(_ count: Int) async { await wait { self.shown.count >= count } }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    state.withLock { $0.dialogs.append(dialog) }
    if dialog.takesPassphrase { return .typed(secret("right")) }
    await wait { Task.isCancelled || self.state.withLock { $0.answer != nil } }
    switch state.withLock({ $0.answer.take() }) {
    case true?: return .agreed
    case false?: throw .noAnswer(.declined)
    case nil: throw .noAnswer(.cancelled)
    }
  }
}

/// Waits for what another task does, and leaves the threads to it.
private func wait(until condition: () -> Bool) async {
  while !condition() { try? await Task.sleep(for: .milliseconds(1)) }
}

/// A reader whose fingers the test puts on; it counts how often it was started and ended.
private final class ScriptedReader: Sendable {
  private struct State {
    var results: [FingerprintResult] = []
    var failure: FingerprintFailure?
    var started = 0
    var ended = 0
  }

  private let state = Mutex(State())
  var counts: (started: Int, ended: Int) { state.withLock { ($0.started, $0.ended) } }

  func put(_ result: FingerprintResult) { state.withLock { $0.results.append(result) } }
  func fail(_ words: String) { state.withLock { $0.failure = .failed(words) } }
  func started(_ count: Int) async { await wait { self.counts.started >= count } }

  /// As ``FingerprintReader/read(_:_:)``.
  func read(
    _ cancellation: Cancellation, _ next: @escaping @Sendable (FingerprintResult) -> Bool
  ) -> Result<Void, FingerprintFailure> {
    state.withLock { $0.started += 1 }
    defer { state.withLock { $0.ended += 1 } }
    while true {
      let (result, failure) = state.withLock { ($0.results.isEmpty ? nil : $0.results.removeFirst(), $0.failure) }
      if let result {
        guard next(result), result != .match else { return .success(()) }
        continue
      }
      if let failure { return .failure(failure) }
      if cancellation.wait(for: -1, 0, until: .now + .milliseconds(1)) == .cancelled { return .failure(.cancelled) }
    }
  }
}

/// Verification by a finger, with dialogs and a reader of the test.
struct FingerPromptTests {
  private let dialog = OpenDialog()
  private let reader = ScriptedReader()
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
      readFingers: { [reader] in reader.read($0, $1) })
  }

  // Holds: FINGER-2
  @Test func `a finger agrees to the page that is shown, and verifies`() async throws {
    let prompter = prompter()
    async let confirmation = prompter.confirm(prompt(), verification: true)
    await dialog.shows(1)
    reader.put(.match)
    #expect(try await confirmation.userVerified)
    #expect(prompter.lastVerification == .fingerprint)
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
    #expect(try await confirmation.userVerified)
    #expect(prompter.lastVerification == .passphrase)
    #expect(
      dialog.shown.map { $0.details.last ?? "" } == [
        "Touch the fingerprint reader to agree.", "The finger was not recognised, 2 tries left.",
        "The finger was not recognised, 1 try left.", "Site: example.com",
      ])
    #expect(dialog.shown.last?.remark == "The finger was not recognised")
  }

  // Holds: FINGER-7
  @Test func `a finger that is on the reader does not agree to a page that must be read`() async throws {
    let prompter = prompter()
    reader.put(.match)
    async let confirmation = prompter.confirm(prompt(.reset(importedPasskeys: 0)), verification: true)
    await dialog.shows(1)
    await clock.sleeper(until: UserPrompter.shortestReading)
    #expect(reader.counts.started == 0, "the reader waits as long as the person must read")
    clock.advance(by: UserPrompter.shortestReading)
    #expect(try await confirmation.userVerified)
  }

  // Holds: FINGER-4
  @Test func `a refusal ends the wait for a finger`() async {
    async let outcome = prompter().outcome(of: prompt(), verification: true)
    await dialog.shows(1)
    await reader.started(1)
    dialog.answer(false)
    #expect(await outcome == "declined")
    #expect(reader.counts == (1, 1))
  }

  // Holds: FINGER-4
  @Test func `a cancellation withdraws dialog and reader`() async {
    let prompter = prompter()
    let asking = Task { await prompter.outcome(of: prompt(), verification: true) }
    await dialog.shows(1)
    await reader.started(1)
    asking.cancel()
    #expect(await asking.value == "cancelled")
    #expect(reader.counts == (1, 1))
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
    #expect(reader.counts == (1, 1))
  }

  // Holds: FINGER-6
  @Test func `a reader that fails is logged, and the passphrase verifies`() async {
    let lines = Lines()
    let prompter = prompter(lines)
    reader.fail("there is no fingerprint reader")
    #expect(await prompter.outcome(of: prompt(), verification: true) == "verified")
    #expect(dialog.shown.last?.takesPassphrase == true)
    #expect(lines.all == ["a fingerprint cannot verify: there is no fingerprint reader"])
  }

  @Test func `without the setting, or for presence, no finger is read`() async {
    let prompter = prompter()
    #expect(await prompter.outcome(of: UserPrompt(purpose: .signIn), verification: true) == "verified")
    async let outcome = prompter.outcome(of: prompt())
    await dialog.shows(2)
    dialog.answer(true)
    #expect(await outcome == "present")
    #expect(reader.counts == (0, 0))
  }
}
