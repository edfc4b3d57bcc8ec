import CryptoPrimitives
import Glibc

/// The terminal of the person who runs the command: `/dev/tty`, whatever standard input and output are.
///
/// A phrase goes here and nowhere else.
struct Terminal: ~Copyable {
  private let descriptor: Int32

  /// Opens the terminal that controls this process; `nil` when it has none.
  init?() {
    let descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
  }

  /// Takes over a terminal that is open already.
  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Shows a text as it stands.
  func show(_ text: String) {
    Array(text.utf8).withUnsafeBytes { show($0) }
  }

  /// Shows bytes that must not become a `String`.
  func show(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Runs `body` on the terminal's second screen, which has no scroll-back: what was shown there is gone afterwards.
  ///
  /// A terminal that calls itself dumb has one screen only.
  func onSecondScreen(_ body: () throws(CommandFailure) -> Void) throws(CommandFailure) {
    let kind = getenv("TERM").map { String(cString: $0) } ?? "dumb"
    guard kind != "dumb" else { return try body() }
    show("\u{1B}[?1049h\u{1B}[2J\u{1B}[H")
    defer { show("\u{1B}[2J\u{1B}[?1049l") }
    try body()
  }

  /// Asks for a line that is seen as it is typed.
  ///
  /// Control-C ends the line as a byte of it, so that whoever asked still takes away what he has shown.
  func askLine(_ prompt: String) throws(CommandFailure) -> SecretBytes {
    var before = termios()
    guard tcgetattr(descriptor, &before) == 0 else { throw Self.unusable(errno) }
    var watched = before
    watched.c_lflag &= ~tcflag_t(ISIG)
    withUnsafeMutableBytes(of: &watched.c_cc) { $0[Int(VEOL)] = SecretLine.controlC }
    guard tcsetattr(descriptor, TCSADRAIN, &watched) == 0 else { throw Self.unusable(errno) }
    defer { tcsetattr(descriptor, TCSADRAIN, &before) }
    show(prompt)
    return try line(isEdited: false)
  }

  /// Asks for a line that is not seen.
  ///
  /// The line is edited here, and Control-C comes as a byte: nothing can end the process while the echo is off, but for
  /// a signal from elsewhere.
  func askSecret(_ prompt: String) throws(CommandFailure) -> SecretBytes {
    var before = termios()
    guard tcgetattr(descriptor, &before) == 0 else { throw Self.unusable(errno) }
    var hidden = before
    hidden.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG | IEXTEN)
    // What was typed before the prompt was not meant for it.
    guard tcsetattr(descriptor, TCSAFLUSH, &hidden) == 0 else { throw Self.unusable(errno) }
    defer {
      tcsetattr(descriptor, TCSADRAIN, &before)
      show("\n")
    }
    show(prompt)
    return try line(isEdited: true)
  }

  private func line(isEdited: Bool) throws(CommandFailure) -> SecretBytes {
    switch SecretLine.read(from: descriptor, isEdited: isEdited) {
    case .line(let line): return line
    case .ended, .cancelled: throw CommandFailure("cancelled; nothing was changed")
    case .tooLong:
      throw CommandFailure("the line is longer than \(SecretLine.maximumSize) bytes; nothing was changed")
    case .system(let number): throw Self.unusable(number)
    }
  }

  private static func unusable(_ number: Int32) -> CommandFailure {
    CommandFailure("the terminal cannot be used: \(String(cString: strerror(number)))")
  }
}
