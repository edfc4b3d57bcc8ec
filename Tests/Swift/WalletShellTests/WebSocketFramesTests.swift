import LiquidAuth
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Synchronization
import Testing

@testable import liquid_auth_wallet

/// Tests of RFC 6455 §5 to §8.
struct WebSocketFramesTests {
  /// An open web socket without a network.
  private final class OpenSocket {
    let channel = EmbeddedChannel()
    let socket: WebSocket
    private let heard = Heard()

    init(maximumMessageSize: Int = 8) throws {
      let heard = heard
      socket = WebSocket(on: channel.embeddedEventLoop, maximumMessageSize: maximumMessageSize) { heard.add($0) }
      socket.isConnected(by: channel)
      try channel.pipeline.syncOperations.addHandler(WebSocketFrames(socket))
    }

    var events: [WebSocketEvent] { heard.events }

    func receive(
      _ opcode: WebSocketOpcode, _ bytes: [UInt8], isLast: Bool = true, maskKey: WebSocketMaskingKey? = nil,
      isExtended: Bool = false
    ) throws {
      try channel.writeInbound(
        WebSocketFrame(
          fin: isLast, rsv1: isExtended, opcode: opcode, maskKey: maskKey, data: ByteBuffer(bytes: bytes)))
    }

    /// The next frame that was sent.
    func sent() throws -> (opcode: WebSocketOpcode, bytes: [UInt8])? {
      guard let frame = try channel.readOutbound(as: WebSocketFrame.self) else { return nil }
      #expect(frame.maskKey != nil, "a client masks all that it sends")
      return (frame.opcode, Array(buffer: frame.data))
    }
  }

  private final class Heard: Sendable {
    private let all = Mutex<[WebSocketEvent]>([])
    var events: [WebSocketEvent] { all.withLock { $0 } }
    func add(_ event: WebSocketEvent) { all.withLock { $0.append(event) } }
  }

  private static let normal: [UInt8] = [0x03, 0xE8]

  @Test func `messages arrive whole and in order, and a ping between fragments is answered`() throws {
    let open = try OpenSocket()
    try open.receive(.text, Array("a".utf8))
    try open.receive(.text, Array("b".utf8), isLast: false)
    try open.receive(.ping, [1, 2])
    try open.receive(.continuation, [0x20], isLast: false)
    try open.receive(.continuation, Array("c".utf8))
    try open.receive(.pong, [])
    #expect(open.events == [.open, .text("a"), .text("b c")])
    let pong = try #require(try open.sent())
    #expect(pong.opcode == .pong && pong.bytes == [1, 2])
    #expect(try open.sent() == nil)
  }

  @Test func `messages are sent as text, and none after closing`() throws {
    let open = try OpenSocket()
    open.socket.send("hi")
    open.socket.close()
    open.socket.send("too late")
    open.channel.embeddedEventLoop.run()
    let text = try #require(try open.sent())
    #expect(text.opcode == .text && text.bytes == Array("hi".utf8))
    let close = try #require(try open.sent())
    #expect(close.opcode == .connectionClose && close.bytes == Self.normal)
    #expect(try open.sent() == nil)
    try open.receive(.text, Array("x".utf8))
    try open.receive(.connectionClose, Self.normal)
    #expect(open.events == [.open, .closed(nil)])
  }

  @Test func `a server has one second to answer a Close frame`() throws {
    let open = try OpenSocket()
    open.socket.close()
    open.channel.embeddedEventLoop.run()
    #expect(open.events == [.open])
    open.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(open.events == [.open, .closed(nil)])
  }

  @Test func `a Close frame is answered and ends the connection cleanly`() throws {
    let open = try OpenSocket()
    try open.receive(.connectionClose, Self.normal)
    #expect(try open.sent()?.opcode == .connectionClose)
    #expect(open.events == [.open, .closed(nil)])
  }

  @Test func `a connection that is cut off is an error`() throws {
    let open = try OpenSocket()
    open.channel.pipeline.fireChannelInactive()
    #expect(open.events == [.open, .closed(.broken("it was closed"))])
  }

  @Test func `pings of a server that does not read are not queued`() throws {
    let open = try OpenSocket()
    open.channel.isWritable = false
    try open.receive(.ping, [1])
    open.channel.embeddedEventLoop.run()
    #expect(try open.sent() == nil)
    #expect(open.events == [.open, .closed(.broken("it does not read what is sent"))])
  }

  struct Fault: Sendable {
    let frames: [(WebSocketOpcode, [UInt8], Bool)]
    let code: WebSocketErrorCode
    let failure: PortError
  }

  @Test(arguments: [
    Fault(frames: [(.binary, [1], true)], code: .unacceptableData, failure: .notText),
    Fault(frames: [(.text, Array(repeating: 0x61, count: 9), true)], code: .messageTooLarge, failure: .tooLarge),
    Fault(
      frames: [(.text, Array(repeating: 0x61, count: 8), false), (.continuation, [0x61], false)],
      code: .messageTooLarge, failure: .tooLarge),
    Fault(
      frames: [(.text, [0xC3, 0x28], true)], code: .dataInconsistentWithMessage,
      failure: .broken("a text message is not UTF-8")),
    Fault(
      frames: [(.text, [0x61], false), (.continuation, [], false)], code: .protocolError,
      failure: .broken("an empty fragment")),
    Fault(
      frames: [(.continuation, [0x61], true)], code: .protocolError, failure: .broken("a fragment of no message")),
    Fault(
      frames: [(.text, [0x61], false), (.text, [0x61], true)], code: .protocolError,
      failure: .broken("a frame that is not allowed")),
  ])
  func `an invalid frame closes the socket with its code`(fault: Fault) throws {
    let open = try OpenSocket()
    for (opcode, bytes, isLast) in fault.frames { try open.receive(opcode, bytes, isLast: isLast) }
    try open.receive(.text, Array("after".utf8))
    let close = try #require(try open.sent())
    var code = ByteBuffer()
    code.write(webSocketErrorCode: fault.code)
    #expect(close.opcode == .connectionClose && close.bytes == Array(buffer: code))
    try open.receive(.connectionClose, close.bytes)
    #expect(open.events == [.open, .closed(fault.failure)])
  }

  @Test func `a frame that is masked or extended is not allowed`() throws {
    for (maskKey, isExtended) in [(WebSocketMaskingKey([1, 2, 3, 4]), false), (nil, true)] {
      let open = try OpenSocket()
      try open.receive(.text, [0x61], maskKey: maskKey, isExtended: isExtended)
      #expect(try open.sent()?.opcode == .connectionClose)
      open.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
      #expect(open.events == [.open, .closed(.broken("a frame that is not allowed"))])
    }
  }
}
