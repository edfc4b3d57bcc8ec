import CryptoPrimitives
import EventLoop
import Glibc
import ProcessIO

/// Reads lines from a terminal or a pipe.
enum InputLine {
  /// The longest line, bytes.
  private static let maximumSize = 4095

  /// Reads a line without its line ending on a thread of its own; cancelling the task ends the wait.
  ///
  /// - Parameter begin: runs on that thread first.
  /// - Returns: `nil` at the end of the input, for a line that is too long or not UTF-8, and if the task is cancelled.
  static func read(from descriptor: Int32, after begin: @escaping @Sendable () -> Void = {}) async -> String? {
    guard !Task.isCancelled else { return nil }
    let line = await OwnThread.run(cancellable: { cancellation in
      stopInBackground()
      begin()
      return read(from: descriptor, until: cancellation)
    })
    return line ?? nil
  }

  /// Lets a read from the terminal stop a wallet in the background, like any other program, until it is in the foreground.
  ///
  /// While these signals are blocked, the read would fail, and count as a no.
  private static func stopInBackground() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGTTIN, SIGTTOU] { sigaddset(&signals, number) }
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  /// Reads a line on the calling thread.
  static func read(from descriptor: Int32, until cancellation: Cancellation? = nil) -> String? {
    let outcome = SecretLine.read(from: descriptor, isEdited: false, atMost: maximumSize, until: cancellation)
    guard case .line(let line) = outcome else { return nil }
    return line.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
  }
}

/// A question on the controlling terminal; cancelling the task withdraws it.
struct TerminalQuestion: Sendable {
  private let terminal: TerminalDevice

  /// `nil` where there is no terminal.
  init?(at path: String = "/dev/tty") {
    guard let terminal = try? TerminalDevice(at: path) else { return nil }
    self.terminal = terminal
  }

  /// Asks on a thread of its own; returns whether the answer begins with `y`, and `false` if the task is cancelled.
  func ask(_ text: String) async -> Bool {
    let line = await InputLine.read(from: terminal.descriptor) { show(text) }
    if line == nil { terminal.show("\n") }
    return line?.lowercased().hasPrefix("y") == true
  }

  /// Waits for a line; returns at once without a terminal.
  static func waitForEnter() {
    guard let question = TerminalQuestion() else { return }
    question.show("Press Enter to close this window. ")
    // Releasing the question closes the terminal.
    withExtendedLifetime(question) { _ = InputLine.read(from: question.terminal.descriptor) }
  }

  /// Shows a question, and discards what was typed before.
  private func show(_ text: String) {
    tcflush(terminal.descriptor, TCIFLUSH)
    terminal.show(text)
  }
}
