import Glibc

/// Runs other programs, each with a time limit.
package enum Tool {
  package enum Result: Equatable, Sendable {
    /// The exit status and the output.
    case ended(Int32, String)
    /// It is not installed.
    case missing
    /// It did not end in time, and was ended.
    case tooSlow
    /// It could not be started.
    case failed(String)
  }

  /// The most output that is kept, bytes; a program that writes more is ended.
  private static let outputLimit = 1 << 16

  /// Runs a program, looked up in PATH, without input, and waits for its end and that of its output.
  ///
  /// Everything that it started in its session ends with it.
  ///
  /// - Parameter withErrors: whether the result includes standard error, which is otherwise discarded.
  package static func run(_ words: [String], within limit: Duration, withErrors: Bool = true) -> Result {
    guard let pipe = try? Descriptor.pipe() else { return .failed(SystemNumber().description) }
    defer { close(pipe.read) }
    let process: pid_t
    do {
      let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
      defer {
        close(nothing)
        close(pipe.write)
      }
      process = try Child.start(
        words, input: nothing, output: pipe.write, errorOutput: withErrors ? pipe.write : nothing)
    } catch {
      return error.number == ENOENT ? .missing : .failed(error.description)
    }
    let deadline = ContinuousClock.now + limit
    let output = read(pipe.read, until: deadline)
    let hasEnded = output != nil && waits(for: process, until: deadline)
    kill(-process, SIGKILL)
    let status = Child.reap(process)
    guard let output, hasEnded else { return .tooSlow }
    let signal = status & 0x7F
    return .ended(signal == 0 ? status >> 8 & 0xFF : 128 + signal, String(decoding: output, as: UTF8.self))
  }

  /// Reads to the end, or to the limit; `nil` if the deadline passes first.
  private static func read(_ descriptor: Int32, until deadline: ContinuousClock.Instant) -> [UInt8]? {
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while output.count <= outputLimit {
      let rest = deadline - .now
      guard rest > .zero else { return nil }
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, Int32(clamping: Int64(rest / .milliseconds(1)) + 1)) > 0 else { continue }
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return output }
      output += buffer.prefix(count)
    }
    return output
  }

  /// Waits for the end without reaping it, so that its number stays its own.
  private static func waits(for process: pid_t, until deadline: ContinuousClock.Instant) -> Bool {
    while deadline > .now {
      var information = siginfo_t()
      let result = waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT | WNOHANG)
      if result < 0, errno != EINTR { return true }
      if information.si_signo == SIGCHLD { return true }
      usleep(2000)
    }
    return false
  }
}
