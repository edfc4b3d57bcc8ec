import Glibc
import TestVectors

/// The test's end of a socket, pipe or terminal, closed with the value; a read waits for at most ``patience``.
package final class Descriptor: Sendable {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// Two connected SOCK_SEQPACKET sockets: the test's end, and one that is given away.
  package static func pair() throws -> (ours: Descriptor, theirs: Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else { throw Failure(errno) }
    return (Descriptor(ends[0]), ends[1])
  }

  package func write(_ bytes: [UInt8]) throws {
    let count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
    guard count == bytes.count else { throw Failure(errno) }
  }

  /// The bytes of one read; empty at the end.
  package func read(_ limit: Int = 8192, waiting: Int32? = nil) throws -> [UInt8] {
    guard isReadable(within: waiting ?? Int32(60_000 * patience)) else { throw Failure(ETIMEDOUT) }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = Glibc.read(number, &bytes, limit)
    guard count >= 0 else { throw Failure(errno) }
    return Array(bytes.prefix(count))
  }

  /// Reads exactly `count` bytes.
  package func read(exactly count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try read(count - bytes.count)
      guard !more.isEmpty else { throw Failure(EPIPE) }
      bytes += more
    }
    return bytes
  }

  package func isReadable(within milliseconds: Int32) -> Bool {
    var descriptor = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return poll(&descriptor, 1, milliseconds) > 0
  }

  package struct Failure: Error, CustomStringConvertible {
    package let number: Int32
    package init(_ number: Int32) { self.number = number }
    package var description: String { String(cString: strerror(number)) }
  }
}

/// A temporary directory, removed with the value.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    var template = Array("/tmp/liquid-auth-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Descriptor.Failure(errno) }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    guard let directory = opendir(path) else { return }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      unlink(path + "/" + name)
    }
    closedir(directory)
    rmdir(path)
  }
}
