import CLinux
import Glibc

/// A line of a terminal or a pipe, for which waiting can be given up from another thread.
struct InputLine: Sendable {
  /// The longest line, bytes.
  private static let maximumSize = 4096

  private let descriptor: Int32
  private let wake: Int32

  /// `nil` where the system has no event descriptor left.
  init?(from descriptor: Int32) {
    self.descriptor = descriptor
    wake = eventfd(0, Int32(EFD_CLOEXEC))
    guard wake >= 0 else { return nil }
  }

  /// Closes what `init` made; the descriptor stays open.
  func close() { Glibc.close(wake) }

  /// Ends the wait of ``read()``, now or later.
  func giveUp() { eventfd_write(wake, 1) }

  /// Waits on this thread for a line, without its end; `nil` at the end of the input, for one that is too long or no
  /// text, and when it was given up.
  func read() -> String? {
    var line: [UInt8] = []
    while line.count < Self.maximumSize {
      guard isReadable else { return nil }
      var byte: UInt8 = 0
      let count = Glibc.read(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count > 0, byte != UInt8(ascii: "\n") else {
        return count >= 0 && !(count == 0 && line.isEmpty) ? String(validating: line, as: UTF8.self) : nil
      }
      line.append(byte)
    }
    return nil
  }

  private var isReadable: Bool {
    var descriptors = [descriptor, wake].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while poll(&descriptors, 2, -1) < 0, errno == EINTR {}
    return descriptors[1].revents == 0
  }
}
