import CLinux
import CryptoPrimitives
import DeterministicKeys
import Foundation
import ProcessIO
import Synchronization
import Testing

@testable import liquid_auth

/// A pseudo terminal with a user at its other end, who types a line when a prompt appears.
final class Person: Sendable {
  private let controller: Int32
  private let shownBytes = Mutex<[UInt8]>([])
  private let finished = DispatchSemaphore(value: 0)
  /// The side that the program opens.
  let terminal: Int32

  /// - Parameter answers: each prompt to wait for, and the keys to type then, Enter included.
  convenience init(_ answers: [(prompt: String, keys: String)]) throws {
    let rest = Mutex(answers[...])
    try self.init { shown in
      rest.withLock { rest in
        guard let next = rest.first, shown.contains(next.prompt) else { return nil }
        return rest.removeFirst().keys
      }
    }
  }

  /// - Parameter react: returns the keys to type, from the text shown since the last answer; `nil` to wait.
  init(_ react: @escaping @Sendable (String) -> String?) throws {
    var controller: Int32 = -1
    var terminal: Int32 = -1
    var path = [CChar](repeating: 0, count: 64)
    try #require(clinux_open_pty(&controller, &terminal, &path, path.count) == 0)
    self.controller = controller
    self.terminal = terminal
    _ = fcntl(controller, F_SETFL, 0)  // reading waits
    // As in a terminal window: lines are edited and echoed.
    var settings = termios()
    tcgetattr(terminal, &settings)
    settings.c_iflag |= tcflag_t(ICRNL)
    settings.c_oflag |= tcflag_t(OPOST | ONLCR)
    settings.c_lflag |= tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    tcsetattr(terminal, TCSANOW, &settings)
    Thread { self.read(react) }.start()
  }

  private func read(_ react: (String) -> String?) {
    var seen = 0
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Glibc.read(controller, &buffer, buffer.count)
      guard count > 0 else { break }
      let shown = shownBytes.withLock { shown in
        shown += buffer.prefix(count)
        return shown
      }
      guard let keys = react(String(decoding: shown[seen...], as: UTF8.self)) else { continue }
      seen = shown.count
      _ = write(controller, Array(keys.utf8), keys.utf8.count)
    }
    finished.signal()
  }

  /// All text shown, after the program has closed its side.
  func shown() -> String {
    finished.wait()
    close(controller)
    return shownBytes.withLock { String(decoding: $0, as: UTF8.self) }
  }
}

@Suite struct TerminalTests {
  private static func ask(
    _ keys: String, hidden: Bool = true
  ) throws -> (line: Result<[UInt8], CommandFailure>, shown: String) {
    let person = try Person([("Say: ", keys)])
    func line() throws(CommandFailure) -> [UInt8] {
      let terminal = TerminalDevice(owning: person.terminal)
      return try (hidden ? terminal.askSecret("Say: ") : terminal.askLine("Say: ")).bytes
    }
    let result: Result<[UInt8], CommandFailure>
    do throws(CommandFailure) { result = .success(try line()) } catch { result = .failure(error) }
    return (result, person.shown())
  }

  static let typed: [(keys: String, line: String)] = [
    ("open sesame\n", "open sesame"),
    ("open sesame\r", "open sesame"),
    ("\n", ""),
    ("wrong\u{15}right\n", "right"),
    ("wrong\u{17}right\n", "right"),
    ("ab\u{7F}c\n", "ac"),
    ("é\u{7F}用\u{8}x\n", "x"),
    ("\u{7F}\u{7F}a\n", "a"),
    ("a\u{4}b\n", "ab"),
    ("tab\tbed\n", "tab\tbed"),
  ]

  @Test(arguments: typed)
  func `a hidden line can be edited, and is not shown`(_ keys: String, _ line: String) throws {
    let (result, shown) = try Self.ask(keys)
    #expect(result == .success(Array(line.utf8)))
    #expect(shown == "Say: \r\n")
  }

  // Holds: INPUT-16
  @Test(arguments: ["\u{3}", "abc\u{3}", "\u{4}"])
  func `Control-C, and Control-D on an empty line, cancel`(_ keys: String) throws {
    let (result, shown) = try Self.ask(keys)
    #expect(result == .failure(CommandFailure("cancelled; nothing was changed")))
    #expect(shown == "Say: \r\n")
  }

  // Holds: INPUT-16
  @Test func `a secret that is too long is refused`() throws {
    let (result, _) = try Self.ask(String(repeating: "x", count: 1025) + "\n")
    #expect(result == .failure(CommandFailure("the line is longer than 1024 bytes; nothing was changed")))
  }

