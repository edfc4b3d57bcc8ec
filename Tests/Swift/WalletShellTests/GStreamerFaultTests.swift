import CGStreamer
import CWebRTC
import Glibc
import Testing

/// Log messages of GLib and GStreamer.
struct GStreamerFaultTests {
  // Numbers, because Swift imports GLib's names only with some versions of the headers.
  private static let critical = GLogLevelFlags(rawValue: 1 << 3)
  private static let warning = GLogLevelFlags(rawValue: 1 << 4)
  private static let message = GLogLevelFlags(rawValue: 1 << 5)
  private static let debug = GLogLevelFlags(rawValue: 1 << 7)

  // Holds: DAPP-5
  @Test(arguments: [
    (critical, "liquid-auth-wallet: a fault in GStreamer or libsoup: no?ise ??\n"), (warning, ""), (message, ""),
    (debug, ""),
  ])
  func `only an error prints one line on standard error`(level: GLogLevelFlags, line: String) throws {
    _ = cwebrtc_missing_element()
    #expect(try standardError { log("no\u{1B}ise é", level) } == line)
  }

  // Holds: DAPP-5
  @Test func `an error's text ends at its length, with or without a NUL`() throws {
    _ = cwebrtc_missing_element()
    #expect(
      try standardError { log("noise and more", Self.critical, length: 5) }
        == "liquid-auth-wallet: a fault in GStreamer or libsoup: noise\n")
  }

  private func log(_ message: String, _ level: GLogLevelFlags, length: Int = -1) {
    message.withCString { message in
      "MESSAGE".withCString { key in
        var field = GLogField(key: key, value: message, length: length)
        g_log_structured_array(level, &field, 1)
      }
    }
  }

  /// The output of the process on standard error while `body` runs.
  private func standardError(_ body: () -> Void) throws -> String {
    var name = Array("/tmp/liquid-auth-stderr.XXXXXX".utf8CString)
    let file = mkstemp(&name)
    unlink(name)
    let saved = dup(STDERR_FILENO)
    dup2(file, STDERR_FILENO)
    body()
    dup2(saved, STDERR_FILENO)
    close(saved)
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = pread(file, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }
}
