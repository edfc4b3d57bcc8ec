import CLinux
public import CredentialDB
public import CryptoPrimitives
import Glibc
public import Recovery
public import Vault

// The move to a new phrase: Recovery §14. The caller holds the directory's lock.

extension StateDirectory {
  /// The store of the previous phrase, during a move to a new one.
  public var previousStorePath: String { path + "/previous.sqlite" }
  /// The store of a new phrase, until the vault has that phrase.
  var nextStorePath: String { path + "/next.sqlite" }
  /// The store of a previous phrase, when the move ends.
  var endedStorePath: String { path + "/ended.sqlite" }

  /// The secrets of a new phrase.
  public struct NewPhrase: Sendable {
    let mainKey: SecretBytes
    let ed25519Root: SecretBytes

    /// - Parameters:
    ///   - mainKey: 64 bytes.
    ///   - ed25519Root: 96 bytes.
    public init(mainKey: SecretBytes, ed25519Root: SecretBytes) {
      (self.mainKey, self.ed25519Root) = (mainKey, ed25519Root)
    }
  }

  /// Begins the move to a new phrase: makes its store, and then adds the phrase to the vault.
  ///
  /// The new store gets the settings, the history, the imported passkeys and the large blobs of the present one. Until the
  /// vault is replaced, an interruption leaves everything as it was; after that, ``lock()`` completes the work.
  ///
  /// - Parameters:
  ///   - vault: the vault, opened.
  ///   - store: its store, which is closed, unless a check throws.
  ///   - now: Unix milliseconds.
  /// - Returns: a warning about the change, which is done.
  /// - Throws: `unchanged` if a move has already begun, the phrase is the present one, or the vault has no space for
  ///   another; `exists` if there is a store of an earlier phrase.
  @discardableResult
  public func beginRotation(
    of vault: UnlockedVault, closing store: CredentialDB, to phrase: NewPhrase, now: UInt64
  ) throws(StateDirectoryError) -> ChangeWarning? {
    try checkRotation(of: vault, to: phrase)
    let storeID = randomBytes(16)
    var file = try sealedVault()
    do {
      let content = try VaultContent(
        mainKey: phrase.mainKey, ed25519Root: phrase.ed25519Root, storeID: storeID, created: now,
        previous: vault.content)
      var generator = SystemRandomNumberGenerator()
      try file.replaceContent(of: vault, with: content, using: &generator)
    } catch {
      throw fault(error)
    }
    let encoded = file.encoded
    try checkRoom(for: "another phrase", in: encoded)
    for path in Self.files(of: nextStorePath) { unlink(path) }
    do {
      try store.copy(toNewStoreAt: nextStorePath, keys: CredentialKeys(mainKey: phrase.mainKey), storeID: storeID, now)
    } catch {
      for path in Self.files(of: nextStorePath) { unlink(path) }
      throw unusableStore(error)
    }
    store.close()
    return try replaceVaultAndSettle(encoded)
  }

  /// Checks what needs neither the new store nor a closed one; for callers that check before they ask for a phrase, too.
  ///
  /// - Parameter phrase: `nil` if it is not known yet.
  /// - Throws: as ``beginRotation(of:closing:to:now:)``.
  public func checkRotation(of vault: UnlockedVault, to phrase: NewPhrase? = nil) throws(StateDirectoryError) {
    guard vault.content.previous == nil else { throw Self.rotationHasBegun }
    guard !(phrase.map { $0.mainKey.isEqual(to: vault.content.mainKey) } ?? false) else {
      throw StateDirectoryError(
        .unchanged, "the vault already has this phrase", hint: "give another phrase")
    }
    guard let found = try Self.first(of: Self.files(of: previousStorePath)) else { return }
    throw StateDirectoryError(
      .exists, "there is a store of an earlier phrase, \(found)", hint: "it is not overwritten: move it away")
  }

  /// Ends the move: removes the previous phrase from the vault, and its store.
  ///
  /// The caller has checked that nothing is left. Until the vault is replaced, an interruption leaves everything as it
  /// was; after that, ``lock()`` completes the work.
  ///
  /// - Parameters:
  ///   - vault: the vault, opened.
  ///   - store: the store of the previous phrase, which is closed.
  /// - Returns: a warning about the change, which is done.
  /// - Throws: `unchanged` if no move has begun.
  @discardableResult
  public func endRotation(
    of vault: UnlockedVault, closing store: CredentialDB
  ) throws(StateDirectoryError) -> ChangeWarning? {
    guard vault.content.previous != nil else { throw Self.noRotation }
    var file = try sealedVault()
    do {
      var generator = SystemRandomNumberGenerator()
      try file.replaceContent(of: vault, with: vault.content.withoutPrevious(), using: &generator)
    } catch {
      throw fault(error)
    }
    store.close()
    try moveStore(previousStorePath, to: endedStorePath)
    return try replaceVaultAndSettle(file.encoded)
  }

  /// Replaces the vault; the stores then follow the vault that is there, also after an error.
  ///
  /// If they cannot get their names now, the next opening repeats that.
  private func replaceVaultAndSettle(_ bytes: [UInt8]) throws(StateDirectoryError) -> ChangeWarning? {
    let warning: ChangeWarning?
    do throws(StateDirectoryError) {
      warning = try replaceVault(bytes)
    } catch {
      try? settleStores()
      throw error
    }
    do throws(StateDirectoryError) { try settleStores() } catch { return ChangeWarning(unsettled: error) }
    return warning
  }

