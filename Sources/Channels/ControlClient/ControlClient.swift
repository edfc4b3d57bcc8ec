import CLinux
package import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO
package import StateDirectory
import Synchronization
package import UHID

/// A connection to the running authenticator: one request, one answer.
///
/// It blocks the calling thread. ``disconnect()`` ends it from any thread and withdraws the pending request.
package final class ControlClient: Sendable {
  private struct State {
    /// The connection; -1 before it is made.
    var descriptor: Int32 = -1
    /// Whether ``disconnect()`` was called.
    var isOver = false
  }

  private let path: String
  /// Called once, when an answer waits for a prompt.
  private let onPrompt: @Sendable () -> Void
  private let hasReported = Atomic(false)
  private let state = Mutex(State())
  /// Held for one request and its answer, so that requests of two threads run one after the other.
  private let turn = Mutex<Void>(())

  /// Makes a client that is not connected yet.
  ///
  /// - Parameters:
  ///   - path: the control socket, 1 to 107 bytes.
  ///   - onPrompt: called once, on the calling thread, if a prompt opens before the answer comes, and the answer does not
  ///     come within a second.
  package init(_ path: String, onPrompt: @escaping @Sendable () -> Void) {
    self.path = path
    self.onPrompt = onPrompt
  }

  /// How long to wait for an authenticator that does not listen yet: it may wait up to 5 s for the system bus.
  package static let connectTimeout = Duration.seconds(7)

  /// Connects as ``connect()`` does, and waits for an authenticator of this place that does not listen yet.
  ///
  /// An authenticator starts to listen some time after it has locked its directory, and stops before it ends.
  ///
  /// - Parameters:
  ///   - place: the place options that gave the path.
  ///   - timeout: how long to wait, at least.
  ///   - onWait: called once with the authenticator's process, if it does not listen within a second.
  /// - Throws: `notRunning` if no authenticator runs; `failed` if it runs but does not listen there.
  package func connect(
    in place: CommandPlace, timeout: Duration = ControlClient.connectTimeout, onWait: (Int32) -> Void = { _ in }
  ) throws(ControlClientError) {
    let start = ContinuousClock.now
    var hasReported = false
    while true {
      do throws(ControlClientError) { return try connect() } catch {
        guard case .notRunning = error, let process = place.authenticator(environment: environmentVariable) else {
          throw error
        }
        let waited = start.duration(to: .now)
        guard waited < timeout else { throw .failed(Problem(place.unreachable(process, at: path))) }
        if !hasReported, waited > .seconds(1) {
          onWait(process)
          hasReported = true
        }
      }
      usleep(100_000)
      if state.withLock(\.isOver) { throw Self.givenUp }
    }
  }

  /// Connects and agrees on the version; call it once.
  ///
  /// - Throws: `notRunning` if no program listens there.
  package func connect() throws(ControlClientError) {
    let descriptor = try connected()
    let isOver = state.withLock { state in
      state.descriptor = descriptor
      return state.isOver
    }
    // ``disconnect()`` before this had no connection to end.
    if isOver { throw Self.givenUp }
    _ = try ask(Hello(hearsOfPrompts: true))
  }

  deinit {
    let descriptor = state.withLock(\.descriptor)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Sends a command and waits for the answer, without a time limit if it may wait for a person or a key derivation.
  package func ask<Command: ControlCommand>(_ command: Command) throws(ControlClientError) -> Command.Answer {
    var packet = try exchange(command.encoded, Command.wait)
    // Private keys may be in it.
    defer { wipe(&packet) }
    do { return try Command.Answer(decoding: packet) } catch { throw .refused(error) }
  }

  /// The descriptor of the connection, for poll(2).
  ///
  /// It is readable when the answer to ``send(_:)`` has arrived, or the connection is over.
  package var descriptor: Int32 { state.withLock(\.descriptor) }

  /// Sends a command without waiting for its answer, which ``finish(_:)`` takes.
  package func send<Command: ControlCommand>(_ command: Command) throws(ControlClientError) {
    let descriptor = descriptor
    let message = command.encoded
    let sent = message.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard sent == message.count else { throw broken(errno) }
  }

  /// Takes the answer to ``send(_:)``; waits for it if it has not arrived.
  package func finish<Command: ControlCommand>(_ command: Command.Type) throws(ControlClientError) -> Command.Answer {
    let packet = try receive()
    do { return try Command.Answer(decoding: packet) } catch { throw .refused(error) }
  }

  /// Sends a CTAP2 message and returns the answer unchanged: status ‖ members.
  package func forward(_ message: [UInt8]) throws(ControlClientError) -> [UInt8] {
    try exchange(message.withUnsafeBytes { SecretBytes(copying: $0) }, .queue)
  }

  private func exchange(_ message: SecretBytes, _ wait: ControlWait) throws(ControlClientError) -> [UInt8] {
    try turn.withLock { _ throws(ControlClientError) in
      let descriptor = state.withLock(\.descriptor)
      let sent = message.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent == message.count else { throw broken(errno) }
      return switch wait {
      case .none: try receive(within: Self.timeout)
      case .work: try receive()
      case .queue: try receiveFromBusy()
      }
    }
  }

  /// Ends the connection, from any thread, also before it is made; withdraws the pending request, which then throws.
  package func disconnect() {
    state.withLock { state in
      state.isOver = true
      if state.descriptor >= 0 { shutdown(state.descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// The time limit for connecting, for sending, and for an answer that waits for nothing, seconds.
  private static let timeout = 20

  /// Waits for an answer behind other requests; calls ``onPrompt`` if a prompt is open, which a user who types here may
  /// not see.
  private func receiveFromBusy() throws(ControlClientError) -> [UInt8] {
    let first = try receive()
    guard first == ControlMessage.promptIsOpen else { return first }
    // Somebody who answers within a second has seen the prompt.
    if let answer = try packet(within: 1) { return answer }
    if !hasReported.exchange(true, ordering: .relaxed) { onPrompt() }
    return try receive()
  }

  /// Waits for an answer; 0 seconds is no limit.
  private func receive(within seconds: Int = 0) throws(ControlClientError) -> [UInt8] {
    guard let answer = try packet(within: seconds) else { throw broken(EAGAIN) }
    return answer
  }

  /// Returns the next packet; `nil` if none comes within `seconds`, where 0 is no limit.
  private func packet(within seconds: Int) throws(ControlClientError) -> [UInt8]? {
    let descriptor = state.withLock(\.descriptor)
    Self.limit(SO_RCVTIMEO, of: descriptor, to: timeval(tv_sec: seconds, tv_usec: 0))
    var buffer = [UInt8](repeating: 0, count: ControlMessage.maximumSize + 1)
    defer { wipe(&buffer) }
    var count = -1
    repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
    if count < 0, errno == EAGAIN { return nil }
    guard count > 0 else { throw broken(count == 0 ? ECONNRESET : errno) }
    return Array(buffer.prefix(count))
  }

  private static func limit(_ option: Int32, of descriptor: Int32, to time: timeval) {
    var time = time
    setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  private static let givenUp = ControlClientError.failed(
    "the request to the authenticator was cancelled")

  private func broken(_ number: Int32) -> ControlClientError {
    if state.withLock(\.isOver) { return Self.givenUp }
    guard number != EAGAIN else {
      return .failed("the authenticator does not answer; see its log, and start it again")
    }
    return .failed(
      Problem(
        "the connection to the authenticator was lost: \(SystemNumber(number))", hint: "see its log, and run:",
        run: ["liquid-auth", "status"]))
  }
}

extension ControlClient {
  /// How often per second a blocked connect(2) checks for ``disconnect()``, because nothing can wake it.
  private static let attemptsPerSecond = 5

  /// Makes a socket that is connected to a program of this user.
  private func connected() throws(ControlClientError) -> Int32 {
    guard let address = SocketAddress(path) else {
      throw .failed(
        Problem(
          "the path of the control socket has 1 to \(SocketAddress.maximumPathSize) bytes: \(path)",
          hint: "give another with --control"))
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Self.notRunning(path, errno) }
    do throws(ControlClientError) {
      try connect(descriptor, to: address)
      try Self.checkPeer(of: descriptor, path, expected: geteuid())
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Calls connect(2), which blocks while the listener's queue is full.
  private func connect(_ descriptor: Int32, to address: SocketAddress) throws(ControlClientError) {
    let pause = timeval(tv_sec: 0, tv_usec: suseconds_t(1_000_000 / Self.attemptsPerSecond))
    Self.limit(SO_SNDTIMEO, of: descriptor, to: pause)
    var attempts = Self.timeout * Self.attemptsPerSecond
    while !address.connect(descriptor) {
      guard errno == EAGAIN || errno == EINTR else { throw Self.notRunning(path, errno) }
      if state.withLock(\.isOver) { throw Self.givenUp }
      attempts -= 1
      guard attempts > 0 else { throw broken(EAGAIN) }
    }
    Self.limit(SO_SNDTIMEO, of: descriptor, to: timeval(tv_sec: Self.timeout, tv_usec: 0))
  }

  /// Refuses a listener of any other user, root included, because it would get a passphrase.
  static func checkPeer(of descriptor: Int32, _ path: String, expected: uid_t) throws(ControlClientError) {
    var user = uid_t.max
    guard clinux_peer_user(descriptor, &user) == 0 else {
      throw .failed("cannot find out which user listens at \(path): \(SystemNumber())")
    }
    guard user == expected else {
      throw .failed(
        "user \(user) listens at \(path), not you; do not trust it, and give another path with --control")
    }
  }

  private static func notRunning(_ path: String, _ number: Int32) -> ControlClientError {
    guard number == ENOENT || number == ECONNREFUSED else {
      return .failed("cannot reach the authenticator at \(path): \(SystemNumber(number))")
    }
    return .notRunning(notRunning(at: path, .current))
  }

  /// The problem that no program listens at a path.
  static func notRunning(at path: String, _ uhid: UHIDAccess) -> Problem {
    Problem(
      "the authenticator is not running (no program listens at \(path))",
      hint: uhid == .usable ? "start it" : "while /dev/uhid cannot be used, start it", with: starting(uhid))
  }

  /// The command that starts an authenticator; if `/dev/uhid` cannot be used, browsers do not see it.
  package static func starting(_ uhid: UHIDAccess) -> [String] {
    ["liquid-authenticator"] + (uhid == .usable ? [] : ["--transport", "pty"])
  }
}

/// Why a request failed.
package enum ControlClientError: Error, Equatable {
  /// No program listens.
  case notRunning(Problem)
  /// The authenticator refused the request.
  case refused(ControlFailure)
  /// The connection could not be made, or broke.
  case failed(Problem)

  package var problem: Problem {
    switch self {
    case .notRunning(let problem), .failed(let problem): problem
    case .refused(let failure): failure.reason.isEmpty ? Problem(failure.description) : failure.problem
    }
  }
}

extension ControlClientError: CustomStringConvertible {
  /// Lower case, no full stop: what happened, then what to do.
  package var description: String { problem.text }
}
