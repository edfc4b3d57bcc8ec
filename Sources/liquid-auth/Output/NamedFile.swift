import Glibc
import ProcessIO

/// A file that the user names.
struct NamedFile {
  /// The largest file that is read as the content of a large blob, bytes: compressed it must still fit.
  static let largestBlob = 1 << 20

  private let path: String

  init(_ path: String) { self.path = path }

  /// Reads a whole file.
  ///
  /// - Throws: a failure for a file that cannot be read, or has more bytes than `limit`.
  func read(atMost limit: Int) throws(CommandFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open") }
    defer { close(descriptor) }
    guard let bytes = Descriptor.read(descriptor, atMost: limit) else { throw failure("read") }
    guard bytes.count > limit else { return bytes }
    throw CommandFailure("\(path) has more than \(limit) bytes; nothing was changed")
  }

  /// Makes a file that only its owner can access, durably: it may be the only copy that is left.
  ///
  /// - Throws: a failure if the file exists, which stays unchanged, or cannot be written.
  func create(_ bytes: [UInt8]) throws(CommandFailure) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno == EEXIST else { throw failure("create") }
      throw CommandFailure("\(path) exists already and is not overwritten; name another file")
    }
    defer { close(descriptor) }
    guard Descriptor.write(bytes, to: descriptor), fsync(descriptor) == 0, syncDirectory() else {
      let failure = failure("write")
      unlink(path)
      throw failure
    }
  }

  /// Makes the file's name as durable as its bytes; returns `false` and sets `errno` on failure.
  private func syncDirectory() -> Bool {
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "."
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return fsync(descriptor) == 0
  }

  private func failure(_ operation: String) -> CommandFailure {
    CommandFailure("cannot \(operation) \(path): \(SystemNumber())")
  }
}
