import Glibc
import ProcessIO

/// The lock of one process on a state directory; it ends with the value or with the process.
public final class DirectoryLock: Sendable {
  let file: Int32

  fileprivate init(file: Int32) { self.file = file }

  deinit { close(file) }
}

extension StateDirectory {
  /// Locks the directory for this process: one daemon for each store.
  ///
  /// A second process gets an error with the pid of the first, if ``lockHolder`` finds it. The renames of a move to a new
  /// phrase that was interrupted are completed or undone (Recovery §14).
  ///
  /// The file stays when the lock ends: removing it would let a third process lock another file of the same name.
  public func lock() throws(StateDirectoryError) -> DirectoryLock {
    let file = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      let number = errno
      let hint = "you need permission to write to the directory and the file; see: ls -la \(path)"
      throw .system("open", lockPath, number, hint: number == EACCES ? hint : nil)
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let number = errno
      defer { close(file) }
      guard number == EWOULDBLOCK else { throw .system("lock", lockPath, number) }
      throw Self.inUse(path, by: lockHolder ?? 0)
    }
    let pid = Array("\(getpid())\n".utf8)
    guard ftruncate(file, 0) == 0, pwrite(file, pid, pid.count, 0) == pid.count else {
      let number = errno
      close(file)
      throw .system("write", lockPath, number)
    }
    let lock = DirectoryLock(file: file)
    try settleStores()
    return lock
  }

  /// The process that holds the lock: the file names it, and /proc/locks confirms it; `nil` if there is none, or it cannot be found out.
  ///
  /// It does not try the lock: an authenticator that starts at that moment would be refused.
  public var lockHolder: Int32? {
    var status = stat()
    guard stat(lockPath, &status) == 0, let file = Descriptor.contents(of: lockPath),
      let locks = Descriptor.contents(of: "/proc/locks", atMost: 1 << 20)
    else { return nil }
    let pid = Self.pid(file)
    // 1: FLOCK  ADVISORY  WRITE 4711 fe:01:393234 0 EOF. On btrfs, the device is not that of stat(2).
    let isHeld = locks.split(separator: 0x0A).contains { line in
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      return words.count >= 6 && words[1] == "FLOCK" && words[4] == "\(pid)"
        && words[5].hasSuffix(":\(status.st_ino)")
    }
    return isHeld ? pid : nil
  }

  private static func inUse(_ path: String, by pid: Int32) -> StateDirectoryError {
    let who = pid > 0 ? "process \(pid)" : "another process"
    let end = pid > 0 ? "stop it first (kill \(pid))" : "stop it first"
    return StateDirectoryError(
      .inUse(pid: pid), "\(who) already uses \(path)",
      hint: "\(end), or give another directory with --state-dir DIR")
  }

  /// The first line of the file; 0 if it is not a number.
  private static func pid(_ file: [UInt8]) -> Int32 {
    Int32(String(decoding: file.prefix { $0 != 0x0A }, as: UTF8.self)) ?? 0
  }
}
