public import CredentialDB
public import CryptoPrimitives
import Glibc
public import Recovery
public import Vault

// MARK: - Looking, without a passphrase

extension StateDirectory {
  /// Checks vault and store as far as that needs no passphrase; changes nothing.
  ///
  /// - Throws: what prevents unlocking: a file, or the directory, is missing, not private, not valid, or cannot be written.
  public func check() throws(StateDirectoryError) {
    try checkIdentity()
    let vault = try sealedVault()
    // SQLite makes the log of the store there.
    try Self.checkWritable(path)
    guard try !areStoresUnsettled(beside: vault) else { return }
    try checkStore()
    if vault.hasPreviousPhrase { try checkStore(at: previousStorePath) }
  }

  /// Checks a store that is not open in more detail; the caller holds the directory's lock.
  ///
  /// - Throws: as `check`, and for damage of the store that can be found without keys.
  public func checkAtRest() throws(StateDirectoryError) {
    try check()
    let vault = try sealedVault()
    guard try !areStoresUnsettled(beside: vault) else { return }
    do {
      try CredentialDB.inspect(storePath, vaultPath: vaultPath)
      if vault.hasPreviousPhrase { try CredentialDB.inspect(previousStorePath, vaultPath: vaultPath) }
    } catch {
      throw unusableStore(error)
    }
  }

  /// The error for a store that cannot be read or written.
  public func unusableStore(_ error: RecoveryError) -> StateDirectoryError {
    switch error.kind {
    case .system(let number): StateDirectoryError(.system(errno: number), error.reason, hint: error.hint)
    case .diskFull: StateDirectoryError(.system(errno: ENOSPC), error.reason, hint: error.hint)
    default:
      StateDirectoryError(
        .unusableStore, error.reason, hint: error.hint, command: error.command,
        needsPreparation: error.needsPreparation)
    }
  }

  /// The error for a vault file that opens, but has other secrets than the open vault.
  public func otherVault() -> StateDirectoryError {
    StateDirectoryError(
      .wrongPassphrase, "\(vaultPath) is not the vault that is open",
      hint: "put the right file back, or lock the vault first: liquid-auth lock", command: ["liquid-auth", "lock"])
  }

  /// The vault, read and still sealed.
  func sealedVault() throws(StateDirectoryError) -> VaultFile {
    try checkIdentity()
    let bytes = try readVault()
    do {
      return try VaultFile(decoding: bytes)
    } catch {
      throw fault(error)
    }
  }

  /// The settings that the store keeps in clear; those of a new device if they cannot be read.
  public func reportedSettings() -> ReportedSettings {
    CredentialDB.reportedSettings(at: storePath) ?? ReportedSettings()
  }

  func checkStore() throws(StateDirectoryError) { try checkStore(at: storePath) }

  func checkStore(at storePath: String) throws(StateDirectoryError) {
    var status = stat()
    guard lstat(storePath, &status) == 0 else {
      guard errno == ENOENT else { throw .system("open", storePath) }
      let wasBegun = try Self.isThere(CredentialDB.unfinishedPath(of: storePath))
      throw StateDirectoryError(
        .missing,
        "the store \(storePath) of the vault \(vaultPath) is missing"
          + (wasBegun ? "; a new one was being made when liquid-auth was ended" : ""),
        hint: "put it back, or make an empty one", with: ["liquid-auth", "recover", "--new-store"])
    }
    try Privacy.check(status, storePath, type: S_IFREG, mode: "600")
    try Self.checkWritable(storePath)
  }

  /// Each opening of the store writes it.
  private static func checkWritable(_ path: String) throws(StateDirectoryError) {
    guard access(path, W_OK) == 0 else { throw .system("write", path) }
  }
}

// MARK: - Unlocking

extension StateDirectory {
  /// Unlocks the vault; its slots require about a second and 256 MiB.
  ///
  /// - Throws: `wrongPassphrase`, `system(ENOMEM)`, or what `check` throws.
  public func unlock(passphrase: SecretBytes) throws(StateDirectoryError) -> UnlockedVault {
    let vault = try sealedVault()
    do {
      return try vault.open(passphrase: passphrase)
    } catch {
      throw fault(error)
    }
  }

  /// Unlocks the vault with the key of a slot's protector, 32 bytes.
  ///
  /// - Throws: `wrongPassphrase` when the key does not open the slot, or what `check` throws.
  public func unlock(slot id: [UInt8], key: SecretBytes) throws(StateDirectoryError) -> UnlockedVault {
    let vault = try sealedVault()
    do {
      return try vault.open(slot: id, key: key)
    } catch {
      throw fault(error)
    }
  }

  /// The line about a slot that no longer unlocks the vault at the start, since the vault authenticates its slots.
  public static func noLongerAtStart(_ number: Int, _ slot: VaultSlot) -> String {
    "slot \(number) (\(slot.protector.name)) no longer unlocks the vault when the authenticator starts: an earlier "
      + "version added it, and another program could have set --auto-unlock; if you want it, remove the slot, and add "
      + "it again with --auto-unlock"
  }

