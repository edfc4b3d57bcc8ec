package import Glibc
import Synchronization

/// A terminal that is open.
package final class TerminalDevice: Sendable {
  package let descriptor: Int32

  /// Opens a terminal: that of the person who started the process, whatever standard input and output are.
  package init(at path: String = "/dev/tty") throws(SystemNumber) {
    let descriptor = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemNumber() }
    self.descriptor = descriptor
  }

  /// Takes over a terminal that is open already.
  package init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Shows a text as it stands.
  package func show(_ text: String) { Descriptor.write(text.utf8, to: descriptor) }

  /// Shows bytes that must not become a `String`.
  package func show(_ bytes: UnsafeRawBufferPointer) { Descriptor.write(bytes, to: descriptor) }

  /// Runs `body` while the terminal has other settings; afterwards it is as it was, also where a signal ends the process.
  ///
  /// Of two at a time, a signal gives back the one that began last.
  ///
  /// - Parameters:
  ///   - change: changes the settings that it has.
  ///   - begin: when they hold, and what is thrown away: `TCSADRAIN` or `TCSAFLUSH` of tcsetattr(3).
  ///   - end: the same for the end.
  ///   - refused: the error to throw where the system refuses.
  package func withSettings<Result, Failure: Error>(
    _ change: (inout termios) -> Void, begin: Int32, end: Int32, refused: (SystemNumber) -> Failure,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var before = termios()
    guard tcgetattr(descriptor, &before) == 0 else { throw refused(SystemNumber()) }
    var during = before
    change(&during)
    Self.changed.withLock { [before] changed in changed = (descriptor, before) }
    _ = Self.deadlySignals
    defer { Self.changed.withLock { changed in changed = nil } }
    guard tcsetattr(descriptor, begin, &during) == 0 else { throw refused(SystemNumber()) }
    defer { tcsetattr(descriptor, end, &before) }
    return try body()
  }

  /// The terminal whose settings are changed, and those that it had.
  private static let changed = Mutex<(descriptor: Int32, before: termios)?>(nil)

  /// Gives the terminal the settings that it had, before the process ends; what was typed and not read is thrown away.
  ///
  /// It waits for nothing, and a signal's handler may call it. In the background, the terminal is another program's.
  package static func giveBack() {
    changed.withLockIfAvailable { changed in
      guard let (descriptor, before) = changed else { return }
      let foreground = tcgetpgrp(descriptor)
      guard foreground < 0 || foreground == getpgrp() else { return }
      tcflush(descriptor, TCIFLUSH)
      _ = withUnsafePointer(to: before) { tcsetattr(descriptor, TCSANOW, $0) }
    }
  }

  /// Makes each signal that would end the process give the terminal back before.
  private static let deadlySignals: Void = {
    for number in [SIGTERM, SIGINT, SIGHUP, SIGALRM] {
      let before = signal(number) { number in
        giveBack()
        signal(number, SIG_DFL)
        raise(number)
      }
      if let before { signal(number, before) }
    }
  }()
}
