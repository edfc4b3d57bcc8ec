import CryptoPrimitives
public import Recovery
import Synchronization

/// What to do with a store whose rows were changed from outside: an old one was put back, or one taken out.
public enum RowRule: Sendable {
  /// The store does not open.
  case asTheyWereLeft
  /// The store opens, and its present rows become the valid ones: the owner has agreed.
  case accepted
  /// The store opens, and the next opening finds the same: for callers that only read.
  case unjudged
}

/// The credentials of one vault in an SQLite file: each row sealed, found by tags (Recovery §6).
///
/// Only one process at a time opens the file, so that SQLite needs no shared memory beside it. Every change is one
/// transaction: before the call returns, it is written to the write-ahead log and synchronised, and then moved into the
/// file and synchronised. So between two calls the file is complete, except for the newest entries of the history, and a
/// damaged log cannot silently take other changes back.
///
/// After a commit that failed, the log can have the whole transaction, and then the next start would find it. So the
/// store is closed and opened again, which decides it, before the call returns or throws.
public final class CredentialDB: CredentialStore {
  let keys: CredentialKeys
  private let path: String
  private let vaultPath: String
  private let held: Mutex<Held>
  private let storeID: [UInt8]?
  /// The rule for opening it again.
  private let rule: RowRule
  /// What ``overview()`` shows while the store is in use; `nil` before it was read.
  private let seen = Mutex<Overview?>(nil)
  /// Why the last change failed.
  private let failure = Mutex<RecoveryError?>(nil)
  private typealias Overview = (credentials: Int?, state: StoreState?)

  /// The open file.
  private struct Held {
    /// `nil` once it is closed.
    var session: Session?
    /// The file that was opened.
    var identity: FileIdentity?
    /// Whether it could not be opened again after a failed commit: the next use tries it.
    var isLost = false
    /// The entry of the history that the next change takes into its transaction.
    var expected: HistoryEntry?
    /// Called after each durable change.
    var changed: (@Sendable () -> Void)?
  }

  // MARK: - Making and opening

  /// Makes a store with no credentials; if the file exists, throws and leaves it unchanged.
  ///
  /// The file gets its name when it is complete and synchronised.
  /// - Parameters:
  ///   - path: the file to make; its directory exists, and only this process uses it.
  ///   - keys: the keys that seal its rows.
  ///   - state: its first state, with the store id in the vault.
  public static func create(at path: String, keys: CredentialKeys, state: StoreState) throws(RecoveryError) {
    try prepare(at: path, keys: keys, state: state)
    try finish(at: path)
  }

  /// The name of a store that is complete, and gets its own name when its vault is there.
  public static func unfinishedPath(of path: String) -> String { path + ".new" }

  /// Makes the store of ``create(at:keys:state:)``, complete and synchronised, without its name.
  public static func prepare(at path: String, keys: CredentialKeys, state: StoreState) throws(RecoveryError) {
    do throws(StoreFault) {
      guard try StoreFile(path: path).identity() == nil else { throw .exists }
      let unfinished = StoreFile(path: unfinishedPath(of: path))
      try unfinished.remove()
      do throws(StoreFault) {
        try unfinished.make()
        try fill(unfinished, keys: keys, state: state)
        try check(unfinished, keys: keys, storeID: state.storeID)
        try unfinished.synchronise()
      } catch {
        try? unfinished.remove()
        // Whatever the log had is removed, too.
        if case .uncommitted(let reason) = error { throw reason }
        throw error
      }
    } catch {
      throw error.error(store: path, vault: "")
    }
  }

  /// Gives a store of ``prepare(at:keys:state:)`` its name, durably and without ever replacing another.
  ///
  /// - Throws: if it has no name then.
  public static func finish(at path: String) throws(RecoveryError) {
    do throws(StoreFault) {
      try StoreFile(path: unfinishedPath(of: path)).move(to: StoreFile(path: path))
    } catch {
      throw error.error(store: path, vault: "")
    }
  }

  /// Completes a store of ``prepare(at:keys:state:)`` whose process ended before it had its name.
  ///
  /// - Parameters:
  ///   - keys: the keys of the vault.
  ///   - storeID: the store id in the vault, 16 bytes.
  /// - Returns: whether there was one of this vault; another, and one that is not whole, is left as it is.
  /// - Throws: an error if it cannot be read or is in use, because it may be the vault's.
  public static func complete(
    at path: String, keys: CredentialKeys, storeID: [UInt8]
  ) throws(RecoveryError) -> Bool {
    let unfinished = StoreFile(path: unfinishedPath(of: path))
    do throws(StoreFault) {
      guard try StoreFile(path: path).identity() == nil, try unfinished.identity() != nil else { return false }
      try check(unfinished, keys: keys, storeID: storeID)
    } catch {
      guard error.saysOtherStore else { throw error.error(store: unfinished.path, vault: "") }
      return false
    }
    try finish(at: path)
    return true
  }

