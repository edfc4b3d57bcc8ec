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
      is used. If none unlocks the vault, asks for the passphrase on the terminal. A passphrase in the first line of \
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
    return "\(others.joined(separator: ", ")) did not unlock the vault; see the authenticator's log"
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
}
