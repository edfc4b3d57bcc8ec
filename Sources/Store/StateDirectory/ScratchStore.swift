public import CredentialDB
import Glibc
public import Recovery

extension StateDirectory {
  /// The directory of ``withScratchStore(keys:_:)``, below this one.
  public var scratchPath: String { path + "/check" }

  /// Makes an empty store in a directory of its own (0700), and removes both after the work.
  ///
  /// The files of a run that was killed are removed first. The directory has its own lock, so that an authenticator may
  /// work on the state directory meanwhile.
  ///
  /// - Parameter keys: those that seal the rows.
  /// - Throws: `inUse` if another process has the scratch store; what the work throws, as ``unusableStore(_:)``.
  public func withScratchStore<Result>(
    keys: CredentialKeys, _ work: (CredentialDB) throws(RecoveryError) -> Result
  ) throws(StateDirectoryError) -> Result {
    let scratch = try StateDirectory(creating: scratchPath)
    let lock: DirectoryLock
    let inUse = StateDirectoryError(
      .inUse(pid: 0), "another backup check uses \(scratchPath)", hint: "wait until it has ended")
    do { lock = try scratch.lock() } catch {
      guard case .inUse = error.kind else { throw error }
      throw inUse
    }
    guard scratch.hasLockFile(of: lock) else { throw inUse }
    defer { withExtendedLifetime(lock) { scratch.removeStore() } }
    scratch.unlinkStore()
    do {
      let storePath = scratch.storePath
      try CredentialDB.create(
        at: storePath, keys: keys, state: StoreState(storeID: [UInt8](repeating: 0, count: 16)))
      let store = try CredentialDB(opening: storePath, vaultPath: vaultPath, keys: keys, storeID: nil)
      return try work(store)
    } catch {
      throw unusableStore(error)
    }
  }

  /// Whether the lock is of the file that has its name now: another check can have removed that file before.
  private func hasLockFile(of lock: DirectoryLock) -> Bool {
    var (locked, named) = (stat(), stat())
    return fstat(lock.file, &locked) == 0 && stat(lockPath, &named) == 0 && locked.st_ino == named.st_ino
      && locked.st_dev == named.st_dev
  }

  private func unlinkStore() {
    for path in storeFiles + [storePath + ".new", storePath + ".new-wal", storePath + ".new-journal"] { unlink(path) }
  }

  private func removeStore() {
    unlinkStore()
    unlink(lockPath)
    rmdir(path)
  }
}
