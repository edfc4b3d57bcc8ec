import Glibc
import ProcessIO
import TestSupport
import Testing

struct ChildTests {
  /// Starts a program on a thread of its own, which then ends.
  private static func start(_ arguments: [String], isBound: Bool) async throws -> Result<pid_t, SystemNumber> {
    try await BlockingWork {
      let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
      defer { close(nothing) }
      return Result { () throws(SystemNumber) in
        try Child.start(arguments, input: nothing, output: nothing, errorOutput: STDERR_FILENO, isBound: isBound)
      }
    }.value
  }

  // Holds: PROTECT-8
  @Test func `a bound program is killed when the thread that started it ends`() async throws {
    let process = try await Self.start(["sleep", "60"], isBound: true).get()
    #expect(Child.reap(process) == SIGKILL)
  }

  @Test func `a bound program leads a session, with three descriptors and no ignored or blocked signal`() throws {
    let ends = try Descriptor.pipe()
    defer { close(ends.read) }
    // Not close-on-exec.
    let input = open("/dev/null", O_RDONLY)
    defer { close(input) }
    var (blocked, before) = (sigset_t(), sigset_t())
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGUSR1)
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let handler = signal(SIGUSR2, SIG_IGN)
    defer { signal(SIGUSR2, handler) }
    let script = """
      [ "$(cut -d ' ' -f 6 /proc/$$/stat)" = $$ ] && ls /proc/$$/fd && exec grep -E '^Sig(Blk|Ign)' /proc/self/status
      """
    let process = try Child.start(
      ["sh", "-c", script], input: input, output: ends.write, errorOutput: STDERR_FILENO, isBound: true)
    close(ends.write)
    let shown = Descriptor.read(ends.read, atMost: 4096).map { String(decoding: $0, as: UTF8.self) } ?? ""
    #expect(shown.hasPrefix("0\n1\n2\nSigBlk:\t0000000000000000\nSigIgn:\t"))
    // The C library ignores its own two, 32 and 33, in what posix_spawn starts, such as these tests.
    #expect(shown.hasSuffix("0000000\n"), "\(shown)")
    #expect(Child.reap(process) == 0)
  }

  @Test(arguments: [false, true])
  func `a program that is not there is an error, and leaves no process`(isBound: Bool) async throws {
    let outcome = try await Self.start(["/nowhere/program"], isBound: isBound)
    #expect(throws: SystemNumber(ENOENT)) { try outcome.get() }
  }
}
