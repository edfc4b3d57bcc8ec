import CTAP2
import CryptoPrimitives
import EventLoop
import EventLoopTests
import Foundation
import Recovery
import Synchronization
import TestVectors
import Testing

@testable import Prompts

@Suite struct TerminalBackEndTests {
  static let prompt = UserPrompt(purpose: .signIn, rpID: "example.com", accountName: "alice")
  static let question = """

    Sign in with your passkey?
      Site: example.com
      Account: "alice"
      Sign in? (y to agree, anything else to refuse) \("")
    """
  static let entry = """

    Sign in with your passkey?
      Site: example.com
      Account: "alice"
      Vault passphrase: (Enter alone refuses) \("")
    """

  let terminal: PseudoTerminal
  let lines = Lines()

  init() throws { terminal = try PseudoTerminal() }

  final class Lines: Sendable {
    private let all = Mutex<[String]>([])
    var lines: [String] { all.withLock { $0 } }
    func add(_ line: String) { all.withLock { $0.append(line) } }
  }

  private func prompter(clock: any MonotonicClock = ManualClock()) -> UserPrompter {
    UserPrompter(testing: TerminalBackEnd(path: terminal.path), clock: clock, log: lines.add)
  }

  private func typed(_ prompter: UserPrompter) async throws -> [UInt8] {
    try await prompter.passphrase(PromptText(Self.prompt)) { typed, _ in .accepted(typed.withUnsafeBytes { Array($0) })
    }
  }

  @Test(arguments: ["y", "Y", "yes"])
  func `yes agrees`(answer: String) async throws {
    async let agreed: Void = prompter().confirm(Self.prompt)
    #expect(try await terminal.awaitScreen(endingWith: Self.question))
    terminal.type(answer + "\n")
    try await agreed
    #expect(terminal.screen == Self.question + "yes\n")
    #expect(lines.lines.isEmpty)
  }

  // Holds: PROMPT-16
  @Test(arguments: [true, false])
  func `a warning comes first, until an entry is wrong`(isYesOrNo: Bool) async throws {
    var prompt = UserPrompt(purpose: .register, rpID: "example.com", accountName: "alice")
    prompt.resembles = SiteResemblance(known: "examp1e.com", kind: .oneLetter)
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    let prompter = UserPrompter(testing: TerminalBackEnd(path: terminal.path), verifier: verifier)
    let task = Task { [prompt] in await prompter.outcome(of: prompt, verification: !isYesOrNo) }
    let shown = """

      This site resembles one that you know.
      Make a new passkey?
        This is not: examp1e.com
        One letter differs.
        Site: example.com
        Account: "alice"

      """
    let question =
      isYesOrNo
      ? "  Make passkey? (y to agree, anything else to refuse) " : "  Vault passphrase: (Enter alone refuses) "
    #expect(try await terminal.awaitScreen(endingWith: shown + question))
    if !isYesOrNo {
      terminal.type("wrong\n")
      let again = "\n  Wrong passphrase, 2 tries left\n"
      #expect(try await terminal.awaitScreen(endingWith: shown + question + again + question))
    }
    terminal.type("\n")
    #expect(await task.value == "declined")
  }

  @Test func `the advice before a reset says how to refuse on the terminal`() async throws {
    let prompter = prompter()
    let prompt = UserPrompt(purpose: .reset(importedPasskeys: 0, unsaved: 1))
    let task = Task { await prompter.outcome(of: prompt) }
    let end = """

        To make a backup first, press Enter alone, then run: liquid-auth backup FILE
        Reset? (y to agree, anything else to refuse) \("")
      """
    #expect(try await terminal.awaitScreen(endingWith: end))
    terminal.type("\n")
    #expect(await task.value == "declined")
  }

  // Holds: INPUT-17
  @Test func `a passphrase typed at a yes-or-no question refuses, and is not shown`() async throws {
    let task = Task { try await prompter().confirm(Self.prompt) }
    #expect(try await terminal.awaitScreen(endingWith: Self.question))
    #expect(!terminal.echoes)
    terminal.type("correct horse\n")
    await #expect(throws: UserInteractionError.declined) { try await task.value }
    #expect(terminal.screen == Self.question + "no\n")
    #expect(terminal.waiting == 0)
    #expect(terminal.echoes)
  }

  // Holds: INPUT-18
  @Test func `a dialog that others follow warns that a refusal refuses all`() async throws {
    let clock = ManualClock()
    let prompter = prompter(clock: clock)
    let task = Task {
      try await prompter.confirm(
        UserPrompt(purpose: .wallet(.signMessage(String(repeating: "a\n", count: 20))), origin: "o"))
    }
    for ways in ["Next? (y to continue, anything else to refuse all) ", "Sign? (y to agree, anything else to refuse) "]
    {
      #expect(try await terminal.awaitScreen(endingWith: "\n  " + ways))
      clock.advance(by: UserPrompter.shortestReading)
      terminal.type("y\n")
    }
    try await task.value
  }

