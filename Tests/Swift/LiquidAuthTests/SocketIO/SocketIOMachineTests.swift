import Testing

@testable import LiquidAuth

/// The client over a web socket.
struct SocketIOMachineTests {
  @Test func `the machine opens a web socket and connects to the namespace`() {
    var client = Client()
    #expect(client.machine.deadline == nil)
    #expect(client.begin() == [.transport(.openWebSocket(id(1), target: Client.webSocketTarget))])
    #expect(client.begin() == [])
    #expect(client.machine.deadline == client.now + .seconds(10))
    #expect(client.receive(.open) == [])
    #expect(client.receive(Client.open) == sent("40"))
    #expect(client.receive(Client.connected) == [.connected])
    #expect(client.machine.deadline == client.now + .seconds(45))
  }

  @Test func `events are sent and received`() throws {
    var client = Client.connected()
    #expect(
      client.emit(try SocketIOEvent("offer-description", "v=0\r\n")) == sent(#"42["offer-description","v=0\r\n"]"#))
    #expect(
      client.receive(#"42["answer-description","v=0"]"#) == [.event(try SocketIOEvent("answer-description", "v=0"))])
    #expect(client.receive(#"427["e",1]"#) == [.event(try SocketIOEvent("e", 1))])
  }

  @Test func `events before the namespace is connected are dropped`() throws {
    var client = Client()
    let event = try SocketIOEvent("e", 1)
    #expect(client.emit(event) == [])
    _ = client.begin()
    #expect(client.emit(event) == [])
    _ = client.receive(.open)
    _ = client.receive(Client.open)
    #expect(client.emit(event) == [])
    _ = client.receive(Client.connected)
    #expect(client.emit(event) == sent(#"42["e",1]"#))
    _ = client.receive(.closed(nil))
    #expect(client.emit(event) == [])
  }

  @Test func `a ping is answered with its own text`() {
    var client = Client.connected()
    #expect(client.receive("2") == sent("3"))
    #expect(client.receive("2probe") == sent("3probe"))
  }

  // Holds: SIGNAL-3
  @Test func `the connection times out after the server's ping interval and timeout`() {
    var client = Client.connected()
    client.wait(.seconds(44))
    #expect(client.tick() == [])
    #expect(client.receive("2") == sent("3"))
    client.wait(.milliseconds(44_999))
    #expect(client.tick() == [])
    client.wait(.milliseconds(1))
    #expect(client.tick() == lost(.timedOut, delay: .milliseconds(250)))
    #expect(client.tick() == [])
  }

  @Test func `a packet after the deadline does not prevent the timeout`() {
    var client = Client.connected()
    client.wait(.seconds(45))
    #expect(client.receive("2") == lost(.timedOut, delay: .milliseconds(250)))
  }

  // Holds: SIGNAL-4, PEERSIGNAL-2
  @Test func `packets that do not concern a client are ignored`() {
    var client = Client.connected()
    for text in [
      "6", "3", "3probe", "5", Client.connected, "430[1]", #"42/other,["e"]"#, "41/other,",
      "44/other,{\"message\":\"\"}",
    ] {
      #expect(client.receive(text) == [], "\(text)")
    }
    #expect(client.receive("2") == sent("3"))
  }

  @Test func `an event before the namespace is connected is ignored`() {
    var client = Client()
    _ = client.begin()
    _ = client.receive(Client.open)
    #expect(client.receive(#"42["e"]"#) == [])
    #expect(client.receive(Client.connected) == [.connected])
  }

  // MARK: Refusals

  // Holds: SIGNAL-1
  @Test(arguments: [
    ("", LiquidAuthError.malformed("packet")), ("hello", .malformed("packet")), ("bAQID", .binary),
    ("4", .malformed("message")),
    ("42", .malformed("JSON")), ("42[", .malformed("JSON")), ("49", .malformed("message")), ("451-[]", .binary),
    (#"0{"sid":"abc","pingInterval":25000,"pingTimeout":20000}"#, .malformed("handshake")),
    ("4318446744073709551616[]", .malformed("message")), ("43[]", .malformed("message")),
  ])
  func `a malformed packet ends the connection`(_ text: String, _ error: LiquidAuthError) {
    var client = Client.connected()
    #expect(client.receive(text) == failed(error))
    #expect(client.machine.deadline == nil)
    #expect(client.receive("2") == [])
    #expect(client.begin() == [])
  }

  // Holds: SIGNAL-1
  @Test(arguments: ["2", "40{\"sid\":\"a\"}", "1", "6"])
  func `any first packet other than the handshake is refused`(_ text: String) {
    var client = Client()
    _ = client.begin()
    _ = client.receive(.open)
    #expect(client.receive(text) == failed(.malformed("handshake")))
  }

  // Holds: SIGNAL-1
  @Test func `a message of 256 KiB is read; one byte more is refused`() throws {
    var client = Client.connected()
    let frame = #"42["e",""]"#
    let text = String(repeating: "x", count: SocketIOMachine.maximumMessageSize - frame.utf8.count)
    #expect(client.receive(#"42["e","\#(text)"]"#) == [.event(try SocketIOEvent("e", text))])
    #expect(client.receive(#"42["e","\#(text)x"]"#) == failed(.tooLarge))
  }

  @Test(arguments: [
    (PortError.tooLarge, LiquidAuthError.tooLarge),
    (.notText, .binary), (.untrusted("expired"), .untrusted("expired")),
  ])
  func `a transport error ends the connection`(_ failure: PortError, _ error: LiquidAuthError) {
    var client = Client.connected()
    #expect(client.receive(.closed(failure)) == failed(error))
  }

  @Test func `a CONNECT_ERROR ends the connection with the server's message`() {
    var client = Client()
    _ = client.begin()
    _ = client.receive(Client.open)
    #expect(client.receive(#"44{"message":"\u001b[2Jno"}"#) == failed(.connectionDenied("\u{1b}[2Jno")))
    #expect(!LiquidAuthError.connectionDenied("\u{1b}[2Jno").description.contains("\u{1b}"))
  }

  @Test func `a pairing goes with each request to enter the namespace`() throws {
    var client = Client(pairing: DurablePairing(pairingID: "p", credential: "c"))
    let auth = #"40{"credential":"c","pairingId":"p","role":"controller","version":2}"#
    _ = client.begin()
    #expect(client.receive(Client.open) == sent(auth))
    _ = client.receive(Client.connected)
    _ = client.receive(.closed(nil))
    _ = client.tickAtDeadline()
    #expect(client.receive(Client.open, on: 2) == sent(auth, on: 2))
  }

  @Test func `a message above maxPayload is not sent`() throws {
    var client = Client.connected(open: #"0{"sid":"a","pingInterval":25000,"pingTimeout":20000,"maxPayload":20}"#)
    #expect(client.emit(try SocketIOEvent("e", "1234567890")) == sent(#"42["e","1234567890"]"#))
    #expect(client.emit(try SocketIOEvent("e", "12345678901")) == failed(.messageTooLarge(size: 21, limit: 20)))
  }

  // MARK: Lost connections

  @Test(arguments: [
    (WebSocketEvent.closed(nil), PortError.closed), (.closed(.broken("reset")), .broken("reset")),
    (.closed(.unreachable("no route")), .unreachable("no route")), (.text("1"), .closed), (.text("41"), .removed),
  ])
  func `after a lost connection, the client reconnects with a new handshake`(
    _ event: WebSocketEvent, _ loss: PortError
  ) {
    var client = Client.connected()
    #expect(client.receive(event) == lost(loss, delay: .milliseconds(250)))
    #expect(client.machine.deadline == client.now + .milliseconds(250))
    client.wait(.milliseconds(249))
    #expect(client.tick() == [])
    client.wait(.milliseconds(1))
    #expect(client.tick() == [.transport(.openWebSocket(id(2), target: Client.webSocketTarget))])
    #expect(client.receive(Client.open, on: 2) == sent("40", on: 2))
    #expect(client.receive(Client.connected, on: 2) == [.connected])
    #expect(client.receive("2", on: 2) == sent("3", on: 2))
  }

  @Test func `events of an abandoned connection are ignored`() {
    var client = Client.connected()
    _ = client.receive(.closed(nil))
    #expect(client.receive(#"42["e"]"#) == [])
    _ = client.tickAtDeadline()
    #expect(client.receive("garbage", on: 1) == [])
    #expect(client.receive(.closed(.untrusted("late")), on: 1) == [])
    #expect(client.polled("garbage", on: 1) == [])
    #expect(client.receive(Client.open, on: 2) == sent("40", on: 2))
  }

  // Holds: SIGNAL-3
  @Test(arguments: [
    (UInt64.min, [250, 500, 1000, 2000, 4000, 4000, 4000]), (.max, [500, 1000, 2000, 4000, 8000, 8000, 8000]),
  ])
  func `delays double with up to half taken off at random, and the eighth failure is final`(
    _ number: UInt64, _ delays: [Int]
  ) {
    var client = Client(randomness: ConstantRandomness(number: number))
    var actions = client.begin()
    for (connection, delay) in zip(1..., delays) {
      #expect(actions == [.transport(.openWebSocket(id(connection), target: Client.webSocketTarget))])
      let loss = client.receive(.closed(.unreachable("refused")), on: connection)
      guard case .lost(.unreachable("refused"), let drawn)? = loss.last else {
        Issue.record("not lost: \(loss)")
        return
      }
      #expect((.milliseconds(delay) - .microseconds(1)...(.milliseconds(delay))).contains(drawn))
      actions = client.tickAtDeadline()
    }
    #expect(
      client.receive(.closed(.unreachable("refused")), on: 8) == failed(.serverGone(.unreachable("refused")), on: 8))
    #expect(client.machine.deadline == nil)
  }

  // Holds: SIGNAL-3
  @Test func `short connections count as failures`() {
    var client = Client()
    _ = client.begin()
    for connection in 1...7 {
      _ = client.receive(Client.open, on: connection)
      #expect(client.receive(Client.connected, on: connection) == [.connected])
      client.wait(.milliseconds(9999))
      guard case .lost? = client.receive("1", on: connection).last else {
        Issue.record("connection \(connection) is not lost")
        return
      }
      _ = client.tickAtDeadline()
    }
    _ = client.receive(Client.open, on: 8)
    #expect(client.receive("1", on: 8) == failed(.serverGone(.closed), on: 8))
  }

  @Test func `a connection of ten seconds resets the count of failures`() {
    var client = Client()
    _ = client.begin()
    for connection in 1...20 {
      _ = client.receive(Client.open, on: connection)
      _ = client.receive(Client.connected, on: connection)
      client.wait(.seconds(10))
      #expect(client.receive("1", on: connection) == lost(.closed, delay: .milliseconds(250), on: connection))
      _ = client.tickAtDeadline()
    }
  }

  @Test func `a handshake that takes ten seconds is a lost connection`() {
    for texts in [[], [Client.open], [Client.open, "2", "2"]] {
      var client = Client()
      _ = client.begin()
      _ = client.receive(.open)
      for text in texts {
        client.wait(.seconds(3))
        _ = client.receive(text)
      }
      client.wait(.seconds(10) - .seconds(3) * texts.count)
      #expect(client.tick() == lost(.timedOut, delay: .milliseconds(250)))
    }
  }

  @Test func `a closed client does nothing`() throws {
    var client = Client.connected()
    #expect(client.machine.close() == [.transport(.close(id(1)))])
    #expect(client.machine.close() == [])
    #expect(client.machine.deadline == nil)
    #expect(client.receive("2") == [])
    #expect(client.receive(.closed(nil)) == [])
    #expect(client.emit(try SocketIOEvent("e", 1)) == [])
    #expect(client.tick() == [])
  }

  @Test func `closing during a retry delay stops all retries`() {
    var client = Client.connected()
    _ = client.receive(.closed(nil))
    #expect(client.machine.close() == [])
    client.wait(.seconds(60))
    #expect(client.tick() == [])
  }

  @Test func `10,000 random messages are ignored or end in typed errors`() {
    var randomness = SeededRandomness(state: 4)
    let alphabet = Array("0123456b[]{}\",:/-\u{1e}aé\\ ")
    var errors = 0
    for _ in 0..<10_000 {
      var client = Client.connected()
      let length = Int.random(in: 0...12, using: &randomness)
      let text = String((0..<length).compactMap { _ in alphabet.randomElement(using: &randomness) })
      for case .failed(let error) in client.receive("4" + text) + client.receive(text) {
        errors += error.reason.hasPrefix("the server violates Socket.IO") ? 1 : 0
      }
    }
    #expect(errors > 9000)
  }
}
