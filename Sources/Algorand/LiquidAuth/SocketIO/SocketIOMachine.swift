/// The client's side of Socket.IO over Engine.IO: transport events in, actions out.
///
/// A pure value: it opens nothing, reads no clock and uses the given randomness. The driver performs the actions in
/// their order, reports the results with the connection's number, and calls `tick` at `deadline`.
///
/// The machine tries a web socket first. After a transport that ends before its handshake it uses the other one next;
/// it keeps one that has worked. After a loss it reconnects with a delay that doubles each time, less a random share of
/// up to a half, until ``maximumTries`` in a row have failed. Events emitted meanwhile are dropped; after
/// ``Action/connected`` the caller must emit them again.
struct SocketIOMachine: Sendable {
  /// The most bytes of one message, or of one body in polling, from the server: far more than a session description
  /// has.
  static let maximumMessageSize = 256 * 1024
  /// The longest duration of one try, up to the connection to the namespace.
  static let connectTimeout = Duration.seconds(10)
  /// The number of failed tries in a row after which the server counts as gone.
  static let maximumTries = 8
  /// The duration after which a connection counts as working, and the tries are counted anew.
  static let steadyTime = Duration.seconds(10)
  /// The longest delay after the first failure, and after the last.
  static let delays = (first: Duration.milliseconds(500), last: Duration.seconds(8))
  /// The most packets that wait in polling until the server has accepted the earlier ones.
  static let maximumWaitingPackets = 256

  /// Numbers the connections, so that late events of a closed one do not affect another.
  struct ConnectionID: Hashable, Sendable {
    let rawValue: Int
  }

  private enum Transport {
    case webSocket, polling

    var other: Transport { self == .webSocket ? .polling : .webSocket }
  }

  private struct Connection {
    let id: ConnectionID
    let transport: Transport
    var handshake: EngineIOHandshake?
    /// When the namespace accepted the connection; `nil` until then.
    var connected: Duration?
    /// The end of the try, then of the longest silence.
    var deadline: Duration
    /// Packets for the next POST, and whether one is under way.
    var waiting: [EngineIOPacket] = []
    var isPosting = false
  }

  private enum State {
    case idle
    case delaying(until: Duration)
    case active(Connection)
    case ended
  }

  private var state = State.idle
  private var randomness: any RandomNumberGenerator & Sendable
  /// The pairing that is sent with each request to enter the namespace.
  private let pairing: DurablePairing?
  private var transport = Transport.webSocket
  private var lastConnection = 0
  private var failures = 0

  /// Makes a client that has not begun.
  ///
  /// - Parameter pairing: proves to the server who connects, if it gave one.
  init(pairing: DurablePairing? = nil, randomness: any RandomNumberGenerator & Sendable) {
    (self.pairing, self.randomness) = (pairing, randomness)
  }

  // MARK: Events

  /// Opens the first connection.
  mutating func begin(at now: Duration) -> [Action] {
    guard case .idle = state else { return [] }
    return connect(at: now)
  }

  /// Takes an event of a transport; ignores those of a closed connection.
  mutating func receive(_ input: Input, at now: Duration) -> [Action] {
    let overdue = tick(at: now)
    guard case .active(let connection) = state, connection.id == input.connection else { return overdue }
    do throws(LiquidAuthError) {
      return overdue + (try handle(input.event, on: connection, at: now))
    } catch {
      return overdue + end(error, at: now)
    }
  }

  /// Performs the actions that are due at `now`: closes a silent connection, or tries again.
  mutating func tick(at now: Duration) -> [Action] {
    switch state {
    case .delaying(let until) where until <= now: connect(at: now)
    case .active(let connection) where connection.deadline <= now: end(.serverGone(.timedOut), at: now)
    case .idle, .delaying, .active, .ended: []
    }
  }

  /// When `tick` is due next; `nil` if it is not needed.
  var deadline: Duration? {
    switch state {
    case .idle, .ended: nil
    case .delaying(let until): until
    case .active(let connection): connection.deadline
    }
  }

