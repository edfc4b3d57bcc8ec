import Glibc
import Synchronization

/// Where output goes: events for programs to standard output, what a person reads to standard error.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// A reader that goes away ends a write, and not the process.
  static func survivesItsReaders() { signal(SIGPIPE, SIG_IGN) }

  /// Writes a line whole; what cannot be written is nobody's to hear of.
  ///
  /// The program that reads events and has gone wants nothing more: that ends this process in order, as SIGTERM does.
  func write(_ line: String) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        if self == .output { Self.end() }
        return
      }
      rest = rest.dropFirst(count)
    }
  }

  private static let hasEnded = Atomic(false)

  /// Once: a second signal would not wait for what is open to be closed.
  private static func end() {
    if !hasEnded.exchange(true, ordering: .relaxed) { kill(getpid(), SIGTERM) }
  }
}
