import CLinux
import Glibc

/// The control socket's file and its descriptor: made, accepted from, removed.
struct ControlSocket: ~Copyable {
  /// The listening descriptor, non-blocking.
  let descriptor: Int32
  private let path: String

  /// Listens at a path, in a directory that is made (0700) when it is not there; the socket is 0600.
  ///
  /// A socket that a crash left is replaced; one that somebody listens at is not.
  init(listeningAt path: String) throws(TransportError) {
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
    if !directory.isEmpty { _ = mkdir(directory, 0o700) }
    guard let address = Self.address(path) else {
      throw TransportError("the path of the control socket is too long: \(path); give a shorter one with --control")
    }
    try Self.removeStale(path, address)
    let descriptor = Self.newSocket()
    // The mode of the descriptor is the mode of the file that bind makes: at no moment is it open to others.
    let isListening =
      descriptor >= 0 && fchmod(descriptor, 0o600) == 0
      && Self.with(address, { bind(descriptor, $0, $1) }) == 0 && listen(descriptor, 16) == 0
    guard isListening else {
      let number = errno
      if descriptor >= 0 { close(descriptor) }
      throw TransportError("listen at \(path)", errno: number)
    }
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Removes the file: nobody finds the socket any more.
  func removeFile() { unlink(path) }

  /// The next connection, non-blocking, and who made it; `nil` when none waits.
  func accept() -> (descriptor: Int32, user: uid_t)? {
    let connection = Glibc.accept(descriptor, nil, nil)
    guard connection >= 0 else { return nil }
    var user = uid_t.max
    guard fcntl(connection, F_SETFD, FD_CLOEXEC) == 0, fcntl(connection, F_SETFL, O_NONBLOCK) == 0,
      clinux_peer_user(connection, &user) == 0
    else {
      close(connection)
      return nil
    }
    return (connection, user)
  }

  /// Removes what a crash left: a socket at which nobody listens.
  ///
  /// Anything else at the path is not ours to remove.
  private static func removeStale(_ path: String, _ address: sockaddr_un) throws(TransportError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw TransportError("\(path) is there and is no socket; move it away, or give another path with --control")
    }
    let probe = newSocket()
    defer { close(probe) }
    guard with(address, { connect(probe, $0, $1) }) != 0, errno == ECONNREFUSED else {
      throw TransportError(
        "another authenticator listens at \(path); end it first, or give another path with --control")
    }
    unlink(path)
  }

  private static func newSocket() -> Int32 {
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return socket(AF_UNIX, type, 0)
  }

  private static func address(_ path: String) -> sockaddr_un? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // The last byte stays 0.
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return address
  }

  private static func with(_ address: sockaddr_un, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