  /// Sends an event, or drops it while there is no connection.
  mutating func emit(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    guard case .active(let connection) = state, connection.connected != nil else { return [] }
    do throws(LiquidAuthError) {
      return try send(.message(SocketIOPacket.text(of: event)), on: connection)
    } catch {
      return end(error, at: now)
    }
  }

  /// Closes the connection for good.
  mutating func close() -> [Action] {
    defer { state = .ended }
    guard case .active(let connection) = state else { return [] }
    return [.transport(.close(connection.id))]
  }

  // MARK: Connections

  private mutating func connect(at now: Duration) -> [Action] {
    lastConnection += 1
    let id = ConnectionID(rawValue: lastConnection)
    let connection = Connection(id: id, transport: transport, deadline: now + Self.connectTimeout)
    state = .active(connection)
    return switch transport {
    case .webSocket: [.transport(.openWebSocket(id, target: Target.webSocket))]
    case .polling: [.transport(.poll(id, target: Target.polling))]
    }
  }

  /// Ends the connection; after ``LiquidAuthError/Kind/serverLost(_:)`` it tries a new one.
  private mutating func end(_ error: LiquidAuthError, at now: Duration) -> [Action] {
    guard case .active(let connection) = state else { return [] }
    let closing = Action.transport(.close(connection.id))
    if case .serverLost(let loss) = error.kind { return [closing] + lose(connection, loss, at: now) }
    state = .ended
    return [closing, .failed(error)]
  }

  private mutating func lose(_ connection: Connection, _ loss: PortError, at now: Duration) -> [Action] {
    // If the server is unreachable, the other transport would fail too.
    if connection.handshake == nil, loss.kind != .unreachable { transport = transport.other }
    if let connected = connection.connected, connected + Self.steadyTime <= now { failures = 0 }
    failures += 1
    guard failures < Self.maximumTries else {
      state = .ended
      return [.failed(.serverGone(loss))]
    }
    let delay = Self.delay(after: failures, using: &randomness)
    state = .delaying(until: now + delay)
    return [.lost(loss, delay: delay)]
  }

  private static func delay(after failures: Int, using randomness: inout some RandomNumberGenerator) -> Duration {
    let longest = min(delays.first * (1 << (failures - 1)), delays.last)
    let share = Double(randomness.next() >> 11) * 0x1p-53
    return longest * (0.5 + share / 2)
  }

  // MARK: Transports

  private mutating func handle(
    _ event: Input.Event, on connection: Connection, at now: Duration
  ) throws(LiquidAuthError) -> [Action] {
    switch event {
    case .webSocket(.open): return []
    case .webSocket(.text(let text)): return try handleMessage(text, at: now)
    case .webSocket(.closed(let failure)): throw Self.fault(failure ?? .closed)
    case .polled(.success(let response)): return try handlePayload(response, on: connection, at: now)
    case .posted(.success(let response)): return try handlePosted(response, on: connection)
    case .polled(.failure(let failure)), .posted(.failure(let failure)): throw Self.fault(failure)
    }
  }

  private mutating func handleMessage(_ text: String, at now: Duration) throws(LiquidAuthError) -> [Action] {
    guard text.utf8.count <= Self.maximumMessageSize else { throw .tooLarge }
    return handle([try EngineIOPacket(text)], at: now)
  }

  /// Takes a poll's response; the next poll follows while the connection lasts.
  private mutating func handlePayload(
    _ response: HTTPResponse, on connection: Connection, at now: Duration
  ) throws(LiquidAuthError) -> [Action] {
    guard response.status == 200 else { throw .serverGone(.refused(status: response.status)) }
    guard response.body.count <= Self.maximumMessageSize else { throw .tooLarge }
    guard let text = String(validating: response.body, as: UTF8.self) else { throw .malformed("packet") }
    let packets = try EngineIOPacket.packets(inPayload: text)
    let actions = handle(packets, at: now)
    guard case .active(let connection) = state, let handshake = connection.handshake else { return actions }
    return actions + [.transport(.poll(connection.id, target: Target.polling(sid: handshake.sid)))]
  }

  private mutating func handlePosted(_ response: HTTPResponse, on connection: Connection) throws(LiquidAuthError)
    -> [Action]
  {
    guard response.status == 200 else { throw .serverGone(.refused(status: response.status)) }
    var connection = connection
    connection.isPosting = false
    return post(connection)
  }

