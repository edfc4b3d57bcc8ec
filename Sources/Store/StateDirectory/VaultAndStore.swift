import CredentialDB
public import CryptoPrimitives
import Glibc
public import Recovery
public import Vault

// The caller holds the directory's lock.
extension StateDirectory {
  /// Makes a vault and its empty store; if this throws, it leaves neither behind.
  ///
  /// The store is complete before the vault is written, and gets its name after it: what an interruption leaves is completed
  /// when the vault is unlocked, or made anew by the next try. If the vault or its passphrase was lost and its
  /// store still exists, the new vault belongs to that store: with the phrase, no passkey is lost.
  ///
  /// - Parameters:
  ///   - mainKey: 64 bytes.
  ///   - ed25519Root: 96 bytes.
  ///   - passphrase: unlocks the vault from now on.
  ///   - credentialIDForm: the form of the ids of new credentials; `nil` keeps that of an existing store, and means
  ///     `sealed` for a new one.
  ///   - created: Unix milliseconds.
  ///   - cost: the cost of each try of the passphrase.
  /// - Returns: the number of passkeys in the store that existed, `nil` if an empty one was made; and a warning about
  ///   the vault, which is made.
  /// - Throws: `exists` if there is a vault already, or a store that these keys do not open or that has the other form of
  ///   ids; no vault is made, and the store keeps its rows.
  @discardableResult
  public func makeVaultAndStore(
    mainKey: SecretBytes, ed25519Root: SecretBytes, passphrase: SecretBytes, credentialIDForm: CredentialIDForm?,
    created: UInt64, cost: PassphraseCost = .standard
  ) throws(StateDirectoryError) -> (passkeys: Int?, warning: ChangeWarning?) {
    try checkNoVault()
    let existing = try isStoreThere ? try openAnyStore(mainKey) : nil
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
      return (existing.count, try createVault(vault.encoded))
    }
    let state = StoreState(storeID: storeID, credentialIDForm: credentialIDForm ?? .sealed)
    let warning = try makeStore(state, at: storePath, mainKey: mainKey) { () throws(StateDirectoryError) in
      try createVault(vault.encoded)
    }
    return (nil, warning)
  }

  /// Opens the existing store if these keys open it; checks everything except rows that were put back, because
  /// accepting those needs a vault.
  private func openAnyStore(_ mainKey: SecretBytes) throws(StateDirectoryError) -> (state: StoreState, count: Int) {
    try checkStore()
    do {
      let store = try CredentialDB(
        opening: storePath, vaultPath: vaultPath, keys: CredentialKeys(mainKey: mainKey), storeID: nil,
        rows: .unjudged)
      return (try store.state(), try store.credentialCount())
    } catch {
      // A store that cannot be read may be the right one.
      let fault = unusableStore(error)
      if case .system = fault.kind { throw fault }
      throw StateDirectoryError(
        .exists,
        "there is a store already, \(storePath); the phrase does not open it: it belongs to another phrase, or was "
          + "modified outside liquid-auth",
        hint: "it is not overwritten: move it away, or give --state-dir DIR")
    }
  }

  /// Makes an empty store if there is none, and links the vault to it: `liquid-auth recover --new-store`, Recovery §1.
  ///
  /// - Returns: a warning about the change, which is done.
  /// - Throws: `wrongPassphrase`; `exists` if there is a store, intact or damaged, or a part of one.
  @discardableResult
  public func makeNewStore(passphrase: SecretBytes) throws(StateDirectoryError) -> ChangeWarning? {
    var vault = try sealedVault()
    // A store that a move did not rename yet is not lost.
    try settleStores()
    if try completeStores(with: passphrase) { return nil }
    // During a move to a new phrase, the store of either phrase can be the lost one.
    var isOfPrevious = false
    if vault.hasPreviousPhrase, try isStoreThere {
      isOfPrevious = try Self.first(of: Self.files(of: previousStorePath)) == nil
    }
    if !isOfPrevious { try checkNoStore() }
    let storeID = randomBytes(Self.storeIDSize)
    let (both, content): (VaultContent, VaultContent?)
    do {
      var generator = SystemRandomNumberGenerator()
      both = try vault.replaceStoreID(
        ofPrevious: isOfPrevious, with: storeID, passphrase: passphrase, using: &generator)
      content = isOfPrevious ? both.previous : both
    } catch {
      throw fault(error)
    }
    guard let content else { return nil }
    let encoded = vault.encoded
    return try makeStore(
      StoreState(storeID: storeID), at: isOfPrevious ? previousStorePath : storePath, mainKey: content.mainKey
    ) { () throws(StateDirectoryError) in
      if !isOfPrevious { try copyImportedOfPrevious(of: both, to: CredentialDB.unfinishedPath(of: storePath)) }
      return try replaceVault(encoded)
    }
  }

  /// Throws if there is a vault; for callers that check before they ask the user for anything.
  public func checkNoVault() throws(StateDirectoryError) {
    guard try !Self.isThere(vaultPath) else {
      throw StateDirectoryError(
        .exists, "there is a vault already, \(vaultPath)",
        hint: "it is not overwritten: move it away, or give --state-dir DIR")
    }
  }

  private static let storeIDSize = 16

  /// Makes a store, runs `commit`, which writes the vault, and gives the store its name; removes the store if `commit` fails.
  private func makeStore(
    _ state: StoreState, at storePath: String, mainKey: SecretBytes,
    then commit: () throws(StateDirectoryError) -> ChangeWarning?
  ) throws(StateDirectoryError) -> ChangeWarning? {
    do {
      try CredentialDB.prepare(at: storePath, keys: CredentialKeys(mainKey: mainKey), state: state)
    } catch {
      throw unusableStore(error)
    }
    let warning: ChangeWarning?
    do {
      warning = try commit()
    } catch {
      for path in Self.files(of: storePath) { unlink(path) }
      throw error
    }
    do {
      try CredentialDB.finish(at: storePath)
    } catch {
      return ChangeWarning(unsettled: unusableStore(error))
    }
    return warning
  }

  /// Gives a store its name if the command that made it was ended before it could do that.
  ///
  /// - Returns: whether there was one of the vault.
  @discardableResult
  func completeStore(
    at path: String, of content: VaultContent, keys: CredentialKeys
  ) throws(StateDirectoryError) -> Bool {
    guard try Self.isUnfinished(path) else { return false }
    do {
      return try CredentialDB.complete(at: path, keys: keys, storeID: content.storeID)
    } catch {
      throw unusableStore(error)
    }
  }

  /// The same for ``makeNewStore(passphrase:)``, which then has nothing left to do; removes a store of no vault.
  private func completeStores(with passphrase: SecretBytes) throws(StateDirectoryError) -> Bool {
    guard try isStoreUnfinished else { return false }
    let content = try unlock(passphrase: passphrase).content
    var isCompleted = false
    for (path, content) in [(storePath, content), (previousStorePath, content.previous)] {
      guard let content, try Self.isUnfinished(path) else { continue }
      if try completeStore(at: path, of: content, keys: CredentialKeys(mainKey: content.mainKey)) {
        isCompleted = true
      } else {
        for path in Self.files(of: path) { unlink(path) }
      }
    }
    return isCompleted
  }

  /// Whether a store was being made when a command was ended; unlocking the vault completes it, or says that it is missing.
  public var isStoreUnfinished: Bool {
    get throws(StateDirectoryError) {
      if try Self.isUnfinished(storePath) { return true }
      guard try sealedVault().hasPreviousPhrase else { return false }
      return try Self.isUnfinished(previousStorePath)
    }
  }

  /// Whether there is no store, and one without its name.
  static func isUnfinished(_ path: String) throws(StateDirectoryError) -> Bool {
    // A leftover log would be played into the store.
    guard try first(of: storeFiles(path)) == nil else { return false }
    return try isThere(CredentialDB.unfinishedPath(of: path))
  }

  /// Throws if there is a store; for callers that make a new phrase, which opens no existing store.
  ///
  /// A leftover log counts too, because SQLite would play it into the new store.
  public func checkNoStore() throws(StateDirectoryError) {
    guard let found = try Self.first(of: storeFiles) else { return }
    throw StateDirectoryError(
      .exists, "there is a store already, \(found)",
      hint: "it is not overwritten: move it away, or give --state-dir DIR")
  }

  /// The store, and SQLite's files beside one that is open or was not closed.
  var storeFiles: [String] { Self.storeFiles(storePath) }

  private static func storeFiles(_ path: String) -> [String] { ["", "-wal", "-shm", "-journal"].map { path + $0 } }

  var isStoreThere: Bool { get throws(StateDirectoryError) { try Self.isThere(storePath) } }

  /// Whether a file is there; an error if the system cannot tell.
  static func isThere(_ path: String) throws(StateDirectoryError) -> Bool {
    var status = stat()
    guard lstat(path, &status) != 0 else { return true }
    guard errno == ENOENT else { throw .system("read", path) }
    return false
  }

  /// The first of these files that is there.
  static func first(of paths: [String]) throws(StateDirectoryError) -> String? {
    for path in paths {
      if try isThere(path) { return path }
    }
    return nil
  }
}
