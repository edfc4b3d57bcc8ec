import LiquidAuth
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Web sockets by NIO.
struct WebSockets: WebSocketPort {
  /// The most time for a connection, without TLS and upgrade.
  private static let timeout = TimeAmount.seconds(10)

  private let group: any EventLoopGroup
  private let tls: NIOSSLContext

  init(on group: any EventLoopGroup, _ policy: TLSPolicy) throws(WalletFailure) {
    self.group = group
    do {
      tls = try NIOSSLContext(configuration: policy.configuration)
    } catch {
      throw WalletFailure("cannot read the certificates of the system: \(error); install ca-certificates")
    }
  }

  func open(
    url: String, headers: [HTTPHeader], maximumMessageSize: Int,
    deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection {
    let loop = group.next()
    let socket = WebSocket(on: loop, maximumMessageSize: maximumMessageSize, deliver: deliver)
    guard let place = WebSocketPlace(url) else {
      socket.fail(.unreachable("no web socket has the address \(url)"))
      return socket
    }
    let tls = place.isSecure ? tls : nil
    ClientBootstrap(group: loop)
      .connectTimeout(Self.timeout)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try Self.prepare(channel, place, headers, tls, socket)
        }
      }
      .connect(host: place.host, port: place.port)
      .whenFailure { socket.fail(PortError(webSocket: $0)) }
    return socket
  }

  /// Adds TLS if needed, then HTTP until the upgrade, then frames.
  private static func prepare(
    _ channel: any Channel, _ place: WebSocketPlace, _ headers: [HTTPHeader], _ tls: NIOSSLContext?, _ socket: WebSocket
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    if let tls {
      try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: place.nameForTLS))
    }
    let opening = WebSocketOpening(place: place, headers: headers, socket: socket)
    let upgrader = NIOWebSocketClientUpgrader(
      maxFrameSize: socket.maximumMessageSize,
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(WebSocketFrames(socket))
        }
      })
    try pipeline.addHTTPClientHandlers(
      leftOverBytesStrategy: .forwardBytes,
      withClientUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in
          context.pipeline.syncOperations.removeHandler(name: WebSocketOpening.name, promise: nil)
        }
      ))
    try pipeline.addHandler(opening, name: WebSocketOpening.name)
  }
}

/// The address of a web socket: scheme, host, port and target.
struct WebSocketPlace: Equatable {
  let isSecure: Bool
  let host: String
  let port: Int
  /// Path and query.
  let target: String
  /// Host and port as in the URL.
  let authority: String

  /// Reads `ws[s]://host[:port]/…`.
  init?(_ url: String) {
    guard let scheme = ["wss://", "ws://"].first(where: url.hasPrefix) else { return nil }
    isSecure = scheme == "wss://"
    let rest = url.dropFirst(scheme.count)
    let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<slash]
    self.authority = String(authority)
    target = rest[slash...].hasPrefix("/") ? String(rest[slash...]) : "/" + rest[slash...]
    let end =
      authority.hasPrefix("[")
      ? authority.firstIndex(of: "]").map(authority.index(after:)) ?? authority.endIndex
      : authority.firstIndex(of: ":") ?? authority.endIndex
    host = authority[..<end].filter { $0 != "[" && $0 != "]" }
    guard !host.isEmpty else { return nil }
    guard authority[end...].isEmpty || authority[end...].hasPrefix(":") else { return nil }
    guard let port = authority[end...].isEmpty ? (isSecure ? 443 : 80) : UInt16(authority[end...].dropFirst()) else {
      return nil
    }
    self.port = Int(port)
  }

  /// The name for the server's certificate; `nil` for an address, which is itself in the certificate.
  var nameForTLS: String? { (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil }
}

extension PortError {
  /// The error of a web socket; one that does not open in time is unreachable.
  init(webSocket error: any Error) {
    let error = PortError(connection: error)
    self = error.kind == .timedOut ? .unreachable("it did not answer in time") : error
  }
}
