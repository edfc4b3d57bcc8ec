import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import Glibc
import Messages
import ProcessIO
import Synchronization

/// Dialogs on the terminal from which the daemon was started.
///
/// Input from before the question is discarded. What is typed is not shown, because a user may type the passphrase
/// where yes or no is expected, or while the one before is checked. If the task is cancelled, the terminal shows that the
/// question was withdrawn or timed out, if it has room for that, and gets its settings back.
struct TerminalBackEnd: PromptBackEnd {
  /// The terminal, `/dev/tty` for the one that the process belongs to.
  var path = "/dev/tty"

  let report = PromptReport(.terminal)
  private let echo = TerminalEcho()

  var problem: Problem? {
    if (try? TerminalDevice(at: path)) != nil { return nil }
    return Problem(
      "no prompt can be shown: the authenticator has no terminal", hint: "start it in one, or with --prompt pinentry")
  }

  func open(_ dialog: PromptText) async throws(PromptFailure) {
    if dialog.takesPassphrase { echo.turnOff(at: path) }
  }

  func close() async { echo.turnOn() }

  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer {
    let details = dialog.refused(by: .enter).details.map { "  \($0)" }
    let text = (["", dialog.warning, dialog.headline].compactMap(\.self) + details + [""]).joined(separator: "\n")
    guard dialog.takesPassphrase else {
      let ways =
        dialog.isFollowed
        ? Message("y to continue, anything else to refuse all") : Message("y to agree, anything else to refuse")
      let question = "\(text)  \(dialog.agree)? (\(dialog.catalogue.text(ways))) "
      let (yes, no) = (dialog.catalogue.text(Message("yes")), dialog.catalogue.text(Message("no")))
      let key = dialog.catalogue.text(Message("y"))
      let agreed = try await ask(question, of: dialog, said: { $0 ? yes : no }) { answer in
        [key, key.uppercased(), yes].contains { answer.elementsEqual($0.utf8) }
      }
      guard agreed else { throw .noAnswer(.declined) }
      return .agreed
    }
    let before = dialog.remark.map { "  \($0)\n" } ?? text
    let words = [dialog.entry.label, Message("(Enter alone refuses)")].joined(by: " ")
    let question = "\(before)  \(dialog.catalogue.text(words)) "
    let typed = try await ask(question, of: dialog, said: { _ in "" }) { SecretBytes(copying: $0) }
    // An empty line refuses, because the question has no button.
    guard typed.count > 0 else { throw .noAnswer(.declined) }
    return .typed(typed)
  }

  private func ask<Answer: Sendable>(
    _ question: String, of dialog: PromptText, said: @escaping @Sendable (Answer) -> String,
    _ read: @escaping @Sendable (UnsafeRawBufferPointer) -> Answer
  ) async throws(PromptFailure) -> Answer {
    let unanswered = { @Sendable in
      dialog.catalogue.text(dialog.request?.isOver == true ? Message("(timed out)") : Message("(withdrawn)"))
    }
    let answer = await OwnThread.run(cancellable: { [path] cancellation in
      Result { () throws(PromptFailure) in
        try TerminalLine.ask(question, on: path, said: said, unanswered: unanswered, cancellation, read)
      }
    })
    guard let answer else { throw .unavailable("cannot ask on the terminal: \(OwnThread.nothingLeft)") }
    return try answer.get()
  }
}

/// The echo of a terminal, which is off from the first question for a passphrase until its dialog is closed.
private final class TerminalEcho: Sendable {
  /// The terminal, and the settings that it had; `nil` while the echo is on.
  private let off = Mutex<(terminal: TerminalDevice, before: termios)?>(nil)

  /// Does nothing where there is no terminal, or another program has it: the question says so.
  func turnOff(at path: String) {
    off.withLock { off in
      guard off == nil, let terminal = try? TerminalDevice(at: path, waits: false), !terminal.isInBackground,
        let before = try? terminal.change(by: TCSANOW, TerminalDevice.hideInput)
      else { return }
      off = (terminal, before)
    }
  }

  /// Discards what was typed meanwhile.
  func turnOn() {
    off.withLock { off in
      guard let (terminal, before) = off else { return }
      terminal.discardInput()
      terminal.restore(before, by: TCSANOW)
      terminal.discardInput()
      off = nil
    }
  }
}

/// One question and one line of answer on a terminal.
///
/// It blocks, and belongs on a thread of its own. The cancellation ends every wait: writes to the terminal never block,
/// even if the user has stopped it with Control-S.
enum TerminalLine {
  /// The longest line that a terminal gives, bytes.
  private static let limit = 4096
  /// The pause before another try, if the terminal's room is too small for the next character.
  private static let pause = Duration.milliseconds(50)

  /// Asks, and passes the answer without its line end to `body`; it is not shown, is in guarded memory, and is wiped.
  ///
  /// - Parameters:
  ///   - said: returns the text that is shown in place of what was typed.
  ///   - unanswered: returns the text that is shown if there is no answer.
  static func ask<Answer>(
    _ question: String, on path: String, said: (Answer) -> String, unanswered: () -> String,
    _ cancellation: Cancellation, _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(PromptFailure) -> Answer {
    let terminal: TerminalDevice
    do {
      terminal = try TerminalDevice(at: path, waits: false)
    } catch {
      throw failure("cannot open \(path): \(error)")
    }
    guard !terminal.isInBackground else {
      throw failure(
        "the authenticator runs in the background of its terminal", remedy: "bring it to the front with fg")
    }
    guard isatty(terminal.descriptor) == 1 else { throw failure("\(path) is not a terminal: \(SystemNumber())") }
    // `UserPrompter` withdraws the dialog before that.
    let deadline = ContinuousClock.now + UserPrompter.requestTimeout + .seconds(5)
    // TCSAFLUSH would wait until everything is shown. Instead, unread input is discarded before the echo is back, and
    // once more after that.
    defer { terminal.discardInput() }
    let change = { (settings: inout termios) in
      settings.c_lflag |= tcflag_t(ICANON | ISIG)
      TerminalDevice.hideInput(&settings)
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
        terminal.show("\n  \(unanswered())\n")
        throw error
      }
    }
  }

  /// Writes the whole question as the terminal gets room; discards input that was typed before.
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
      // Without a line end the user typed Control-D, which is no answer.
      guard typed.last == UInt8(ascii: "\n") else { throw .noAnswer(.declined) }
      answer = body(UnsafeRawBufferPointer(rebasing: typed.dropLast()))
    }
    guard let answer else { throw .noAnswer(.declined) }
    return answer
  }

  private static func failure(
    _ words: String, remedy: String = "start the authenticator in a terminal"
  ) -> PromptFailure {
    .unavailable("cannot ask on the terminal: \(words); \(remedy), or use --prompt pinentry")
  }
}
