import CLinux
import CTAP2
import CryptoPrimitives
import Glibc

/// Dialogs on the terminal from which the daemon was started.
///
/// What was typed before the question is thrown away. Nothing that is typed is shown: whoever is used to typing the
/// passphrase may do so where yes or no is asked for. When the task is cancelled the question says that it is withdrawn,
/// and the terminal is as it was.
struct Terminal: PromptBackEnd {
  /// The terminal, `/dev/tty` for the one that the process belongs to.
  var path = "/dev/tty"

  let name = "terminal"

  var problem: String? {
    let terminal = Glibc.open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal < 0 else {
      Glibc.close(terminal)
      return nil
    }
    return "nobody can be asked: the authenticator has no terminal; start it in one, or with --prompt pinentry"
  }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    let text = "\n\(dialog.headline)\n\(dialog.details.map { "  \($0)" }.joined(separator: "\n"))\n"
    guard dialog.takesPassphrase else {
      let ways = dialog.isFollowed ? "y goes on, anything else refuses all" : "y agrees, anything else refuses"
      let agreed = try await ask("\(text)  \(dialog.agree)? (\(ways)) ", said: { $0 ? "yes" : "no" }) { answer in
        answer.elementsEqual("y".utf8) || answer.elementsEqual("Y".utf8) || answer.elementsEqual("yes".utf8)
      }
      guard agreed else { throw .noAnswer(.declined) }
      return .agreed
    }
    let before = dialog.remark.map { "  \($0)\n" } ?? text
    let question = "\(before)  \(PromptText.entryLabel) (Enter alone refuses) "
    let typed = try await ask(question, said: { _ in "" }) { SecretBytes(copying: $0) }
    // An empty line is how one says no to a question that has no button.
    guard typed.count > 0 else { throw .noAnswer(.declined) }
    return .typed(typed)
  }

  private func ask<Answer: Sendable>(
    _ question: String, said: @escaping @Sendable (Answer) -> String,
    _ read: @escaping @Sendable (UnsafeRawBufferPointer) -> Answer
  ) async throws(PromptFailure) -> Answer {
    let answer = await OwnThread.run(cancellable: { [path] cancellation in
      Result { () throws(PromptFailure) in
        try TerminalLine.ask(question, on: path, said: said, cancellation, read)
      }
    })
    guard let answer else { throw .unavailable("cannot ask on the terminal: \(PromptFailure.nothingLeft)") }
    return try answer.get()
  }
}

/// One question and one line of answer on a terminal.
///
/// It blocks, and belongs on a thread of its own.
enum TerminalLine {
  /// The longest line that a terminal gives, bytes.
  private static let limit = 4096

  /// Asks, and lends the answer without its line end; it is not shown, read into guarded memory, and wiped afterwards.
  ///
  /// - Parameter said: what is shown in the answer's place.
  static func ask<Answer>(
    _ question: String, on path: String, said: (Answer) -> String, _ cancellation: Cancellation,
    _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(PromptFailure) -> Answer {
    let terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { throw failure("cannot open \(path): \(SystemNumber(errno))") }
    defer { close(terminal) }
    let foreground = tcgetpgrp(terminal)
    guard foreground < 0 || foreground == getpgrp() else {
      throw failure("the authenticator runs in the background of its terminal; bring it to the front with fg")
    }
    var before = termios()
    guard tcgetattr(terminal, &before) == 0 else { throw failure("\(path) is no terminal: \(SystemNumber(errno))") }
    var during = before
    during.c_lflag |= tcflag_t(ICANON | ISIG)
    during.c_lflag &= ~tcflag_t(ECHO | ECHONL)
    // What was typed before the question is thrown away, and afterwards what was typed of the answer. TCSAFLUSH passes
    // over what the kernel has not given to the terminal's line discipline yet; tcflush does not.
    guard tcsetattr(terminal, TCSAFLUSH, &during) == 0 else {
      throw failure("cannot set \(path): \(SystemNumber(errno))")
    }
    defer {
      tcsetattr(terminal, TCSAFLUSH, &before)
      tcflush(terminal, TCIFLUSH)
    }
    tcflush(terminal, TCIFLUSH)
    write(question, terminal)
    do {
      let answer = try line(from: terminal, cancellation, body)
      write(said(answer) + "\n", terminal)
      return answer
    } catch {
      write("\n  (withdrawn)\n", terminal)
      throw error
    }
  }

  private static func line<Answer>(
    from terminal: Int32, _ cancellation: Cancellation, _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(PromptFailure) -> Answer {
    var answer: Answer?
    _ = try SecretBytes(count: limit) { memory throws(PromptFailure) in
      // `UserPrompter` withdraws the dialog before that.
      switch cancellation.wait(for: terminal, POLLIN, until: .now + UserPrompter.answer + .seconds(5)) {
      case .ready: break
      case .cancelled: throw .noAnswer(.cancelled)
      case .timedOut: throw .noAnswer(.timedOut)
      }
      let count = read(terminal, memory.baseAddress, memory.count)
      guard count >= 0 else { throw failure("cannot read from the terminal: \(SystemNumber(errno))") }
      let typed = UnsafeRawBufferPointer(rebasing: memory[..<count])
      // A line end; or none, when the person typed Ctrl-D, which is no answer.
      guard typed.last == UInt8(ascii: "\n") else { throw .noAnswer(.declined) }
      answer = body(UnsafeRawBufferPointer(rebasing: typed.dropLast()))
    }
    guard let answer else { throw .noAnswer(.declined) }
    return answer
  }

  private static func write(_ text: String, _ terminal: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(terminal, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func failure(_ words: String) -> PromptFailure {
    .unavailable("cannot ask on the terminal: \(words); or use --prompt pinentry")
  }
}
