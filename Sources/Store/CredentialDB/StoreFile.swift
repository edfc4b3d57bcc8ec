import CLinux
import Glibc

/// The store as a file: what can be checked and done without SQLite.
struct StoreFile {
  let path: String

  /// SQLite's write-ahead log, which exists while the store is open, or after a crash.
  var logPath: String { path + "-wal" }
  /// SQLite's rollback journal, which a store never has: playing one back would rewrite it.
  var journalPath: String { path + "-journal" }

  // MARK: Looking

  /// Checks the file without writing; returns whether changes wait in the log.
  ///
  /// If the log is empty, the file's header must be valid, and is checked before SQLite could take the file for
  /// something else. If changes wait in the log, the valid header may be there.
  func inspect() throws(StoreFault) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { throw errno == ENOENT ? .missing : .system("open") }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system("open") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .damaged("it is not a regular file") }
    guard try Self.status(of: journalPath) == nil else {
      throw .damaged("there is a journal beside it, \(journalPath)")
    }
    if let log = try Self.status(of: logPath), log.st_size > 0 { return true }
    let header = try Self.start(of: file)
    guard header.count == StoreHeader.size else { throw .damaged("it ends too early") }
    try StoreHeader.check(header, fileSize: Int(status.st_size))
    return false
  }

  /// The status of a file beside the store; `nil` if there is none.
  private static func status(of path: String) throws(StoreFault) -> stat? {
    var status = stat()
    guard lstat(path, &status) != 0 else { return status }
    guard errno == ENOENT else { throw .system("read") }
    return nil
  }

  /// The first bytes of a file, as many as a header has; fewer only if the file ends before.
  private static func start(of file: Int32) throws(StoreFault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: StoreHeader.size)
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { bytes in
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        return pread(file, rest.baseAddress, rest.count, off_t(count))
      }
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else { throw .system("read") }
      guard more > 0 else { break }
      count += more
    }
    return Array(bytes.prefix(count))
  }

  /// Reads the whole file ahead, because SQLite's check walks it from its end, which the system does not foresee.
  ///
  /// Failures are ignored. No connection may have the file open: closing this descriptor would release its locks.
  func readAhead() {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { return }
    // Linux reads at most its own readahead size in one call, by default this much.
    let size = 1 << 17
    for offset in stride(from: 0, to: Int(status.st_size), by: size) {
      posix_fadvise(file, offset, size, POSIX_FADV_WILLNEED)
    }
  }

  /// The device and the inode of the file that has the name now; `nil` if none has.
  func identity() throws(StoreFault) -> FileIdentity? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw .system("read") }
      return nil
    }
    return FileIdentity(status)
  }

  // MARK: Making

  /// Makes an empty file, for the owner alone; SQLite gives its log the same mode.
  func make() throws(StoreFault) {
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw errno == EEXIST ? .exists : .system("make") }
    close(file)
  }

  /// Removes SQLite's log after the store was closed, if it is there still and empty.
  ///
  /// - Throws: `damaged` if changes wait in the log: the file alone is not the store.
  func removeEmptyLog() throws(StoreFault) {
    guard try !inspect() else { throw .damaged("changes wait in its log") }
    guard unlink(logPath) == 0 || errno == ENOENT else { throw .system("remove the log of") }
  }

  /// Removes the file and SQLite's files beside it.
  func remove() throws(StoreFault) {
    for path in [path, logPath, journalPath] {
      guard unlink(path) == 0 || errno == ENOENT else { throw .system("remove the rest of") }
    }
  }

  /// Makes the finished file and its name durable.
  func synchronise() throws(StoreFault) {
    try Self.synchronise(path, O_RDONLY)
    try Self.synchronise(directory, O_RDONLY | O_DIRECTORY)
  }

  /// Gives the finished file its name, durably and without ever replacing another.
  func move(to target: StoreFile) throws(StoreFault) {
    guard clinux_rename_new(path, target.path) == 0 else { throw errno == EEXIST ? .exists : .system("make") }
    do throws(StoreFault) {
      try Self.synchronise(target.directory, O_RDONLY | O_DIRECTORY)
    } catch {
      // After an error it has its old name again, so that the caller can retry.
      _ = clinux_rename_new(target.path, path)
      throw error
    }
  }

  private var directory: String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  }

  private static func synchronise(_ path: String, _ flags: Int32) throws(StoreFault) {
    let file = open(path, flags | O_CLOEXEC)
    guard file >= 0 else { throw .system("write") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw .system("write") }
  }
}

/// The first 100 bytes of the database: SQLite's file format, section 1.3.
enum StoreHeader {
  static let size = 100

  /// The fields that are the same in every store, by offset.
  private static let constant: [(offset: Int, bytes: [UInt8])] = [
    (0, Array("SQLite format 3\0".utf8)),
    (16, bigEndian(Schema.pageSize).suffix(2)),
    (18, [2, 2]),  // a write-ahead log, for readers and writers
    (20, [0, 64, 32, 32]),  // no reserved space; the three fractions that the format fixes
    // Schema format, no cache size, no auto-vacuum, UTF-8.
    (44, bigEndian(4) + bigEndian(0) + bigEndian(0) + bigEndian(1)),
    (64, bigEndian(0) + bigEndian(Schema.applicationID) + [UInt8](repeating: 0, count: 20)),
  ]

  /// Checks the fields of the header.
  static func check(_ header: [UInt8], fileSize: Int) throws(StoreFault) {
    func field(_ offset: Int) -> UInt32 { header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

    guard constant.allSatisfy({ header[$0.offset...].starts(with: $0.bytes) }) else {
      throw .damaged("its first bytes are not those of a store")
    }
    guard field(60) <= Schema.version else { throw .newer }
    guard Schema.versions.contains(field(60)) else { throw .damaged("its first bytes are not those of a store") }
    // Two fields count the changes; they differ only in a file that another program has written.
    guard field(24) == field(92) else { throw .damaged("its header is inconsistent") }
    guard fileSize == Int(field(28)) * Int(Schema.pageSize) else {
      throw .damaged("it has \(fileSize) bytes instead of \(field(28)) pages of \(Schema.pageSize)")
    }
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}
