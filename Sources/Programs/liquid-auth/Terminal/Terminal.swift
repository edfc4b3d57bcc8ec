import CryptoPrimitives
import Glibc
import ProcessIO

/// Questions and output on the controlling terminal; a phrase is shown only there.
extension TerminalDevice {
  /// Runs `body` on the terminal's second screen, which has no scroll-back: what was shown there is gone afterwards.
  ///
  /// A terminal with `TERM=dumb` has one screen only.
  func onSecondScreen(_ body: () throws(CommandFailure) -> Void) throws(CommandFailure) {
    let kind = getenv("TERM").map { String(cString: $0) } ?? "dumb"
    guard kind != "dumb" else { return try body() }
    show("\u{1B}[?1049h\u{1B}[2J\u{1B}[H")
    defer { show("\u{1B}[2J\u{1B}[?1049l") }
    try body()
  }

  /// Asks for a line that is shown as it is typed.
  ///
  /// Control-C ends the line as a byte of it, so that the caller can still clear what it has shown. The next line may
  /// be typed ahead; if this one is refused, the input after it is discarded and does not reach the shell.
  func askLine(_ prompt: String) throws(CommandFailure) -> SecretBytes {
    let watch = { (settings: inout termios) in
      settings.c_lflag &= ~tcflag_t(ISIG)
      withUnsafeMutableBytes(of: &settings.c_cc) { $0[Int(VEOL)] = SecretLine.controlC }
    }
    return try withSettings(watch, begin: TCSADRAIN, end: TCSADRAIN, refused: Self.unusable) {
      () throws(CommandFailure) in
      show(prompt)
      do throws(CommandFailure) {
        return try line(isEdited: false)
      } catch {
        discardInput()
        // What comes next begins a line.
        if error == .cancelled { show("\n") }
        throw error
      }
    }
  }

  /// Asks for a line that is no secret, without white space around it.
  func ask(_ prompt: String) throws(CommandFailure) -> String {
    let line = try askLine(prompt).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    return String(line.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }

  /// Waits for Enter; after any other line, asks again.
  func askForEnter(_ prompt: String) throws(CommandFailure) {
    while try askLine(prompt).count > 0 { show("press Enter alone\n") }
  }

  /// The terminal for a question; `nil` if `--yes` has answered it.
  ///
  /// - Parameter act: what `--yes` allows.
  static func forQuestion(unless isAnswered: Bool, to act: String) throws(CommandFailure) -> TerminalDevice? {
    if isAnswered { return nil }
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else {
      throw CommandFailure("there is no terminal to ask on; give --yes to \(act) without asking", code: .usage)
    }
    return terminal
  }

  /// Asks a question; any answer but yes throws the refusal.
  func confirm(_ question: String, orThrow refusal: String) throws(CommandFailure) {
    let answer = try ask("\(question) [y/N]: ")
    guard ["y", "yes"].contains(answer.lowercased()) else { throw CommandFailure(refusal) }
  }

  /// Asks for a line that is not shown.
  ///
  /// The line is edited here, and Control-C comes as a byte: only a signal from elsewhere can end the process while the
  /// echo is off.
  ///
  /// Input that was pasted after the line is discarded: it may be the rest of a phrase, which a shell would run and
  /// keep in its history.
  func askSecret(_ prompt: String) throws(CommandFailure) -> SecretBytes {
    defer { discardInput() }
    let hide = { (settings: inout termios) in
      settings.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG | IEXTEN)
    }
    // Input from before the prompt is not meant for it.
    return try withSettings(hide, begin: TCSAFLUSH, end: TCSAFLUSH, refused: Self.unusable) {
      () throws(CommandFailure) in
      show(prompt)
      defer {
        // Before the echo is back.
        discardInput()
        show("\n")
      }
      return try line(isEdited: true)
    }
  }

  /// Runs `body`, which asks for secrets and checks them; what is typed during a check is neither shown nor kept.
  ///
  /// Control-C ends the process during a check.
  func withoutEcho<Result>(_ body: () throws(CommandFailure) -> Result) throws(CommandFailure) -> Result {
    defer { discardInput() }
    return try withSettings(Self.hideInput, begin: TCSAFLUSH, end: TCSAFLUSH, refused: Self.unusable) {
      () throws(CommandFailure) in
      // Before the echo is back.
      defer { discardInput() }
      return try body()
    }
  }

  private func line(isEdited: Bool) throws(CommandFailure) -> SecretBytes {
    switch SecretLine.read(from: descriptor, isEdited: isEdited) {
    case .line(let line): return line
    case .ended, .cancelled: throw .cancelled
    case .tooLong:
      throw CommandFailure("the line is longer than \(SecretLine.maximumSize) bytes; nothing was changed")
    case .system(let number): throw Self.unusable(number)
    }
  }

  private static func unusable(_ number: SystemNumber) -> CommandFailure {
    CommandFailure("the terminal cannot be used: \(number)")
  }
}
