import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO

/// Reads the passphrase of a vault from the user.
enum PassphraseInput {
  /// Reads from the terminal, without echo, if standard input is one; otherwise reads its next line.
  static func read() throws(CommandFailure) -> SecretBytes {
    if let terminal { return try read(on: terminal) }
    return try check(secretLine("the passphrase"))
  }

  /// The passphrase in the first line of standard input; `nil` if standard input is a terminal, or empty.
  static func given() throws(CommandFailure) -> SecretBytes? {
    guard terminal == nil else { return nil }
    let line: SecretBytes
    do throws(CommandFailure) { line = try StandardInput.secretLine("the passphrase") } catch {
      guard error.code != .usage else { return nil }
      throw CommandFailure(error.description, code: .passphrase)
    }
    return try check(line)
  }

  /// Reads the next line of standard input.
  private static func secretLine(_ what: String) throws(CommandFailure) -> SecretBytes {
    do { return try StandardInput.secretLine(what) } catch {
      throw CommandFailure(error.description, code: .passphrase)
    }
  }

  /// Reads a passphrase and uses it; a user at a terminal may try again if it is wrong.
  ///
  /// - Parameter next: reads the lines after the passphrase, if standard input is not a terminal. Errors in them are
  ///   then reported before Argon2id runs, which takes about a second.
  @discardableResult
  static func tried<Result>(
    thenReading next: (SecretBytes) throws(CommandFailure) -> Void = { _ in },
    _ use: (SecretBytes) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    guard let terminal else {
      let passphrase = try read()
      try next(passphrase)
      return try use(passphrase)
    }
    return try tried(on: terminal, use)
  }

  /// Does the same on a terminal, which shows nothing that is typed before the passphrase is right, or the last try is
  /// over.
  static func tried<Result>(
    on terminal: TerminalDevice, _ use: (SecretBytes) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    try terminal.withoutEcho { () throws(CommandFailure) in
      for triesLeft in (1..<PassphraseDialogue.tries).reversed() {
        do throws(CommandFailure) {
          return try use(read(on: terminal))
        } catch  where error.code == .passphrase {
          let tries = triesLeft == 1 ? "one try" : "\(triesLeft) tries"
          terminal.show("wrong passphrase; try again, \(tries) left\n")
        }
      }
      return try use(read(on: terminal))
    }
  }

  /// Reads a new passphrase: from the terminal, twice, if standard input is one; otherwise its next line.
  ///
  /// - Parameter present: the passphrase that it replaces, if there is one.
  static func new(replacing present: SecretBytes? = nil) throws(CommandFailure) -> SecretBytes {
    if let terminal { return try PassphraseDialogue.new(on: terminal, replacing: present) }
    let passphrase = try secretLine("the new passphrase")
    if let violation = PassphraseRule.violation(by: passphrase, replacing: present) {
      throw CommandFailure("\(violation); nothing was changed", code: .passphrase)
    }
    return passphrase
  }

  /// Whether the user types the passphrase on a terminal.
  static var isTyped: Bool { terminal != nil }

  /// The terminal, if standard input is one.
  private static var terminal: TerminalDevice? { isatty(STDIN_FILENO) == 1 ? try? TerminalDevice() : nil }

  /// Reads from the terminal, without echo, until the line can be a passphrase.
  static func read(on terminal: TerminalDevice) throws(CommandFailure) -> SecretBytes {
    while true {
      let passphrase = try terminal.askSecret("Vault passphrase: ")
      do throws(CommandFailure) { return try check(passphrase) } catch { terminal.show("\(error.description)\n") }
    }
  }

  private static func check(_ passphrase: SecretBytes) throws(CommandFailure) -> SecretBytes {
    guard 1...ControlMessage.maximumPassphraseSize ~= passphrase.count else {
      throw CommandFailure(
        "this cannot be the passphrase; a passphrase has 1 to \(ControlMessage.maximumPassphraseSize) bytes",
        code: .passphrase)
    }
    return passphrase
  }
}
