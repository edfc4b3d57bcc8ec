import ControlProtocol
import CredentialDB
import CryptoPrimitives
import ProcessIO
import Recovery
import StateDirectory
import Vault

extension PlaceOptions {
  /// The slots of the vault, which are read without a passphrase.
  func slots() throws(CommandFailure) -> [VaultSlot] {
    let path = try statePath()
    return try orFailure { () throws(StateDirectoryError) in try StateDirectory(opening: path).slots() }
  }
}

/// A vault whose passphrase the user has typed, and whose slots can be changed: by the authenticator that works on its
/// directory, or here if none runs.
enum OwnedVault {
  case there(ControlConnection, passphrase: SecretBytes)
  case here(StateDirectory, DirectoryLock, UnlockedVault, passphrase: SecretBytes)

  /// Asks for the passphrase.
  init(at place: PlaceOptions) throws(CommandFailure) {
    do throws(CommandFailure) {
      let connection = try place.connect()
      self = .there(connection, passphrase: try connection.unlock())
    } catch  where error.code == .notRunning {
      let path = try place.statePath()
      let directory = try orFailure { () throws(StateDirectoryError) in try StateDirectory(opening: path) }
      let lock = try orFailure(directory.lock)
      self = try PassphraseInput.tried { (passphrase) throws(CommandFailure) in
        let unlocked = try orFailure { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
        return .here(directory, lock, unlocked, passphrase: passphrase)
      }
    }
  }

  /// The passphrase that the user has typed.
  var passphrase: SecretBytes {
    switch self {
    case .there(_, let passphrase), .here(_, _, _, let passphrase): passphrase
    }
  }

  func seal(for protector: VaultSlot.Protector, key: SecretBytes) throws(CommandFailure) {
    switch self {
    case .there(let connection, _): try connection.ask(SealSlot(key: key, protector: protector.members))
    case .here(_, _, let unlocked, _):
      try change(recordedAs: protector.isPassphrase ? .changePassphrase : .addSlot) { (file) throws(VaultError) in
        var generator = SystemRandomNumberGenerator()
        try file.seal(unlocked, for: protector, key: key, using: &generator)
      }
    }
  }

  func removeSlot(_ id: [UInt8]) throws(CommandFailure) {
    switch self {
    case .there(let connection, _): try connection.ask(RemoveSlot(id: id))
    case .here: try change(recordedAs: .removeSlot) { (file) throws(VaultError) in try file.removeSlot(id) }
    }
  }

  private func change(
    recordedAs kind: HistoryEntry.Kind, _ change: (inout VaultFile) throws(VaultError) -> Void
  ) throws(CommandFailure) {
    guard case .here(let directory, let lock, let unlocked, _) = self else { return }
    defer { withExtendedLifetime(lock) {} }
    _ = try orFailure { () throws(StateDirectoryError) in try directory.changeSlots(change) }
    let entry = HistoryEntry(
      time: unixMilliseconds(), site: nil, kind: kind, outcome: .done, verification: .passphrase)
    do {
      let keys = CredentialKeys(mainKey: unlocked.content.mainKey)
      try directory.openStore(of: unlocked.content, keys: keys).append(entry)
    } catch {
      // The change is done, and a store that does not open must not prevent it.
      StandardStream.error.write("liquid-auth: the change is not in the history: \("\(error)".printable)")
    }
  }
}
