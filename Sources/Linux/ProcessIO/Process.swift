package import CLinux
import Glibc

/// An environment variable; an empty one counts as unset.
package func environmentVariable(_ name: String) -> String? {
  guard let value = getenv(name), value.pointee != 0 else { return nil }
  return String(cString: value)
}

/// The restrictions that a process with secrets applies to itself first.
package enum Hardening {
  /// Forbids core dumps, and access by other programs of the same user to this process's memory; sets the umask to 077,
  /// which keeps the modes 0600 and 0700; and lets a write above the limit on the size of files fail (EFBIG), where SIGXFSZ
  /// would end the process.
  package static func apply() throws(SystemNumber) {
    umask(0o077)
    signal(SIGXFSZ, SIG_IGN)
    guard clinux_forbid_dumps() == 0 else { throw SystemNumber() }
  }
}

/// User ids as this process sees them: in a user namespace, all unmapped users have one id (user_namespaces(7)).
package enum UserNamespace {
  /// The id of all users that the namespace does not map.
  package static let unmapped: uid_t = 65534
  /// The id of the system's root: 0, or `unmapped`.
  package static let root = root(
    map: String(decoding: Descriptor.contents(of: "/proc/self/uid_map") ?? [], as: UTF8.self))

  /// Reads a `uid_map`: lines of the first id inside, the first id outside, and how many.
  static func root(map: String) -> uid_t {
    let lines = map.split(separator: "\n").map { $0.split(separator: " ").map { UInt32($0) } }
    guard !lines.isEmpty else { return 0 }
    return lines.lazy.compactMap { $0.count == 3 && $0[1] == 0 && $0[2] != 0 ? $0[0] : nil }.first ?? unmapped
  }
}

/// Signals for which the main thread waits.
///
/// Make it before the first other thread starts, because threads inherit the blocked signals.
package struct StopSignals {
  private let set: sigset_t

  /// Blocks them in this thread and in those that it starts.
  package init(_ numbers: [Int32] = [SIGTERM, SIGINT, SIGHUP]) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    self.set = set
  }

  /// Sleeps until one comes, and returns its number.
  @discardableResult package func wait() -> Int32 {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }
}

/// The programs of this package, in this program's directory.
package enum OwnProgram {
  /// The path of the program of that name; `nil` if the system does not give this program's path.
  package static func path(of program: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return nil }
    let own = String(decoding: buffer.prefix(count), as: UTF8.self)
    return own.lastIndex(of: "/").map { own[...$0] + program }
  }

  /// The path of a program that only this package's programs start, which may not be there.
  ///
  /// After a build it is in this program's directory, and when installed in `../libexec` or `../lib/liquid-auth`.
  package static func path(ofInternal program: String) -> String {
    let places = ["", "../libexec/", "../lib/liquid-auth/"].compactMap { path(of: $0 + program) }
    return places.first { access($0, X_OK) == 0 } ?? places.first ?? program
  }

  /// Replaces this process by a program, looked up in PATH, with no signal blocked and SIGPIPE as by default; returns
  /// only if that fails, with the signals as they were.
  ///
  /// - Parameter arguments: all of argv, with the program's name first.
  package static func takeOver(_ program: String, _ arguments: [String]) -> SystemNumber {
    var (none, before) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    let brokenPipe = signal(SIGPIPE, SIG_DFL)
    let words = arguments.map { strdup($0) }
    defer { words.forEach { free($0) } }
    execvp(program, words + [nil])
    let failure = SystemNumber()
    signal(SIGPIPE, brokenPipe)
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return failure
  }
}

/// A child process.
package enum Child {
  /// Starts a program, looked up in PATH, in a session of its own, with only these three descriptors.
  ///
  /// - Parameters:
  ///   - arguments: the program, then its arguments.
  ///   - isBound: whether the kernel kills the program when the thread that calls this ends, or its process.
  package static func start(
    _ arguments: [String], input: Int32, output: Int32, errorOutput: Int32, isBound: Bool = false
  ) throws(SystemNumber) -> pid_t {
    var process = pid_t()
    let words = arguments.map { strdup($0) }
    defer { words.forEach { free($0) } }
    let spawn = isBound ? clinux_spawn_bound : clinux_spawn_session
    let number = spawn(&process, arguments[0], words + [nil], input, output, errorOutput)
    guard number == 0 else { throw SystemNumber(number) }
    return process
  }

  /// Waits until the process ends, and returns its status, as waitpid(2) does.
  @discardableResult package static func reap(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
  }
}
