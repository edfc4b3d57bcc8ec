import CLinux
import Glibc
import ProcessIO
import StateDirectory

/// A listening SOCK_SEQPACKET socket, for its owner only, and its file.
struct ListeningSocket: Sendable {
  let path: String
  /// Non-blocking; the holder of the value closes it.
  let descriptor: Int32
  /// The file's device and inode; `nil` if systemd made the file, which then stays.
  private let file: (dev_t, ino_t)?

  /// Listens at a path; replaces a socket that a crash left, but not one with a listener.
  ///
  /// - Parameter elsewhere: the advice for a path that cannot be used: "name another path".
  init(at path: String, elsewhere: String) throws(TransportError) {
    guard let address = SocketAddress(path) else {
      throw TransportError(
        "a socket's path has 1 to \(SocketAddress.maximumPathSize) bytes, not \(path.utf8.count): \(path); \(elsewhere)"
      )
    }
    try Self.checkDirectory(of: path, elsewhere)
    try Self.removeStale(at: path, elsewhere: elsewhere)
    let descriptor = try Self.make()
    do throws(TransportError) {
      // Linux gives the file the mode of the descriptor, so that no other user can ever connect.
      guard fchmod(descriptor, 0o600) == 0, address.bind(descriptor), listen(descriptor, 16) == 0 else {
        throw TransportError("listen at \(path)", errno: errno)
      }
      var status = stat()
      guard lstat(path, &status) == 0 else { throw TransportError("find \(path)", errno: errno) }
      file = (status.st_dev, status.st_ino)
    } catch {
      close(descriptor)
      throw error
    }
    self.path = path
    self.descriptor = descriptor
  }

  /// Whether systemd made the socket.
  var isPassed: Bool { file == nil }

  /// Removes the file, if it is still the one that was made here.
  func removeFile() {
    var status = stat()
    guard let file, lstat(path, &status) == 0, (status.st_dev, status.st_ino) == file else { return }
    unlink(path)
  }

  // MARK: Sockets of systemd

  /// Takes the socket that systemd passes (sd_listen_fds(3)); `nil` if it passes none.
  ///
  /// - Parameter path: the path that clients expect.
  static func passed(at path: String) throws(TransportError) -> ListeningSocket? {
    guard environmentVariable("LISTEN_PID") == String(getpid()) else { return nil }
    let count = environmentVariable("LISTEN_FDS")
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
    guard count == "1" else { throw TransportError("systemd passed \(count ?? "no") sockets; one is expected") }
    return try ListeningSocket(passed: 3, at: path)
  }

  /// Takes a descriptor that listens at the path.
  init(passed descriptor: Int32, at path: String) throws(TransportError) {
    guard clinux_is_listening(descriptor, path) == 1 else {
      throw TransportError("the socket that systemd passed does not listen at \(path)")
    }
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
      throw TransportError("use the socket of systemd", errno: errno)
    }
    (self.path, self.descriptor, file) = (path, descriptor, nil)
  }

  // MARK: Accepting

  /// The result of accept(2).
  enum Arrival {
    /// A connection, non-blocking.
    case connection(Int32)
    case none
    /// The system has no descriptor or memory for a connection, which waits; `poll` would report it again and again.
    case noRoom
  }

  func accept() -> Arrival {
    let connection = Glibc.accept(descriptor, nil, nil)
    guard connection >= 0 else {
      return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) ? .noRoom : .none
    }
    guard fcntl(connection, F_SETFD, FD_CLOEXEC) == 0, fcntl(connection, F_SETFL, O_NONBLOCK) == 0 else {
      close(connection)
      return .none
    }
    return .connection(connection)
  }

  // MARK: The file

  private static func make() throws(TransportError) -> Int32 {
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw TransportError("make a socket", errno: errno) }
    return descriptor
  }

  /// Throws if others could put their socket in the place of ours, and receive what clients send.
  private static func checkDirectory(of path: String, _ elsewhere: String) throws(TransportError) {
    let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    let name = directory.isEmpty ? (path.first == "/" ? "/" : ".") : directory
    var status = stat()
    guard stat(name, &status) == 0 else { throw TransportError("find the directory \(name)", errno: errno) }
    guard status.st_uid == geteuid() else {
      throw TransportError(
        "\(name) belongs to another user (uid \(status.st_uid)); \(elsewhere), in a directory of yours, such as "
          + "$XDG_RUNTIME_DIR or your home directory")
    }
    // In a directory with the sticky bit, others can add files, but not remove ours.
    guard status.st_mode & S_ISVTX != 0 || !Privacy.isWritableByOthers(status, at: name) else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw TransportError(
        "other users can write to \(name) (mode \(mode)); restrict access with: chmod go-w '\(name)', or \(elsewhere)")
    }
  }

  /// Removes the socket of a process that has ended; throws for anything else.
  ///
  /// It connects to the socket, which the sandbox forbids.
  static func removeStale(at path: String, elsewhere: String) throws(TransportError) {
    var status = stat()
    guard let address = SocketAddress(path), lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw TransportError("\(path) is not a socket; move it away, or \(elsewhere)")
    }
    let probe = try make()
    defer { close(probe) }
    guard !address.connect(probe), errno == ECONNREFUSED else {
      throw TransportError("another program listens at \(path) already; stop it first, or \(elsewhere)")
    }
    guard unlink(path) == 0 else { throw TransportError("remove the stale socket \(path)", errno: errno) }
  }
}
