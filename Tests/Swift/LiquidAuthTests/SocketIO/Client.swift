@testable import LiquidAuth

/// The Socket.IO machine with a manual clock, driven by packets.
struct Client {
  static let open =
    #"0{"sid":"abc","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#
  static let connected = #"40{"sid":"def"}"#
  static let webSocketTarget = "/socket.io/?EIO=4&transport=websocket"
  static let pollingTarget = "/socket.io/?EIO=4&transport=polling"

  var machine: SocketIOMachine
  var now = Duration.seconds(1000)

  init(
    pairing: DurablePairing? = nil, randomness: any RandomNumberGenerator & Sendable = ConstantRandomness(number: 0)
  ) {
    machine = SocketIOMachine(pairing: pairing, randomness: randomness)
  }

  /// A client that is connected to the namespace over a web socket.
  static func connected(open: String = Client.open) -> Client {
    var client = Client()
    _ = client.begin()
    _ = client.receive(.open)
    _ = client.receive(.text(open))
    _ = client.receive(.text(connected))
    return client
  }

  mutating func begin() -> [SocketIOMachine.Action] { machine.begin(at: now) }

  mutating func wait(_ duration: Duration) { now += duration }

  mutating func tick() -> [SocketIOMachine.Action] { machine.tick(at: now) }

  mutating func emit(_ event: SocketIOEvent) -> [SocketIOMachine.Action] { machine.emit(event, at: now) }

  /// Moves the clock to the next deadline and ticks.
  mutating func tickAtDeadline() -> [SocketIOMachine.Action] {
    guard let deadline = machine.deadline else { return [] }
    now = max(now, deadline)
    return tick()
  }

  mutating func receive(_ event: WebSocketEvent, on connection: Int = 1) -> [SocketIOMachine.Action] {
    receive(.webSocket(event), on: connection)
  }

  mutating func receive(_ text: String, on connection: Int = 1) -> [SocketIOMachine.Action] {
    receive(.text(text), on: connection)
  }

  mutating func polled(
    _ body: String, status: Int = 200, on connection: Int
  ) -> [SocketIOMachine.Action] {
    receive(.polled(.success(HTTPResponse(status: status, body: Array(body.utf8)))), on: connection)
  }

  mutating func posted(status: Int = 200, on connection: Int) -> [SocketIOMachine.Action] {
    receive(.posted(.success(HTTPResponse(status: status, body: Array("ok".utf8)))), on: connection)
  }

  mutating func receive(_ event: SocketIOMachine.Input.Event, on connection: Int) -> [SocketIOMachine.Action] {
    machine.receive(.init(connection: id(connection), event: event), at: now)
  }
}

func id(_ connection: Int) -> SocketIOMachine.ConnectionID { .init(rawValue: connection) }

/// The action "send this message", alone.
func sent(_ text: String, on connection: Int = 1) -> [SocketIOMachine.Action] {
  [.transport(.send(id(connection), text))]
}

/// The actions that close the connection as lost.
func lost(_ loss: PortError, delay: Duration, on connection: Int = 1) -> [SocketIOMachine.Action] {
  [.transport(.close(id(connection))), .lost(loss, delay: delay)]
}

/// The actions that close the connection for good.
func failed(_ error: LiquidAuthError, on connection: Int = 1) -> [SocketIOMachine.Action] {
  [.transport(.close(id(connection))), .failed(error)]
}