  /// The slots of the vault, in the order in which they are tried; needs no passphrase.
  public func slots() throws(StateDirectoryError) -> [VaultSlot] { try sealedVault().slots }

  /// Changes the slots of the vault, durably: a crash at any moment leaves the old file or the new one, whole.
  ///
  /// The caller holds the directory's lock.
  /// - Returns: the slots after the change, and a warning about it.
  @discardableResult
  public func changeSlots(
    _ change: (inout VaultFile) throws(VaultError) -> Void
  ) throws(StateDirectoryError) -> (slots: [VaultSlot], warning: ChangeWarning?) {
    var vault = try sealedVault()
    do {
      try change(&vault)
    } catch {
      throw fault(error)
    }
    let encoded = vault.encoded
    try checkRoom(for: "another slot", in: encoded)
    let warning = try replaceVault(encoded)
    return (vault.slots, warning)
  }

  /// Authenticates the slots of a vault that an earlier version made (Recovery §1), durably.
  ///
  /// The caller holds the directory's lock.
  /// - Parameter vault: the vault, opened by its passphrase.
  /// - Returns: the slots that no longer unlock at the start, with their numbers, and a warning about the change.
  public func sealSlots(
    of vault: UnlockedVault
  ) throws(StateDirectoryError) -> (changed: [(number: Int, slot: VaultSlot)], warning: ChangeWarning?) {
    guard !vault.sealsSlots else { return ([], nil) }
    var changed: [VaultSlot] = []
    let (slots, warning) = try changeSlots { (file) throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      changed = try file.sealSlots(of: vault, using: &generator)
    }
    return (zip(1..., slots).filter { _, slot in changed.contains { $0.id == slot.id } }.map { ($0, $1) }, warning)
  }

  /// Opens the store that belongs to the vault; a missing store is an error, not an empty store (Recovery §1).
  ///
  /// The caller holds the directory's lock. Renames of a move to a new phrase that failed are repeated first.
  public func openStore(
    of content: VaultContent, keys: CredentialKeys
  ) throws(StateDirectoryError) -> CredentialDB {
    try openStore(of: content, keys: keys, rows: .asTheyWereLeft)
  }

  /// Accepts a store whose rows were changed from outside: `liquid-auth recover --accept-store`.
  ///
  /// The caller holds the directory's lock, and the store is not open. No row is removed. The history gets an entry.
  /// - Returns: how many entries of the history are kept: all, or none of a modified one.
  /// - Throws: `wrongPassphrase`, and what else prevents opening vault or store.
  public func acceptStore(passphrase: SecretBytes, now: UInt64) throws(StateDirectoryError) -> UInt64 {
    let content = try unlock(passphrase: passphrase).content
    let hasAcceptedPrevious = try acceptPreviousStore(of: content)
    let keys = CredentialKeys(mainKey: content.mainKey)
    // If the other store was accepted, this one need not be modified; its rows and its history are then as they were.
    var opened = hasAcceptedPrevious ? try? openStore(of: content, keys: keys) : nil
    if (try? opened?.checkHistory())?.faults.isEmpty != true { opened = nil }
    let store = if let opened { opened } else { try openStore(of: content, keys: keys, rows: .accepted) }
    do {
      let kept = try store.checkHistory().count
      try store.appendDurably([
        HistoryEntry(time: now, site: nil, kind: .acceptOldStore, outcome: .done, verification: .passphrase)
      ])
      return kept
    } catch {
      throw unusableStore(error)
    }
  }

  /// Accepts the store of the previous phrase, if there is one and it was modified.
  private func acceptPreviousStore(of content: VaultContent) throws(StateDirectoryError) -> Bool {
    guard let previous = content.previous else { return false }
    let keys = CredentialKeys(mainKey: previous.mainKey)
    if (try? openPreviousStore(of: previous, keys: keys)) != nil { return false }
    _ = try openPreviousStore(of: previous, keys: keys, rows: .accepted)
    return true
  }

  private func openStore(
    of content: VaultContent, keys: CredentialKeys, rows: RowRule
  ) throws(StateDirectoryError) -> CredentialDB {
    try settleStores()
    try completeStore(at: storePath, of: content, keys: keys)
    try checkStore()
    do {
      return try CredentialDB(
        opening: storePath, vaultPath: vaultPath, keys: keys, storeID: content.storeID, rows: rows)
    } catch {
      throw unusableStore(error)
    }
  }
}

extension StateDirectory {
  /// The error for a fault of the vault, with the file's name; a wrong passphrase is no fault of the file.
  func fault(_ error: VaultError) -> StateDirectoryError {
    let kind: StateDirectoryError.Kind =
      switch error {
      case .wrongPassphrase, .wrongKey, .changedSlot: .wrongPassphrase
      case .outOfMemory: .system(errno: ENOMEM)
      case .noSuchSlot, .lastSlot: .unchanged
      case .notAVault, .unsupportedVersion, .damaged, .limitExceeded: .damaged
      }
    let file = kind == .unchanged || error == .wrongPassphrase ? "" : "\(vaultPath): "
    return StateDirectoryError(kind, file + error.reason, hint: error.hint, command: error.command)
  }
}