  private static func fill(_ file: StoreFile, keys: CredentialKeys, state: StoreState) throws(StoreFault) {
    let connection = try Connection(path: file.path)
    try Session.configure(connection)
    try connection.execute("PRAGMA page_size = \(Schema.pageSize); PRAGMA journal_mode = WAL")
    try connection.transaction { () throws(StoreFault) in
      for statement in Schema.statements { try connection.execute(statement) }
      try connection.execute(
        "PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = \(Schema.version)")
      let session = try Session(connection, keys: keys)
      try session.writeFirst(state)
    }
    // Closing the connection moves the log too, but does not report a failure.
    try connection.moveLog()
    try connection.close()
  }

  /// Opens a finished file as an owner's first request will: it gets its name without its log.
  private static func check(_ file: StoreFile, keys: CredentialKeys, storeID: [UInt8]) throws(StoreFault) {
    try file.removeEmptyLog()
    _ = try Session(opening: file, keys: keys, storeID: storeID, rows: .asTheyWereLeft)
    try file.removeEmptyLog()
  }

  /// Opens an existing store; checks all of it before it writes anything.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - vaultPath: the vault's path, for errors that concern both.
  ///   - keys: the keys that open and seal its rows.
  ///   - storeID: the store id in the vault, 16 bytes; `nil` accepts any store that the keys open.
  ///   - rows: what to do if the rows were changed from outside.
  /// - Throws: an error that names the file: it is missing (and is never made here), damaged (and stays unchanged, byte
  ///   for byte), of another vault, of a newer version, or in use; or its rows were changed from outside.
  public init(
    opening path: String, vaultPath: String, keys: CredentialKeys, storeID: [UInt8]?, rows: RowRule = .asTheyWereLeft
  ) throws(RecoveryError) {
    self.path = path
    self.vaultPath = vaultPath
    self.keys = keys
    self.storeID = storeID
    // What was accepted is as it was left from now on.
    rule = rows == .unjudged ? .unjudged : .asTheyWereLeft
    do throws(StoreFault) {
      let file = StoreFile(path: path)
      let (session, identity) = try Self.open(file, keys: keys, storeID: storeID, rows: rows)
      held = Mutex(Held(session: session, identity: identity))
    } catch {
      throw error.error(store: path, vault: vaultPath)
    }
  }

  /// Opens a file that keeps its name meanwhile, so that its identity is that of the file that was opened.
  private static func open(
    _ file: StoreFile, keys: CredentialKeys, storeID: [UInt8]?, rows: RowRule
  ) throws(StoreFault) -> (session: Session, identity: FileIdentity?) {
    let identity = try file.identity()
    let session = try Session(opening: file, keys: keys, storeID: storeID, rows: rows)
    guard try file.identity() == identity else { throw .exchanged }
    return (session, identity)
  }

  /// Checks a store that is not open, as far as that needs no keys; changes nothing.
  ///
  /// - Throws: an error that names the file: it is missing, of a newer version, or cannot be a store.
  public static func inspect(_ path: String, vaultPath: String) throws(RecoveryError) {
    do throws(StoreFault) {
      _ = try StoreFile(path: path).inspect()
    } catch {
      throw error.error(store: path, vault: vaultPath)
    }
  }

  /// The settings that the store keeps in clear; `nil` if they cannot be read without its keys.
  ///
  /// Changes that a crash left in the log are not seen before the store is unlocked.
  public static func reportedSettings(at path: String) -> ReportedSettings? {
    guard (try? StoreFile(path: path).inspect()) != nil, let connection = try? Connection(lookingAt: path) else {
      return nil
    }
    return try? StoreRows.reportedSettings(connection)
  }

  func with<R: Sendable>(_ body: (Session) throws(StoreFault) -> R) throws(RecoveryError) -> R {
    do throws(StoreFault) {
      return try held.withLock { held throws(StoreFault) in
        // If all was known, it is remembered already, and a read does not change it.
        let isRemembered = held.session?.isKnown ?? false
        defer { if !isRemembered { remember(held) } }
        return try body(session(in: &held))
      }
    } catch {
      throw error.error(store: path, vault: vaultPath)
    }
  }

  /// Runs `body` as one durable transaction; if this throws, the store does not have it, also after a crash.
  ///
  /// - Throws: that the change may hold, if a failed commit could not be decided.
  func durably<R: Sendable>(_ body: (Session) throws(StoreFault) -> R) throws(RecoveryError) -> R {
    do throws(StoreFault) {
      return try held.withLock { held throws(StoreFault) in
        defer { remember(held) }
        let outcome: R
        var isRecorded = false
        do {
          let session = try sessionToWrite(in: &held)
          do throws(StoreFault) {
            try session.begin()
            outcome = try body(session)
            if let entry = held.expected { isRecorded = try session.record(entry) }
          } catch {
            session.rollBack()
            throw error
          }
        }
        try commit(&held)
        failure.withLock { $0 = nil }
        if isRecorded { held.expected = nil }
        held.changed?()
        return outcome
      }
    } catch {
      throw failed(error)
    }
  }

  /// Adds an entry to the history; the log keeps it until the next durable change.
  func appendToHistory(_ entry: HistoryEntry) throws(RecoveryError) {
    do throws(StoreFault) {
      try held.withLock { held throws(StoreFault) in try append(entry, in: &held) }
    } catch {
      throw failed(error)
    }
  }