  /// The error if no move to a new phrase has begun.
  public static let noRotation = StateDirectoryError(
    .unchanged, "no move to a new phrase has begun", hint: "begin one", with: ["liquid-auth", "rotate", "begin"])

  /// The error if a move to a new phrase has already begun.
  public static let rotationHasBegun = StateDirectoryError(
    .unchanged, "a move to a new phrase has already begun", hint: "see what is left",
    with: ["liquid-auth", "rotate", "list"])

  /// Whether renames of a move, or of a new store, were interrupted or failed, so that the stores do not have their names
  /// yet.
  ///
  /// Opening a store repeats them.
  func areStoresUnsettled(beside vault: VaultFile) throws(StateDirectoryError) -> Bool {
    if try Self.isUnfinished(storePath) { return true }
    guard vault.hasPreviousPhrase else { return false }
    if try Self.isUnfinished(previousStorePath) { return true }
    return try Self.first(of: [nextStorePath, endedStorePath].flatMap(Self.files)) != nil
  }

  /// Completes or undoes the renames of a move that was interrupted, or whose renames failed.
  ///
  /// The version of the vault says whether the vault was replaced before the interruption.
  func settleStores() throws(StateDirectoryError) {
    let stores = [nextStorePath, endedStorePath].flatMap(Self.files)
    guard try Self.first(of: stores) != nil, try Self.isThere(vaultPath) else { return }
    let vault: VaultFile
    do throws(StateDirectoryError) {
      vault = try sealedVault()
    } catch {
      if case .system = error.kind { throw error }
      // A vault that is not valid is reported when it is used.
      return
    }
    if vault.hasPreviousPhrase {
      if try Self.first(of: Self.files(of: endedStorePath)) != nil {
        try moveStore(endedStorePath, to: previousStorePath)
      }
      guard try Self.isThere(nextStorePath) else { return }
      if try !Self.isThere(previousStorePath) { try moveStore(storePath, to: previousStorePath) }
      try moveStore(nextStorePath, to: storePath)
    } else {
      // A store of a new phrase that the vault does not have, and one of a phrase that it no longer has.
      for path in stores { unlink(path) }
      try synchronise()
    }
  }

  /// Opens the store of the previous phrase; otherwise the same as ``openStore(of:keys:)``.
  ///
  /// - Parameter content: of the previous phrase.
  public func openPreviousStore(
    of content: VaultContent, keys: CredentialKeys
  ) throws(StateDirectoryError) -> CredentialDB {
    try openPreviousStore(of: content, keys: keys, rows: .asTheyWereLeft)
  }

  func openPreviousStore(
    of content: VaultContent, keys: CredentialKeys, rows: RowRule
  ) throws(StateDirectoryError) -> CredentialDB {
    try settleStores()
    try completeStore(at: previousStorePath, of: content, keys: keys)
    try checkStore(at: previousStorePath)
    do {
      return try CredentialDB(
        opening: previousStorePath, vaultPath: vaultPath, keys: keys, storeID: content.storeID, rows: rows)
    } catch {
      throw unusableStore(error)
    }
  }

  /// Copies the imported passkeys into a new store of the present phrase, if the store of the previous one has them.
  ///
  /// - Parameters:
  ///   - content: with the id of the new store.
  ///   - path: the new store.
  func copyImportedOfPrevious(of content: VaultContent, to path: String) throws(StateDirectoryError) {
    guard let previous = content.previous, try Self.isThere(previousStorePath) else { return }
    let store = try openPreviousStore(of: previous, keys: CredentialKeys(mainKey: previous.mainKey))
    do {
      let new = try CredentialDB(
        opening: path, vaultPath: vaultPath, keys: CredentialKeys(mainKey: content.mainKey),
        storeID: content.storeID)
      defer { new.close() }
      try store.copyImported(to: new)
    } catch {
      throw unusableStore(error)
    }
  }

  /// Renames a store, and its log before it, without replacing another; what is not there was renamed before.
  private func moveStore(_ old: String, to new: String) throws(StateDirectoryError) {
    for suffix in ["-wal", ""] {
      guard clinux_rename_new(old + suffix, new + suffix) == 0 || errno == ENOENT else {
        throw .system("rename", old + suffix)
      }
    }
    try synchronise()
  }

  /// A store, SQLite's files beside it, and those of one that is being made.
  static func files(of store: String) -> [String] {
    ["-wal", "-shm", "-journal", ".new", ".new-wal", ".new-journal", ""].map { store + $0 }
  }
}

extension CredentialDB {
  /// Makes the store of a new phrase, with the settings, the history, the imported passkeys and the large blobs of this one.
  fileprivate func copy(
    toNewStoreAt path: String, keys: CredentialKeys, storeID: [UInt8], _ now: UInt64
  ) throws(RecoveryError) {
    try Self.create(at: path, keys: keys, state: state().ofNewPhrase(storeID: storeID))
    let new = try CredentialDB(opening: path, vaultPath: "", keys: keys, storeID: storeID)
    defer { new.close() }
    for entry in try historyEntries() { try new.append(entry) }
    try new.append(
      HistoryEntry(time: now, site: nil, kind: .beginRotation, outcome: .done, verification: .passphrase))
    try copyImported(to: new)
    // This write also makes the history durable.
    if let array = try largeBlobArray() { try new.setLargeBlobArray(array) } else { try new.setState(new.state()) }
  }
}
