import CLinux
import Glibc
import ProcessIO

/// The control socket, in a directory of its own.
struct ControlServerSocket: ~Copyable {
  private let socket: ListeningSocket

  /// The listening descriptor, non-blocking.
  var descriptor: Int32 { socket.descriptor }

  /// Whether systemd made the socket, and started this process for a client of it.
  var isPassed: Bool { socket.isPassed }

  /// Takes the socket of systemd, or listens at a path; makes its directory (0700) if it is missing.
  init(listeningAt path: String) throws(TransportError) {
    if let passed = try ListeningSocket.passed(at: path) {
      socket = passed
      return
    }
    Self.makeDirectory(for: path)
    socket = try ListeningSocket(at: path, elsewhere: Self.elsewhere)
  }

  private static let elsewhere = "give another path with --control"

  /// Removes the socket that a crash left, unless systemd made it.
  static func removeStale(at path: String) throws(TransportError) {
    guard environmentVariable("LISTEN_PID") == nil else { return }
    try ListeningSocket.removeStale(at: path, elsewhere: elsewhere)
  }

  /// Makes the directory of the socket (0700) if it is missing.
  static func makeDirectory(for path: String) {
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
    if !directory.isEmpty { _ = mkdir(directory, 0o700) }
  }

  deinit { close(socket.descriptor) }

  /// Removes the file, so that no client finds the socket any more.
  func removeFile() { socket.removeFile() }

  /// Accepts the next connection.
  func accept() -> ListeningSocket.Arrival { socket.accept() }

  /// The user at the other end of a connection.
  static func user(of connection: Int32) -> uid_t? {
    var user = uid_t.max
    return clinux_peer_user(connection, &user) == 0 ? user : nil
  }

  /// A process that made a connection, and may have ended.
  struct Peer: Hashable, Sendable {
    /// `nil` if the system does not say.
    var number: pid_t?
    /// Tells it from a later process with the same number, from Linux 6.9 on.
    var instance: UInt64 = 0
  }

  /// The process that made a connection (SO_PEERCRED, SO_PEERPIDFD).
  static func peer(of connection: Int32) -> Peer {
    var process = pid_t()
    guard clinux_peer_process(connection, &process) == 0, process > 0 else { return Peer(number: nil) }
    return Peer(number: process, instance: clinux_peer_instance(connection))
  }

  /// The terminal of the process that made a connection; `nil` if it has none, or has ended.
  static func terminal(of connection: Int32) -> TerminalSession? {
    // The number of a process that runs was not given to another one.
    guard let process = peer(of: connection).number, let terminal = TerminalSession(of: process),
      clinux_has_peer_ended(connection) == 0
    else { return nil }
    return terminal
  }
}