  // Holds: PERSON-6
  @Test func `a yes within half a second is ignored where something is signed`() async throws {
    let clock = ManualClock()
    let prompter = prompter(clock: clock)
    let task = Task {
      try await prompter.confirm(UserPrompt(purpose: .wallet(.signMessage("a")), origin: "https://d.example"))
    }
    let question = "\n  Sign? (y to agree, anything else to refuse) "
    #expect(try await terminal.awaitScreen(endingWith: question))
    clock.advance(by: .milliseconds(499))
    terminal.type("y\n")
    await clock.sleeper(until: .milliseconds(500))
    #expect(terminal.screen.hasSuffix(question + "yes\n"))
    clock.advance(by: .milliseconds(1))
    #expect(try await terminal.awaitScreen(endingWith: question))
    clock.advance(by: .milliseconds(500))
    terminal.type("y\n")
    try await task.value
  }

  @Test(arguments: ["\n", "n\n", "no\n", "yy\n", " y\n", "y \n", "Yes!\n", "\u{4}"])
  func `anything else refuses`(answer: String) async throws {
    let task = Task { try await prompter().confirm(Self.prompt) }
    #expect(try await terminal.awaitScreen(endingWith: Self.question))
    terminal.type(answer)
    await #expect(throws: UserInteractionError.declined) { try await task.value }
    #expect(lines.lines.isEmpty)
  }

  @Test func `input typed before the question does not answer it`() async throws {
    terminal.type("y\n")
    let task = Task { try await prompter().confirm(Self.prompt) }
    #expect(try await terminal.awaitScreen(endingWith: Self.question))
    terminal.type("n\n")
    await #expect(throws: UserInteractionError.declined) { try await task.value }
  }

  @Test(arguments: ["correct horse", " two  spaces ", "\u{E9}\u{1F600}", "100%", String(repeating: "x", count: 1000)])
  func `a passphrase is read as typed, and not shown`(passphrase: String) async throws {
    let task = Task { try await typed(prompter()) }
    #expect(try await terminal.awaitScreen(endingWith: Self.entry))
    #expect(!terminal.echoes)
    terminal.type(passphrase + "\n")
    #expect(try await task.value == Array(passphrase.utf8))
    #expect(terminal.screen == Self.entry + "\n")
    #expect(terminal.echoes)
  }

  // Holds: PERSON-7
  @Test func `an empty line declines a passphrase`() async throws {
    let task = Task { try await typed(prompter()) }
    #expect(try await terminal.awaitScreen(endingWith: Self.entry))
    terminal.type("\n")
    await #expect(throws: UserInteractionError.declined) { try await task.value }
  }

  @Test func `a wrong passphrase is reported, and asked for again`() async throws {
    let task = Task {
      try await prompter().passphrase(PromptText(Self.prompt)) { passphrase, _ -> PassphraseVerdict<Int> in
        passphrase.withUnsafeBytes { Array($0) } == Array("right".utf8)
          ? .accepted(7) : .wrong(then: .verificationFailed)
      }
    }
    #expect(try await terminal.awaitScreen(endingWith: Self.entry))
    terminal.type("wrong\n")
    let again = Self.entry + "\n  Wrong passphrase, 2 tries left\n  Vault passphrase: (Enter alone refuses) "
    #expect(try await terminal.awaitScreen(endingWith: again))
    terminal.type("right\n")
    #expect(try await task.value == 7)
  }

  // Holds: INPUT-23
  @Test func `what is typed while a passphrase is checked is neither shown nor left to be read`() async throws {
    let (terminal, before) = (terminal, terminal.settings)
    let task = Task {
      try await prompter().passphrase(PromptText(Self.prompt)) { passphrase, _ -> PassphraseVerdict<Int> in
        #expect(!terminal.echoes)
        terminal.type("typed ahead\n")
        await eventually { terminal.waiting > 0 }
        return passphrase.withUnsafeBytes { Array($0) } == Array("right".utf8)
          ? .accepted(7) : .wrong(then: .verificationFailed)
      }
    }
    #expect(try await terminal.awaitScreen(endingWith: Self.entry))
    terminal.type("wrong\n")
    let again = Self.entry + "\n  Wrong passphrase, 2 tries left\n  Vault passphrase: (Enter alone refuses) "
    #expect(try await terminal.awaitScreen(endingWith: again))
    terminal.type("right\n")
    #expect(try await task.value == 7)
    #expect(terminal.screen == again + "\n")
    #expect(terminal.waiting == 0 && terminal.settings.c_lflag == before.c_lflag)
  }

