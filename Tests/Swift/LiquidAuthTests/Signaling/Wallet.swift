import Testing

@testable import LiquidAuth

/// The signaling machine with a manual clock.
struct Wallet {
  var machine: SignalingMachine
  var now = Duration.seconds(500)
  /// The connection on which the server sends.
  var connection = 1

  init(timeout: Duration = .seconds(120), stayingFor requestID: RequestID? = nil) {
    machine = SignalingMachine(
      timeout: timeout, stayingFor: requestID, randomness: ConstantRandomness(number: 0))
  }

  /// A wallet that the server has admitted, before its peer connection has made the offer.
  static func linked() -> Wallet {
    var wallet = Wallet()
    _ = wallet.begin()
    _ = wallet.letIn()
    return wallet
  }

  /// A wallet that has sent its offer.
  static func signalled() -> Wallet {
    var wallet = linked()
    _ = wallet.receive(.offer(Descriptions.offer))
    return wallet
  }

  /// A wallet that has received an answer.
  static func connecting() throws -> Wallet {
    var wallet = signalled()
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    return wallet
  }

  mutating func begin() -> [SignalingMachine.Action] { machine.begin(at: now) }

  mutating func wait(_ duration: Duration) { now += duration }

  mutating func tick() -> [SignalingMachine.Action] { machine.tick(at: now) }

  /// Moves the clock to the next deadline and ticks.
  mutating func tickAtDeadline() -> [SignalingMachine.Action] {
    guard let deadline = machine.deadline else { return [] }
    now = max(now, deadline)
    return tick()
  }

  mutating func receive(_ event: PeerEvent) -> [SignalingMachine.Action] { machine.receive(.peer(event), at: now) }

  mutating func receive(_ event: SocketIOEvent) -> [SignalingMachine.Action] {
    receive(.text("4" + SocketIOPacket.text(of: event)))
  }

  mutating func receive(_ event: WebSocketEvent) -> [SignalingMachine.Action] {
    machine.receive(.server(.init(connection: id(connection), event: .webSocket(event))), at: now)
  }

  /// The server opens the session and connects the wallet to the namespace.
  mutating func letIn() -> [SignalingMachine.Action] {
    _ = receive(.open)
    _ = receive(.text(Client.open))
    return receive(.text(Client.connected))
  }

  /// The connection closes, and the next one is connected.
  mutating func reconnect() -> [SignalingMachine.Action] {
    _ = receive(.closed(nil))
    _ = tickAtDeadline()
    connection += 1
    return letIn()
  }
}

/// The action "report".
func told(_ event: SignalingProgress.Event, after elapsed: Duration = .zero) -> SignalingMachine.Action {
  .progress(SignalingProgress(event: event, elapsed: elapsed))
}

/// The action "send this event".
func emitted(
  _ name: String, _ argument: some Encodable, on connection: Int = 1
) throws -> SignalingMachine.Action {
  .transport(.send(id(connection), "4" + SocketIOPacket.text(of: try SocketIOEvent(name, argument))))
}

/// The actions "send these own candidates".
func emittedCandidates(_ numbers: some Sequence<Int>, on connection: Int = 1) throws -> [SignalingMachine.Action] {
  try numbers.map { number in
    try emitted("offer-candidate", CandidatePayload(Descriptions.candidate(number)), on: connection)
  }
}

/// The actions "close the web socket" and "fail".
func ended(_ error: LiquidAuthError, on connection: Int = 1) -> [SignalingMachine.Action] {
  [.transport(.close(id(connection))), .failed(error)]
}
