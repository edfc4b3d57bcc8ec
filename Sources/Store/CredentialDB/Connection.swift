import CSQLite
import Glibc

/// One connection to one database file.
///
/// Use it from one thread at a time.
final class Connection {
  let handle: OpaquePointer
  private var isOpen = true
  /// As ``Session/configure(_:)`` sets it.
  private var waiting = Waiting.atCommits
  /// How many transactions began since the log was emptied; more than 0 if the log may not be empty.
  private(set) var transactionsInLog = 1

  /// When SQLite waits until the disk has what was written (`PRAGMA synchronous`).
  private enum Waiting: String {
    /// At each commit, and when the log is moved.
    case atCommits = "FULL"
    /// When the log is moved, and at the first commit after that, for the head of the log alone.
    case atHeads = "NORMAL"
    /// Never; only between ``Connection/beginMoving()`` and the end of its transaction.
    case never = "OFF"
  }

  /// Opens a file that exists.
  convenience init(path: String) throws(StoreFault) {
    // SQLite would take a name that begins with "file:" for a URI.
    try self.init(name: path.utf8.first == UInt8(ascii: "/") ? path : "./" + path, flags: SQLITE_OPEN_READWRITE)
    // SQLite opens a file for reading if it cannot open it for writing, and then each change would fail.
    guard sqlite3_db_readonly(handle, "main") == 0 else {
      throw .system(operation: "open", errno: access(path, W_OK) == 0 ? EIO : errno)
    }
  }

