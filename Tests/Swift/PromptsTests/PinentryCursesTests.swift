import CTAP2
import CryptoPrimitives
import Foundation
import HelperProcess
import Messages
import Recovery
import TestVectors
import Testing

@testable import Prompts

/// The distribution's real program, with a user at its terminal.
@Suite(.serialized, .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/pinentry-curses")))
struct PinentryCursesTests {
  let terminal: PseudoTerminal

  init() throws { terminal = try PseudoTerminal() }

  private func prompter() throws -> UserPrompter {
    let pinentry = Pinentry(
      helper: try HelperProcess(program: "pinentry-curses"),
      environment: { ["TERM": "xterm", "LANG": "C.UTF-8"][$0] }, terminal: terminal.path,
      limits: Pinentry.Limits(setUp: .patience), executor: globalConcurrentExecutor)
    return UserPrompter(testing: pinentry) { line in Issue.record("\(line)") }
  }

  /// Waits until the dialog shows the words: it accepts keys by then.
  private func awaitDialog(_ words: String) async throws {
    #expect(await eventually { terminal.screen.contains(words) }, "\(terminal.screen.debugDescription)")
  }

  @Test func `a passphrase is read`() async throws {
    let prompter = try prompter()
    let task = Task {
      try await prompter.passphrase(PromptText.unlock()) { passphrase, _ -> PassphraseVerdict<[UInt8]> in
        .accepted(passphrase.withUnsafeBytes { Array($0) })
      }
    }
    try await awaitDialog("Unlock your passkeys?")
    terminal.type("correct 100% horse\r")
    #expect(try await task.value == Array("correct 100% horse".utf8))
    #expect(!terminal.screen.contains("horse"))
  }

  @Test func `one button agrees and the other refuses`() async throws {
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com", accountName: "alice")
    let prompter = try prompter()
    let agreed = Task { try await prompter.confirm(prompt) }
    try await awaitDialog("Site: example.com")
    #expect(terminal.screen.contains("Sign in") && terminal.screen.contains("Deny"))
    terminal.type("\r")
    try await agreed.value

    terminal.wipe()
    let refused = Task { try await prompter.confirm(prompt) }
    try await awaitDialog("Site: example.com")
    terminal.type("\t\r")
    await #expect(throws: UserInteractionError.declined) { try await refused.value }
  }

  static let fullest: [UserPrompt.Purpose] = [
    .wallet(.signMessage(String(repeating: "a\n", count: 500))),
    .wallet(.signMessage(String(repeating: String(repeating: "W", count: 200) + "\n", count: 5))),
    .wallet(
      .signTransactions(
        .init(
          each: NonEmpty(
            last: .init(
              kind: Message(verbatim: "payment"), lines: verbatim(Array(repeating: "Label: value", count: 40)),
              isToBeSigned: true)),
          isGroup: false, common: [], inShort: []))),
  ]

  // Holds: WALLET-15
  /// A terminal of 24 rows and 80 columns.
  @Test(arguments: fullest)
  func `the largest dialogs of a wallet fit, also with a wrong passphrase`(_ purpose: UserPrompt.Purpose) async throws {
    let address = String(repeating: "A", count: 58)
    let host = "https://" + String(repeating: "d", count: 300)
    let pages = PromptPages(UserPrompt(purpose: purpose, algorandAddress: address, origin: host))
    let fullest = try #require(pages.all.max { $0.details.count < $1.details.count })
    let prompter = try prompter()
    let task = Task {
      try await prompter.passphrase(fullest) { passphrase, _ -> PassphraseVerdict<Void> in
        passphrase.count == 5 ? .accepted(()) : .wrong(then: .declined)
      }
    }
    try await awaitDialog(fullest.details.last ?? "")
    terminal.type("wrong one\r")
    try await awaitDialog("Wrong passphrase, 2 tries left")
    terminal.type("right\r")
    try await task.value
    // Each line of a dialog is one line of the window.
    for line in fullest.details { #expect(terminal.screen.contains(line.drop { $0 == " " })) }
  }

  @Test func `a cancelled task ends the program, and the terminal echoes again`() async throws {
    let prompter = try prompter()
    let task = Task { try await prompter.confirm(UserPrompt(purpose: .select)) }
    try await awaitDialog("Is this the authenticator you mean?")
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(terminal.echoes)
  }
}
