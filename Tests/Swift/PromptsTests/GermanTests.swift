import Assuan
import CTAP2
import DisplayText
import Messages
import Recovery
import Synchronization
import TestSupport
import Testing

@testable import Prompts

/// The German dialogs: their words, and whether they fit where the English ones fit.
@Suite struct GermanTests {
  private let german: Catalogue
  init() throws { german = try .german() }

  private func dialog(_ prompt: UserPrompt) -> PromptText { PromptPages(prompt, in: german).last }

  private static let address = PromptTextTests.address

  // MARK: Words

  // Holds: LANGUAGE-1
  @Test func `a registration`() {
    var prompt = UserPrompt(
      purpose: .register, rpID: "example.com", accountName: "alice", accountDisplayName: "Alice Example")
    prompt.extras = [.secret]
    prompt.resembles = SiteResemblance(known: "examp1e.com", kind: .oneLetter)
    prompt.isFirstPasskey = true
    let text = dialog(prompt)
    #expect(
      text.description == """
        Neuen Passkey erstellen?

        Das ist nicht: examp1e.com
        Ein Buchstabe ist anders.
        Website: example.com
        Konto: "alice"
        Name: "Alice Example"
        Die Website erhält auch ein Geheimnis zur Verschlüsselung (PRF).
        Hier ist noch kein Passkey gespeichert.
        Wenn Sie den ersten erstellt haben, führen Sie aus: liquid-auth backup FILE
        """)
    #expect([text.agree, text.refuse] == ["Passkey erstellen", "Ablehnen"])
  }

  @Test func `a sign-in beside another key`() {
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com", accountCount: 3)
    let text = PromptPages(prompt, beside: ["Other Key"], in: german).last
    #expect(
      text.description == """
        Mit Ihrem Passkey anmelden?

        Website: example.com
        Konten: 3; Sie wählen danach eines aus
        Auch angeschlossen: "Other Key"
        Um stattdessen einen anderen Schlüssel zu verwenden, berühren Sie ihn.
        """)
    #expect([text.agree, text.refuse] == ["Anmelden", "Ablehnen"])
  }

  @Test func `the dialog that unlocks, and those for the PIN of a slot and for a touch`() {
    let reason = UnlockReason.prompt(UserPrompt(purpose: .signIn, rpID: "example.com", accountName: "alice"))
    let text = PromptText.unlock(for: reason, in: german)
    let words = """
      Ihre Passkeys entsperren?

      Website: example.com
      Konto: "alice"
      Ein Programm möchte sich mit einem Passkey anmelden, und der Tresor ist gesperrt.
      """
    #expect(text.description == words)
    #expect([text.agree, text.refuse, text.label] == ["Entsperren", "Ablehnen", "Passphrase des Tresors:"])
    let pin = PromptText.pin(ofSlot: 2, "TPM", for: reason, in: german)
    #expect(
      pin.description == words
        + "\nBitte die PIN von Slot 2 (TPM) des Tresors eingeben oder die Passphrase verwenden.")
    #expect([pin.agree, pin.refuse, pin.label] == ["Entsperren", "Passphrase verwenden", "PIN des Slots:"])
    let touch = PromptText.touch(for: reason, in: german)
    #expect(
      touch.description == words
        + "\nBitte den blinkenden Sicherheitsschlüssel berühren oder die Passphrase eingeben.")
  }

  @Test func `a finger, and what the reader says`() throws {
    let text = dialog(UserPrompt(purpose: .signIn, rpID: "example.com"))
    #expect(
      text.forFinger(nil).details
        == ["Website: example.com", "", "Zum Zustimmen den Fingerabdruckleser berühren."])
    #expect(text.forFinger(nil).agree == "Passphrase verwenden")
    #expect(
      text.forFinger(PromptText.wrongFinger(triesLeft: 1)).details.last
        == "Der Finger wurde nicht erkannt, noch 1 Versuch.")
    #expect(
      text.forFinger(PromptText.wrongFinger(triesLeft: 2)).details.last
        == "Der Finger wurde nicht erkannt, noch 2 Versuche.")
    #expect(
      text.forFinger(Message("The swipe was too short. Try again.")).details.last
        == "Die Wischbewegung war zu kurz. Bitte noch einmal versuchen.")
  }

  @Test func `a wrong passphrase, in the same dialog`() async throws {
    let dialogs = ScriptedBackEnd(typed: ["wrong", "wrong", "wrong"])
    let prompter = UserPrompter(testing: dialogs, catalogue: german)
    let asking = Task {
      try await prompter.passphrase(.unlock(for: nil, in: prompter.catalogue)) { _, _ -> PassphraseVerdict<Void> in
        .wrong(then: .wrongPassphrase)
      }
    }
    await #expect(throws: UserInteractionError.self) { try await asking.value }
    #expect(
      dialogs.seen.withLock { $0 } == [
        "passphrase Ihre Passkeys entsperren?", "Falsche Passphrase, noch 2 Versuche",
        "Falsche Passphrase, noch 1 Versuch",
      ])
  }

  @Test(arguments: ["j", "J", "ja"])
  func `yes on the terminal, in German`(answer: String) async throws {
    let terminal = try PseudoTerminal()
    let prompter = UserPrompter(testing: TerminalBackEnd(path: terminal.path), catalogue: german)
    async let agreed: Void = prompter.confirm(UserPrompt(purpose: .select))
    let question = "  Diesen verwenden? (j zum Zustimmen, sonst wird abgelehnt) "
    #expect(try await terminal.awaitScreen(endingWith: question))
    terminal.type(answer + "\n")
    try await agreed
    #expect(terminal.screen.hasSuffix(question + "ja\n"))
  }

  @Test(arguments: ["n\n", "nein\n", "y\n", "Y\n", "yes\n", "jj\n", "j \n", "\n"])
  func `anything else on the terminal refuses`(answer: String) async throws {
    let terminal = try PseudoTerminal()
    let prompter = UserPrompter(testing: TerminalBackEnd(path: terminal.path), catalogue: german)
    let refused = Task { try await prompter.confirm(UserPrompt(purpose: .select)) }
    #expect(try await terminal.awaitScreen(endingWith: "sonst wird abgelehnt) "))
    terminal.type(answer)
    await #expect(throws: UserInteractionError.declined) { try await refused.value }
    #expect(terminal.screen.hasSuffix(" nein\n"))
  }

  // MARK: Room

  private func expectFit(_ prompt: UserPrompt) throws {
    for page in PromptPages(prompt, in: german).all {
      #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
      #expect(page.details.count <= WalletText.height)
    }
  }

  // Holds: LANGUAGE-2
  @Test(arguments: PromptTextTests.cases)
  func `a ceremony is one dialog, with as many lines as in English`(_ ceremony: PromptTextTests.Case) throws {
    let (german, english) = (PromptPages(ceremony.prompt, in: german), PromptPages(ceremony.prompt))
    #expect(german.before.isEmpty)
    #expect(german.last.details.count == english.last.details.count, "a line is too long: it was broken")
    #expect(german.last.headline != english.last.headline)
    try expectFit(ceremony.prompt)
    // The buttons of the desktops have room for 20 characters.
    #expect([german.last.agree, german.last.refuse].allSatisfy { $0.count <= 20 })
  }

  @Test(arguments: PromptTextTests.pairs)
  func `the longest texts fit, and foreign text stays on lines of its own`(site: String, name: String) throws {
    let (site, name) = (String(repeating: site, count: 3000), String(repeating: name, count: 3000))
    for purpose in [UserPrompt.Purpose.register, .signIn] {
      var prompt = UserPrompt(
        purpose: purpose, rpID: site, accountName: name, accountDisplayName: name + ".", algorandAddress: Self.address,
        origin: site, isFirstUse: true)
      prompt.extras = [.secret, .largeBlobKey, .payment]
      try expectFit(prompt)
      let lines = PromptPages(prompt, in: german).all.flatMap(\.details)
      #expect(lines[0] == "Website: \(DisplayText.host(site))")
      #expect(lines[1] == "Konto: \(DisplayText.name(name))")
      #expect(lines.count == 10)
    }
  }
}