  /// The number of bytes left for the next reader of the terminal: a shell would run them.
  private static func left(
    of keys: String, at prompt: String = "Say: ", _ ask: (TerminalDevice) throws -> Void
  ) throws -> Int32 {
    let person = try Person([(prompt, keys)])
    let other = dup(person.terminal)
    func run() {
      let terminal = TerminalDevice(owning: person.terminal)
      try? ask(terminal)
    }
    run()
    var count: Int32 = -1
    _ = ioctl(other, UInt(FIONREAD), &count)
    close(other)
    _ = person.shown()
    return count
  }

  // Holds: INPUT-23
  @Test(arguments: ["legal winner\nthank year\nwave sausage\n", "legal\u{3}winner\n", longLine + "\nthank year\n"])
  func `input pasted after a hidden line is discarded`(_ keys: String) throws {
    #expect(try Self.left(of: keys) { _ = try $0.askSecret("Say: ") } == 0)
  }

  // Holds: INPUT-23
  @Test(arguments: ["legal\u{3}winner\nthank\n", longLine + "\nthank year\n"])
  func `input pasted after a refused visible line is discarded`(_ keys: String) throws {
    #expect(try Self.left(of: keys) { _ = try $0.askLine("Say: ") } == 0)
  }

  private static let longLine = String(repeating: "x", count: 1025)

  @Test func `the next visible line can be typed ahead`() throws {
    let person = try Person([("Say: ", "legal\nwinner\n")])
    func lines() throws -> [[UInt8]] {
      let terminal = TerminalDevice(owning: person.terminal)
      return try [terminal.askLine("Say: ").bytes, terminal.askLine("Then: ").bytes]
    }
    #expect(try lines() == [Array("legal".utf8), Array("winner".utf8)])
    _ = person.shown()
  }

  @Test func `a visible line is echoed`() throws {
    let (result, shown) = try Self.ask("abandon\n", hidden: false)
    #expect(result == .success(Array("abandon".utf8)))
    #expect(shown == "Say: abandon\r\n")
  }

  @Test(arguments: ["\u{3}", "aban\u{3}"])
  func `Control-C at a visible line cancels, and the process goes on`(_ keys: String) throws {
    let (result, shown) = try Self.ask(keys, hidden: false)
    #expect(result == .failure(CommandFailure("cancelled; nothing was changed")))
    #expect(shown.hasSuffix("\r\n"), "the message begins a line")
  }

  // Holds: INPUT-16
  @Test(arguments: ["secret\n", "\u{3}"], [true, false])
  func `the terminal settings are restored`(_ keys: String, hidden: Bool) throws {
    let person = try Person([("Say: ", keys)])
    let other = dup(person.terminal)
    var before = termios()
    tcgetattr(other, &before)
    func ask() {
      let terminal = TerminalDevice(owning: person.terminal)
      _ = try? hidden ? terminal.askSecret("Say: ") : terminal.askLine("Say: ")
    }
    ask()
    var after = termios()
    tcgetattr(other, &after)
    close(other)
    #expect(after.c_lflag == before.c_lflag)
    #expect(after.c_iflag == before.c_iflag)
    #expect(withUnsafeBytes(of: after.c_cc, Array.init) == withUnsafeBytes(of: before.c_cc, Array.init))
    _ = person.shown()
  }
}

@Suite struct PassphraseDialogueTests {
  private static func choose(
    _ answers: [(prompt: String, keys: String)]
  ) throws -> (passphrase: Result<[UInt8], CommandFailure>, shown: String) {
    let person = try Person(answers)
    func choose() throws(CommandFailure) -> [UInt8] {
      try PassphraseDialogue.new(on: TerminalDevice(owning: person.terminal)).bytes
    }
    let result: Result<[UInt8], CommandFailure>
    do throws(CommandFailure) { result = .success(try choose()) } catch { result = .failure(error) }
    return (result, person.shown())
  }

  // Holds: INPUT-19
  @Test func `a line that cannot be the passphrase is refused each time, without a limit`() throws {
    let prompt = "Vault passphrase: "
    let person = try Person(
      Array(repeating: (prompt, "\n"), count: 4) + [
        (prompt, String(repeating: "x", count: 257) + "\n"), (prompt, "p\n"),
      ])
    func read() throws(CommandFailure) -> [UInt8] {
      try PassphraseInput.read(on: TerminalDevice(owning: person.terminal)).bytes
    }
    #expect(try read() == Array("p".utf8))
    let refusal = "this cannot be the passphrase; a passphrase has 1 to 256 bytes\r\n"
    #expect(person.shown() == String(repeating: "\(prompt)\r\n\(refusal)", count: 5) + "\(prompt)\r\n")
  }

