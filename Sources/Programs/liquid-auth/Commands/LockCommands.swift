import ArgumentParser
import ControlClient
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
      Tries the slots that need no passphrase first, such as a keyring or the TPM; after a lock, a prompt asks before one \
      is used. If none unlocks the vault, asks for the passphrase at the terminal. A passphrase in the first line of \
      standard input is used in place of the other slots.
      """)

  @Flag(help: "Use the passphrase, even if another slot could unlock the vault.")
  var passphrase = false
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    let connection = try place.connect()
    let directory = try connection.ask(GetStatus()).stateDirectory
    let slots = (try? StateDirectory(opening: directory).slots()) ?? []
    try unlock(connection, unlessBy: slots.map(\.protector))
    output.write("unlocked", json: ["vault": .string("unlocked")])
  }

  private func unlock(_ connection: ControlConnection, unlessBy slots: [VaultSlot.Protector]) throws(CommandFailure) {
    if !passphrase, let note = Self.note(slots) {
      if let given = try PassphraseInput.given() {
        try connection.ask(Unlock(given))
        return
      }
      if try connection.unlocksBySlot() { return }
      StandardStream.error.write("liquid-auth: \(note)")
    }
    try connection.unlock()
  }
}

extension UnlockCommand {
  /// What is said if the slots that need no passphrase do not unlock the vault; `nil` if there are none.
  static func note(_ slots: [VaultSlot.Protector]) -> String? {
    let others = zip(1..., slots).filter { !$0.1.isPassphrase }.map { "slot \($0) (\($1.name))" }
    guard !others.isEmpty else { return nil }
    return "\(others.joined(separator: ", ")) did not unlock the vault; to see why, look at the authenticator's log"
  }
}

extension ControlConnection {
  /// Lets a slot that needs no passphrase unlock the vault; after a refusal in a prompt, none does.
  fileprivate func unlocksBySlot() throws(CommandFailure) -> Bool {
    do throws(ControlClientError) { return try request(UnlockBySlot()).isUnlocked } catch {
      // An authenticator that is older than this command does not know it.
      let others: [ControlStatus] = [.operationDenied, .userActionTimeout, .wrongPassphrase, .invalidCommand]
      guard case .refused(let failure) = error, others.contains(failure.status) else { throw CommandFailure(error) }
      return false
    }
  }

  /// Sends the vault's passphrase, so that this connection may read and change credentials; returns the passphrase.
  ///
  /// - Parameter next: as in ``PassphraseInput/tried(thenReading:_:)``.
  @discardableResult
  func unlock(
    thenReading next: (SecretBytes) throws(CommandFailure) -> Void = { _ in }
  ) throws(CommandFailure) -> SecretBytes {
    try PassphraseInput.tried(thenReading: next) { (passphrase) throws(CommandFailure) in
      try ask(Unlock(passphrase))
      return passphrase
    }
  }

  /// Sends a command that accepts a ticket; asks for the passphrase if this terminal has no ticket.
  ///
  /// A passphrase in standard input is always verified, so that a script has the same result in every terminal.
  func readByTicket<Result>(_ read: () throws(CommandFailure) -> Result) throws(CommandFailure) -> Result {
    if PassphraseInput.isTyped {
      do throws(CommandFailure) { return try read() } catch  where error.code == .passphrase {}
    }
    try unlock()
    return try read()
  }
}

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
