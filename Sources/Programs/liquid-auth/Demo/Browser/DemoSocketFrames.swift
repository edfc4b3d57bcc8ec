import NIOCore
import NIOHTTP1
import NIOWebSocket

/// One web socket of the demo's server: text messages in and out (RFC 6455).
final class DemoSocketFrames: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let site: any DemoWebSite
  private let request: DemoRequest
  private var socket: DemoSocket?

  /// - Parameter request: the one that opened the socket.
  init(_ site: any DemoWebSite, _ request: DemoRequest) {
    self.site = site
    self.request = request
  }

  /// What replaces HTTP on a connection once the site takes its request for a web socket.
  static func upgrade(to site: any DemoWebSite) -> NIOHTTPServerUpgradeConfiguration {
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: DemoSite.longestBody,
      shouldUpgrade: { channel, head in
        channel.eventLoop.makeSucceededFuture(site.takesSocket(DemoRequest(head)) ? HTTPHeaders() : nil)
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: DemoSite.longestBody))
          try pipeline.addHandler(DemoSocketFrames(site, DemoRequest(head)))
        }
      })
    return (
      upgraders: [upgrader],
      completionHandler: { context in
        for name in [DemoConnectionLimit.name, DemoConnection.name] {
          context.pipeline.syncOperations.removeHandler(name: name, promise: nil)
        }
      }
    )
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    let socket = DemoSocket { text in
      channel.writeAndFlush(
        WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)), promise: nil)
    }
    self.socket = socket
    site.opened(socket, request)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .text: if let socket { site.received(String(buffer: frame.unmaskedData), from: socket, at: .now) }
    case .ping: write(.pong, frame.unmaskedData, context)
    case .connectionClose:
      write(.connectionClose, frame.unmaskedData, context)
      context.close(promise: nil)
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let socket { site.closed(socket) }
    socket = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
  }
}
