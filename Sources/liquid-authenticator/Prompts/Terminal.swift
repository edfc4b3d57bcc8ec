import CTAP2
import CryptoPrimitives
import Glibc
import ProcessIO

/// Dialogs on the terminal from which the daemon was started.
///
/// What was typed before the question is thrown away. Nothing that is typed is shown: whoever is used to typing the
/// passphrase may do so where yes or no is asked for. When the task is cancelled the question says that it is withdrawn,
/// where the terminal has room for that, and the terminal is as it was.
struct Terminal: PromptBackEnd {
  /// The terminal, `/dev/tty` for the one that the process belongs to.
  var path = "/dev/tty"

  let name = "terminal"

  var problem: String? {
    if (try? TerminalDevice(at: path)) != nil { return nil }
    return "no prompt can be shown: the authenticator has no terminal; start it in one, or with --prompt pinentry"
  }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    let text = "\n\(dialog.headline)\n\(dialog.details.map { "  \($0)" }.joined(separator: "\n"))\n"
    guard dialog.takesPassphrase else {
      let ways = dialog.isFollowed ? "y continues, anything else refuses all" : "y agrees, anything else refuses"
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
/// It waits, and belongs on a thread of its own. The cancellation ends every wait: the terminal never blocks, also where
/// its person has stopped it with Control-S.
enum TerminalLine {
  /// The longest line that a terminal gives, bytes.
  private static let limit = 4096
  /// How long room that is too small for the next character is left alone.
  private static let pause = Duration.milliseconds(50)

  /// Asks, and lends the answer without its line end; it is not shown, read into guarded memory, and wiped afterwards.
  ///
  /// - Parameter said: what is shown in the answer's place.
  static func ask<Answer>(
    _ question: String, on path: String, said: (Answer) -> String, _ cancellation: Cancellation,
    _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(PromptFailure) -> Answer {
    let terminal: TerminalDevice
    do {
      terminal = try TerminalDevice(at: path, waits: false)
    } catch {
      throw failure("cannot open \(path): \(error)")
    }
    let foreground = tcgetpgrp(terminal.descriptor)
    guard foreground < 0 || foreground == getpgrp() else {
      throw failure("the authenticator runs in the background of its terminal; bring it to the front with fg")
    }
    guard isatty(terminal.descriptor) == 1 else { throw failure("\(path) is not a terminal: \(SystemNumber())") }
    // `UserPrompter` withdraws the dialog before that.
    let deadline = ContinuousClock.now + UserPrompter.answer + .seconds(5)
    // TCSAFLUSH would wait until everything is shown. What was typed of the answer is thrown away before it could be
    // echoed, and again behind it.
    defer { terminal.discardInput() }
    let change = { (settings: inout termios) in
      settings.c_lflag |= tcflag_t(ICANON | ISIG)
      settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
    }
    return try terminal.withSettings(
      change, begin: TCSANOW, end: TCSANOW, refused: { failure("cannot set \(path): \($0)") }
    ) { () throws(PromptFailure) in
      defer { terminal.discardInput() }
      try show(question, on: terminal, until: deadline, cancellation)
      do throws(PromptFailure) {
        let answer = try line(from: terminal.descriptor, until: deadline, cancellation, body)
        terminal.show(said(answer) + "\n")
        return answer
      } catch {
        terminal.show("\n  (withdrawn)\n")
        throw error
      }
    }
  }

  /// Shows a question when there is room, whole; what was typed before is no answer to it.
  private static func show(
    _ question: String, on terminal: TerminalDevice, until deadline: ContinuousClock.Instant,
    _ cancellation: Cancellation
  ) throws(PromptFailure) {
    var rest = Array(question.utf8)[...]
    while !rest.isEmpty {
      try wait(for: terminal.descriptor, POLLOUT, until: deadline, cancellation)
      terminal.discardInput()
      let count = rest.withUnsafeBytes { write(terminal.descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno != EAGAIN {
        throw failure("cannot write to the terminal: \(SystemNumber(errno))")
      } else if cancellation.wait(for: -1, 0, until: .now + pause) == .cancelled {
        throw .noAnswer(.cancelled)
      }
    }
  }

  private static func wait(
    for terminal: Int32, _ events: Int32, until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(PromptFailure) {
    switch cancellation.wait(for: terminal, events, until: deadline) {
    case .ready: return
    case .cancelled: throw .noAnswer(.cancelled)
    case .timedOut: throw .noAnswer(.timedOut)
    }
  }

  private static func line<Answer>(
    from terminal: Int32, until deadline: ContinuousClock.Instant, _ cancellation: Cancellation,
    _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(PromptFailure) -> Answer {
    var answer: Answer?
    _ = try SecretBytes(count: limit) { memory throws(PromptFailure) in
      var count = -1
      repeat {
        try wait(for: terminal, POLLIN, until: deadline, cancellation)
        count = read(terminal, memory.baseAddress, memory.count)
      } while count < 0 && errno == EAGAIN  // another program discarded the line
      guard count >= 0 else { throw failure("cannot read from the terminal: \(SystemNumber(errno))") }
      let typed = UnsafeRawBufferPointer(rebasing: memory[..<count])
      // A line end; or none, when the person typed Ctrl-D, which is no answer.
      guard typed.last == UInt8(ascii: "\n") else { throw .noAnswer(.declined) }
      answer = body(UnsafeRawBufferPointer(rebasing: typed.dropLast()))
    }
    guard let answer else { throw .noAnswer(.declined) }
    return answer
  }

  private static func failure(_ words: String) -> PromptFailure {
    .unavailable("cannot ask on the terminal: \(words); or use --prompt pinentry")
  }
}
