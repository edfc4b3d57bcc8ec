import CLinux
import Foundation
import Synchronization
import TestVectors
import Testing

/// A terminal with a user at it: the text shown, and the keys typed.
final class PseudoTerminal: Sendable {
  private let controller: Int32
  private let terminal: Int32
  let path: String
  private let seen = Mutex<[UInt8]>([])

  init() throws {
    var (controller, terminal): (Int32, Int32) = (-1, -1)
    var path = [CChar](repeating: 0, count: 64)
    guard clinux_open_pty(&controller, &terminal, &path, path.count) == 0 else {
      throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    self.controller = controller
    self.terminal = terminal
    self.path = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    // As a login sets it: lines, echo, signals.
    var settings = self.settings
    settings.c_lflag |= tcflag_t(ICANON | ECHO | ISIG)
    settings.c_iflag |= tcflag_t(ICRNL)
    settings.c_oflag |= tcflag_t(OPOST | ONLCR)
    tcsetattr(terminal, TCSANOW, &settings)
  }

  deinit {
    close(controller)
    close(terminal)
  }

  var settings: termios {
    var settings = termios()
    tcgetattr(terminal, &settings)
    return settings
  }

  var echoes: Bool { settings.c_lflag & tcflag_t(ECHO) != 0 }

  /// The key that stops the program in front; 0 if no key does.
  var suspending: UInt8 { withUnsafeBytes(of: settings.c_cc) { $0[Int(VSUSP)] } }

  /// The number of typed bytes waiting for the next reader; -1 when the terminal cannot report it.
  var waiting: Int32 {
    var count: Int32 = 0
    return ioctl(terminal, UInt(FIONREAD), &count) == 0 ? count : -1
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(controller, bytes, bytes.count)
  }

  /// Stops the output, as Ctrl-S does, or resumes it.
  func setOutput(stopped: Bool) { tcflow(terminal, stopped ? TCOOFF : TCOON) }

  /// Everything shown so far.
  var screen: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    return seen.withLock { seen in
      while case let count = read(controller, &bytes, bytes.count), count > 0 { seen += bytes.prefix(count) }
      return String(decoding: seen, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
    }
  }

  /// Forgets what was shown so far.
  func wipe() {
    _ = screen
    seen.withLock { $0 = [] }
  }

  /// Waits until the screen ends with these words.
  func awaitScreen(endingWith text: String) async throws -> Bool {
    await eventually { screen.hasSuffix(text) }
  }
}
