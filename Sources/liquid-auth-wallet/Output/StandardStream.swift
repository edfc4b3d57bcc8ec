import Glibc

/// Where output goes: events for programs to standard output, what a person reads to standard error.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// Writes a line whole; what cannot be written is nobody's to hear of.
  func write(_ line: String) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
