import Glibc

/// A file that the person names.
struct NamedFile {
  /// The largest file that is looked at as the content of a large blob, bytes: compressed it must still fit.
  static let largestBlob = 1 << 20

  private let path: String

  init(_ path: String) { self.path = path }

  /// Reads a whole file.
  ///
  /// - Throws: a failure for one that cannot be read, or has more bytes than `limit`.
  func read(atMost limit: Int) throws(CommandFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count <= limit {
      let more = bytes.withUnsafeMutableBytes { bytes in
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        return Glibc.read(descriptor, rest.baseAddress, rest.count)
      }
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else { throw failure("read") }
      guard more > 0 else { return Array(bytes.prefix(count)) }
      count += more
    }
    throw CommandFailure("\(path) has more than \(limit) bytes; nothing was changed")
  }

  /// Makes a file for its owner alone, durably: it may be the only copy that is left.
  ///
  /// - Throws: a failure where one is there already, which is left as it is, or where it cannot be written.
  func create(_ bytes: [UInt8]) throws(CommandFailure) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno == EEXIST else { throw failure("create") }
      throw CommandFailure("there is a file already, \(path); it is not overwritten")
    }
    defer { close(descriptor) }
    guard StandardStream.write(bytes, to: descriptor), fsync(descriptor) == 0, syncDirectory() else {
      let failure = failure("write")
      unlink(path)
      throw failure
    }
  }

  /// Makes the file's name as durable as its bytes; `false`, and `errno`, if that fails.
  private func syncDirectory() -> Bool {
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "."
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return fsync(descriptor) == 0
  }

  private func failure(_ operation: String) -> CommandFailure {
    CommandFailure("cannot \(operation) \(path): \(String(cString: strerror(errno)))")
  }
}

/// Where output goes: results to standard output, everything else to standard error.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// Writes a line whole; what cannot be written is nobody's to hear of.
  func write(_ line: String) { _ = Self.write(Array((line + "\n").utf8), to: rawValue) }

  /// Writes bytes whole; `false`, and `errno`, if that fails.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
