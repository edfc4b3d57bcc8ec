public import CredentialDB
public import CryptoPrimitives
import Glibc
public import Recovery
public import Vault

// MARK: - Looking, without a passphrase

extension StateDirectory {
  /// Looks at vault and store as far as that needs no passphrase; nothing is changed.
  ///
  /// - Throws: what stands in the way of unlocking: a file, or the directory, that is missing, not private, or cannot be
  ///   ours.
  public func check() throws(StateDirectoryError) {
    // Whoever opened it may have done so long ago.
    _ = try StateDirectory(opening: path)
    _ = try sealedVault()
    try checkStore()
  }

  /// Looks closer at a store that nobody has open: the caller holds the directory's lock.
  ///
  /// - Throws: as `check`, and what can be told without keys of a store that is damaged.
  public func checkAtRest() throws(StateDirectoryError) {
    try check()
    do {
      try CredentialDB.inspect(storePath, vaultPath: vaultPath)
    } catch {
      throw StateDirectoryError(.unusableStore, error.description)
    }
  }

  /// What is said of a vault file that opens, but to other secrets than the vault that is open.
  public func otherVault() -> StateDirectoryError {
    StateDirectoryError(
      .wrongPassphrase, "\(vaultPath) is not the vault that is open",
      hint: "put the right file back, or lock the vault first: liquid-auth lock")
  }

  /// The vault, read and still sealed.
  func sealedVault() throws(StateDirectoryError) -> VaultFile {
    let bytes = try readVault()
    do {
      return try VaultFile(decoding: bytes)
    } catch {
      throw fault(error)
    }
  }

  /// What the store tells in clear, without the vault; what a new device would tell where that cannot be read.
  public func reportedSettings() -> ReportedSettings {
    CredentialDB.reportedSettings(at: storePath) ?? ReportedSettings()
  }

  func checkStore() throws(StateDirectoryError) {
    var status = stat()
    guard lstat(storePath, &status) == 0 else {
      guard errno == ENOENT else { throw .system("open", storePath) }
      throw StateDirectoryError(
        .missing, "the store \(storePath) of the vault \(vaultPath) is missing",
        hint: "put it back, or make an empty one with: liquid-auth recover --new-store")
    }
    try Privacy.check(status, storePath, type: S_IFREG, mode: "600")
  }
}

// MARK: - Unlocking

extension StateDirectory {
  /// Opens the vault; takes as long as its slots ask for, about a second and 256 MiB.
  ///
  /// - Throws: `wrongPassphrase`, `system(ENOMEM)`, or what `check` throws.
  public func unlock(passphrase: SecretBytes) throws(StateDirectoryError) -> VaultContent {
    let vault = try sealedVault()
    do {
      return try vault.open(passphrase: passphrase)
    } catch {
      throw fault(error)
    }
  }

  /// Opens the store that belongs to the vault; an absent one is never taken for an empty one (Recovery §1).
  public func openStore(
    of content: VaultContent, keys: CredentialKeys
  ) throws(StateDirectoryError) -> CredentialDB {
    try openStore(of: content, keys: keys, rows: .asTheyWereLeft)
  }

  /// Has a store whose rows are not those that were left count as it is: `liquid-auth recover --accept-store`.
  ///
  /// The caller holds the directory's lock, and nobody has the store open. Nothing is taken out of it.
  /// - Throws: `wrongPassphrase`, and what stands in the way of opening vault or store otherwise.
  public func acceptStore(passphrase: SecretBytes) throws(StateDirectoryError) {
    let content = try unlock(passphrase: passphrase)
    _ = try openStore(of: content, keys: CredentialKeys(mainKey: content.mainKey), rows: .accepted)
  }

  private func openStore(
    of content: VaultContent, keys: CredentialKeys, rows: RowRule
  ) throws(StateDirectoryError) -> CredentialDB {
    try checkStore()
    do {
      return try CredentialDB(
        opening: storePath, vaultPath: vaultPath, keys: keys, storeID: content.storeID, rows: rows)
    } catch {
      throw StateDirectoryError(.unusableStore, error.description)
    }
  }
}

extension StateDirectory {
  /// What the vault says of itself, with the file's name in front.
  func fault(_ error: VaultError) -> StateDirectoryError {
    let kind: StateDirectoryError.Kind =
      switch error {
      case .wrongPassphrase: .wrongPassphrase
      case .outOfMemory: .system(errno: ENOMEM)
      case .notAVault, .unsupportedVersion, .damaged, .limitExceeded: .damaged
      }
    return StateDirectoryError(kind, "\(vaultPath): \(error)")
  }
}
