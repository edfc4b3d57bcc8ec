import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO
import StateDirectory
import Vault

/// `liquid-auth lock`.
struct LockCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Lock the vault: the next request must unlock it again.")

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    try place.connect().ask(Lock())
    output.write("locked", json: ["vault": .string("locked")])
  }
}

/// `liquid-auth unlock`.
struct UnlockCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Unlock the vault of the running authenticator.",
    discussion: """
      Asks for the passphrase at the terminal, or reads it from the first line of standard input. A slot without a \
      passphrase unlocks the vault for a request, and not for this command: the command says so.
      """)

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    let connection = try place.connect()
    let directory = try connection.ask(GetStatus()).stateDirectory
    if let slots = try? StateDirectory(opening: directory).slots(), let note = Self.note(slots.map(\.protector)) {
      StandardStream.error.write("liquid-auth: \(note)")
    }
    try connection.unlock()
    output.write("unlocked", json: ["vault": .string("unlocked")])
  }
}

extension UnlockCommand {
  /// Why the other slots are not used; `nil` if there are none.
  static func note(_ slots: [VaultSlot.Protector]) -> String? {
    let others = zip(1..., slots).filter { !$0.1.isPassphrase }.map { "slot \($0) (\($1.name))" }
    guard !others.isEmpty else { return nil }
    let unlock = others.count == 1 ? "unlocks" : "unlock"
    return "\(others.joined(separator: ", ")) \(unlock) the vault when a request needs it; this command takes only the "
      + "passphrase"
  }
}

extension ControlConnection {
  /// Sends the vault's passphrase, so that this connection may read and change credentials; returns the passphrase.
  ///
  /// - Parameter next: as ``PassphraseInput/tried(thenReading:_:)`` has it.
  @discardableResult
  func unlock(
    thenReading next: (SecretBytes) throws(CommandFailure) -> Void = { _ in }
  ) throws(CommandFailure) -> SecretBytes {
    try PassphraseInput.tried(thenReading: next) { (passphrase) throws(CommandFailure) in
      try ask(Unlock(passphrase))
      return passphrase
    }
  }
}

/// Reads the passphrase of a vault from the user.
enum PassphraseInput {
  /// Reads from the terminal, without echo, if standard input is one; otherwise reads its next line.
  static func read() throws(CommandFailure) -> SecretBytes {
    if let terminal { return try read(on: terminal) }
    return try check(secretLine("the passphrase"))
  }

  /// Reads the next line of standard input.
  private static func secretLine(_ what: String) throws(CommandFailure) -> SecretBytes {
    do { return try StandardInput.secretLine(what) } catch {
      throw CommandFailure(error.description, code: .passphrase)
    }
  }

  /// Reads a passphrase and uses it; a user at a terminal may try again if it is wrong.
  ///
  /// - Parameter next: reads the lines after the passphrase, if standard input is not a terminal. What is wrong with them
  ///   is known before Argon2id takes its second.
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

  /// Reads a new passphrase: from the terminal, twice, if standard input is one; otherwise its next line.
  ///
  /// - Parameter present: the passphrase that it replaces, if there is one.
  static func new(replacing present: SecretBytes? = nil) throws(CommandFailure) -> SecretBytes {
    if let terminal { return try PassphraseDialogue.new(on: terminal, replacing: present) }
    let passphrase = try secretLine("the new passphrase")
    if let objection = PassphraseRule.objection(to: passphrase, replacing: present) {
      throw CommandFailure("\(objection); nothing was changed", code: .passphrase)
    }
    return passphrase
  }

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
