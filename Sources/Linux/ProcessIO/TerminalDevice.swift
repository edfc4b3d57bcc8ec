import CLinux
package import Glibc
import Synchronization

/// An open terminal.
package final class TerminalDevice: Sendable {
  package let descriptor: Int32

  /// Opens a terminal, by default the controlling terminal of the process, wherever standard input and output lead.
  ///
  /// - Parameter waits: whether a read waits for input, and a write for room.
  package init(at path: String = "/dev/tty", waits: Bool = true) throws(SystemNumber) {
    let descriptor = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard descriptor >= 0 else { throw SystemNumber() }
    self.descriptor = descriptor
  }

  /// Takes over an open terminal.
  package init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Shows a text unchanged.
  package func show(_ text: String) { Descriptor.write(text.utf8, to: descriptor) }

  /// Shows bytes that must not become a `String`.
  package func show(_ bytes: UnsafeRawBufferPointer) { Descriptor.write(bytes, to: descriptor) }

  /// Discards input that was typed or pasted and is not read yet.
  ///
  /// TCSAFLUSH does not discard what the kernel has not yet given to the terminal's line discipline; this does. In the
  /// background it does nothing: the input is another program's, and SIGTTOU would stop this one.
  package func discardInput() { if !isInBackground { tcflush(descriptor, TCIFLUSH) } }

  /// Changes settings so that nothing that is typed is shown.
  ///
  /// Control-Z then does nothing: the shell would get a terminal without echo.
  package static func hideInput(_ settings: inout termios) {
    settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
    withUnsafeMutableBytes(of: &settings.c_cc) { $0[Int(VSUSP)] = 0 }
  }

  /// Runs `body` with changed terminal settings, and restores them afterwards, also if a signal ends the process.
  ///
  /// Of calls in each other's body, a signal restores the settings from before the outermost.
  ///
  /// - Parameters:
  ///   - change: changes the current settings.
  ///   - begin: how tcsetattr(3) applies the change: `TCSANOW`, `TCSADRAIN` or `TCSAFLUSH`.
  ///   - end: how tcsetattr(3) restores the settings.
  ///   - refused: makes the error to throw if a system call fails.
  package func withSettings<Result, Failure: Error>(
    _ change: (inout termios) -> Void, begin: Int32, end: Int32, refused: (SystemNumber) -> Failure,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let before: termios
    do throws(SystemNumber) { before = try self.change(by: begin, change) } catch { throw refused(error) }
    defer { restore(before, by: end) }
    return try body()
  }

  /// Changes the terminal's settings until ``restore(_:by:)``, or until a signal ends the process.
  ///
  /// - Parameter action: how tcsetattr(3) applies the change.
  /// - Returns: the settings from before.
  package func change(by action: Int32, _ change: (inout termios) -> Void) throws(SystemNumber) -> termios {
    var before = termios()
    guard tcgetattr(descriptor, &before) == 0 else { throw SystemNumber() }
    var during = before
    change(&during)
    Self.remember(before, of: descriptor)
    Self.handleDeadlySignals
    guard tcsetattr(descriptor, action, &during) == 0 else {
      let failure = SystemNumber()
      Self.remember(nil, of: descriptor)
      throw failure
    }
    return before
  }

  /// Restores the settings that ``change(by:_:)`` returned; in the background, only forgets them, as ``giveBack()`` does.
  package func restore(_ before: termios, by action: Int32) {
    var before = before
    if !isInBackground { tcsetattr(descriptor, action, &before) }
    Self.remember(nil, of: descriptor)
  }

  /// Whether another program has the terminal, so that a change of its settings would stop this one.
  package var isInBackground: Bool { Self.isInBackground(descriptor) }

  private static func isInBackground(_ descriptor: Int32) -> Bool {
    let foreground = tcgetpgrp(descriptor)
    return foreground >= 0 && foreground != getpgrp()
  }

  /// The terminals with changed settings, and the settings that each had, in the order of the changes.
  private static let changed = Mutex<[(descriptor: Int32, before: termios)]>([])

  /// Remembers the settings that a terminal had; `nil` forgets those from before its last change.
  ///
  /// Blocks all signals meanwhile: a handler on this thread would find the lock taken.
  private static func remember(_ settings: termios?, of descriptor: Int32) {
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    changed.withLock { changed in
      if let settings {
        changed.append((descriptor, settings))
      } else if let last = changed.lastIndex(where: { $0.descriptor == descriptor }) {
        changed.remove(at: last)
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  /// Restores the terminal's settings before the process ends, and discards unread input.
  ///
  /// It does not wait, and a signal handler may call it. In the background it changes nothing: the terminal is in use
  /// by another program.
  package static func giveBack() {
    changed.withLockIfAvailable { changed in
      for (descriptor, before) in changed.reversed() where !isInBackground(descriptor) {
        tcflush(descriptor, TCIFLUSH)
        _ = withUnsafePointer(to: before) { tcsetattr(descriptor, TCSANOW, $0) }
      }
    }
  }

  /// Makes each signal that would end the process restore the terminal first.
  ///
  /// No other signal interrupts the handler.
  private static let handleDeadlySignals: Void = {
    var giving = sigaction()
    sigfillset(&giving.sa_mask)
    giving.__sigaction_handler.sa_handler = { number in
      giveBack()
      signal(number, SIG_DFL)
      raise(number)
    }
    for number in [SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGQUIT] {
      var before = sigaction()
      sigaction(number, nil, &before)
      if before.__sigaction_handler.sa_handler == nil { sigaction(number, &giving, nil) }
    }
  }()
}
