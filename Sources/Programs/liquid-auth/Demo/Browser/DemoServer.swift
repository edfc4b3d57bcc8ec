import EventLoop
import Glibc
import ProcessIO
import Synchronization

/// The demo's HTTP/1.1 server on both loopback addresses; `localhost` can be either.
struct DemoServer: Sendable {
  /// How often another free port is tried, if a program uses the port of one address.
  private static let tries = 16

  /// The port of all addresses.
  let port: Int
  private let listeners: [Int32]
  private let connections: DemoConnections
  private let watch: EventLoop.Watch

  /// Listens; it closes every connection until ``serve(_:end:)``.
  ///
  /// - Parameter port: 0 for a free one.
  init(port: Int) throws(CommandFailure) {
    do throws(SystemNumber) {
      let loop = try EventLoop()
      (listeners, self.port) = try Self.listen(port)
      connections = DemoConnections(listeners)
      watch = loop.watch(connections)
    } catch {
      throw CommandFailure("cannot listen on port \(port) of this machine: \(error.description.lowercased())")
    }
  }

  /// Answers requests from now on.
  ///
  /// - Parameter end: called once an answer that ends the demo was sent.
  func serve(_ site: any DemoWebSite, end: @escaping @Sendable () -> Void) { connections.serve(site, end: end) }

  /// Closes all connections and the ports.
  func close() {
    watch.stop()
    connections.closeAll()
    for listener in listeners { Glibc.close(listener) }
  }

  /// Listens on ::1 with the port of 127.0.0.1: if another program had that port of ::1, browsers would reach it.
  private static func listen(_ port: Int, triesLeft: Int = tries - 1) throws(SystemNumber) -> ([Int32], Int) {
    let first = try LoopbackAddress.v4(port).listener()
    do throws(SystemNumber) {
      let bound = try LoopbackAddress.port(of: first)
      do throws(SystemNumber) {
        return ([first, try LoopbackAddress.v6(bound).listener()], bound)
      } catch {
        // Without IPv6.
        guard [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error.number) else { throw error }
        return ([first], bound)
      }
    } catch {
      Glibc.close(first)
      guard port == 0, triesLeft > 0 else { throw error }
      return try listen(port, triesLeft: triesLeft - 1)
    }
  }
}

/// An address of this machine, and a port.
private enum LoopbackAddress {
  case v4(Int)
  case v6(Int)

  /// The most connections that wait to be accepted.
  private static let backlog: Int32 = 256

  /// A listening socket, non-blocking.
  func listener() throws(SystemNumber) -> Int32 {
    let family = if case .v4 = self { AF_INET } else { AF_INET6 }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let listener = socket(family, type, 0)
    guard listener >= 0 else { throw SystemNumber() }
    var on: Int32 = 1
    guard setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size)) == 0,
      bind(to: listener) == 0, listen(listener, Self.backlog) == 0
    else {
      let error = SystemNumber()
      Glibc.close(listener)
      throw error
    }
    return listener
  }

  private func bind(to listener: Int32) -> Int32 {
    switch self {
    case .v4(let port):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
      return Self.bind(listener, &address)
    case .v6(let port):
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(port).bigEndian
      address.sin6_addr = in6addr_loopback
      return Self.bind(listener, &address)
    }
  }

  private static func bind<Address>(_ listener: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(listener, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  /// The port of an IPv4 socket.
  static func port(of listener: Int32) throws(SystemNumber) -> Int {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
    }
    guard result == 0 else { throw SystemNumber() }
    return Int(in_port_t(bigEndian: address.sin_port))
  }
}

/// The open connections of the demo's server.
private final class DemoConnections: Polled {
  /// The most at a time; another one closes the oldest, so that idle ones do not block others.
  private static let most = 128
  /// How many are accepted before the existing ones are read again.
  private static let arrivalsAtOnce = 16
  /// The most bytes of one read.
  private static let bytesAtOnce = 16_384

  private struct Served {
    let site: any DemoWebSite
    let end: @Sendable () -> Void
  }

  private struct Open {
    let descriptor: Int32
    let connection: DemoConnection
    /// Whether the end of an answer was sent.
    var isShut = false
  }

  private let listeners: [Int32]
  private let arrivals = ArrivalPause()
  private let served = Mutex<Served?>(nil)
  /// The oldest first.
  private let open = Mutex<[Open]>([])

  init(_ listeners: [Int32]) { self.listeners = listeners }

  func serve(_ site: any DemoWebSite, end: @escaping @Sendable () -> Void) {
    served.withLock { $0 = Served(site: site, end: end) }
  }

  func closeAll() {
    for one in open.withLock({ $0 }) { close(one) }
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    var timeout: Int32 = -1
    for listener in listeners {
      let (arriving, pause) = arrivals.interest(in: listener)
      descriptors.append(arriving)
      timeout = pause
    }
    for one in open.withLock({ $0 }) {
      let events = POLLIN | (one.connection.isWaiting ? POLLOUT : 0)
      descriptors.append(pollfd(fd: one.descriptor, events: Int16(events), revents: 0))
      guard let deadline = one.connection.deadline else { continue }
      let (seconds, attoseconds) = (deadline - .now).components
      // Rounded up, so that a wait does not end just before its deadline.
      let left = Int32(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
      timeout = timeout < 0 ? left : min(timeout, left)
    }
    return timeout
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    let all = open.withLock { $0 }
    let readable = Set(descriptors.dropFirst(listeners.count).filter(\.isReadable).map(\.fd))
    for one in all where readable.contains(one.descriptor) { receive(one) }
    // A request on one connection can lead to messages on others.
    for one in all { advance(one) }
    arrivals.end()
    for listener in descriptors.prefix(listeners.count) where listener.revents != 0 { accept(on: listener.fd) }
  }

  private func receive(_ one: Open) {
    var buffer = [UInt8](repeating: 0, count: Self.bytesAtOnce)
    let count = recv(one.descriptor, &buffer, buffer.count, 0)
    if count > 0 { return one.connection.receive(Array(buffer.prefix(count)), at: .now) }
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    one.connection.closed()
  }

  /// Sends what waits, and closes a connection that is over.
  private func advance(_ one: Open) {
    one.connection.flush { bytes in
      let count = send(one.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      if count < 0, errno != EAGAIN, errno != EINTR { return bytes.count }
      return max(0, count)
    }
    one.connection.expire(at: .now)
    if one.connection.isOver { return close(one) }
    if one.connection.isAnswered, !one.isShut {
      shutdown(one.descriptor, Int32(SHUT_WR))
      open.withLock { open in
        for index in open.indices where open[index].connection === one.connection { open[index].isShut = true }
      }
    }
  }

  private func close(_ one: Open) {
    open.withLock { open in open.removeAll { $0.connection === one.connection } }
    Glibc.close(one.descriptor)
    one.connection.closed()
  }

  private func accept(on listener: Int32) {
    for _ in 0..<Self.arrivalsAtOnce {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else {
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { arrivals.begin() }
        return
      }
      var on: Int32 = 1
      guard let served = served.withLock({ $0 }), fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
        fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0,
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size)) == 0
      else {
        Glibc.close(descriptor)
        continue
      }
      let connection = DemoConnection(served.site, at: .now, end: served.end)
      let oldest = open.withLock { open in
        open.append(Open(descriptor: descriptor, connection: connection))
        return open.count > Self.most ? open.first : nil
      }
      if let oldest { close(oldest) }
    }
  }
}
