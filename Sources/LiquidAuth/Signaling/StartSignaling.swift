/// What the signaling needs of the world, one port each.
public struct SignalingPorts: Sendable {
  /// Polling, where web sockets are refused.
  public var http: any HTTPPort
  /// Web sockets.
  public var webSockets: any WebSocketPort
  /// WebRTC.
  public var peerConnections: any PeerConnectionPort
  /// Clock and alarm.
  public var timer: any TimerPort
  /// Chance: spreads the tries of many wallets after a server came back.
  public var randomness: any RandomNumberGenerator & Sendable

  /// Joins the five.
  public init(
    http: any HTTPPort, webSockets: any WebSocketPort, peerConnections: any PeerConnectionPort, timer: any TimerPort,
    randomness: any RandomNumberGenerator & Sendable
  ) {
    self.http = http
    self.webSockets = webSockets
    self.peerConnections = peerConnections
    self.timer = timer
    self.randomness = randomness
  }
}

/// Opens a channel to the dApp that shows the link, over the signals gateway of its server.
///
/// To be called after the server has accepted the registration or sign-in. The wallet makes the offer and does not
/// `link`: the room of its address is entered by the session's cookie. Cancelling the task at any moment closes web
/// socket, exchanges and peer connection before this returns.
///
/// - Parameters:
///   - origin: the origin of the link.
///   - headers: what every exchange with the server carries: `User-Agent`, and the ceremony's `Cookie`. Cookies that the
///     server sets from now on are not kept: none of them belongs to the session.
///   - iceServers: STUN and TURN servers of the configuration.
///   - timeout: until the channel is open; the dApp may be waiting for its person.
///   - progress: told of each stage, on the task that called.
/// - Returns: the open channel; the web socket is closed by then.
public func startSignaling(
  origin: WebOrigin, headers: [HTTPHeader], iceServers: [ICEServer], timeout: Duration = .seconds(120),
  ports: SignalingPorts, progress: @escaping @Sendable (SignalingProgress) -> Void
) async throws(SignalingError) -> PeerChannel {
  if Task.isCancelled { throw .cancelled }
  return try await withDiscardingTaskGroup { exchanges in
    var driver = SignalingDriver(origin: origin, headers: headers, timeout: timeout, ports: ports, progress: progress)
    return await driver.run(iceServers: iceServers, &exchanges)
  }.get()
}

/// Feeds the machine with what the ports tell, in one line, and does what it says.
private struct SignalingDriver {
  private enum Event: Sendable {
    case machine(SignalingMachine.Input)
    case alarm
  }

  /// Events that may wait to be looked at; who sends more, faster than this loop turns, is hostile.
  private static let maximumWaitingEvents = 256

  private let origin: WebOrigin
  private let headers: [HTTPHeader]
  private let ports: SignalingPorts
  private let progress: @Sendable (SignalingProgress) -> Void
  private let ends = PeerChannelEnds()
  private let events: AsyncStream<Event>
  private let feed: AsyncStream<Event>.Continuation

  private var machine: SignalingMachine
  private var peer: (any PeerConnection)?
  private var webSocket: (any WebSocketConnection)?
  /// Of the one GET and the one POST that may be under way; finished when they are given up.
  private var exchangeEnds: [HTTPRequest.Method: AsyncStream<Never>.Continuation] = [:]
  private var alarm: (deadline: Duration, handle: any TimerAlarm)?

