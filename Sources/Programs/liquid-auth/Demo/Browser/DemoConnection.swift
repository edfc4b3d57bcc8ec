import NIOCore
import NIOHTTP1

/// One connection to the demo's server: one request, its answer, and the end.
///
/// A browser opens another connection for its next request. So the server keeps nothing of a client, and a connection
/// has one limit for its size and one for its time.
final class DemoConnection: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// The handler's name in its pipeline.
  static let name = "connection"
  /// The most headers of a request.
  static let mostHeaders = 100

  private let site: any DemoWebSite
  private let end: @Sendable () -> Void
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var isAnswered = false

  /// - Parameter end: ends the demo.
  init(_ site: any DemoWebSite, end: @escaping @Sendable () -> Void) {
    self.site = site
    self.end = end
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isAnswered else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard head.version == .http1_1, head.headers.count <= Self.mostHeaders else {
        return answer(.refused(400, "only HTTP/1.1 is supported"), context)
      }
      let length = head.headers.first(name: "content-length").flatMap(Int.init)
      guard length ?? 0 <= DemoSite.longestBody else { return answer(.refused(413, "the body is too long"), context) }
      self.head = head
    case .body(let part):
      guard body.count + part.readableBytes <= DemoSite.longestBody else {
        return answer(.refused(413, "the body is too long"), context)
      }
      body += part.readableBytesView
    case .end:
      guard let head else { return context.close(promise: nil) }
      var request = DemoRequest(head)
      request.body = body
      answer(site.answer(request, at: .now), context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func answer(_ response: DemoResponse, _ context: ChannelHandlerContext) {
    isAnswered = true
    var headers = HTTPHeaders([
      ("Content-Type", "\(response.contentType); charset=utf-8"), ("Content-Length", "\(response.body.count)"),
      ("Connection", "close"),
    ])
    for (name, value) in site.headers + response.headers { headers.add(name: name, value: value) }
    let status = HTTPResponseStatus(statusCode: response.status)
    context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
    let sent = context.eventLoop.makePromise(of: Void.self)
    let channel = context.channel
    let end = response.endsDemo ? end : nil
    sent.futureResult.whenComplete { _ in
      channel.close(promise: nil)
      end?()
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
  }
}

/// Ends a connection that sends more than a request can have, or takes too long.
final class DemoConnectionLimit: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// The handler's name in its pipeline.
  static let name = "limit"
  /// The most bytes from a client: a body, its request line and its headers.
  static let mostBytes = DemoSite.longestBody + 32_768
  /// The most time from the connection to the last byte of the answer.
  static let time = TimeAmount.seconds(10)

  private var count = 0
  private var deadline: Scheduled<Void>?

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = context.eventLoop.scheduleTask(in: Self.time) { channel.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count += unwrapInboundIn(data).readableBytes
    guard count <= Self.mostBytes else { return context.close(promise: nil) }
    context.fireChannelRead(data)
  }
}
