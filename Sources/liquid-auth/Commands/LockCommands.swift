import ArgumentParser
import ControlDoor
import CryptoPrimitives
import Glibc

/// `liquid-auth lock`.
struct LockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Close the vault: the next ceremony asks for its passphrase.")

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    let _: Done = try place.connect().ask(.lock)
    output.write("locked", json: ["vault": .string("locked")])
  }
}

/// `liquid-auth unlock`.
struct UnlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Open the vault of the authenticator that runs.",
    discussion: "Asks for the passphrase at the terminal; without one it is the first line of standard input.")

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() throws {
    let connection = try place.connect()
    try connection.unlock()
    output.write("unlocked", json: ["vault": .string("unlocked")])
  }
}

extension ControlConnection {
  /// Gives the vault's passphrase, so that this connection may see and change credentials.
  func unlock() throws(CommandFailure) {
    let _: Done = try ask(.unlock(passphrase: PassphraseInput.read()))
  }
}

/// The passphrase of an existing vault, from whoever runs the command.
enum PassphraseInput {
  /// From the terminal without echo when standard input is one, otherwise its next line.
  static func read() throws(CommandFailure) -> SecretBytes {
    if isatty(STDIN_FILENO) == 1, let terminal = Terminal() {
      return try check(terminal.askSecret("Passphrase of the vault: "))
    }
    do {
      return try check(StandardInput.secretLine("the passphrase"))
    } catch {
      throw CommandFailure(error.description, code: .passphrase)
    }
  }

  private static func check(_ passphrase: SecretBytes) throws(CommandFailure) -> SecretBytes {
    guard 1...ControlMessage.maximumPassphraseSize ~= passphrase.count else {
      throw CommandFailure(
        "that cannot be the passphrase; it has 1 to \(ControlMessage.maximumPassphraseSize) bytes", code: .passphrase)
    }
    return passphrase
  }
}