  // Holds: INPUT-23
  @Test func `what is typed while a passphrase is checked is neither shown nor left for the shell`() throws {
    let (prompt, check) = ("Vault passphrase: ", "checking")
    let person = try Person([
      (prompt, "wrong one\n"), (check, "right one\n"), (prompt, "right one\n"), (check, "typed ahead\n"),
    ])
    let other = dup(person.terminal)
    var before = termios()
    tcgetattr(other, &before)
    func tried() throws(CommandFailure) -> [UInt8] {
      let terminal = TerminalDevice(owning: person.terminal)
      return try PassphraseInput.tried(on: terminal) { (passphrase) throws(CommandFailure) in
        terminal.show(check)
        // Until the person has typed a line.
        var typed = pollfd(fd: other, events: Int16(POLLIN), revents: 0)
        _ = poll(&typed, 1, -1)
        guard passphrase.bytes == Array("right one".utf8) else { throw CommandFailure("wrong", code: .passphrase) }
        return passphrase.bytes
      }
    }
    #expect(try tried() == Array("right one".utf8))
    var (after, left) = (termios(), -1 as Int32)
    tcgetattr(other, &after)
    _ = ioctl(other, UInt(FIONREAD), &left)
    close(other)
    #expect(after.c_lflag == before.c_lflag && left == 0)
    #expect(withUnsafeBytes(of: after.c_cc, Array.init) == withUnsafeBytes(of: before.c_cc, Array.init))
    let again = "wrong passphrase; try again, 2 tries left\r\n"
    #expect(person.shown() == "\(prompt)\r\n\(check)\(again)\(prompt)\r\n\(check)")
  }

  @Test func `a passphrase is typed twice`() throws {
    let (result, shown) = try Self.choose([("vault: ", "correct horse\n"), ("again: ", "correct horse\n")])
    #expect(result == .success(Array("correct horse".utf8)))
    #expect(shown.hasPrefix("A passphrase has at least 8 characters, 4 of them different.\r\nNew passphrase"))
    #expect(!shown.contains("horse"))
  }

  // Holds: INPUT-20
  @Test func `a weak or mistyped passphrase is asked for again`() throws {
    let (result, shown) = try Self.choose([
      ("vault: ", "short\n"), ("vault: ", "correct horse\n"), ("again: ", "correct house\n"),
      ("vault: ", "battery staple\n"), ("again: ", "battery staple\n"),
    ])
    #expect(result == .success(Array("battery staple".utf8)))
    #expect(shown.contains("a passphrase needs at least 8 characters; try another"))
    #expect(shown.contains("the two are not the same; try again"))
  }

  // Holds: INPUT-20
  @Test func `a passphrase may be mistyped any number of times`() throws {
    let (result, _) = try Self.choose(
      Array(repeating: ("vault: ", "short\n"), count: 9)
        + [("vault: ", "correct horse\n"), ("again: ", "correct horse\n")])
    #expect(result == .success(Array("correct horse".utf8)))
  }

