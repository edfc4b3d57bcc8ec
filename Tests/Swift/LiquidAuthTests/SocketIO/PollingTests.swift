import Testing

@testable import LiquidAuth

/// The client without web sockets.
struct PollingTests {
  static let sidTarget = Client.pollingTarget + "&sid=abc"

  /// A client in its second try, after its web socket was refused.
  static func polling() -> Client {
    var client = Client()
    _ = client.begin()
    _ = client.receive(.closed(.refused(status: 400)))
    _ = client.tickAtDeadline()
    return client
  }

  /// The same client, connected to the namespace, with a waiting poll.
  static func connected(open: String = Client.open) -> Client {
    var client = polling()
    _ = client.polled(open, on: 2)
    _ = client.posted(on: 2)
    _ = client.polled(Client.connected, on: 2)
    return client
  }

  static func poll(_ target: String = sidTarget, on connection: Int = 2) -> SocketIOMachine.Action {
    .transport(.poll(id(connection), target: target))
  }

  static func post(_ body: String, on connection: Int = 2) -> SocketIOMachine.Action {
    .transport(.post(id(connection), target: sidTarget, body: body))
  }

  @Test func `after a refused web socket, the client polls`() {
    var client = Client()
    _ = client.begin()
    #expect(client.receive(.closed(.refused(status: 400))) == lost(.refused(status: 400), delay: .milliseconds(250)))
    #expect(client.tickAtDeadline() == [Self.poll(Client.pollingTarget)])
    #expect(client.polled(Client.open, on: 2) == [Self.post("40"), Self.poll()])
    #expect(client.posted(on: 2) == [])
    #expect(client.polled(Client.connected, on: 2) == [.connected, Self.poll()])
  }

  // Holds: SIGNAL-3
  @Test func `after a web socket that never opens, the client polls`() {
    var client = Client()
    _ = client.begin()
    #expect(client.tickAtDeadline() == lost(.timedOut, delay: .milliseconds(250)))
    #expect(client.tickAtDeadline() == [Self.poll(Client.pollingTarget)])
  }

  @Test func `after an unreachable server, the client tries a web socket again`() {
    var client = Client()
    _ = client.begin()
    _ = client.receive(.closed(.unreachable("no route")))
    #expect(client.tickAtDeadline() == [.transport(.openWebSocket(id(2), target: Client.webSocketTarget))])
  }

  @Test func `after refused polling, the client tries a web socket again`() {
    var client = Self.polling()
    #expect(client.polled("", status: 404, on: 2) == lost(.refused(status: 404), delay: .milliseconds(500), on: 2))
    #expect(client.tickAtDeadline() == [.transport(.openWebSocket(id(3), target: Client.webSocketTarget))])
  }

  @Test func `a transport that has worked is kept`() {
    var client = Self.connected()
    #expect(client.polled("", status: 400, on: 2) == lost(.refused(status: 400), delay: .milliseconds(500), on: 2))
    #expect(client.tickAtDeadline() == [Self.poll(Client.pollingTarget, on: 3)])
  }

