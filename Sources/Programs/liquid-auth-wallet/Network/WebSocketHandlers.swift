import LiquidAuth
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Requests the upgrade, and handles a refusal of the server: RFC 6455 §4.1.
final class WebSocketOpening: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  /// The handler's name in its pipeline.
  static let name = "opening"

  private let place: WebSocketPlace
  private let headers: [HTTPHeader]
  private let socket: WebSocket

  init(place: WebSocketPlace, headers: [HTTPHeader], socket: WebSocket) {
    self.place = place
    self.headers = headers
    self.socket = socket
  }

  func channelActive(context: ChannelHandlerContext) {
    socket.isConnected(by: context.channel)
    var fields = HTTPHeaders([("Host", place.authority)])
    for header in headers { fields.add(name: header.name, value: header.value) }
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: place.target, headers: fields)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data) else { return }
    socket.fail(.refused(status: Int(head.status.code)))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    socket.fail(PortError(webSocket: error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    socket.note(.broken("it was closed before it was open"))
    socket.end()
  }
}

/// Joins frames to messages: RFC 6455 §5 and §8.1.
final class WebSocketFrames: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  private let socket: WebSocket
  /// The received part of an incomplete message.
  private var begun: ByteBuffer?

  init(_ socket: WebSocket) { self.socket = socket }

  func handlerAdded(context: ChannelHandlerContext) { socket.isUpgraded() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard frame.maskKey == nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
      return breach("a frame that is not allowed")
    }
    switch frame.opcode {
    case .text where begun == nil: take(frame)
    case .continuation: continueMessage(with: frame)
    case .binary: socket.refuse(.unacceptableData, .notText)
    case .ping: if !socket.isClosing { socket.write(.pong, frame.unmaskedData) }
    case .pong: break
    case .connectionClose: socket.isClosedByServer()
    default: breach("a frame that is not allowed")
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? NIOWebSocketError else {
      socket.note(PortError(webSocket: error))
      context.close(promise: nil)
      return
    }
    // NIO has already sent the Close frame.
    socket.note(error == .invalidFrameLength ? .tooLarge : .broken("a frame that is not allowed"))
  }

  func channelInactive(context: ChannelHandlerContext) {
    socket.note(.broken("it was closed"))
    socket.end()
  }

  private func continueMessage(with frame: WebSocketFrame) {
    guard begun != nil else { return breach("a fragment of no message") }
    take(frame)
  }

  private func take(_ frame: WebSocketFrame) {
    var data = frame.unmaskedData
    // An endless series of them would cost the sender nothing.
    guard frame.fin || data.readableBytes > 0 else { return breach("an empty fragment") }
    var message = begun ?? ByteBuffer()
    // Appended in place: a second reference would copy the buffer.
    begun = nil
    guard message.readableBytes + data.readableBytes <= socket.maximumMessageSize else {
      return socket.refuse(.messageTooLarge, .tooLarge)
    }
    message.writeBuffer(&data)
    guard frame.fin else {
      begun = message
      return
    }
    guard let text = String(validating: message.readableBytesView, as: UTF8.self) else {
      return socket.refuse(.dataInconsistentWithMessage, .broken("a text message is not UTF-8"))
    }
    socket.hear(text)
  }

  private func breach(_ what: String) { socket.refuse(.protocolError, .broken(what)) }
}
