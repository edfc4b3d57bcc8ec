import Glibc

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
