import CryptoPrimitives
import HTTP
import LiquidAuth
import Testing

@testable import liquid_auth_wallet

/// A web socket from the connection to the end, without a network.
struct WebSocketProgressTests {
  typealias Step = WebSocketProgress.Step

  private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
  private static let answer =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

  private static func connected() throws -> WebSocketProgress {
    // The nonce and the answer of RFC 6455 §1.3.
    let opening = try #require(
      WebSocketOpening(authority: "a.example", target: "/", fields: [], nonce: Array("the sample nonce".utf8)))
    var progress = WebSocketProgress(opening, WebSocketMachine(client: 8, randomness: SystemRandomNumberGenerator()))
    #expect(progress.hear(.connected, waiting: 0) == [.write(opening.request)])
    return progress
  }

  private static func open() throws -> WebSocketProgress {
    var progress = try connected()
    #expect(progress.hear(.bytes(Array(answer.utf8)), waiting: 0) == [.deliver(.open)])
    return progress
  }

  /// A frame of the server.
  private func frame(_ head: UInt8, _ payload: [UInt8]) -> [UInt8] { [head, UInt8(payload.count)] + payload }
  private func text(_ text: String) -> [UInt8] { frame(0x81, Array(text.utf8)) }

  /// The opcode and the payload of a frame of ours.
  private func sent(_ step: Step?) -> (opcode: UInt8, payload: [UInt8])? {
    guard case .write(let bytes)? = step, bytes.count >= 6, bytes[1] & 0x80 != 0 else { return nil }
    let mask = bytes[2..<6]
    return (bytes[0] & 0x0F, bytes.dropFirst(6).enumerated().map { $1 ^ mask[2 + $0 & 3] })
  }

  @Test func `what follows the answer is read at once, and an answer in pieces is one`() throws {
    var progress = try Self.connected()
    var steps: [Step] = []
    for byte in Array(Self.answer.utf8) + text("a") { steps += progress.hear(.bytes([byte]), waiting: 0) }
    #expect(steps == [.deliver(.open), .deliver(.text("a"))])
    var whole = try Self.connected()
    #expect(whole.hear(.bytes(Array(Self.answer.utf8) + text("a")), waiting: 0) == steps)
  }

  @Test func `a socket for binary messages has its subprotocol, and the fields of the answer`() throws {
    let opening = try #require(
      WebSocketOpening(
        authority: "a.example", target: "/", fields: [], subprotocol: "fido.cable",
        nonce: Array("the sample nonce".utf8)))
    let machine = WebSocketMachine(client: 8, content: .binary, randomness: SystemRandomNumberGenerator())
    var progress = WebSocketProgress(opening, machine)
    #expect(progress.send([1], waiting: 0).isEmpty, "it is not open")
    _ = progress.hear(.connected, waiting: 0)
    // CR LF is one character.
    let answer =
      String(Self.answer.dropLast()) + "Sec-WebSocket-Protocol: fido.cable\r\nX-caBLE-Routing-ID: 0a0b0c\r\n\r\n"
    #expect(progress.answer?.startLine == nil)
    let steps = progress.hear(.bytes(Array(answer.utf8) + frame(0x82, [7])), waiting: 0)
    #expect(steps == [.deliver(.open), .deliver(.binary([7]))])
    #expect(progress.answer?.values("X-caBLE-Routing-ID") == ["0a0b0c"])
    let message = try #require(self.sent(progress.send([0xFF, 0], waiting: 0).first))
    #expect(message.opcode == 2 && message.payload == [0xFF, 0])
    #expect(
      progress.hear(.bytes(text("a")), waiting: 0).contains(.close(after: WebSocketProgress.timeout)),
      "text is refused")
  }

  @Test(arguments: [
    ("HTTP/1.1 400 Bad Request\r\n\r\n", PortError.refused(status: 400)),
    ("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", .refused(status: 302)),
    ("hello\r\n\r\n", .broken("what it sent is not HTTP")),
    (answer.replacing("s3p", with: "S3p"), .broken("what it sent is not HTTP")),
  ])
  func `another answer is the end`(answer: String, failure: PortError) throws {
    var progress = try Self.connected()
    let steps = progress.hear(.bytes(Array(answer.utf8)), waiting: 0)
    #expect(steps == [.deliver(.closed(failure)), .close(after: .zero)])
    #expect(progress.hear(.ended(.closed), waiting: 0).isEmpty, "the end is told once")
  }

  @Test(arguments: [
    (PortError.broken("it was closed"), PortError.broken("it was closed before it was open")),
    (.timedOut, .unreachable("it did not answer in time")), (.unreachable("x"), .unreachable("x")),
    (.untrusted("x"), .untrusted("x")),
  ])
  func `an end before the opening says so`(error: PortError, failure: PortError) throws {
    var progress = try Self.connected()
    #expect(progress.hear(.ended(error), waiting: 0).first == .deliver(.closed(failure)))
  }

  @Test func `messages are sent after the opening, and none after closing`() throws {
    var early = try Self.connected()
    #expect(early.send("too early", waiting: 0).isEmpty)
    var progress = try Self.open()
    let message = try #require(sent(progress.send("hi", waiting: 0).first))
    #expect(message.opcode == 1 && message.payload == Array("hi".utf8))
    let steps = progress.close(waiting: 0)
    let close = try #require(sent(steps.first))
    #expect(close.opcode == 8 && close.payload == [0x03, 0xE8])
    #expect(steps.dropFirst() == [.close(after: .seconds(1))], "a server has one second to answer")
    #expect(progress.close(waiting: 0).isEmpty && progress.send("too late", waiting: 0).isEmpty)
    #expect(progress.hear(.bytes(text("x")), waiting: 0).isEmpty)
    let end = progress.hear(.bytes(frame(0x88, [0x03, 0xE8])), waiting: 0)
    #expect(end == [.deliver(.closed(nil)), .close(after: .zero)])
  }

  @Test func `a server that does not answer a Close frame ends in order`() throws {
    var progress = try Self.open()
    _ = progress.close(waiting: 0)
    #expect(progress.hear(.ended(.broken("it was cancelled")), waiting: 0).first == .deliver(.closed(nil)))
  }

  @Test func `closing ends at once if the server does not read`() throws {
    var progress = try Self.open()
    #expect(progress.close(waiting: 65_537) == [.deliver(.closed(nil)), .close(after: .zero)])
  }

  @Test func `closing cancels an opening`() throws {
    var progress = try Self.connected()
    #expect(progress.close(waiting: 0) == [.deliver(.closed(nil)), .close(after: .zero)])
    #expect(progress.hear(.bytes(Array(Self.answer.utf8)), waiting: 0).isEmpty)
  }

  @Test func `a Close frame is answered and ends the connection cleanly`() throws {
    var progress = try Self.open()
    let steps = progress.hear(.bytes(frame(0x88, [0x03, 0xE8])), waiting: 0)
    #expect(sent(steps.first)?.opcode == 8)
    #expect(steps.dropFirst() == [.deliver(.closed(nil)), .close(after: .zero)])
  }

  @Test func `a connection that is cut off is an error`() throws {
    var progress = try Self.open()
    let steps = progress.hear(.ended(.broken("it was closed")), waiting: 0)
    #expect(steps.first == .deliver(.closed(.broken("it was closed"))))
  }

  @Test func `a fault is answered, and is the reason of the end`() throws {
    var progress = try Self.open()
    let steps = progress.hear(.bytes(frame(0x82, [1]) + text("after")), waiting: 0)
    #expect(sent(steps.first)?.payload == [0x03, 0xEB])
    #expect(steps.dropFirst() == [.close(after: .seconds(1))])
    #expect(progress.hear(.ended(.broken("it was cancelled")), waiting: 0).first == .deliver(.closed(.notText)))
  }

  private static let faults: [([UInt8], PortError)] = [
    ([0x81, 9], .tooLarge), ([0x82, 0], .notText), ([0x80, 0], .broken("a fragment of no message")),
    ([0x01, 0], .broken("an empty fragment")), ([0x81, 1, 0xFF], .broken("a text message is not UTF-8")),
    ([0xC1, 0], .broken("a frame that is not allowed")),
  ]

  @Test(arguments: faults)
  func `each fault has its words`(bytes: [UInt8], failure: PortError) throws {
    var progress = try Self.open()
    let steps = progress.hear(.bytes(bytes), waiting: 0) + progress.hear(.ended(.closed), waiting: 0)
    #expect(steps.contains(.deliver(.closed(failure))))
  }

  @Test func `pings and messages for a server that does not read are not queued`() throws {
    let full = WebSocketProgress.maximumWaiting
    var progress = try Self.open()
    #expect(sent(progress.hear(.bytes(frame(0x89, [1])), waiting: full).first)?.opcode == 0xA)
    let failure = Step.deliver(.closed(.broken("it does not read what is sent")))
    #expect(progress.hear(.bytes(frame(0x89, [1])), waiting: full + 1) == [failure, .close(after: .zero)])
    var sender = try Self.open()
    #expect(sender.send("a", waiting: full + 1) == [failure, .close(after: .zero)])
  }
}
