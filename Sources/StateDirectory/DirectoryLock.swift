import Glibc

/// The lock of one process on a state directory; it ends with the value or with the process.
public final class DirectoryLock: Sendable {
  private let file: Int32

  fileprivate init(file: Int32) { self.file = file }

  deinit { close(file) }
}

extension StateDirectory {
  /// Locks the directory for this process: one daemon for each store.
  ///
  /// A second process gets an error with the pid of the first.
  ///
  /// The file stays when the lock ends: removing it would let a third process lock another file of the same name.
  public func lock() throws(StateDirectoryError) -> DirectoryLock {
    let file = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw .system("open", lockPath) }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let number = errno
      defer { close(file) }
      guard number == EWOULDBLOCK else { throw .system("lock", lockPath, number) }
      throw Self.inUse(path, by: Self.pid(in: file))
    }
    let pid = Array("\(getpid())\n".utf8)
    guard ftruncate(file, 0) == 0, pwrite(file, pid, pid.count, 0) == pid.count else {
      let number = errno
      close(file)
      throw .system("write", lockPath, number)
    }
    return DirectoryLock(file: file)
  }

  private static func inUse(_ path: String, by pid: Int32) -> StateDirectoryError {
    let who = pid > 0 ? "process \(pid)" : "another process"
    let end = pid > 0 ? "stop it first (kill \(pid))" : "stop it first"
    return StateDirectoryError(
      .inUse(pid: pid), "\(who) already uses \(path)",
      hint: "\(end), or give another directory with --state-dir DIR")
  }

  private static func pid(in file: Int32) -> Int32 {
    var digits = [UInt8](repeating: 0, count: 16)
    let count = pread(file, &digits, digits.count, 0)
    return Int32(String(decoding: digits.prefix(max(count, 0)).prefix { $0 != 0x0A }, as: UTF8.self)) ?? 0
  }
}
