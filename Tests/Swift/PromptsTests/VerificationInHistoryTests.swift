import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoopTests
import Fingerprint
import Recovery
import Synchronization
import Testing

@testable import Prompts

/// Dialogs that a finger must answer, until one takes the passphrase.
private final class TouchedBackEnd: PromptBackEnd {
  let report = PromptReport(.terminal)

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    if dialog.takesPassphrase { return .typed(secret("right")) }
    while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
    throw .noAnswer(.cancelled)
  }
}

/// A person who answers one request, and types the passphrase for another before the authenticator goes on with the first.
private struct BusyPerson: UserInteraction {
  let prompter: UserPrompter

  var canVerify: Bool { prompter.canVerify }
  var verificationTriesLeft: Int { prompter.verificationTriesLeft }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> CTAP2.Confirmation {
    let confirmation = try await prompter.confirm(prompt, verification: verification, from: client)
    try await prompter.passphrase(.unlock()) { _, _ in PassphraseVerdict<Void>.accepted(()) }
    return confirmation
  }
}

struct VerificationInHistoryTests {
  // Holds: RECORD-13
  @Test func `an unlocking for another request does not change what verified in the history`() async throws {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    let clock = ManualClock()
    let prompter = UserPrompter(
      testing: TouchedBackEnd(), verifier: verifier, clock: clock, readFingers: { _ in .success(.match) },
      screen: ScriptedScreen(isLocked: false))
    let keys = CredentialKeys(mainKey: SecretBytes(count: 64) { $0.initializeMemory(as: UInt8.self, repeating: 7) })
    let store = InMemoryCredentialStore(keys: keys)
    var state = try store.state()
    state.settings.means = [.fingerprint]
    try store.setState(state)
    let vault = OpenVault(keys: keys, ed25519Root: SecretBytes(count: 96) { _ in }, store: store)
    let entries = Mutex<[HistoryEntry]>([])
    var authenticator = Authenticator(
      keySource: OpenKeySource(vault), interaction: BusyPerson(prompter: prompter), extensions: [],
      randomness: SystemRandomNumberGenerator(), now: { .zero }, wallClock: { 0 },
      report: { report in
        if let entry = report.historyEntry(at: 7) { entries.withLock { $0.append(entry) } }
      })
    let reading = Task {
      await clock.sleeper(until: UserPrompter.shortestReading)
      clock.advance(by: UserPrompter.shortestReading)
    }
    // authenticatorReset.
    let answer = await authenticator.respond(to: [0x07], in: RequestContext(channel: 1, poweredUpAt: .zero))
    #expect(answer == [0x00])
    await reading.value
    #expect(
      entries.withLock { $0 } == [
        HistoryEntry(time: 7, site: nil, kind: .reset, outcome: .done, verification: .fingerprint)
      ])
  }
}
