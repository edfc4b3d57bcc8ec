import CTAPHID
import Glibc

/// A socket that stands for the device, for machines without `/dev/uhid`: SOCK_SEQPACKET, one report a packet.
///
/// Plugged in is: the socket's file is there.
struct UnixSocketTransport: ReportTransport {
  let path: String
  var name: String { "unix:" + path }

  func attach() throws(TransportError) -> any DeviceLink { try UnixSocketDevice(try Self.listen(at: path)) }

  /// A socket that listens, and the file that leads to it.
  struct Listener {
    let path: String
    let descriptor: Int32
    private let device: dev_t
    private let inode: ino_t

    fileprivate init(path: String, descriptor: Int32, status: stat) {
      self.path = path
      self.descriptor = descriptor
      device = status.st_dev
      inode = status.st_ino
    }

    /// Removes the file, if it still is the one that was made here.
    func removeFile() {
      var status = stat()
      guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
      unlink(path)
    }
  }

  private static func listen(at path: String) throws(TransportError) -> Listener {
    try checkDirectory(of: path)
    let address = try SocketAddress(path)
    try removeStaleSocket(at: path, address)
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | flags, 0)
    guard descriptor >= 0 else { throw TransportError("make a socket", errno: errno) }
    do throws(TransportError) {
      // Linux gives the file the mode of the descriptor: at no moment may another user connect.
      guard fchmod(descriptor, 0o600) == 0, address.bind(descriptor), Glibc.listen(descriptor, 8) == 0 else {
        throw TransportError("listen at \(path)", errno: errno)
      }
      var status = stat()
      guard lstat(path, &status) == 0 else { throw TransportError("find \(path)", errno: errno) }
      return Listener(path: path, descriptor: descriptor, status: status)
    } catch {
      close(descriptor)
      throw error
    }
  }

  static var flags: Int32 { Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue) }

  /// In a directory of someone else, that someone could put a socket of their own in the place of ours.
  private static func checkDirectory(of path: String) throws(TransportError) {
    let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    let name = directory.isEmpty ? (path.first == "/" ? "/" : ".") : directory
    var status = stat()
    guard stat(name, &status) == 0 else { throw TransportError("find the directory \(name)", errno: errno) }
    guard status.st_uid == geteuid() else {
      throw TransportError("\(name) belongs to another user; put the socket into a directory of your own")
    }
  }

  /// A socket that nobody listens on is what a process that died has left; anything else is not ours to remove.
  private static func removeStaleSocket(at path: String, _ address: SocketAddress) throws(TransportError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw TransportError("\(path) is not a socket; move it away, or name another path")
    }
    let probe = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | flags, 0)
    guard probe >= 0 else { throw TransportError("make a socket", errno: errno) }
    defer { close(probe) }
    guard !address.connect(probe), errno == ECONNREFUSED else {
      throw TransportError("somebody listens at \(path) already; end it first, or name another path")
    }
    guard unlink(path) == 0 else { throw TransportError("remove the stale socket \(path)", errno: errno) }
  }
}

/// The address of a socket in the file system.
struct SocketAddress {
  private let address: sockaddr_un

  /// Takes a path of at most 107 bytes.
  init(_ path: String) throws(TransportError) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard !bytes.isEmpty, bytes.count < capacity else {
      throw TransportError("a socket's path has 1 to \(capacity - 1) bytes, not \(bytes.count); name another path")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    self.address = address
  }

  func bind(_ descriptor: Int32) -> Bool { call { Glibc.bind(descriptor, $0, $1) == 0 } }
  func connect(_ descriptor: Int32) -> Bool { call { Glibc.connect(descriptor, $0, $1) == 0 } }

  private func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
