import Glibc
import NIOPosix

/// A question on the terminal that controls this process, whatever standard input is; it can be taken back.
struct TerminalQuestion: Sendable {
  private let terminal: Int32
  private let answer: InputLine

  /// `nil` where there is no terminal.
  init?(at path: String = "/dev/tty") {
    terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
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
    question.ask("Press Enter to close this window. ")
    _ = question.answer.read()
  }

  private func isAnsweredWithYes(_ text: String) -> Bool {
    ask(text)
    guard let line = answer.read() else {
      show("\n")
      return false
    }
    return line.lowercased().hasPrefix("y")
  }

  /// Shows a question; what was typed before it is no answer to it.
  private func ask(_ text: String) {
    tcflush(terminal, TCIFLUSH)
    show(text)
  }

  private func show(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(terminal, bytes, bytes.count)
  }
}
