import CredentialDB
public import CryptoPrimitives
import Glibc
public import Recovery
public import Vault

// The caller holds the directory's lock.
extension StateDirectory {
  /// Makes a vault and the empty store that belongs to it; when this throws, neither is there.
  ///
  /// The vault comes last: a directory with a vault is complete. Where the vault was lost, or its passphrase, and its
  /// store is there, the new vault belongs to that store: whoever has the phrase loses nothing.
  ///
  /// - Parameters:
  ///   - mainKey: 64 bytes.
  ///   - ed25519Root: 96 bytes.
  ///   - passphrase: what opens the vault from now on.
  ///   - credentialIDForm: the form of the ids of new credentials; `nil` keeps that of an existing store, and is `sealed`
  ///     for a new one.
  ///   - created: Unix milliseconds.
  ///   - cost: what each try of the passphrase costs.
  /// - Returns: how many passkeys the store has that was there; `nil` where an empty one was made.
  /// - Throws: `exists` when there is a vault already, or a store that these keys do not open or that has another form of
  ///   ids; all files stay as they are.
  @discardableResult
  public func makeVaultAndStore(
    mainKey: SecretBytes, ed25519Root: SecretBytes, passphrase: SecretBytes, credentialIDForm: CredentialIDForm?,
    created: UInt64, cost: PassphraseCost = .standard
  ) throws(StateDirectoryError) -> Int? {
    try checkNoVault()
    let existing = isStoreThere ? try openAnyStore(mainKey) : nil
    if existing == nil { try checkNoStore() }
    if let form = existing?.state.credentialIDForm, let credentialIDForm, credentialIDForm != form {
      throw StateDirectoryError(
        .exists, "there is a store already, \(storePath), with another form of credential ids, which it keeps",
        hint: "leave out --credential-ids")
    }
    let storeID = existing?.state.storeID ?? randomBytes(Self.storeIDSize)
    let vault: VaultFile
    do {
      let content = try VaultContent(
        mainKey: mainKey, ed25519Root: ed25519Root, storeID: storeID, created: created)
      var generator = SystemRandomNumberGenerator()
      vault = try VaultFile(sealing: content, passphrase: passphrase, cost: cost, using: &generator)
    } catch {
      throw fault(error)
    }
    if let existing {
      try createVault(vault.encoded)
      return existing.count
    }
    let state = StoreState(storeID: storeID, credentialIDForm: credentialIDForm ?? .sealed)
    try makeStore(state, mainKey: mainKey) { () throws(StateDirectoryError) in
      try createVault(vault.encoded)
    }
    return nil
  }

  /// The store that is there, if these keys are what it is sealed with; it is checked as whole as any that is opened, but
  /// for rows that were put back: those need a vault to be accepted with.
  private func openAnyStore(_ mainKey: SecretBytes) throws(StateDirectoryError) -> (state: StoreState, count: Int) {
    try checkStore()
    do {
      let store = try CredentialDB(
        opening: storePath, vaultPath: vaultPath, keys: CredentialKeys(mainKey: mainKey), storeID: nil,
        rows: .unjudged)
      return (try store.state(), try store.credentialCount())
    } catch {
      throw StateDirectoryError(
        .exists,
        "there is a store already, \(storePath); the phrase does not open it: it belongs to another phrase, or was "
          + "modified outside liquid-auth. It was not overwritten",
        hint: "move it away, or give --state-dir DIR")
    }
  }

  /// Makes an empty store where there is none, and ties the vault to it: `liquid-auth recover --new-store`, Recovery §1.
  ///
  /// - Throws: `wrongPassphrase`; `exists` when there is a store, sound or not, or a part of one.
  public func makeNewStore(passphrase: SecretBytes) throws(StateDirectoryError) {
    try checkNoStore()
    let storeID = randomBytes(Self.storeIDSize)
    var vault = try sealedVault()
    let content: VaultContent
    do {
      var generator = SystemRandomNumberGenerator()
      content = try vault.replaceStoreID(with: storeID, passphrase: passphrase, using: &generator)
    } catch {
      throw fault(error)
    }
    let encoded = vault.encoded
    try makeStore(StoreState(storeID: storeID), mainKey: content.mainKey) { () throws(StateDirectoryError) in
      try replaceVault(encoded)
    }
  }

  /// Refuses where a vault is: for who wants to know before a person is asked for anything.
  public func checkNoVault() throws(StateDirectoryError) {
    guard !Self.isThere(vaultPath) else {
      throw StateDirectoryError(
        .exists, "there is a vault already, \(vaultPath)",
        hint: "it is not overwritten: move it away, or give --state-dir DIR")
    }
  }

  private static let storeIDSize = 16

  /// Makes a store and then what refers to it; without the second, the first goes again.
  private func makeStore(
    _ state: StoreState, mainKey: SecretBytes, then commit: () throws(StateDirectoryError) -> Void
  ) throws(StateDirectoryError) {
    do {
      try CredentialDB.create(at: storePath, keys: CredentialKeys(mainKey: mainKey), state: state)
    } catch {
      throw StateDirectoryError(.unusableStore, error.description)
    }
    do {
      try commit()
    } catch {
      for path in storeFiles { unlink(path) }
      throw error
    }
  }

  /// Refuses where a store is: for who makes a new phrase, which opens none that is there.
  ///
  /// A log beside a store that is not its own would be played into it, so not even that may be there.
  public func checkNoStore() throws(StateDirectoryError) {
    guard let found = storeFiles.first(where: Self.isThere) else { return }
    throw StateDirectoryError(
      .exists, "there is a store already, \(found)",
      hint: "it is not overwritten: move it away, or give --state-dir DIR")
  }

  /// The store, and what SQLite keeps beside one that is open or was not closed.
  private var storeFiles: [String] { ["", "-wal", "-shm", "-journal"].map { storePath + $0 } }

  var isStoreThere: Bool { Self.isThere(storePath) }

  private static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 || errno != ENOENT
  }
}
