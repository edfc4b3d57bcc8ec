import Glibc
import ProcessIO
import StateDirectory

/// The lock of the only program that may follow the folder of a store; it is released with the value or the process.
final class FollowLock {
  private let file: Int32

  /// - Parameter directory: the state directory.
  /// - Throws: a failure with the code `inUse` if another process has the lock; it names the process.
  init(in directory: String) throws(CommandFailure) {
    let path = directory + "/follow.lock"
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw CommandFailure("cannot open \(path): \(SystemNumber())") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let number = errno
      let holder = Descriptor.contents(of: path, atMost: 16).flatMap { bytes in
        Int32(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
      }
      guard number == EWOULDBLOCK else { throw CommandFailure("cannot lock \(path): \(SystemNumber(number))") }
      let process = holder.map { "process \($0)" } ?? "another process"
      throw CommandFailure(
        "\(process) already follows the folder of backups; stop it first\(holder.map { ": kill \($0)" } ?? "")",
        code: .inUse)
    }
    let pid = Array("\(getpid())\n".utf8)
    guard ftruncate(file, 0) == 0, pwrite(file, pid, pid.count, 0) == pid.count else {
      throw CommandFailure("cannot write \(path): \(SystemNumber())")
    }
  }

  deinit { if file >= 0 { close(file) } }
}
