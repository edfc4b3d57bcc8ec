import CLinux
package import EventLoop
import Glibc
package import ProcessIO
import Synchronization
import UHID

/// A process of this program outside the sandbox, forked before this process entered it.
///
/// It starts pinentries, which need windows, and `liquid-auth-prompt` and `liquid-auth-protector`, which need the
/// session bus or the TPM. It also connects to the broker and to `liquid-auth-pam`.
package final class HelperProcess: Sendable {
  /// The pinentry: a path, or a name that is looked up in PATH.
  package let program: String
  /// The program like `ssh-askpass`: a path, or a name that is looked up in PATH.
  package let askpass: String
  /// The path of `liquid-auth-prompt`.
  package let prompt: String
  /// The path of `liquid-auth-protector`.
  package let protector: String
  private let requests: Mutex<Int32>
  private let process: pid_t

  /// Forks the process, which ends with this one; the calling thread must be the only one.
  ///
  /// - Parameters:
  ///   - program: the pinentry.
  ///   - askpass: the program for `liquid-auth-prompt --askpass`.
  ///   - prompt: the path of `liquid-auth-prompt`; if it is empty, the program cannot be started.
  ///   - protector: the path of `liquid-auth-protector`, likewise.
  ///   - broker: the path of the broker's socket; `nil` for ``BrokerMessage/path``.
  ///   - account: the path of the socket of `liquid-auth-pam`; empty if there can be none.
  /// - Throws: the system's error number.
  package init(
    program: String, askpass: String = "", prompt: String = "", protector: String = "", broker: String? = nil,
    account: String = ""
  ) throws(SystemNumber) {
    var requests: Int32 = -1
    let texts = [program, askpass, prompt, protector, broker ?? BrokerMessage.path, account].map { (text: String) in
      strdup(text)
    }
    defer { texts.forEach { free($0) } }
    let words = texts.map { UnsafePointer<CChar>($0) }
    var paths = clinux_helper_paths(
      pinentry: words[0], askpass: words[1], prompt: words[2], protector: words[3], broker: words[4],
      account: words[5])
    process = clinux_fork_helper(&paths, &requests)
    guard process >= 0 else { throw SystemNumber() }
    (self.program, self.askpass, self.prompt, self.protector) = (program, askpass, prompt, protector)
    self.requests = Mutex(requests)
  }

  /// Whether systemd is the first process: sd_booted(3).
  package static var hasSystemd: Bool { access("/run/systemd/system", F_OK) == 0 }

  deinit {
    requests.withLock { _ = close($0) }
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
  }

  /// Calls `action` on the loop's thread once the process has ended; it cannot be started anew in the sandbox.
  package func watchEnd(on loop: EventLoop, _ action: @escaping @Sendable () -> Void) {
    let end = HelperEnd(requests: requests.withLock(\.self), action)
    end.watch.withLock { $0 = loop.watch(end) }
  }

  /// Starts a program in a session of its own, with these as its standard input and output.
  ///
  /// - Throws: the system's error number.
  func start(_ program: clinux_helper_program, input: Int32, output: Int32) throws(SystemNumber) -> pid_t {
    var process = pid_t()
    let number = requests.withLock { clinux_helper_start($0, program, input, output, &process) }
    guard number == 0 else { throw SystemNumber(number) }
    return process
  }

  /// waitid(2) for a process that this has started.
  ///
  /// - Returns: how it ended; `nil` if it runs.
  func wait(for process: pid_t, _ options: Int32) -> ChildProcess.Ending? {
    var (code, status) = (Int32(0), Int32(0))
    let number = requests.withLock { clinux_helper_wait($0, process, options, &code, &status) }
    // ECHILD: it was reaped.
    guard number == 0 else { return .exited(0) }
    guard code != 0 else { return nil }
    return code == CLD_EXITED ? .exited(status) : .killed(signal: status)
  }

  /// The programs that may have sent a request and that /proc shows; at most three by name.
  ///
  /// Blocks. To find the programs that have a node open, the helper reads the descriptors of all processes of this user.
  @Sendable package func programs(at door: Door) -> Door.Programs {
    let (process, node): (pid_t, UInt32)
    switch door {
    case .controlSocket(let client?, _), .anotherComputer(let client?, _): (process, node) = (client, 0)
    case .device(let path?):
      let prefix = "/dev/hidraw"
      guard path.hasPrefix(prefix), let number = UInt32(path.dropFirst(prefix.count)) else { return Door.Programs() }
      (process, node) = (0, number)
    case .controlSocket(nil, _), .anotherComputer(nil, _), .device(nil): return Door.Programs()
    }
    return withUnsafeTemporaryAllocation(of: clinux_program.self, capacity: Int(CLINUX_PROGRAMS)) { found in
      let count = Int(requests.withLock { clinux_helper_programs($0, process, node, found.baseAddress) })
      let named = found.prefix(count).map { program in
        let name = withUnsafeBytes(of: program.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return Door.Program(name: name, process: program.process)
      }
      return Door.Programs(named: named, others: count - named.count)
    }
  }

  /// Connects to the broker, and never waits.
  ///
  /// - Returns: the connection, close-on-exec and non-blocking.
  /// - Throws: the system's error number; `EAGAIN` if too many connections wait to be accepted.
  @Sendable package func connectToBroker() throws(SystemNumber) -> Int32 { try connect(to: CLINUX_BROKER) }

  /// Connects to `liquid-auth-pam`, as ``connectToBroker()``.
  package func connectToAccountService() throws(SystemNumber) -> Int32 { try connect(to: CLINUX_ACCOUNT) }

  private func connect(to socket: clinux_helper_socket) throws(SystemNumber) -> Int32 {
    var connection: Int32 = -1
    let number = requests.withLock { clinux_helper_connect($0, socket, &connection) }
    guard number == 0 else { throw SystemNumber(number) }
    return connection
  }
}

/// Waits until the other side of the helper's socket is closed.
private final class HelperEnd: Polled {
  fileprivate let watch = Mutex<EventLoop.Watch?>(nil)
  private let requests: Int32
  private let action: @Sendable () -> Void

  init(requests: Int32, _ action: @escaping @Sendable () -> Void) { (self.requests, self.action) = (requests, action) }

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    // With no events set, poll reports only the end, and not the answers to requests.
    descriptors.append(pollfd(fd: requests, events: 0, revents: 0))
    return -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    guard let watch = watch.withLock({ $0.take() }) else { return }
    watch.stop()
    action()
  }
}
