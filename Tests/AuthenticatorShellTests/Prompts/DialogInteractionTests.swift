import CTAP2
import CryptoPrimitives
import Synchronization
import Testing

@testable import liquid_authenticator

@Suite struct DialogInteractionTests {
  static let signIn = UserPrompt(purpose: .signIn, rpID: "example.com")

  private static func verifier(knowing passphrase: String) -> PassphraseVerifier {
    let verifier = PassphraseVerifier()
    verifier.remember(secret(passphrase))
    return verifier
  }

  @Test func `presence alone is one button, and no verification`() async throws {
    let dialogs = ScriptedDialogs()
    let verifier = Self.verifier(knowing: "right")
    let consent = try await DialogInteraction(dialogs: dialogs, verify: verifier.verify)
      .confirm(Self.signIn, verification: false)
    let flags = (consent.userPresent, consent.userVerified)
    #expect(flags == (true, false))
    #expect(dialogs.seen.withLock { $0 } == ["confirm Sign in with your passkey?"])
  }

  @Test func `who refuses gives no consent`() async {
    let interaction = DialogInteraction(dialogs: ScriptedDialogs(refuses: true), verify: nil)
    await #expect(throws: UserInteractionError.declined) {
      _ = try await interaction.confirm(Self.signIn, verification: false)
    }
  }

  @Test func `verification is one dialog and counts as presence`() async throws {
    let dialogs = ScriptedDialogs(typed: ["wrong", "right"])
    let verifier = Self.verifier(knowing: "right")
    let consent = try await DialogInteraction(dialogs: dialogs, verify: verifier.verify)
      .confirm(Self.signIn, verification: true)
    let flags = (consent.userPresent, consent.userVerified)
    #expect(flags == (true, true))
    #expect(
      dialogs.seen.withLock { $0 } == ["passphrase Sign in with your passkey?", "Wrong passphrase, 2 tries left"])
  }

  @Test func `three wrong tries fail one ceremony`() async {
    let dialogs = ScriptedDialogs(typed: ["1", "2", "3", "right"])
    let verifier = Self.verifier(knowing: "right")
    await #expect(throws: UserInteractionError.verificationFailed) {
      _ = try await DialogInteraction(dialogs: dialogs, verify: verifier.verify)
        .confirm(Self.signIn, verification: true)
    }
    #expect(
      dialogs.seen.withLock { $0.dropFirst() } == ["Wrong passphrase, 2 tries left", "Wrong passphrase, 1 try left"])
    #expect(verifier.verify(secret("right")) == .right)
  }

  @Test func `eight wrong tries over three ceremonies block`() async {
    let dialogs = ScriptedDialogs(typed: ["1", "2", "3"])
    let verifier = Self.verifier(knowing: "right")
    let interaction = DialogInteraction(dialogs: dialogs, verify: verifier.verify)
    for _ in 0..<2 {
      await #expect(throws: UserInteractionError.verificationFailed) {
        _ = try await interaction.confirm(Self.signIn, verification: true)
      }
    }
    await #expect(throws: UserInteractionError.verificationBlocked) {
      _ = try await interaction.confirm(Self.signIn, verification: true)
    }
    // The third dialog says how few are left: not two of its own three, but one.
    #expect(dialogs.seen.withLock { $0.last } == "Wrong passphrase, 1 try left")
    await #expect(throws: UserInteractionError.verificationBlocked) {
      _ = try await interaction.confirm(Self.signIn, verification: true)
    }
  }

  @Test func `a vault that is locked meanwhile declines`() async {
    let interaction = DialogInteraction(
      dialogs: ScriptedDialogs(typed: ["right"]), verify: PassphraseVerifier().verify)
    await #expect(throws: UserInteractionError.declined) {
      _ = try await interaction.confirm(Self.signIn, verification: true)
    }
  }

  @Test func `without verification set up it is neither told nor given`() async {
    let interaction = DialogInteraction(dialogs: ScriptedDialogs(typed: [""]), verify: nil)
    #expect(!interaction.canVerify)
    #expect(DialogInteraction(dialogs: ScriptedDialogs(), verify: PassphraseVerifier().verify).canVerify)
    await #expect(throws: UserInteractionError.declined) {
      _ = try await interaction.confirm(Self.signIn, verification: true)
    }
  }
}

@Suite struct PassphraseVerifierTests {
  @Test(arguments: ["", "p", "correct horse", "\u{E9}", String(repeating: "x", count: 2048)])
  func `only the very bytes are right`(passphrase: String) {
    let verifier = PassphraseVerifier()
    verifier.remember(secret(passphrase))
    #expect(verifier.verify(secret(passphrase)) == .right)
    #expect(verifier.verify(secret(passphrase + " ")) == .wrong(triesLeft: 7))
    #expect(verifier.verify(secret("\0" + passphrase)) == .wrong(triesLeft: 6))
  }

  @Test func `another normal form of the same letter is another passphrase`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("\u{E9}"))
    #expect(verifier.verify(secret("e\u{301}")) == .wrong(triesLeft: 7))
  }

  @Test func `a right try gives all tries back`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for left in (1...7).reversed() { #expect(verifier.verify(secret("wrong")) == .wrong(triesLeft: left)) }
    #expect(verifier.verify(secret("right")) == .right)
    #expect(verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
  }

  @Test func `after eight wrong tries even the right one is refused, until it is remembered anew`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for _ in 0..<7 { _ = verifier.verify(secret("wrong")) }
    #expect(verifier.verify(secret("wrong")) == .blocked)
    #expect(verifier.verify(secret("right")) == .blocked)
    verifier.forget()
    #expect(verifier.verify(secret("right")) == .locked)
    verifier.remember(secret("right"))
    #expect(verifier.verify(secret("right")) == .right)
  }
}