  private static func fault(_ failure: PortError) -> LiquidAuthError {
    switch failure.kind {
    case .untrusted: .untrusted(failure.reason)
    case .tooLarge: .tooLarge
    case .notText: .binary
    default: .serverGone(failure)
    }
  }

  // MARK: Packets in

  /// Packets before the end of the connection count.
  private mutating func handle(_ packets: [EngineIOPacket], at now: Duration) -> [Action] {
    var actions: [Action] = []
    for packet in packets {
      guard case .active(let connection) = state else { return actions }
      do throws(LiquidAuthError) {
        actions += try handle(packet, on: connection, at: now)
      } catch {
        actions += end(error, at: now)
      }
    }
    return actions
  }

  private mutating func handle(
    _ packet: EngineIOPacket, on connection: Connection, at now: Duration
  ) throws(LiquidAuthError) -> [Action] {
    var connection = connection
    guard let handshake = connection.handshake else {
      guard case .open(let handshake) = packet else { throw .malformed("handshake") }
      connection.handshake = handshake
      let auth: String
      do throws(JSONError) { auth = try pairing?.auth() ?? "" } catch { throw .malformed("JSON") }
      return try send(.message(SocketIOPacket.connect(auth: auth)), on: connection)
    }
    if connection.connected != nil { connection.deadline = now + handshake.longestSilence }
    state = .active(connection)
    switch packet {
    case .open: throw .malformed("handshake")
    case .close: throw .serverGone(.closed)
    case .ping(let text): return try send(.pong(text), on: connection)
    case .message(let text): return try handleMessage(text, on: connection, handshake, at: now)
    case .pong, .upgrade, .noop: return []
    }
  }

  private mutating func handleMessage(
    _ text: String, on connection: Connection, _ handshake: EngineIOHandshake, at now: Duration
  ) throws(LiquidAuthError) -> [Action] {
    let packet = try SocketIOPacket(text)
    guard packet.namespace.isSame(as: SocketIOPacket.defaultNamespace) else { return [] }
    switch (packet.kind, connection.connected) {
    case (.connect, nil):
      var connection = connection
      connection.connected = now
      connection.deadline = now + handshake.longestSilence
      state = .active(connection)
      return [.connected]
    case (.connectError(let message), _): throw .connectionDenied(message)
    case (.disconnect, _): throw .serverGone(.removed)
    case (.event(let event), _?): return [.event(event)]
    case (.connect, _), (.event, nil), (.acknowledgement, _): return []
    }
  }

  // MARK: Packets out

  private mutating func send(_ packet: EngineIOPacket, on connection: Connection) throws(LiquidAuthError) -> [Action] {
    var connection = connection
    let size = packet.text.utf8.count
    if let limit = connection.handshake?.maxPayload, size > limit {
      throw .messageTooLarge(size: size, limit: limit)
    }
    guard connection.transport == .polling else {
      state = .active(connection)
      return [.transport(.send(connection.id, packet.text))]
    }
    guard connection.waiting.count < Self.maximumWaitingPackets else { throw .serverGone(.timedOut) }
    connection.waiting.append(packet)
    return post(connection)
  }

  /// Posts as many of the waiting packets as the server accepts in one body.
  private mutating func post(_ connection: Connection) -> [Action] {
    var connection = connection
    defer { state = .active(connection) }
    guard !connection.isPosting, !connection.waiting.isEmpty, let handshake = connection.handshake else { return [] }
    var count = 1
    while count < connection.waiting.count,
      EngineIOPacket.payload(connection.waiting.prefix(count + 1)).utf8.count <= handshake.maxPayload ?? .max
    {
      count += 1
    }
    let body = EngineIOPacket.payload(connection.waiting.prefix(count))
    connection.waiting.removeFirst(count)
    connection.isPosting = true
    return [.transport(.post(connection.id, target: Target.polling(sid: handshake.sid), body: body))]
  }
}

extension PortError {
  /// The server removed this client, and left the connection to it.
  static let removed = Self(.refused, "the server ended this session")
}
