import CTAP2
import ControlProtocol
import Synchronization
import TestSupport
import Testing

@testable import Prompts

private let signIn = UserPrompt(purpose: .signIn, rpID: "example.com")

/// User presence, and user verification with the vault's passphrase.
struct OpenDialogTests {
  @Test func `a presence prompt is one button, without verification`() async throws {
    let backEnd = ScriptedBackEnd()
    let prompter = UserPrompter(testing: backEnd, verifier: verifier(knowing: "right"))
    let consent = try await prompter.confirm(signIn, verification: false)
    let flags = (consent.userPresent, consent.userVerified)
    #expect(flags == (true, false))
    #expect(backEnd.seen.withLock { $0 } == ["confirm Sign in with your passkey?"])
  }

  @Test func `a refusal gives no consent`() async {
    let prompter = UserPrompter(testing: ScriptedBackEnd(refuses: true))
    await #expect(throws: UserInteractionError.declined) { try await prompter.confirm(signIn) }
  }

  @Test func `verification is one dialog and counts as presence`() async throws {
    let backEnd = ScriptedBackEnd(typed: ["wrong", "right"])
    let prompter = UserPrompter(testing: backEnd, verifier: verifier(knowing: "right"))
    let consent = try await prompter.confirm(signIn, verification: true)
    let flags = (consent.userPresent, consent.userVerified)
    #expect(flags == (true, true))
    #expect(
      backEnd.seen.withLock { $0 } == ["passphrase Sign in with your passkey?", "Wrong passphrase, 2 tries left"])
  }

  // Holds: PERSON-10
  @Test func `three wrong tries fail the ceremony`() async {
    let backEnd = ScriptedBackEnd(typed: ["1", "2", "3", "right"])
    let verifier = verifier(knowing: "right")
    let prompter = UserPrompter(testing: backEnd, verifier: verifier)
    #expect(await prompter.outcome(of: signIn, verification: true) == "verificationFailed")
    #expect(
      backEnd.seen.withLock { $0.dropFirst() } == ["Wrong passphrase, 2 tries left", "Wrong passphrase, 1 try left"])
    #expect(await verifier.verify(secret("right")) == .right)
  }

  @Test func `eight wrong tries over three ceremonies block verification`() async {
    let backEnd = ScriptedBackEnd(typed: ["1", "2", "3"])
    let prompter = UserPrompter(testing: backEnd, verifier: verifier(knowing: "right"))
    for _ in 0..<2 { #expect(await prompter.outcome(of: signIn, verification: true) == "verificationFailed") }
    #expect(await prompter.outcome(of: signIn, verification: true) == "verificationBlocked")
    // The third dialog shows the total tries that are left, which is 1 and not 2.
    #expect(backEnd.seen.withLock { $0.last } == "Wrong passphrase, 1 try left")
    #expect(await prompter.outcome(of: signIn, verification: true) == "verificationBlocked")
  }

  @Test func `a vault that is locked meanwhile declines verification`() async {
    let prompter = UserPrompter(testing: ScriptedBackEnd(typed: ["right"]), verifier: PassphraseVerifier())
    #expect(await prompter.outcome(of: signIn, verification: true) == "unavailable")
  }

  @Test func `without verification set up it is neither reported nor given`() async {
    let prompter = UserPrompter(testing: ScriptedBackEnd(typed: ["right"]))
    #expect(!prompter.canVerify)
    #expect(UserPrompter(testing: ScriptedBackEnd(), verifier: PassphraseVerifier()).canVerify)
    #expect(await prompter.outcome(of: signIn, verification: true) == "unavailable")
  }

  /// A back end that gives the wrong kind of answer.
  private struct Confused: PromptBackEnd {
    let report = PromptReport(.askpass, program: "confused")
    func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
      dialog.takesPassphrase ? .agreed : .typed(secret("right"))
    }
  }

  @Test(arguments: [false, true])
  func `a passphrase does not answer a button dialog, nor a button a passphrase dialog`(verification: Bool) async {
    let lines = Lines()
    let prompter = UserPrompter(testing: Confused(), verifier: verifier(knowing: "right"), log: lines.add)
    #expect(await prompter.outcome(of: signIn, verification: verification) == "unavailable")
    #expect(lines.all == ["askpass (confused) gave an unexpected answer"])
  }
}