  // Holds: INPUT-16
  @Test(arguments: [true, false])
  func `Control-Z leaves no shell without echo`(isYesOrNo: Bool) async throws {
    let before = terminal.suspending
    try #require(before != 0)
    let task = Task {
      if isYesOrNo { try await prompter().confirm(Self.prompt) } else { _ = try await typed(prompter()) }
    }
    #expect(try await terminal.awaitScreen(endingWith: isYesOrNo ? Self.question : Self.entry))
    #expect(!terminal.echoes && terminal.suspending == 0)
    terminal.type("\n")
    await #expect(throws: UserInteractionError.declined) { try await task.value }
    #expect(terminal.echoes && terminal.suspending == before)
  }

  @Test(arguments: [true, false])
  func `a cancelled question is withdrawn, and the terminal settings are restored`(isYesOrNo: Bool) async throws {
    let before = terminal.settings
    let task = Task {
      if isYesOrNo { try await prompter().confirm(Self.prompt) } else { _ = try await typed(prompter()) }
    }
    #expect(try await terminal.awaitScreen(endingWith: isYesOrNo ? Self.question : Self.entry))
    terminal.type("half a passphra")
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(terminal.screen.hasSuffix("\n  (withdrawn)\n"))
    let after = terminal.settings
    #expect((after.c_lflag, after.c_iflag, after.c_oflag) == (before.c_lflag, before.c_iflag, before.c_oflag))
    // The typed part of the answer is not left for the next reader.
    #expect(terminal.waiting == 0)
  }

  /// The error of a dialog, or `nil` if none comes; then resumes the terminal's output.
  private func failure(of task: Task<Void, any Error>) async throws -> UserInteractionError? {
    let failure = Mutex<UserInteractionError?>(nil)
    let watch = Task {
      do { try await task.value } catch { failure.withLock { $0 = error as? UserInteractionError } }
    }
    await eventually { failure.withLock { $0 } != nil }
    let first = failure.withLock { $0 }
    terminal.setOutput(stopped: false)
    await watch.value
    return first
  }

  // Holds: PERSON-12
  @Test(arguments: [true, false])
  func `a question on a stopped terminal can be withdrawn`(isShown: Bool) async throws {
    let before = terminal.settings
    if !isShown { terminal.setOutput(stopped: true) }
    let task = Task { try await prompter().confirm(Self.prompt) }
    if isShown { #expect(try await terminal.awaitScreen(endingWith: Self.question)) }
    terminal.setOutput(stopped: true)
    await eventually { !terminal.echoes }
    terminal.type("y")
    task.cancel()
    #expect(try await failure(of: task) == .cancelled)
    #expect(terminal.settings.c_lflag == before.c_lflag)
    #expect(terminal.waiting == 0)
    #expect(terminal.screen == (isShown ? Self.question : ""))
    #expect(lines.lines.isEmpty)
  }

  // Holds: PERSON-12
  @Test func `a stopped terminal shows the question when it resumes, and ignores earlier input`()
    async throws
  {
    terminal.setOutput(stopped: true)
    let task = Task { try await prompter().confirm(Self.prompt) }
    await eventually { !terminal.echoes }
    terminal.type("y\n")
    try await Task.sleep(for: .seconds(1))
    #expect(terminal.screen == "")
    terminal.setOutput(stopped: false)
    #expect(try await terminal.awaitScreen(endingWith: Self.question))
    terminal.type("n\n")
    #expect(try await failure(of: task) == .declined)
  }

  // Holds: PERSON-12
  @Test func `an answer on a stopped terminal counts`() async throws {
    let task = Task { try await prompter().confirm(Self.prompt) }
    #expect(try await terminal.awaitScreen(endingWith: Self.question))
    terminal.setOutput(stopped: true)
    terminal.type("n\n")
    #expect(try await failure(of: task) == .declined)
    #expect(terminal.screen == Self.question)
  }

  // Holds: WALLET-11
  @Test func `a question without an answer times out`() async throws {
    let clock = ManualClock()
    let task = Task { try await typed(prompter(clock: clock)) }
    #expect(try await terminal.awaitScreen(endingWith: Self.entry))
    clock.advance(by: UserPrompter.answer)
    await #expect(throws: UserInteractionError.timedOut) { try await task.value }
    #expect(terminal.screen.hasSuffix("\n  (timed out)\n"))
    #expect(terminal.echoes)
  }

  @Test(arguments: [
    ("/nonexistent/tty", "cannot open /nonexistent/tty: No such file or directory"),
    ("/dev/null", "/dev/null is not a terminal: Inappropriate ioctl for device"),
  ])
  func `without a terminal the prompt is declined, and the log gives the reason`(path: String, words: String) async {
    let prompter = UserPrompter(testing: TerminalBackEnd(path: path), log: lines.add)
    await #expect(throws: UserInteractionError.unavailable) { try await prompter.confirm(Self.prompt) }
    #expect(
      lines.lines == [
        "cannot ask on the terminal: \(words); start the authenticator in a terminal, or use --prompt pinentry"
      ])
  }
}
