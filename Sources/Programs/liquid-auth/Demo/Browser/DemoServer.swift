import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import ProcessIO
import Synchronization

/// The demo's HTTP/1.1 server on both loopback addresses; `localhost` can be either.
struct DemoServer: Sendable {
  /// How often another free port is tried, if a program uses the port of one address.
  private static let tries = 16

  /// The port of all addresses.
  let port: Int
  private let channels: [any Channel]
  private let group: MultiThreadedEventLoopGroup
  private let connections = DemoConnections()

  /// Listens; it closes every connection until ``serve(_:end:)``.
  ///
  /// - Parameter port: 0 for a free one.
  init(port: Int) async throws(CommandFailure) {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    self.group = group
    do {
      (channels, self.port) = try await Self.listen(port, Self.bootstrap(group, connections))
    } catch {
      try? await group.shutdownGracefully()
      let reason = (error as? IOError).map { SystemNumber($0.errnoCode).description.lowercased() } ?? "\(error)"
      throw CommandFailure("cannot listen on port \(port) of this machine: \(reason)")
    }
  }

  /// Answers requests from now on.
  ///
  /// - Parameter end: called once an answer that ends the demo was sent.
  func serve(_ site: any DemoWebSite, end: @escaping @Sendable () -> Void) { connections.serve(site, end: end) }

  /// Closes all connections and the ports.
  func close() async {
    for channel in channels { try? await channel.close() }
    connections.closeAll()
    try? await group.shutdownGracefully()
  }

  /// Listens on ::1 with the port of 127.0.0.1: if another program had that port of ::1, browsers would reach it.
  private static func listen(_ port: Int, _ bootstrap: ServerBootstrap) async throws -> ([any Channel], Int) {
    for triesLeft in (0..<tries).reversed() {
      let first = try await bootstrap.bind(host: "127.0.0.1", port: port).get()
      let bound = first.localAddress?.port ?? port
      do {
        return ([first, try await bootstrap.bind(host: "::1", port: bound).get()], bound)
      } catch let error as IOError where [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error.errnoCode) {
        return ([first], bound)  // without IPv6
      } catch {
        try? await first.close()
        guard port == 0, triesLeft > 0 else { throw error }
      }
    }
    throw IOError(errnoCode: EADDRINUSE, reason: "bind")
  }

  private static func bootstrap(
    _ group: MultiThreadedEventLoopGroup, _ connections: DemoConnections
  ) -> ServerBootstrap {
    ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          // Without a free descriptor, it accepts again after a second.
          try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler())
        }
      }
      .childChannelInitializer { connections.begin($0) }
  }
}

/// The open connections of the demo's server.
private final class DemoConnections: Sendable {
  /// The most at a time; another one closes the oldest, so that idle ones do not block others.
  private static let most = 128

  private struct Served {
    let site: any DemoWebSite
    let end: @Sendable () -> Void
  }

  private let served = Mutex<Served?>(nil)
  private let open = Mutex<[any Channel]>([])

  func serve(_ site: any DemoWebSite, end: @escaping @Sendable () -> Void) {
    served.withLock { $0 = Served(site: site, end: end) }
  }

  func begin(_ channel: any Channel) -> EventLoopFuture<Void> {
    guard let served = served.withLock({ $0 }) else { return channel.close() }
    let (site, end) = (served.site, served.end)
    let oldest = open.withLock { open in
      open.append(channel)
      return open.count > Self.most ? open.removeFirst() : nil
    }
    oldest?.close(promise: nil)
    channel.closeFuture.whenComplete { [weak self] _ in
      self?.open.withLock { open in open.removeAll { $0 === channel } }
    }
    return channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(DemoConnectionLimit(), name: DemoConnectionLimit.name)
      try pipeline.configureHTTPServerPipeline(
        withPipeliningAssistance: false, withServerUpgrade: site.hasSockets ? DemoSocketFrames.upgrade(to: site) : nil)
      try pipeline.addHandler(DemoConnection(site, end: end), name: DemoConnection.name)
    }
  }

  func closeAll() {
    for channel in open.withLock({ $0 }) { channel.close(promise: nil) }
  }
}
