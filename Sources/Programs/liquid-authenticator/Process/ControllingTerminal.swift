import Glibc

/// The terminal from which the process was started.
enum ControllingTerminal {
  /// Its path; `nil` for a daemon that was started without one.
  static var name: String? {
    var name = [CChar](repeating: 0, count: 64)
    guard ttyname_r(STDIN_FILENO, &name, name.count) == 0 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