  /// Opens an existing file for reading only: no lock, no log, no write.
  convenience init(lookingAt path: String) throws(StoreFault) {
    let isPlain = { (byte: UInt8) in
      byte >= 0x2D && byte <= 0x39 || byte == 0x5F || byte & 0xDF >= 0x41 && byte & 0xDF <= 0x5A
    }
    let escaped = path.utf8.map { byte in
      isPlain(byte) ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    try self.init(name: "file:\(escaped.joined())?immutable=1", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
  }

  private init(name: String, flags: Int32) throws(StoreFault) {
    var handle: OpaquePointer?
    let result = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard let handle, result == SQLITE_OK, sqlite_shim_defend(handle) == SQLITE_OK else {
      defer { sqlite3_close_v2(handle) }
      let number = sqlite3_system_errno(handle)
      guard number == 0 else { throw .system(operation: "open", errno: number) }
      throw .sqlite(code: result, message: String(cString: sqlite3_errmsg(handle)))
    }
    self.handle = handle
  }

  /// SQLite closes the connection with its last prepared statement, in any order of deinitialization.
  deinit { if isOpen { sqlite3_close_v2(handle) } }

  /// Closes the connection, after its last prepared statement; SQLite does not report if it cannot empty the log.
  func close() throws(StoreFault) {
    try check(sqlite3_close(handle))
    isOpen = false
  }

  /// Keeps the log as it is when the connection closes; otherwise it is moved into the database and removed.
  func keepLogWhenClosing(_ keeps: Bool) { _ = sqlite_shim_keep_log(handle, keeps ? 1 : 0) }

  /// The fault to report for the first use of this connection: SQLite takes a read that failed for damage, and then the
  /// file may be intact.
  func cause(of fault: StoreFault) -> StoreFault {
    let number = sqlite_shim_file_errno(handle)
    return number == 0 ? fault : .system(operation: "read", errno: number)
  }

  /// Runs statements whose results are not needed.
  func execute(_ sql: String) throws(StoreFault) {
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// Rewrites the database without its empty pages, as one transaction; ``emptyLog()`` then shortens the file.
  ///
  /// A failure is ignored: the file keeps its size.
  func vacuum() { sqlite3_exec(handle, "VACUUM", nil, nil, nil) }

  /// Runs one statement and returns the first column of each row as text.
  func texts(_ sql: String) throws(StoreFault) -> [String] {
    var texts: [String] = []
    try Statement(sql, self).forEach { texts.append($0.text(0)) }
    return texts
  }

  /// Begins a transaction that ``commitAndMoveLog()`` ends.
  ///
  /// Its commit need not wait, because moving the log does. Nor need it wait for the head of a log that was emptied: SQLite
  /// does that for a log that is written over, where a power failure could leave old entries behind their old head.
  func beginMoving() throws(StoreFault) { try begin(transactionsInLog == 0 ? .never : .atHeads) }

  private func begin(_ waiting: Waiting) throws(StoreFault) {
    try wait(waiting)
    transactionsInLog += 1
    try execute("BEGIN IMMEDIATE")
  }

  /// Fails in a transaction.
  private func wait(_ waiting: Waiting) throws(StoreFault) {
    guard waiting != self.waiting else { return }
    try execute("PRAGMA synchronous = \(waiting.rawValue)")
    self.waiting = waiting
  }

  func commit() throws(StoreFault) {
    do throws(StoreFault) { try execute("COMMIT") } catch { throw .uncommitted(error) }
  }

  /// Commits the transaction of ``beginMoving()``, and moves the log into the database, both synchronised.
  ///
  /// SQLite synchronises the log, copies its pages into the database, synchronises the database, and empties the log. Once
  /// the log is synchronised, the transaction is durable, whether or not the rest succeeds.
  ///
  /// - Throws: `uncommitted` if the commit fails, or if the log may not be on the disk.
  func commitAndMoveLog() throws(StoreFault) {
    try commit()
    do throws(StoreFault) {
      try wait(.atHeads)
      let result = truncateLog()
      if !Self.followsSynchronisation(result) { try check(result) }
    } catch {
      throw .uncommitted(error)
    }
  }

  /// Whether moving the log fails in this way only after the log was synchronised: the database could not be written, or
  /// a file not be shortened.
  private static func followsSynchronisation(_ result: Int32) -> Bool {
    // SQLITE_IOERR_WRITE and SQLITE_IOERR_TRUNCATE, which are macros that Swift does not import.
    [SQLITE_FULL, SQLITE_IOERR | 3 << 8, SQLITE_IOERR | 6 << 8].contains(result)
  }

  /// Fails if SQLite has rolled back by itself.
  func rollBack() {
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    if waiting == .never { try? wait(.atHeads) }
  }

  /// Runs `body` as one transaction: all of it is written when this returns, none of it when this throws.
  ///
  /// - Parameter isSynchronised: whether it is durable then; if not, a power failure can take back the last transactions.
  /// - Throws: `uncommitted` if the commit fails: the log may have the whole transaction, and the next opening would find it.
  func transaction(
    isSynchronised: Bool = true, _ body: () throws(StoreFault) -> Void
  ) throws(StoreFault) {
    try begin(isSynchronised ? .atCommits : .atHeads)
    do throws(StoreFault) {
      try body()
      try commit()
    } catch {
      rollBack()
      throw error
    }
  }

  /// Moves the log into the database, synchronised, and empties it.
  func moveLog() throws(StoreFault) { try check(truncateLog()) }

  private func truncateLog() -> Int32 {
    // After a failure, the log is taken for one that is not empty, whatever is in it.
    transactionsInLog += 1
    let result = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    if result == SQLITE_OK { transactionsInLog = 0 }
    return result
  }

  /// Moves the log into the database and empties it.
  ///
  /// What is in the log is durable already, and stays beside the database, so a failure loses nothing.
  func emptyLog() { try? moveLog() }

  fileprivate func check(_ result: Int32) throws(StoreFault) {
    guard result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE else {
      let fault = StoreFault.sqlite(code: result, message: String(cString: sqlite3_errmsg(handle)))
      switch result & 0xff {
      case SQLITE_CORRUPT, SQLITE_NOTADB:
        let number = sqlite_shim_read_errno(handle)
        throw number == 0 ? fault : .system(operation: "read", errno: number)
      case SQLITE_IOERR, SQLITE_CANTOPEN:
        let ofFile = sqlite_shim_file_errno(handle)
        let number = ofFile == 0 ? sqlite3_system_errno(handle) : ofFile
        guard number != 0 else { throw fault }
        // SQLite tries once more to open the log, only to read it: that there is none hides why it could not be made.
        throw .system(operation: "use", errno: number == ENOENT ? EIO : number)
      default: throw fault
      }
    }
  }
}

/// A prepared statement, which can run any number of times.
final class Statement {
  /// The value of a `?`.
  enum Parameter {
    case integer(Int64)
    /// `nil` is NULL.
    case blob([UInt8]?)
  }

  /// The current row of a statement; do not keep it.
  struct Row {
    fileprivate let handle: OpaquePointer

    /// The bytes of a column; `nil` for NULL.
    func blob(_ column: Int32) -> [UInt8]? {
      guard sqlite3_column_type(handle, column) != SQLITE_NULL else { return nil }
      let bytes = sqlite3_column_blob(handle, column)
      return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// The number of a column; 0 for NULL.
    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// Appends a column to an entry of an index.
    func append(_ column: Int32, to entry: inout IndexCheck.Entry) {
      switch sqlite3_column_type(handle, column) {
      case SQLITE_NULL: entry.append(nil)
      case SQLITE_INTEGER: entry.append(integer(column))
      case SQLITE_BLOB:
        let start = sqlite3_column_blob(handle, column)
        entry.append(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
      default: entry.appendOther()
      }
    }

    /// The text of a column; empty for NULL.
    func text(_ column: Int32) -> String {
      sqlite3_column_text(handle, column).map { String(cString: $0) } ?? ""
    }
  }

  private let handle: OpaquePointer
  private let connection: Connection

  init(_ sql: String, _ connection: Connection) throws(StoreFault) {
    var handle: OpaquePointer?
    try connection.check(
      sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil))
    guard let handle else { throw .sqlite(code: SQLITE_MISUSE, message: "the SQL statement is empty") }
    self.handle = handle
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  /// Runs the statement to its end.
  func run(_ parameters: Parameter...) throws(StoreFault) {
    try forEach(parameters) { _ throws(StoreFault) in }
  }

  /// Runs the statement and calls `body` for each row.
  func forEach(
    _ parameters: [Parameter] = [], _ body: (Row) throws(StoreFault) -> Void
  ) throws(StoreFault) {
    _ = try first(parameters) { row throws(StoreFault) -> Never? in
      try body(row)
      return nil
    }
  }

  /// Runs the statement and calls `body` for each row until it returns a value.
  func first<R>(
    _ parameters: [Parameter] = [], _ body: (Row) throws(StoreFault) -> R?
  ) throws(StoreFault) -> R? {
    defer {
      sqlite3_reset(handle)
      sqlite3_clear_bindings(handle)
    }
    for (index, parameter) in zip(Int32(1)..., parameters) {
      try connection.check(bind(parameter, at: index))
    }
    while true {
      let result = sqlite3_step(handle)
      try connection.check(result)
      guard result == SQLITE_ROW else { return nil }
      if let found = try body(Row(handle: handle)) { return found }
    }
  }

  private func bind(_ parameter: Parameter, at index: Int32) -> Int32 {
    switch parameter {
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .blob(let bytes?): sqlite_shim_bind_blob(handle, index, bytes, Int32(bytes.count))
    case .blob(nil): sqlite3_bind_null(handle, index)
    }
  }
}
