import CLinux
import Glibc
import NIOPosix

/// A question on the terminal that controls this process, whatever standard input is; it can be taken back.
struct TerminalQuestion: Sendable {
  private let terminal: Int32
  private let wake: Int32

  /// `nil` where there is no terminal.
  init?() {
    terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { return nil }
    wake = eventfd(0, Int32(EFD_CLOEXEC))
    guard wake >= 0 else {
      close(terminal)
      return nil
    }
  }

  /// Asks on a thread that may wait, and gives whether the answer begins with `y`; no when the task is cancelled.
  func ask(_ text: String, on thread: NIOThreadPool) async -> Bool {
    defer {
      close(terminal)
      close(wake)
    }
    return await withTaskCancellationHandler {
      (try? await thread.runIfActive { isAnsweredWithYes(text) }) ?? false
    } onCancel: {
      eventfd_write(wake, 1)
    }
  }

  /// Returns when a line is typed, or at once where there is no terminal.
  static func waitForEnter() {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { return }
    let text = Array("Press Enter to close this window. ".utf8)
    _ = write(terminal, text, text.count)
    var line = [UInt8](repeating: 0, count: 256)
    while read(terminal, &line, line.count) < 0, errno == EINTR {}
    close(terminal)
  }

  private func isAnsweredWithYes(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard write(terminal, bytes, bytes.count) == bytes.count else { return false }
    var descriptors = [terminal, wake].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while poll(&descriptors, 2, -1) < 0, errno == EINTR {}
    guard descriptors[1].revents == 0, descriptors[0].revents != 0 else {
      _ = write(terminal, "\n", 1)
      return false
    }
    var line = [UInt8](repeating: 0, count: 256)
    let count = read(terminal, &line, line.count)
    return count > 0 && (line[0] | 0x20) == UInt8(ascii: "y")
  }
}
