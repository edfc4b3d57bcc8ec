import Glibc
import LiquidAuth
import NIOCore
import NIOPosix
import Testing

@testable import liquid_auth_wallet

/// The adapters on this machine, without a network.
struct AdaptersTests {
  @Test func `an offer has a fingerprint, and nothing is left open after the close`() async throws {
    let port = GStreamerPeerConnections()
    let (events, feed) = AsyncStream.makeStream(of: PeerEvent.self)
    let connection = try port.make(iceServers: [], channelLabel: "liquid", bufferedAmountLowThreshold: 1) {
      feed.yield($0)
    }
    connection.createOffer()
    var iterator = events.makeAsyncIterator()
    guard case .offer(let offer) = await iterator.next() else {
      Issue.record("the first event is no offer")
      return
    }
    #expect(throws: Never.self) { try CertificateFingerprints(in: offer) }
    #expect(CandidateLine.mediaTags(in: offer).count == 1)
    #expect(
      offer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=max-message-size:") } == [
        "a=max-message-size:340000"
      ])
    connection.send("to nobody yet")
    connection.close()
    connection.close()
    await port.open.drained()
  }

  @Test func `an answer without an offer is a failure`() async throws {
    let port = GStreamerPeerConnections()
    let (events, feed) = AsyncStream.makeStream(of: PeerEvent.self)
    let connection = try port.make(iceServers: [], channelLabel: "liquid", bufferedAmountLowThreshold: 1) {
      feed.yield($0)
    }
    connection.setAnswer("v=0\r\n")
    var iterator = events.makeAsyncIterator()
    guard case .failed = await iterator.next() else {
      Issue.record("it is told as something else")
      return
    }
    connection.close()
    await port.open.drained()
  }

  @Test func `a closed port is an error for HTTP and web sockets`() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let policy = try TLSPolicy(certificateAuthorities: nil)
    let http = HTTPExchanges(on: group, policy)
    let port = try unusedPort()
    await #expect(throws: PortError.unreachable("connection refused")) {
      try await http.send(HTTPRequest(method: .get, url: "http://127.0.0.1:\(port)/"), maximumBodySize: 1)
    }
    let (events, feed) = AsyncStream.makeStream(of: WebSocketEvent.self)
    let socket = try WebSockets(on: group, policy).open(
      url: "ws://127.0.0.1:\(port)/", headers: [], maximumMessageSize: 1
    ) { feed.yield($0) }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == .closed(.unreachable("connection refused")))
    socket.close()
    await http.close()
    try await group.shutdownGracefully()
  }

  @Test func `a body that arrives byte by byte times out`() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(DrippingServer()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let http = HTTPExchanges(on: group, try TLSPolicy(certificateAuthorities: nil), timeout: .milliseconds(500))
    await #expect(throws: PortError.timedOut) {
      try await http.send(HTTPRequest(method: .get, url: "http://127.0.0.1:\(port)/"), maximumBodySize: 10_000)
    }
    await http.close()
    try await server.close()
    try await group.shutdownGracefully()
  }

  @Test func `an alarm rings; a cancelled one does not`() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let timer = EventLoopTimer(on: group.next())
    let (rings, feed) = AsyncStream.makeStream(of: Int.self)
    let takeBack = timer.wake(after: .milliseconds(1)) { feed.yield(1) }
    takeBack()
    _ = timer.wake(after: .milliseconds(2)) { feed.yield(2) }
    var iterator = rings.makeAsyncIterator()
    #expect(await iterator.next() == 2)
    #expect(timer.now > .zero)
    try await group.shutdownGracefully()
  }

  @Test(arguments: [("com", true), ("co.uk", true), ("github.io", true), ("example.com", false), ("localhost", true)])
  func `the system's public suffix list is used`(domain: String, isPublic: Bool) throws {
    #expect(try PublicSuffixList().isPublicSuffix(domain) == isPublic)
  }

  // Holds: INPUT-1
  @Test func `a file without certificates is refused`() {
    #expect(throws: WalletFailure("w.conf, line 3: ca-file: /dev/null has no certificate; give a PEM file")) {
      try TLSPolicy(certificateAuthorities: CertificateFile(path: "/dev/null", place: "w.conf, line 3: ca-file"))
    }
    #expect(throws: WalletFailure("--ca-file: cannot read /nowhere: No such file or directory")) {
      try TLSPolicy(certificateAuthorities: CertificateFile(path: "/nowhere", place: "--ca-file"))
    }
  }

  /// A closed port of 127.0.0.1, which was just released.
  private func unusedPort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try #require(bind(descriptor, address, size) == 0)
        try #require(getsockname(descriptor, address, &size) == 0)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}

/// Sends a response head at once, then a body of 1000 bytes, one byte every 10 ms.
private final class DrippingServer: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var isAnswering = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isAnswering else { return }
    isAnswering = true
    let channel = context.channel
    channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), promise: nil)
    let dripping = context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(10)) { _ in
      channel.writeAndFlush(ByteBuffer(string: "."), promise: nil)
    }
    channel.closeFuture.whenComplete { _ in dripping.cancel() }
  }
}