  /// The same, unless it would have to wait for another use of the store; returns whether the entry was added.
  func appendToHistoryIfIdle(_ entry: HistoryEntry) throws(RecoveryError) -> Bool {
    do throws(StoreFault) {
      let added: Void? = try held.withLockIfAvailable { held throws(StoreFault) in try append(entry, in: &held) }
      return added != nil
    } catch {
      throw failed(error)
    }
  }

  private func append(_ entry: HistoryEntry, in held: inout Held) throws(StoreFault) {
    defer { remember(held) }
    try sessionToWrite(in: &held).append(entry)
    failure.withLock { $0 = nil }
  }

  /// The error for a change that failed, which ``writeFailure`` keeps if it is one of the file.
  private func failed(_ fault: StoreFault) -> RecoveryError {
    let error = fault.error(store: path, vault: vaultPath)
    switch fault {
    case .unsealable, .noHistoryHead, .closed: break
    default: failure.withLock { $0 = error }
    }
    return error
  }

  /// Why the last change could not be written; `nil` once a change succeeds.
  public var writeFailure: RecoveryError? { failure.withLock(\.self) }

  /// The session, if its file still has its name: what is written to another one would be lost to the owner.
  private func sessionToWrite(in held: inout Held) throws(StoreFault) -> Session {
    let session = try session(in: &held)
    guard try StoreFile(path: path).identity() == held.identity else { throw .exchanged }
    return session
  }

  /// Commits the transaction of the session, and moves the log into the file.
  private func commit(_ held: inout Held) throws(StoreFault) {
    let mark = randomBytes(XChaCha20Poly1305.nonceSize)
    do throws(StoreFault) {
      try held.session?.commit(mark: mark)
    } catch {
      held.session?.rollBack()
      guard case .uncommitted(let reason) = error else { throw error }
      guard try hasCommitted(mark, in: &held, orElse: error) else { throw reason }
    }
  }

  /// Opens the store again as the next start would, and returns whether a transaction is there, and durable.
  private func hasCommitted(
    _ mark: [UInt8], in held: inout Held, orElse fault: StoreFault
  ) throws(StoreFault) -> Bool {
    // The log must stay as it is: what this connection knows of it does not have the transaction.
    held.session?.connection.keepLogWhenClosing(true)
    (held.session, held.isLost) = (nil, true)
    do throws(StoreFault) {
      let session = try session(in: &held)
      guard try session.hasMark(mark) else { return false }
      try session.connection.moveLog()
      return true
    } catch {
      throw fault
    }
  }

  private func session(in held: inout Held) throws(StoreFault) -> Session {
    if let session = held.session { return session }
    guard held.isLost else { throw .closed }
    let file = StoreFile(path: path)
    let (session, identity) = try Self.open(file, keys: keys, storeID: storeID, rows: rule)
    (held.session, held.identity, held.isLost) = (session, identity, false)
    return session
  }

  /// Calls `observer` after each durable change, on the thread of the change; it must not use the store.
  public func observe(_ observer: @escaping @Sendable () -> Void) { held.withLock { $0.changed = observer } }

  /// Closes the file, so that it can be renamed; whoever still has the store gets errors from then on.
  public func close() {
    held.withLock { held in
      if rule != .unjudged { held.session?.markHistory() }
      (held.session, held.isLost) = (nil, false)
    }
  }

  deinit { close() }

  // MARK: - The entry of a change

  /// The next durable change takes this entry into its transaction; with `nil`, it takes none.
  ///
  /// If the end of the history is unknown, the change is made without the entry.
  public func expect(_ entry: HistoryEntry?) { held.withLock { $0.expected = entry } }

  /// Takes back the entry that is expected; returns whether a change had taken it along, or there was none.
  public func takeBack() -> Bool { held.withLock { $0.expected.take() == nil } }

  // MARK: - The port

  /// The state row.
  public func state() throws(RecoveryError) -> StoreState {
    try with { session throws(StoreFault) in try session.state() }
  }

  /// The state row; `nil` if it would have to wait for another use of the store.
  public func stateIfIdle() throws(RecoveryError) -> StoreState? {
    do throws(StoreFault) {
      return try held.withLockIfAvailable { held throws(StoreFault) -> StoreState in
        defer { remember(held) }
        return try session(in: &held).state()
      }
    } catch {
      throw error.error(store: path, vault: vaultPath)
    }
  }

  /// The number of records and the state row; while the store is in use, those after the last change, without waiting.
  public func overview() -> (credentials: Int?, state: StoreState?) {
    held.withLockIfAvailable { look(at: $0.session) } ?? seen.withLock(\.self) ?? held.withLock { look(at: $0.session) }
  }

  private func remember(_ held: Held) {
    if let known = held.session?.known { seen.withLock { $0 = known } }
  }

  private func look(at session: Session?) -> Overview {
    let now = Overview(try? session?.totals().records, try? session?.state())
    seen.withLock { $0 = now }
    return now
  }
}
