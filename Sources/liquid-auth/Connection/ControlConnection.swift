import CLinux
import ControlDoor
import CryptoPrimitives
import Glibc
import StateDirectory
import Synchronization

/// A connection to the authenticator that runs: one question, one answer.
struct ControlConnection: ~Copyable {
  private let descriptor: Int32
  private let path: String
  /// Whether it was said that a prompt is waited for: once is enough for all that a command asks.
  private let hasTold = Atomic(false)

  private init(owning descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// Connects, and agrees on the version.
  ///
  /// - Throws: `notRunning` when nobody listens there.
  static func open(_ path: String) throws(CommandFailure) -> ControlConnection {
    let connection = ControlConnection(owning: try connected(to: path), path: path)
    let _: Hello = try connection.ask(.hello(version: ControlMessage.version))
    return connection
  }

  deinit { close(descriptor) }

  /// Asks, and waits for the answer: as long as it takes where a person or a key derivation is waited for.
  func ask<Answer: ControlAnswer>(
    _ request: ControlRequest, for answer: Answer.Type = Answer.self
  ) throws(CommandFailure) -> Answer {
    let message = request.encoded
    let sent = message.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard sent == message.count else { throw Self.broken(errno) }
    let answer =
      switch request.wait {
      case .none: try receive(within: Self.patience)
      case .keyDerivation: try receive()
      case .line: try receiveFromBusy()
      }
    do {
      return try Answer(decoding: answer)
    } catch {
      throw CommandFailure(error)
    }
  }

  /// How many seconds an answer may take that waits for nobody.
  private static let patience = 20

  /// Waits for an answer that has others before it, and says so when one of them is a prompt: a person who types here does
  /// not always see it.
  private func receiveFromBusy() throws(CommandFailure) -> [UInt8] {
    while !hasTold.load(ordering: .relaxed) {
      if let answer = try packet(within: 1) { return answer }
      if isSomebodyAsked {
        StandardStream.error.write("liquid-auth: waiting for the prompt that is open to be answered")
        hasTold.store(true, ordering: .relaxed)
      }
    }
    return try receive()
  }

  /// Whether the authenticator waits for a person now.
  private var isSomebodyAsked: Bool {
    let status = try? Self.open(path).ask(.status, for: AuthenticatorStatus.self)
    return status?.waiting == true
  }

  /// Waits for an answer, for good unless `seconds` are given.
  private func receive(within seconds: Int = 0) throws(CommandFailure) -> [UInt8] {
    guard let answer = try packet(within: seconds) else { throw Self.broken(EAGAIN) }
    return answer
  }

  /// The next packet; `nil` if none comes within so many seconds, 0 for however many.
  private func packet(within seconds: Int) throws(CommandFailure) -> [UInt8]? {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var buffer = [UInt8](repeating: 0, count: ControlMessage.maximumSize + 1)
    var count = -1
    repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
    if count < 0, errno == EAGAIN { return nil }
    guard count > 0 else { throw Self.broken(count == 0 ? ECONNRESET : errno) }
    return Array(buffer.prefix(count))
  }

  private static func broken(_ number: Int32) -> CommandFailure {
    guard number != EAGAIN else {
      return CommandFailure("the authenticator does not answer; see its log, and start it again")
    }
    return CommandFailure(
      "the authenticator broke off: \(String(cString: strerror(number))); see its log, and run: liquid-auth status")
  }

  private static func connected(to path: String) throws(CommandFailure) -> Int32 {
    guard let address = SocketAddress(path) else {
      throw CommandFailure(
        "the path of the control socket has 1 to \(SocketAddress.maximumPathSize) bytes: \(path); give another with "
          + "--control")
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw notRunning(path, errno) }
    guard address.connect(descriptor) else {
      defer { close(descriptor) }
      throw notRunning(path, errno)
    }
    do throws(CommandFailure) {
      try checkPeer(of: descriptor, path, expected: geteuid())
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Whoever listens is told a passphrase: it must be a program of the same user, and not even of root.
  static func checkPeer(of descriptor: Int32, _ path: String, expected: uid_t) throws(CommandFailure) {
    var user = uid_t.max
    guard clinux_peer_user(descriptor, &user) == 0 else {
      throw CommandFailure("cannot tell who listens at \(path): \(String(cString: strerror(errno)))")
    }
    guard user == expected else {
      throw CommandFailure(
        "user \(user), and not you, listens at \(path); do not trust it, and give another path with --control")
    }
  }

  private static func notRunning(_ path: String, _ number: Int32) -> CommandFailure {
    guard number == ENOENT || number == ECONNREFUSED else {
      return CommandFailure("cannot reach the authenticator at \(path): \(String(cString: strerror(number)))")
    }
    return CommandFailure(
      "the authenticator is not running (nobody listens at \(path)); start it with: liquid-authenticator",
      code: .notRunning)
  }
}

extension ControlRequest {
  /// What stands before an answer.
  fileprivate enum Wait {
    /// Nothing.
    case none
    /// Argon2, which takes its time and waits for no person.
    case keyDerivation
    /// The line of all requests, and whoever is asked in it.
    case line
  }

  fileprivate var wait: Wait {
    switch self {
    case .hello, .status, .lock: .none
    case .unlock, .newStore: .keyDerivation
    default: .line
    }
  }
}
