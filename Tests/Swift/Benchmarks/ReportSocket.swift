import CTAPHID
import Glibc

/// A socket that carries one report per packet, as the daemon's `unix:` transport does.
///
/// An exchange allocates nothing, so that the measurement is of the other side.
final class ReportSocket {
  let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: Report.size)

  /// Takes ownership of a connected socket.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Connects; `nil` while there is no listener.
  convenience init?(connectingTo path: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    guard Self.withAddress(path, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
      close(descriptor)
      return nil
    }
    self.init(descriptor)
  }

  deinit { close(descriptor) }

  /// Connects as soon as there is a listener.
  static func connect(to path: String) throws(BenchmarkError) -> ReportSocket {
    for _ in 0..<100_000 {
      if let socket = ReportSocket(connectingTo: path) { return socket }
      usleep(100)
    }
    throw BenchmarkError("no program listens at \(path)")
  }

  /// Listens at a path and waits for the only client.
  static func accept(at path: String) throws(BenchmarkError) -> ReportSocket {
    let listener = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    guard listener >= 0 else { throw .system("make a socket") }
    defer { close(listener) }
    unlink(path)
    guard withAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 1) == 0 else {
      throw .system("listen at \(path)")
    }
    let client = Glibc.accept(listener, nil, nil)
    guard client >= 0 else { throw .system("accept at \(path)") }
    return ReportSocket(client)
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  // MARK: - Packets

  func send(_ packet: [UInt8]) { _ = Glibc.send(descriptor, packet, packet.count, Int32(MSG_NOSIGNAL)) }

  /// Receives the next packet into `buffer`; `false` at the end.
  private func receive() -> Bool { recv(descriptor, &buffer, buffer.count, 0) > 0 }

  func receive(count: Int) -> [[UInt8]]? {
    var packets: [[UInt8]] = []
    for _ in 0..<count {
      guard receive() else { return nil }
      packets.append(buffer)
    }
    return packets
  }

  /// Waits for packets and drops them; `false` at the end.
  func skip(count: Int) -> Bool { (0..<count).allSatisfy { _ in receive() } }

  /// Sends a message and waits for the whole answer, without keepalives; `false` when the other side has closed.
  func exchange(_ message: [[UInt8]]) -> Bool {
    message.forEach(send)
    repeat { guard receive() else { return false } } while buffer[4] == 0x80 | CTAPHIDCommand.keepalive.rawValue
    let length = Int(buffer[5]) << 8 | Int(buffer[6])
    let rest = max(0, length - Packet.initializationCapacity) + Packet.continuationCapacity - 1
    return skip(count: rest / Packet.continuationCapacity)
  }
}
