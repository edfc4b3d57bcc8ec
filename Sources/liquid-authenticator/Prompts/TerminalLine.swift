import CLinux
import CTAP2
import CryptoPrimitives
import Glibc

/// One question and one line of answer on a terminal.
///
/// It blocks, and belongs on a thread of its own.
enum TerminalLine {
  /// Why there is no answer.
  enum Stop: Error, Equatable {
    case interaction(UserInteractionError)
    /// For the log: what happened, then what to do.
    case failure(String)
  }

  /// The longest line that a terminal gives, bytes.
  private static let limit = 4096

  /// Asks, and lends the answer without its line end; it is not shown, read into guarded memory, and wiped afterwards.
  ///
  /// - Parameter said: what is shown in the answer's place.
  static func ask<Answer>(
    _ question: String, on path: String, said: (Answer) -> String, until deadline: ContinuousClock.Instant,
    _ cancellation: Cancellation, _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(Stop) -> Answer {
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
      let answer = try line(from: terminal, until: deadline, cancellation, body)
      write(said(answer) + "\n", terminal)
      return answer
    } catch {
      write("\n  (withdrawn)\n", terminal)
      throw error
    }
  }

  private static func line<Answer>(
    from terminal: Int32, until deadline: ContinuousClock.Instant, _ cancellation: Cancellation,
    _ body: (UnsafeRawBufferPointer) -> Answer
  ) throws(Stop) -> Answer {
    var answer: Answer?
    _ = try SecretBytes(count: limit) { memory throws(Stop) in
      switch cancellation.wait(for: terminal, POLLIN, until: deadline) {
      case .ready: break
      case .cancelled: throw .interaction(.cancelled)
      case .timedOut: throw .interaction(.timedOut)
      }
      let count = read(terminal, memory.baseAddress, memory.count)
      guard count >= 0 else { throw failure("cannot read from the terminal: \(SystemNumber(errno))") }
      let typed = UnsafeRawBufferPointer(rebasing: memory[..<count])
      // A line end; or none, when the person typed Ctrl-D, which is no answer.
      guard typed.last == UInt8(ascii: "\n") else { throw .interaction(.declined) }
      answer = body(UnsafeRawBufferPointer(rebasing: typed.dropLast()))
    }
    guard let answer else { throw .interaction(.declined) }
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

  private static func failure(_ words: String) -> Stop {
    .failure("cannot ask on the terminal: \(words); or use --prompt pinentry")
  }
}
