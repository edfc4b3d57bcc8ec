import HTTP
import Testing

/// Tests of RFC 6455 §4.
struct WebSocketOpeningTests {
  /// The nonce of RFC 6455 §1.3, and the value that proves it.
  private static let nonce = Array("the sample nonce".utf8)
  private static let acceptance = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  private static func opening(
    authority: String = "a.example:81", target: String = "/chat?a=b", fields: [(name: String, value: String)] = []
  ) -> WebSocketOpening? {
    WebSocketOpening(authority: authority, target: target, fields: fields, nonce: nonce)
  }

  private static func answer(
    _ status: String = "HTTP/1.1 101 Switching Protocols", upgrade: String = "websocket",
    connection: String = "Upgrade", acceptance: String = acceptance, more: String = ""
  ) -> String {
    "\(status)\r\nUpgrade: \(upgrade)\r\nConnection: \(connection)\r\nSec-WebSocket-Accept: \(acceptance)\r\n\(more)\r\n"
  }

  @Test func `the request has what the standard requires, and the fields`() throws {
    let opening = try #require(Self.opening(fields: [("Cookie", "a=b"), ("User-Agent", "wallet")]))
    #expect(
      String(decoding: opening.request, as: UTF8.self) == """
        GET /chat?a=b HTTP/1.1\r
        Host: a.example:81\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Cookie: a=b\r
        User-Agent: wallet\r
        \r\n
        """)
  }

  @Test func `a subprotocol is offered, and must be chosen`() throws {
    func opening() throws -> WebSocketOpening {
      try #require(
        WebSocketOpening(authority: "a", target: "/", fields: [], subprotocol: "fido.cable", nonce: Self.nonce))
    }
    var socket = try opening()
    #expect(String(decoding: socket.request, as: UTF8.self).contains("\r\nSec-WebSocket-Protocol: fido.cable\r\n"))
    let chosen = "Sec-WebSocket-Protocol: fido.cable\r\nX-caBLE-Routing-ID: 0a0b0c\r\n"
    #expect(socket.receive(Array(Self.answer(more: chosen).utf8)) == .open(rest: []))
    #expect(socket.answer?.values("x-cable-routing-id") == ["0a0b0c"])
    for other in ["", "Sec-WebSocket-Protocol: other\r\n", chosen + "Sec-WebSocket-Protocol: fido.cable\r\n"] {
      var socket = try opening()
      #expect(socket.receive(Array(Self.answer(more: other).utf8)) == .invalid)
      #expect(socket.answer == nil)
    }
  }

  @Test(arguments: [
    ("a\r\nb", "/", ("A", "b")), ("a", "/ b", ("A", "b")), ("a", "/\r\n", ("A", "b")), ("a", "/", ("A\n", "b")),
    ("a", "/", ("A:", "b")), ("a", "/", ("", "b")), ("a", "/", ("A", "b\r\nC: d")), ("a", "/", ("A", "b\u{0}")),
  ])
  func `nothing can be hidden in a request`(authority: String, target: String, field: (String, String)) {
    #expect(Self.opening(authority: authority, target: target, fields: [field]) == nil)
  }

  @Test(arguments: [
    answer(), answer(upgrade: "WebSocket", connection: "keep-alive, upgrade"),
    answer(more: "Set-Cookie: a=b\r\nServer: \t x \r\n"),
  ])
  func `an answer that fits opens the socket, in any pieces`(answer: String) throws {
    let bytes = Array(answer.utf8) + [1, 2]
    var whole = try #require(Self.opening())
    #expect(whole.receive(bytes) == .open(rest: [1, 2]))
    var slow = try #require(Self.opening())
    #expect(answer.utf8.dropLast().allSatisfy { slow.receive([$0]) == nil })
    #expect(slow.receive([0x0A, 1, 2]) == .open(rest: [1, 2]))
  }

  @Test(arguments: [
    answer(upgrade: "h2c"), answer(upgrade: ""), answer(connection: "close"), answer(acceptance: ""),
    answer(acceptance: acceptance.uppercased()),
    answer(more: "Sec-WebSocket-Accept: \(acceptance)\r\n"),
    answer(more: "Sec-WebSocket-Extensions: permessage-deflate\r\n"), answer(more: "Sec-WebSocket-Protocol: chat\r\n"),
    answer("HTTP/2 101"), answer("HTTP/1.1 1010"), answer("HTTP/1.1 -10"), answer("hello"), answer(more: "A b: c\r\n"),
    answer(more: " folded\r\n"), answer(more: "A: b\nC: d\r\n"), answer(more: ": b\r\n"), "\u{15}\u{3}\u{1}\r\n\r\n",
  ])
  func `an answer that does not fit is invalid`(answer: String) throws {
    var opening = try #require(Self.opening())
    #expect(opening.receive(Array(answer.utf8)) == .invalid)
  }

  @Test(arguments: [200, 302, 400, 401, 503])
  func `another status is a refusal`(status: Int) throws {
    var opening = try #require(Self.opening())
    #expect(opening.receive(Array(Self.answer("HTTP/1.1 \(status) No").utf8)) == .refused(status: status))
  }

  @Test func `a head without end is invalid`() throws {
    var opening = try #require(Self.opening())
    let size = WebSocketOpening.maximumHeadSize
    #expect(opening.receive(Array(repeating: 0x61, count: size - 1)) == nil)
    #expect(opening.receive([0x61]) == .invalid)
  }

  // MARK: The server's side

  private static func request(_ change: (String) -> String = { $0 }) -> RequestReader.Request? {
    let text = change(String(decoding: opening()?.request ?? [], as: UTF8.self))
    var reader = RequestReader(maximumSize: 10_000, maximumFields: 20, maximumBodySize: 100)
    var bytes = Array(text.utf8)[...]
    guard case .request(let request) = reader.receive(&bytes) else { return nil }
    return request
  }

  @Test func `a request of a client is answered so that the client takes it`() throws {
    let answer = try #require(Self.request()?.webSocketAnswer)
    var opening = try #require(Self.opening())
    #expect(opening.receive(answer) == .open(rest: []))
  }

  @Test(arguments: [
    ("GET", "POST"), ("Upgrade: websocket", "Upgrade: h2c"), ("Connection: Upgrade", "Connection: close"),
    ("Version: 13", "Version: 8"), ("Key: dGhl", "Key: dGh"), ("Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: dGhl"),
    ("Sec-WebSocket-Key", "Key"), ("Host: ", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nHost: "),
  ])
  func `another request opens no web socket`(part: String, other: String) throws {
    let request = try #require(Self.request { $0.replacing(part, with: other) })
    #expect(request.webSocketAnswer == nil)
  }
}