  @Test func `several packets of one body are handled in order`() throws {
    var client = Self.connected()
    #expect(
      client.polled("2\u{1e}42[\"a\",1]\u{1e}6\u{1e}42[\"b\",2]", on: 2) == [
        Self.post("3"), .event(try SocketIOEvent("a", 1)), .event(try SocketIOEvent("b", 2)), Self.poll(),
      ])
  }

  @Test func `one POST runs at a time; later packets share the next one`() throws {
    var client = Self.connected()
    #expect(client.emit(try SocketIOEvent("a", 1)) == [Self.post(#"42["a",1]"#)])
    #expect(client.emit(try SocketIOEvent("b", 2)) == [])
    #expect(client.emit(try SocketIOEvent("c", "é")) == [])
    #expect(client.posted(on: 2) == [Self.post("42[\"b\",2]\u{1e}42[\"c\",\"é\"]")])
    #expect(client.posted(on: 2) == [])
  }

  @Test func `a body is not larger than maxPayload`() throws {
    var client = Self.connected(open: #"0{"sid":"abc","pingInterval":25000,"pingTimeout":20000,"maxPayload":19}"#)
    for name in ["a", "b", "c", "d"] { _ = client.emit(try SocketIOEvent(name, 1)) }
    #expect(client.posted(on: 2) == [Self.post("42[\"b\",1]\u{1e}42[\"c\",1]")])
    #expect(client.posted(on: 2) == [Self.post("42[\"d\",1]")])
    #expect(client.emit(try SocketIOEvent("e", "123456789012")) == failed(.messageTooLarge(size: 22, limit: 19), on: 2))
  }

  // Holds: SIGNAL-10
  @Test func `unsent data is limited`() throws {
    var client = Self.connected()
    let event = try SocketIOEvent("a", 1)
    for _ in 0...SocketIOMachine.maximumWaitingPackets {
      #expect(client.machine.deadline == client.now + .seconds(45)); _ = client.emit(event)
    }
    #expect(client.emit(event) == lost(.timedOut, delay: .milliseconds(500), on: 2))
  }

  @Test func `a session id is percent-encoded`() {
    var client = Self.polling()
    let open = #"0{"sid":"a b&é/~","pingInterval":25000,"pingTimeout":20000}"#
    let target = Client.pollingTarget + "&sid=a%20b%26%C3%A9%2F~"
    #expect(
      client.polled(open, on: 2) == [
        .transport(.post(id(2), target: target, body: "40")), .transport(.poll(id(2), target: target)),
      ])
  }

  @Test(arguments: [
    (PortError.unreachable("refused"), PortError.unreachable("refused")), (.timedOut, .timedOut),
    (.broken("reset"), .broken("reset")),
  ])
  func `a failed exchange is a lost connection`(_ failure: PortError, _ loss: PortError) {
    var (client, other) = (Self.connected(), Self.connected())
    #expect(client.receive(.polled(.failure(failure)), on: 2) == lost(loss, delay: .milliseconds(500), on: 2))
    #expect(other.receive(.posted(.failure(failure)), on: 2) == lost(loss, delay: .milliseconds(500), on: 2))
  }

  @Test(arguments: [
    (PortError.untrusted("expired"), LiquidAuthError.untrusted("expired")),
    (.tooLarge, .tooLarge),
  ])
  func `an invalid exchange ends the connection`(_ failure: PortError, _ error: LiquidAuthError) {
    var client = Self.connected()
    #expect(client.receive(.polled(.failure(failure)), on: 2) == failed(error, on: 2))
  }

  @Test(arguments: [201, 204, 301, 302, 400, 401, 500])
  func `only status 200 is accepted`(_ status: Int) {
    var (client, other) = (Self.connected(), Self.connected())
    let loss = lost(.refused(status: status), delay: .milliseconds(500), on: 2)
    #expect(client.polled("2", status: status, on: 2) == loss)
    #expect(other.posted(status: status, on: 2) == loss)
  }

  // Holds: SIGNAL-1
  @Test(arguments: ["", "<html>", "2\u{1e}", "\u{1e}"])
  func `a body that is not Engine.IO ends the connection`(_ body: String) {
    var client = Self.connected()
    #expect(client.polled(body, on: 2) == failed(.malformed("packet"), on: 2))
  }

  @Test func `a body that is not UTF-8 or too large ends the connection`() {
    var (client, other) = (Self.connected(), Self.connected())
    let broken = HTTPResponse(status: 200, body: [0x34, 0xff])
    #expect(client.receive(.polled(.success(broken)), on: 2) == failed(.malformed("packet"), on: 2))
    let large = HTTPResponse(status: 200, body: [UInt8](repeating: 0x36, count: SocketIOMachine.maximumMessageSize + 1))
    #expect(other.receive(.polled(.success(large)), on: 2) == failed(.tooLarge, on: 2))
  }

  @Test func `after a close packet in a body, the client does not poll`() {
    var client = Self.connected()
    #expect(client.polled("1\u{1e}42[\"a\"]", on: 2) == lost(.closed, delay: .milliseconds(500), on: 2))
    #expect(client.posted(on: 2) == [])
  }

  @Test func `packets before the close packet in one body are delivered`() throws {
    var (client, other) = (Self.connected(), Self.connected())
    let event = SocketIOMachine.Action.event(try SocketIOEvent("a", 1))
    #expect(
      client.polled("42[\"a\",1]\u{1e}1\u{1e}42[\"b\"]", on: 2)
        == [event] + lost(.closed, delay: .milliseconds(500), on: 2))
    #expect(
      other.polled("42[\"a\",1]\u{1e}42[", on: 2)
        == [event] + failed(.malformed("JSON"), on: 2))
  }

  @Test func `an unanswered poll times out`() {
    var client = Self.connected()
    #expect(client.machine.deadline == client.now + .seconds(45))
    #expect(client.tickAtDeadline().last == .lost(.timedOut, delay: .milliseconds(250)))
  }

  @Test func `after closing, exchanges are ignored`() {
    var client = Self.connected()
    #expect(client.machine.close() == [.transport(.close(id(2)))])
    #expect(client.polled("2", on: 2) == [])
  }
}
