import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoopTests
import Foundation
import HelperProcess
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import Prompts

@Suite(.serialized) struct PinentryTests {
  static let prompt = UserPrompt(
    purpose: .register, rpID: "example.com", accountName: "50% \u{E9}", accountDisplayName: "A\nB")
  static let text = PromptText(prompt)

  /// The bytes that a passphrase dialog returns; accepts any passphrase.
  private static func typed(_ prompter: UserPrompter, _ text: PromptText = text) async throws -> [UInt8] {
    try await prompter.passphrase(text) { typed, _ in .accepted(typed.withUnsafeBytes { Array($0) }) }
  }

  // MARK: Texts and answers

  @Test func `a dialog shows its text, and OK agrees`() async throws {
    let scripted = try ScriptedPinentry()
    let environment = ["DISPLAY": ":7", "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": ""]
    try await scripted.prompter(environment: environment, terminal: "/dev/pts/9").confirm(Self.prompt)
    let ask = try #require(try scripted.events("ask").first)
    #expect(ask.command == "CONFIRM")
    #expect(ask.title == "Liquid Auth")
    #expect(
      ask.description
        == "Make a new passkey?\n\nSite: example.com\nAccount: \"50% \u{E9}\"\nName: \"A\\u{A}B\"")
    #expect([ask.ok, ask.cancel, ask.timeout] == ["Make passkey", "Deny", "600"])
    #expect(
      ask.options
        == [
          "display": ":7", "ttyname": "/dev/pts/9", "ttytype": "xterm", "lc-ctype": "C.UTF-8", "lc-messages": "C.UTF-8",
        ])
    #expect(scripted.lines.isEmpty)
    #expect(try await scripted.ends())
  }

  // Holds: PROMPT-15
  @Test(arguments: [("gnome3", true), ("gnome3:curses", false), ("qt", false), ("", false)])
  func `the heading of GNOME's prompter is the act and the site, and the label comes last`(
    flavor: String, hasHeading: Bool
  ) async throws {
    let scripted = try ScriptedPinentry(["flavor": flavor, "passphrase": "x"])
    let lines = "Site: example.com\nAccount: \"50% \u{E9}\"\nName: \"A\\u{A}B\""
    try await scripted.prompter().confirm(Self.prompt)
    _ = try await Self.typed(scripted.prompter())
    let selection = UserPrompt(purpose: .select)
    try await scripted.prompter().confirm(selection)
    let asks = try scripted.events("ask")
    let act = "Make a passkey at example.com"
    if hasHeading {
      #expect(asks.map(\.prompt) == [act, act, "Is this the authenticator you mean?"])
      #expect(asks.prefix(2).map(\.description) == [lines, "\(lines)\n\nVault passphrase:"])
      #expect(asks.last?.description == PromptText(selection).details.joined(separator: "\n"))
    } else {
      #expect(asks.map(\.prompt) == ["Liquid Auth", "Vault passphrase:", "Liquid Auth"])
      #expect(asks.prefix(2).map(\.description) == Array(repeating: "Make a new passkey?\n\n\(lines)", count: 2))
      #expect(asks.last?.description == PromptText(selection).description)
    }
  }

  // Holds: PROMPT-16
  @Test func `a warning is the error line until an entry is wrong`() async throws {
    let scripted = try ScriptedPinentry(["passphrase": "x"])
    var prompt = Self.prompt
    prompt.resembles = SiteResemblance(known: "examp1e.com", kind: .oneLetter)
    let warning = "This site resembles one that you know."
    let pinentry = Pinentry(
      helper: try HelperProcess(program: scripted.program), environment: { _ in nil }, terminal: nil,
      executor: globalConcurrentExecutor)
    for (text, error) in [(PromptText(prompt), warning), (PromptText(Self.prompt), nil)] {
      try await pinentry.open(text)
      _ = try await pinentry.ask(text)
      await pinentry.close()
      #expect(try scripted.events("ask").last?.error == error)
    }
    var text = PromptText(prompt)
    text.takesPassphrase = true
    try await pinentry.open(text)
    _ = try await pinentry.ask(text)
    text.remark = "Wrong passphrase"
    _ = try await pinentry.ask(text)
    await pinentry.close()
    await pinentry.ended()
    #expect(try scripted.events("ask").suffix(2).map(\.error) == [warning, "Wrong passphrase"])
  }

  @Test(arguments: [(Pinentry.Kind.pinentry, "Keep"), (.askpass, "Cancel")])
  func `the advice before a reset names a button that the program has`(_ kind: Pinentry.Kind, _ button: String)
    async throws
  {
    let scripted = try ScriptedPinentry()
    let helper = try HelperProcess(program: scripted.program, askpass: "askpass", prompt: scripted.program)
    let pinentry = Pinentry(
      kind, helper: helper, environment: { _ in nil }, terminal: nil, executor: globalConcurrentExecutor)
    let text = PromptText(UserPrompt(purpose: .reset(importedPasskeys: 0, unsaved: 1)))
    try await pinentry.open(text)
    _ = try await pinentry.ask(text)
    await pinentry.close()
    await pinentry.ended()
    let last = try scripted.events("ask").last?.description?.split(separator: "\n").last.map(String.init)
    #expect(last == "To make a backup first, choose \(button), then run: liquid-auth backup FILE")
  }

  @Test func `GPG_TTY takes precedence over the daemon's own terminal`() throws {
    let pinentry = Pinentry(
      helper: try HelperProcess(program: "pinentry"), environment: { ["GPG_TTY": "/dev/pts/3"][$0] },
      terminal: "/dev/tty1",
      executor: globalConcurrentExecutor)
    #expect(pinentry.options == ["ttyname=/dev/pts/3"])
  }

  @Test func `an option allows a notification to have its buttons in a menu`() throws {
    let pinentry = Pinentry(
      .notifications, helper: try HelperProcess(program: "pinentry"), environment: { ["DISPLAY": ":7"][$0] },
      terminal: nil, acceptsMenus: true, executor: globalConcurrentExecutor)
    #expect(pinentry.options == ["display=:7", "notification-menu"])
  }

  @Test(
    arguments: [
      ("de_DE.UTF-8", "C.UTF-8"), ("de_DE.utf8@euro", "C.UTF-8"), ("C.UTF-8", "C.UTF-8"), ("de_DE", "de_DE"),
      ("de_DE.ISO-8859-15", "de_DE.ISO-8859-15"), ("C", "C"), ("de_DE.", "de_DE."), ("utf8", "utf8"),
    ])
  func `the characters of a locale in UTF-8 need no compiled locale`(locale: String, characters: String) throws {
    let pinentry = Pinentry(
      helper: try HelperProcess(program: "pinentry"), environment: { ["LANG": locale][$0] }, terminal: nil,
      executor: globalConcurrentExecutor)
    #expect(pinentry.options == ["lc-ctype=\(characters)", "lc-messages=\(locale)"])
  }

  // Holds: FINGER-16
  @Test(arguments: ["gnome3": true, "gnome3:curses": false, "qt": false, "": false])
  func `only GNOME's own dialogs can be queued, and those of a program that does not say what it is`(
    flavor: String, canBeQueued: Bool
  ) async throws {
    let scripted = try ScriptedPinentry(["flavor": flavor])
    let helper = try HelperProcess(program: scripted.program)
    let make = { (kind: Pinentry.Kind) in
      Pinentry(
        kind, helper: helper, environment: { _ in nil }, terminal: nil, executor: globalConcurrentExecutor)
    }
    let pinentry = make(.pinentry)
    try await pinentry.open(Self.text)
    #expect(await pinentry.canBeQueued == canBeQueued)
    #expect(try await pinentry.ask(Self.text).isAgreement, "the dialog can be asked then")
    await pinentry.close()
    await pinentry.ended()
    #expect(await make(.askpass).canBeQueued)
    #expect(await make(.notifications).canBeQueued == false)
  }

  // Holds: FINGER-16
  @Test func `a program that does not answer what it is shows no dialog`() async throws {
    let scripted = try ScriptedPinentry(["flavor": "never"])
    let pinentry = Pinentry(
      helper: try HelperProcess(program: scripted.program), environment: { _ in nil }, terminal: nil,
      limits: Pinentry.Limits(setUp: .seconds(1)), executor: globalConcurrentExecutor)
    let words = """
      \(scripted.program) did not answer within 1 s and was stopped; name another with --pinentry PROGRAM, or use --prompt \
      terminal
      """
    await #expect(throws: PromptFailure.unavailable(words)) { try await pinentry.open(Self.text) }
    #expect(await !pinentry.isOpen)
    #expect(try await scripted.ends())
  }

  @Test func `a program whose path is not known is missing`() async throws {
    let notifications = Pinentry(
      .notifications, helper: try HelperProcess(program: "pinentry", prompt: ""), environment: { _ in nil },
      terminal: nil, executor: globalConcurrentExecutor)
    let reason = "cannot start liquid-auth-prompt: No such file or directory; install liquid-auth again"
    #expect(notifications.problem?.text == "no prompt can be shown: \(reason)")
    #expect(await notifications.selfTest(within: .seconds(1)) == reason)
  }

  @Test func `only a pinentry without display and terminal has the problem that doctor names`() async throws {
    let scripted = try ScriptedPinentry()
    for (name, kind) in [(nil, .noDisplay), ("DISPLAY", nil), ("GPG_TTY", nil)] as [(String?, Problem.Kind?)] {
      let pinentry = Pinentry(
        helper: try HelperProcess(program: scripted.program), environment: { $0 == name ? "x" : nil }, terminal: nil,
        executor: globalConcurrentExecutor)
      #expect(pinentry.problem?.kind == kind)
    }
  }

  @Test func `a program that is not executable is found before a dialog, also in PATH`() async throws {
    let scripted = try ScriptedPinentry()
    let folder = scripted.folder.path
    for program in ["\(folder)/control.json", "control.json"] {
      let askpass = Pinentry(
        .askpass, helper: try HelperProcess(program: "pinentry", askpass: program, prompt: ""),
        environment: { $0 == "PATH" ? "/nonexistent:\(folder):/usr/bin" : nil }, terminal: nil,
        executor: globalConcurrentExecutor)
      let reason =
        "cannot start \(program): Permission denied; make it executable, or name another with --askpass PROGRAM"
      #expect(askpass.problem?.text == "no prompt can be shown: \(reason)")
      #expect(await askpass.selfTest(within: .seconds(1)) == reason)
    }
  }

  @Test func `the program inherits the environment and three descriptors only`() async throws {
    let scripted = try ScriptedPinentry()
    try await scripted.prompter().confirm(Self.prompt)
    let start = try #require(try scripted.events("start").first)
    #expect(start.openFiles == [0, 1, 2])
    #expect(start.environment?["LANG"] == ProcessInfo.processInfo.environment["LANG"])
  }

  @Test(arguments: ["deny", "cancel", "close"])
  func `a refusal is declined, and is not logged`(behaviour: String) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour])
    await #expect(throws: UserInteractionError.declined) { try await scripted.prompter().confirm(Self.prompt) }
    await #expect(throws: UserInteractionError.declined) { try await Self.typed(scripted.prompter()) }
    #expect(scripted.lines.isEmpty)
    #expect(try await scripted.ends())
  }

  // Holds: PROMPT-18
  @Test(arguments: [("close", true), ("cancel", false), ("deny", false)])
  func `a window that was closed is told from a button that refuses`(behaviour: String, isClosed: Bool) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour])
    let pinentry = Pinentry(
      helper: try HelperProcess(program: scripted.program), environment: { _ in nil }, terminal: nil,
      executor: globalConcurrentExecutor)
    for takesPassphrase in [false, true] {
      var text = Self.text
      text.takesPassphrase = takesPassphrase
      try await pinentry.open(text)
      await #expect(throws: isClosed ? PromptFailure.closed : .noAnswer(.declined)) { try await pinentry.ask(text) }
      #expect(await !pinentry.isOpen)
    }
    #expect(try await scripted.ends())
  }

  // Holds: WALLET-11
  @Test func `a dialog that closes itself counts as timed out`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "timeout"])
    await #expect(throws: UserInteractionError.timedOut) { try await scripted.prompter().confirm(Self.prompt) }
    #expect(scripted.lines.isEmpty)
  }

  @Test(arguments: ["old", "comments", "split"])
  func `older and chattier programs are supported`(behaviour: String) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour, "passphrase": "p"])
    try await scripted.prompter(environment: ["DISPLAY": ":0"]).confirm(Self.prompt)
    #expect(try await Self.typed(scripted.prompter()) == Array("p".utf8))
    #expect(scripted.lines.isEmpty)
  }

  // MARK: Passphrases

  @Test(arguments: [
    " ", "correct horse battery staple", "100%", "%41", "%", "a\\b\"c'd", "\u{E9}\u{1F600}\u{5C71}", "e\u{301}",
    "D x", "OK", "\t", String(repeating: "x", count: 256),
  ])
  func `a passphrase arrives byte for byte`(passphrase: String) async throws {
    let scripted = try ScriptedPinentry(["passphrase": passphrase])
    #expect(try await Self.typed(scripted.prompter()) == Array(passphrase.utf8))
  }

  @Test(arguments: [
    ("split", "C3A9250A0D20"), ("split", String(repeating: "25", count: 256)), ("escape-all", "00FF0A0D25414261"),
  ])
  func `a passphrase arrives byte for byte in any encoding`(behaviour: String, hex: String) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour, "passphraseHex": hex])
    let bytes = stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    #expect(try await Self.typed(scripted.prompter()) == bytes)
  }

  // MARK: A page that needs reading

  private static let grave = UserPrompt(purpose: .wallet(.signMessage("a")), origin: "https://d.example")

  // Holds: PERSON-6
  @Test func `an OK within half a second of a page's opening is ignored, and the page is shown again`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "wait", "delay": 0])
    let clock = ManualClock()
    let task = Task { try await scripted.prompter(clock: clock).confirm(Self.grave) }
    // A held key: an OK at once, and one at the last moment that does not count.
    for (showing, late) in [(1, Duration.zero), (2, .milliseconds(499))] {
      try await scripted.awaitEvent("ask", count: showing)
      clock.advance(by: late)
      try scripted.set(["behaviour": "approve"])
      await clock.sleeper(until: .milliseconds(500) * showing)
      try scripted.set(["behaviour": "wait"])
      #expect(try scripted.events("ask").count == showing)
      clock.advance(by: .milliseconds(500) - late - .milliseconds(1))
      await clock.sleeper(until: .milliseconds(500) * showing)
      clock.advance(by: .milliseconds(1))
    }
    try await scripted.awaitEvent("ask", count: 3)
    clock.advance(by: .milliseconds(500))
    try scripted.set(["behaviour": "approve"])
    try await task.value
    let asks = try scripted.events("ask")
    #expect(asks.count == 3)
    #expect(Set(asks.map(\.pid)).count == 1, "one window, shown again")
    #expect(Set(asks.map(\.description)).count == 1)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `an OK counts at once where nothing is destroyed, set or signed`() async throws {
    let scripted = try ScriptedPinentry(["delay": 0])
    try await scripted.prompter().confirm(Self.prompt)
    #expect(try scripted.events("ask").count == 1)
  }

  @Test func `a refusal counts at once on every page, and so does a right passphrase`() async throws {
    let refusing = try ScriptedPinentry(["behaviour": "deny", "delay": 0])
    await #expect(throws: UserInteractionError.declined) { try await refusing.prompter().confirm(Self.grave) }
    #expect(try refusing.events("ask").count == 1)
    let typing = try ScriptedPinentry(["passphrase": "p", "delay": 0])
    #expect(try await Self.typed(typing.prompter(), PromptText(Self.grave)) == Array("p".utf8))
    #expect(try typing.events("ask").count == 1)
  }

  @Test func `a request cancelled between two showings ends as cancelled`() async throws {
    let scripted = try ScriptedPinentry(["delay": 0])
    let clock = ManualClock()
    let task = Task { try await scripted.prompter(clock: clock).confirm(Self.grave) }
    await clock.sleeper(until: .milliseconds(500))
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(try await scripted.ends())
  }

  // Holds: PERSON-7
  @Test func `an empty passphrase is not a try, and the dialog is shown again`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "wait", "passphrase": "right"])
    let clock = ManualClock()
    let tried = Lines()
    let task = Task {
      try await scripted.prompter(clock: clock).passphrase(Self.text) {
        passphrase, _ -> PassphraseVerdict<Int> in
        tried.add(String(decoding: passphrase.withUnsafeBytes { Array($0) }, as: UTF8.self))
        return .accepted(7)
      }
    }
    for showing in 1...5 {
      try await scripted.awaitEvent("ask", count: showing)
      try scripted.set(["behaviour": "empty"])
      await clock.sleeper(until: .milliseconds(500) * showing)
      try scripted.set(["behaviour": "wait"])
      clock.advance(by: .milliseconds(500))
    }
    try await scripted.awaitEvent("ask", count: 6)
    try scripted.set(["behaviour": "approve"])
    #expect(try await task.value == 7)
    #expect(tried.all == ["right"])
    #expect(try scripted.events("ask").map(\.error) == [nil] + Array(repeating: "No passphrase entered", count: 5))
    #expect(try scripted.events("start").count == 1)
  }

  // Holds: PERSON-7
  @Test func `empty passphrases until the limit end as timed out`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "empty"])
    let clock = ManualClock()
    let task = Task { try await Self.typed(scripted.prompter(clock: clock)) }
    for showing in 1...2 {
      await clock.sleeper(until: .seconds(60) * (showing - 1) + .milliseconds(500))
      #expect(try scripted.events("ask").count == showing)
      clock.advance(by: .seconds(60))
    }
    await #expect(throws: UserInteractionError.timedOut) { try await task.value }
    #expect(try scripted.events("ask").count == 2)
    #expect(try await scripted.ends())
  }

  @Test func `a passphrase that is too long is declined`() async throws {
    let scripted = try ScriptedPinentry(
      ["behaviour": "split", "passphraseHex": String(repeating: "41", count: ControlMessage.maximumPassphraseSize + 1)])
    await #expect(throws: UserInteractionError.unavailable) { try await Self.typed(scripted.prompter()) }
    #expect(scripted.lines == ["\(scripted.program) answered with more than 256 bytes; type the passphrase again"])
    #expect(try await scripted.ends())
  }

  @Test func `a wrong passphrase is reported in the same dialog`() async throws {
    let scripted = try ScriptedPinentry(["passphrase": "right", "wrong": 2])
    let answer: String = try await scripted.prompter().passphrase(Self.text) { passphrase, _ in
      passphrase.withUnsafeBytes { Array($0) } == Array("right".utf8)
        ? .accepted("open") : .wrong(then: .verificationFailed)
    }
    #expect(answer == "open")
    #expect(try scripted.events("start").count == 1)
    let asks = try scripted.events("ask")
    #expect(asks.map(\.error) == [nil, "Wrong passphrase, 2 tries left", "Wrong passphrase, 1 try left"])
    #expect(asks.allSatisfy { $0.prompt == "Vault passphrase:" && $0.command == "GETPIN" })
    #expect(try await scripted.ends())
  }

  @Test func `the last wrong passphrase ends the dialog`() async throws {
    let scripted = try ScriptedPinentry(["wrong": 9])
    await #expect(throws: UserInteractionError.verificationFailed) {
      try await scripted.prompter().passphrase(Self.text) { _, _ -> PassphraseVerdict<Void> in
        .wrong(then: .verificationFailed)
      }
    }
    #expect(try scripted.events("ask").count == 3)
    #expect(try await scripted.ends())
  }

  // MARK: Programs that fail

  // Holds: PERSON-3
  @Test(arguments: ["/nonexistent/pinentry", "pinentry-that-nobody-has"])
  func `a missing program declines, and the log names the packages`(program: String) async throws {
    let scripted = try ScriptedPinentry()
    await #expect(throws: UserInteractionError.unavailable) {
      try await scripted.prompter(program: program).confirm(Self.prompt)
    }
    #expect(
      scripted.lines == [
        "cannot start \(program): No such file or directory; install it (on Debian and Ubuntu: apt install "
          + "pinentry-gnome3, pinentry-qt or pinentry-curses) or name another with --pinentry PROGRAM"
      ])
  }

  @Test func `a program that is not executable declines`() async throws {
    let scripted = try ScriptedPinentry()
    await #expect(throws: UserInteractionError.unavailable) {
      try await scripted.prompter(program: scripted.folder.path + "/control.json").confirm(Self.prompt)
    }
    let path = scripted.folder.path + "/control.json"
    #expect(
      scripted.lines == [
        "cannot start \(path): Permission denied; make it executable, or name another with --pinentry PROGRAM"
      ])
  }

  // Holds: PERSON-3
  @Test(arguments: [
    ("die", "ended with status 3 before it answered"), ("die-first", "ended with status 3 before it answered"),
    ("crash", "was ended by signal 6 before it answered"), ("no-newline", "ended with status 0 before it answered"),
    ("garbage", "does not speak the Assuan protocol"),
    ("garbage-first", "does not speak the Assuan protocol"),
    ("overlong", "does not speak the Assuan protocol"),
    ("bad-escape", "does not speak the Assuan protocol"),
    ("refuse", "cannot show a dialog: no display"),
  ])
  func `a program that exits or breaks the protocol declines, and the log gives the reason`(
    behaviour: String, words: String
  )
    async throws
  {
    let scripted = try ScriptedPinentry(["behaviour": behaviour, "passphrase": "secret-words"])
    await #expect(throws: UserInteractionError.unavailable) { try await Self.typed(scripted.prompter()) }
    #expect(scripted.lines.count == 1)
    #expect(scripted.lines.first?.hasPrefix("\(scripted.program) \(words)") == true, "\(scripted.lines)")
    #expect(scripted.lines.first?.contains("secret-words") == false)
    #expect(try await scripted.ends())
  }

  // Holds: PERSON-3
  @Test(arguments: [
    ("gnome3", true), ("gnome3:curses", true), ("qt", false), ("qt:curses", false), ("", false),
  ])
  func `the advice names GNOME's prompter if its pinentry shows nothing`(flavor: String, isOfGNOME: Bool) async throws {
    let scripted = try ScriptedPinentry(["behaviour": "unable", "flavor": flavor])
    await #expect(throws: UserInteractionError.unavailable) { try await scripted.prompter().confirm(Self.prompt) }
    let line = try #require(scripted.lines.first)
    #expect(line.hasPrefix("\(scripted.program) cannot show a dialog: Inappropriate ioctl for device"))
    #expect(line.contains("org.gnome.keyring.SystemPrompter") == isOfGNOME)
    #expect(line.contains("dbus-update-activation-environment") == isOfGNOME)
    #expect(line.contains("it needs DISPLAY or WAYLAND_DISPLAY") == !isOfGNOME)
    #expect(line.contains("name another with --pinentry PROGRAM"))
    #expect(try await scripted.ends())
  }

  // Holds: PERSON-3
  @Test func `a program that hangs before its dialog is stopped, and declines`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "silent"])
    let limits = Pinentry.Limits(setUp: .seconds(1))
    await #expect(throws: UserInteractionError.unavailable) {
      try await scripted.prompter(limits: limits).confirm(Self.prompt)
    }
    #expect(
      scripted.lines == [
        "\(scripted.program) did not answer within 1 s and was stopped; name another with --pinentry PROGRAM, "
          + "or use --prompt terminal"
      ])
    #expect(try await scripted.ends())
  }

  @Test(arguments: ["never", "missing-ok"])
  func `a program that never answers times out at the limit`(behaviour: String) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour])
    let clock = ManualClock()
    let task = Task { try await Self.typed(scripted.prompter(clock: clock)) }
    try await scripted.awaitEvent("ask")
    clock.advance(by: UserPrompter.answer - .milliseconds(1))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .milliseconds(1))
    await #expect(throws: UserInteractionError.timedOut) { try await task.value }
    #expect(try await scripted.ends())
  }

  // MARK: Cancelling

  @Test(arguments: ["never", "deaf", "missing-ok"])
  func `a cancelled task ends the dialog and all its processes at once`(behaviour: String) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour, "child": true])
    // A program that ignores the signal is killed; the others get the time that a loaded machine needs.
    let limits = behaviour == "deaf" ? Pinentry.Limits() : Pinentry.Limits(ending: .patience)
    let task = Task { try await Self.typed(scripted.prompter(limits: limits)) }
    try await scripted.awaitEvent("ask")
    try await scripted.awaitEvent("child")
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    if behaviour == "never" { #expect(try scripted.events("signal").map(\.number) == [SIGTERM]) }
    let child = try #require(try scripted.events("child").first).pid
    // The child of the dialog.
    await eventually { kill(child, 0) == -1 || Self.isZombie(child) }
    let parent = try #require(try scripted.events("start").first).pid
    #expect(kill(parent, 0) == -1 && errno == ESRCH)
    #expect(scripted.lines.isEmpty)
  }

  @Test(arguments: ["silent", "approve"])
  func `a task cancelled before the dialog opens shows none`(behaviour: String) async throws {
    let scripted = try ScriptedPinentry(["behaviour": behaviour])
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await scripted.prompter().confirm(Self.prompt)
    }
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(try scripted.events.isEmpty)
  }

  @Test func `a task cancelled while the program starts ends the program`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "silent"])
    let task = Task { try await scripted.prompter().confirm(Self.prompt) }
    try await scripted.awaitEvent("start")
    task.cancel()
    await #expect(throws: UserInteractionError.cancelled) { try await task.value }
    #expect(try await scripted.ends())
  }

  @Test(.whole("it opens very many dialogs"))
  func `many dialogs leak no descriptor`() async throws {
    let scripted = try ScriptedPinentry(["behaviour": "die-first"])
    let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    for _ in 0..<40 { try? await scripted.prompter().confirm(Self.prompt) }
    for _ in 0..<40 { try? await scripted.prompter(program: "/nonexistent").confirm(Self.prompt) }
    let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    // Other tests run at the same time; a leak would be at least 80.
    #expect(after - before < 40)
  }

  /// Whether the process is a zombie: init reaps the child of a dialog, and may be slow or absent.
  private static func isZombie(_ pid: pid_t) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    return status?.split(separator: ")").last?.hasPrefix(" Z") ?? false
  }
}

extension PromptAnswer {
  fileprivate var isAgreement: Bool { if case .agreed = self { true } else { false } }
}