  @Test(arguments: [
    ("eightbyt", true), ("seven b", false), ("aaaaaaaaaaaa", false), ("abababababab", false), ("tab\tis out", false),
    ("用户é1", false), ("用户é1用户é1", true), ("日本日本日本日本", false), (String(repeating: "abcd", count: 64), true),
    (String(repeating: "abcd", count: 64) + "e", false),
  ])
  func `a passphrase needs enough length and variety`(_ passphrase: String, _ isTaken: Bool) {
    let secret = Array(passphrase.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    #expect((PassphraseRule.violation(by: secret) == nil) == isTaken)
  }

  @Test(arguments: ["password", "Password123", "P@SSW0RD", "1q2w3e4r"])
  func `a common password is refused as a passphrase`(_ passphrase: String) {
    let secret = Array(passphrase.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    #expect(PassphraseRule.violation(by: secret) == "this is one of the most common passwords, which are guessed first")
  }

  @Test func `the phrase is no passphrase, however it is typed`() {
    let phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    let other = String(phrase.dropLast(6)) + "winner"
    for (typed, isPhrase) in [(phrase, true), ("  \(phrase.uppercased()) ", true), (other, false)] {
      let secret = Array(typed.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
      let violation = PassphraseRule.violation(by: secret)
      #expect(violation?.hasPrefix("this is a recovery phrase") ?? false == isPhrase)
      #expect(isPhrase || violation == nil)
    }
  }

  private static let joined = "a passphrase must be in the Unicode form NFC; type an accented letter as one character"

  // "é" in NFC, in NFD and in Latin-1, a unit sign that NFC changes, Hangul in NFC and in NFD, Thai, and Hindi.
  @Test(
    arguments: [
      (Array("caf\u{E9} noir".utf8), nil), (Array("cafe\u{301} noir".utf8), joined),
      (Array("caf".utf8) + [0xE9] + Array(" noir".utf8), "a passphrase must be UTF-8"),
      (Array("12345678\u{212B}".utf8), joined), (Array("\u{D55C}\u{AE00} 123456".utf8), nil),
      (Array("\u{1112}\u{1161}\u{11AB} 123456".utf8), joined),
      (Array("\u{E01}\u{E34}\u{E19}\u{E49}\u{E33} 1234".utf8), nil),
      (Array("1234567\u{928}\u{93C}".utf8), joined), (Array("1234567\u{915}\u{93C}".utf8), nil),
    ] as [([UInt8], String?)])
  func `a passphrase is UTF-8 in NFC, as dialogs send it`(_ passphrase: [UInt8], _ violation: String?) {
    let secret = passphrase.withUnsafeBytes { SecretBytes(copying: $0) }
    #expect(PassphraseRule.violation(by: secret) == violation)
  }
}

@Suite struct PhraseDialogueTests {
  static let words =
    "legal winner thank year wave sausage worth useful legal winner thank yellow".split(separator: " ").map(String.init)

  /// Random numbers from a seed.
  struct Sequence: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }

  private static func confirm(
    seed: UInt64, typing word: @escaping @Sendable (Int) -> String
  ) throws -> (failure: CommandFailure?, shown: String) {
    let text = Array(words.joined(separator: " ").utf8)
    let phrase = try BIP39Phrase(parsing: text.withUnsafeBytes { SecretBytes(copying: $0) })
    let person = try Person { shown in
      if shown.contains("written down: ") { return "\n" }
      guard let prompt = try? #/Word (\d+): $/#.firstMatch(in: shown), let number = Int(prompt.1) else { return nil }
      return word(number - 1) + "\n"
    }
    func confirm() -> CommandFailure? {
      var generator = Sequence(state: seed)
      do throws(CommandFailure) {
        try PhraseDialogue.confirm(phrase, on: TerminalDevice(owning: person.terminal), using: &generator)
        return nil
      } catch {
        return error
      }
    }
    return (confirm(), person.shown())
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `the words are shown in order, and three of them are asked for`(_ seed: UInt64) throws {
    let (failure, shown) = try Self.confirm(seed: seed) { Self.words[$0] }
    #expect(failure == nil)
    let listed = shown.matches(of: #/(\d+)\. ([a-z]+)/#).map { (Int($0.1), String($0.2)) }
    #expect(listed.map(\.0) == Array(1...12))
    #expect(listed.map(\.1) == Self.words)
    let asked = shown.matches(of: #/Word (\d+): /#).compactMap { Int($0.1) }
    #expect(asked.count == 3)
    #expect(asked == Set(asked).sorted())
  }

  @Test func `another seed asks for other words`() throws {
    let asked = try (1...8).map { seed in
      try Self.confirm(seed: seed) { Self.words[$0] }.shown.matches(of: #/Word (\d+): /#).map { String($0.1) }
    }
    #expect(Set(asked).count > 1)
  }

  @Test func `capitals and spaces around a word do not matter`() throws {
    #expect(try Self.confirm(seed: 5) { "  \(Self.words[$0].uppercased()) " }.failure == nil)
  }

  @Test(arguments: ["", "zoo", "legal winner"])
  func `a wrong word may be typed three times`(_ wrong: String) throws {
    let (failure, shown) = try Self.confirm(seed: 6) { _ in wrong }
    #expect(
      failure
        == CommandFailure(
          "the words on paper are not the phrase; no vault was made; destroy the paper, and run the command again"))
    #expect(shown.matches(of: #/Word (\d+): /#).count == 3)
  }

  // Holds: INPUT-23
  @Test func `words pasted at a prompt for one word are not left for the shell`() throws {
    let phrase = Self.words.joined(separator: " ")
    // Once: an answer to the last prompt could come after the dialogue has ended.
    let isPasted = Mutex(false)
    let person = try Person { shown in
      if shown.contains("written down: ") { return "\n" }
      guard shown.contains("Word ") else { return nil }
      return isPasted.withLock { isPasted in
        defer { isPasted = true }
        return isPasted ? nil : String(repeating: "zoo\n", count: PhraseDialogue.tries + 2)
      }
    }
    let other = dup(person.terminal)
    func confirm() throws {
      let phrase = try BIP39Phrase(parsing: Array(phrase.utf8).withUnsafeBytes { SecretBytes(copying: $0) })
      var generator = Sequence(state: 8)
      let terminal = TerminalDevice(owning: person.terminal)
      #expect(throws: CommandFailure.self) {
        try PhraseDialogue.confirm(phrase, on: terminal, using: &generator)
      }
    }
    try confirm()
    var count: Int32 = -1
    _ = ioctl(other, UInt(FIONREAD), &count)
    #expect(count == 0)
    close(other)
    _ = person.shown()
  }

  @Test func `Control-D instead of a word cancels`() throws {
    let (failure, _) = try Self.confirm(seed: 7) { _ in "\u{4}" }
    #expect(
      failure
        == CommandFailure(
          "cancelled; no vault was made, and the words that you wrote down are useless; destroy the paper"))
  }
}

extension SecretBytes {
  var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