  init(
    origin: WebOrigin, headers: [HTTPHeader], timeout: Duration, ports: SignalingPorts,
    progress: @escaping @Sendable (SignalingProgress) -> Void
  ) {
    self.origin = origin
    self.headers = headers
    self.ports = ports
    self.progress = progress
    machine = SignalingMachine(timeout: timeout, randomness: ports.randomness)
    (events, feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumWaitingEvents))
  }

  /// Runs until the channel is open or there will be none; then nothing but an open channel is left.
  mutating func run(
    iceServers: [ICEServer], _ exchanges: inout DiscardingTaskGroup
  ) async -> Result<PeerChannel, SignalingError> {
    defer { release() }
    let outcome: Result<PeerChannel, SignalingError>
    do throws(PeerConnectionFailure) {
      peer = try makePeerConnection(iceServers: iceServers)
      outcome = await loop(&exchanges)
    } catch {
      outcome = .failure(.noPeerConnection(error.reason))
    }
    if case .failure = outcome { ends.close(nil) }
    return outcome
  }

  private func makePeerConnection(iceServers: [ICEServer]) throws(PeerConnectionFailure) -> any PeerConnection {
    let (ends, feed) = (ends, feed)
    let peer = try ports.peerConnections.make(
      iceServers: iceServers, channelLabel: PeerChannel.label, bufferedAmountLowThreshold: PeerChannel.lowWaterMark
    ) { event in
      // What closes the channel before it is open ends its opening: nothing more would come to end it.
      let fault = ends.receive(event)
      Self.offer(.machine(.peer(fault.map { .failed($0.description) } ?? event)), to: feed)
    }
    ends.attach(peer)
    return peer
  }

  private mutating func loop(_ exchanges: inout DiscardingTaskGroup) async -> Result<PeerChannel, SignalingError> {
    if let outcome = perform(machine.begin(at: ports.timer.now), &exchanges) { return outcome }
    for await event in events {
      let now = ports.timer.now
      let actions =
        switch event {
        case .machine(let input): machine.receive(input, at: now)
        case .alarm: machine.tick(at: now)
        }
      if let outcome = perform(actions, &exchanges) { return outcome }
    }
    return .failure(Task.isCancelled ? .cancelled : .flooded)
  }

  private mutating func release() {
    feed.finish()
    closeConnection()
    alarm?.handle.cancel()
  }

  private static func offer(_ event: Event, to feed: AsyncStream<Event>.Continuation) {
    if case .dropped = feed.yield(event) { feed.finish() }
  }

  // MARK: Actions

  /// What the actions end in; `nil` while it goes on.
  private mutating func perform(
    _ actions: [SignalingMachine.Action], _ exchanges: inout DiscardingTaskGroup
  ) -> Result<PeerChannel, SignalingError>? {
    for action in actions {
      switch action {
      case .transport(let exchange): perform(exchange, &exchanges)
      case .createOffer: peer?.createOffer()
      case .setAnswer(let sdp): peer?.setAnswer(sdp)
      case .addCandidate(let candidate): peer?.addCandidate(candidate)
      case .progress(let told): progress(told)
      case .opened(let size): return .success(PeerChannel(ends, maximumOutgoingSize: size))
      case .failed(let error): return .failure(error)
      }
    }
    setAlarm()
    return nil
  }

  private mutating func setAlarm() {
    guard alarm?.deadline != machine.deadline else { return }
    alarm?.handle.cancel()
    alarm = nil
    guard let deadline = machine.deadline else { return }
    let feed = feed
    let handle = ports.timer.wake(after: deadline - ports.timer.now) { Self.offer(.alarm, to: feed) }
    alarm = (deadline, handle)
  }

  private mutating func perform(_ exchange: SocketIOMachine.Exchange, _ exchanges: inout DiscardingTaskGroup) {
    switch exchange {
    case .openWebSocket(let id, let target): openWebSocket(id, target)
    case .send(_, let text): webSocket?.send(text)
    case .poll(let id, let target):
      let request = HTTPRequest(method: .get, url: origin.serialized + target, headers: headers)
      send(request, &exchanges) { .init(connection: id, event: .polled($0)) }
    case .post(let id, let target, let body):
      let type = HTTPHeader("Content-Type", "text/plain;charset=UTF-8")
      let request = HTTPRequest(
        method: .post, url: origin.serialized + target, headers: headers + [type], body: Array(body.utf8))
      send(request, &exchanges) { .init(connection: id, event: .posted($0)) }
    case .close: closeConnection()
    }
  }

  private mutating func openWebSocket(_ id: SocketIOMachine.ConnectionID, _ target: String) {
    let feed = feed
    let scheme = origin.scheme == .https ? "wss" : "ws"
    webSocket = ports.webSockets.open(
      url: "\(scheme)://\(origin.authority)\(target)", headers: headers,
      maximumMessageSize: SocketIOMachine.maximumMessageSize
    ) { event in
      Self.offer(.machine(.server(.init(connection: id, event: .webSocket(event)))), to: feed)
    }
  }

  private mutating func closeConnection() {
    webSocket?.close()
    webSocket = nil
    exchangeEnds.values.forEach { $0.finish() }
    exchangeEnds = [:]
  }

  /// Makes an exchange beside the loop; it ends early when its connection is given up.
  private mutating func send(
    _ request: HTTPRequest, _ exchanges: inout DiscardingTaskGroup,
    _ input: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> SocketIOMachine.Input
  ) {
    let (end, ender) = AsyncStream.makeStream(of: Never.self)
    exchangeEnds[request.method] = ender
    let (http, feed) = (ports.http, feed)
    exchanges.addTask {
      await withTaskGroup { race in
        race.addTask {
          let result = await Self.result(of: request, over: http)
          Self.offer(.machine(.server(input(result))), to: feed)
        }
        race.addTask { for await _ in end {} }
        await race.next()
        race.cancelAll()
      }
    }
  }

  private static func result(
    of request: HTTPRequest, over http: any HTTPPort
  ) async -> Result<HTTPResponse, HTTPFailure> {
    do throws(HTTPFailure) {
      return .success(try await http.send(request, maximumBodySize: SocketIOMachine.maximumMessageSize))
    } catch {
      return .failure(error)
    }
  }
}
