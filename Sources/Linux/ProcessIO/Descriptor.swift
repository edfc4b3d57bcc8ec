import CLinux
import Glibc

/// Reads and writes all bytes, where a single system call may transfer only some.
package enum Descriptor {
  /// Writes all bytes; returns `false` and sets `errno` on failure.
  @discardableResult package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Writes bytes that are not secret.
  @discardableResult package static func write(_ bytes: some Collection<UInt8>, to descriptor: Int32) -> Bool {
    Array(bytes).withUnsafeBytes { write($0, to: descriptor) }
  }

  /// Reads to the end, but at most `limit` + 1 bytes, where the extra byte shows that there are more; returns `nil` and
  /// sets `errno` on failure.
  package static func read(_ descriptor: Int32, atMost limit: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    var count = 0
    while count <= limit {
      if count == bytes.count {
        bytes.append(contentsOf: repeatElement(0, count: min(max(65_536, count), limit + 1 - count)))
      }
      let more = bytes.withUnsafeMutableBytes { bytes in
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        return Glibc.read(descriptor, rest.baseAddress, rest.count)
      }
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else { return nil }
      if more == 0 { break }
      count += more
    }
    return Array(bytes.prefix(count))
  }

  /// Reads as ``read(_:atMost:)`` does, and overwrites each buffer that it replaces by a larger one.
  ///
  /// A regular file is read into one buffer of its size.
  package static func readSecret(_ descriptor: Int32, atMost limit: Int) -> [UInt8]? {
    var status = stat()
    let size = fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    var bytes = [UInt8](repeating: 0, count: min(max(size, 65_535), limit) + 1)
    var count = 0
    while count <= limit {
      if count == bytes.count {
        var larger = [UInt8](repeating: 0, count: min(2 * count, limit + 1))
        larger.replaceSubrange(0..<count, with: bytes)
        overwrite(&bytes)
        swap(&bytes, &larger)
      }
      let more = bytes.withUnsafeMutableBytes { bytes in
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        return Glibc.read(descriptor, rest.baseAddress, rest.count)
      }
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else {
        let number = errno
        overwrite(&bytes)
        errno = number
        return nil
      }
      if more == 0 { break }
      count += more
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private static func overwrite(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { if let baseAddress = $0.baseAddress { explicit_bzero(baseAddress, $0.count) } }
  }

  /// Reads a file of the system, such as those of /proc and /sys, up to `limit` bytes; returns `nil` and sets `errno` on
  /// failure.
  package static func contents(of path: String, atMost limit: Int = 4096) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return read(file, atMost: limit).map { Array($0.prefix(limit)) }
  }

  /// Makes a pipe whose ends are close-on-exec.
  package static func pipe() throws(SystemNumber) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard clinux_pipe(&ends) == 0 else { throw SystemNumber() }
    return (ends[0], ends[1])
  }
}

/// Where output goes: results to standard output, everything else to standard error.
package enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// Writes a whole line; returns `false` and sets `errno` on failure.
  @discardableResult package func write(_ line: String) -> Bool { Descriptor.write((line + "\n").utf8, to: rawValue) }
}
