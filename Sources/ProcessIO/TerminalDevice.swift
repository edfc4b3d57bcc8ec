package import Glibc

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

  /// Runs `body` while the terminal has other settings; afterwards it is as it was.
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
    guard tcsetattr(descriptor, begin, &during) == 0 else { throw refused(SystemNumber()) }
    defer { tcsetattr(descriptor, end, &before) }
    return try body()
  }
}
