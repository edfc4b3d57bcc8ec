package import CLinux
import EventLoop
import Glibc
package import ProcessIO

/// A program that was started for one dialog or one key, in a session of its own, with pipes to its standard input and output.
///
/// A session of its own has no controlling terminal: a pinentry for terminals can then read the terminal that it is
/// given, even if the daemon runs in that terminal's background; and one signal reaches all processes of the dialog.
package struct ChildProcess: Sendable {
  private let process: pid_t
  /// Its standard input.
  package let input: Int32
  /// Its standard output.
  package let output: Int32
  private let helper: HelperProcess

  /// Starts one of the helper's programs.
  ///
  /// - Throws: the system's error number.
  package init(_ program: clinux_helper_program, by helper: HelperProcess) throws(SystemNumber) {
    self.helper = helper
    let toChild = try Descriptor.pipe()
    let fromChild: (read: Int32, write: Int32)
    do {
      fromChild = try Descriptor.pipe()
    } catch {
      close(toChild.read)
      close(toChild.write)
      throw error
    }
    defer {
      close(toChild.read)
      close(fromChild.write)
    }
    do {
      process = try helper.start(program, input: toChild.read, output: fromChild.write)
    } catch {
      close(toChild.write)
      close(fromChild.read)
      throw error
    }
    input = toChild.write
    output = fromChild.read
  }

  /// How a process ended.
  package enum Ending: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  /// Ends the process and everything that it started, and reaps it.
  ///
  /// Closes its pipes, so that a pinentry ends. After `grace` it sends SIGTERM, and `timeout` later SIGKILL.
  /// - Returns: how the process ended, if it ended by itself.
  package func end(grace: Duration, thenKilledAfter timeout: Duration) -> Ending? {
    close(input)
    close(output)
    let ending = awaitEnding(grace)
    if ending == nil {
      kill(-process, SIGTERM)
      if awaitEnding(timeout) == nil {
        kill(-process, SIGKILL)
        _ = awaitEnding(nil)
      }
    }
    // Its process id is not reused before it is reaped, so this reaches only its own children.
    kill(-process, SIGKILL)
    _ = helper.wait(for: process, WEXITED)
    return ending
  }

  /// Waits until it has ended, without reaping it; `nil` if it has not within `limit`.
  private func awaitEnding(_ limit: Duration?) -> Ending? {
    let deadline = limit.map { ContinuousClock.now + $0 }
    // Readable once the process has ended; -1 before Linux 5.3.
    let descriptor = clinux_open_process(process)
    defer { if descriptor >= 0 { close(descriptor) } }
    while true {
      if let ending = helper.wait(for: process, WEXITED | WNOWAIT | (deadline == nil ? 0 : WNOHANG)) { return ending }
      guard let deadline, deadline > .now else { return nil }
      let (seconds, attoseconds) = (deadline - .now).components
      let milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
      var ended = pollfd.readable(descriptor)
      _ = poll(&ended, 1, descriptor >= 0 ? milliseconds : 2)
    }
  }
}
