import Glibc
import NIOPosix

/// A question on the terminal that controls this process, whatever standard input is; it can be taken back.
struct TerminalQuestion: Sendable {
  private let terminal: Int32
  private let answer: InputLine

  /// `nil` where there is no terminal.
  init?() {
    terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { return nil }
    guard let answer = InputLine(from: terminal) else {
      close(terminal)
      return nil
    }
    self.answer = answer
  }

  /// Asks on a thread that may wait, and gives whether the answer begins with `y`; no when the task is cancelled.
  func ask(_ text: String, on thread: NIOThreadPool) async -> Bool {
    defer {
      answer.close()
      close(terminal)
    }
    return await withTaskCancellationHandler {
      (try? await thread.runIfActive { isAnsweredWithYes(text) }) ?? false
    } onCancel: {
      answer.giveUp()
    }
  }

  /// Returns when a line is typed, or at once where there is no terminal.
  static func waitForEnter() {
    guard let question = TerminalQuestion() else { return }
    question.show("Press Enter to close this window. ")
    _ = question.answer.read()
  }

  private func isAnsweredWithYes(_ text: String) -> Bool {
    show(text)
    guard let line = answer.read() else {
      show("\n")
      return false
    }
    return line.lowercased().hasPrefix("y")
  }

  private func show(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(terminal, bytes, bytes.count)
  }
}
