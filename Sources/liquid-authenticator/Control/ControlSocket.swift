import CLinux
import Glibc

/// The control socket: made in a directory of its own, accepted from, removed.
struct ControlSocket: ~Copyable {
  private let socket: ListeningSocket

  /// The listening descriptor, non-blocking.
  var descriptor: Int32 { socket.descriptor }

  /// Listens at a path, in a directory that is made (0700) when it is not there.
  init(listeningAt path: String) throws(TransportError) {
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
    if !directory.isEmpty { _ = mkdir(directory, 0o700) }
    socket = try ListeningSocket(at: path, elsewhere: "give another path with --control")
  }

  deinit { close(socket.descriptor) }

  /// Removes the file: nobody finds the socket any more.
  func removeFile() { socket.removeFile() }

  /// The next connection.
  func accept() -> ListeningSocket.Arrival { socket.accept() }

  /// Who made a connection.
  static func user(of connection: Int32) -> uid_t? {
    var user = uid_t.max
    return clinux_peer_user(connection, &user) == 0 ? user : nil
  }
}
