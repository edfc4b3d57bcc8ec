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
) async throws(LiquidAuthError) -> PeerChannel {
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
  private var alarm: (deadline: Duration, cancel: @Sendable () -> Void)?

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
  ) async -> Result<PeerChannel, LiquidAuthError> {
    defer { release() }
    let outcome: Result<PeerChannel, LiquidAuthError>
    do throws(PortError) {
      peer = try makePeerConnection(iceServers: iceServers)
      outcome = await loop(&exchanges)
    } catch {
      outcome = .failure(LiquidAuthError(error.reason))
    }
    if case .failure = outcome { ends.close(nil) }
    return outcome
  }

  private func makePeerConnection(iceServers: [ICEServer]) throws(PortError) -> any PeerConnection {
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

  private mutating func loop(_ exchanges: inout DiscardingTaskGroup) async -> Result<PeerChannel, LiquidAuthError> {
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
    alarm?.cancel()
  }

  private static func offer(_ event: Event, to feed: AsyncStream<Event>.Continuation) {
    if case .dropped = feed.yield(event) { feed.finish() }
  }

  // MARK: Actions

  /// What the actions end in; `nil` while it goes on.
  private mutating func perform(
    _ actions: [SignalingMachine.Action], _ exchanges: inout DiscardingTaskGroup
  ) -> Result<PeerChannel, LiquidAuthError>? {
    for action in actions {
      switch action {
      case .transport(let exchange): perform(exchange, &exchanges)
      case .createOffer: peer?.createOffer()
      case .setAnswer(let sdp): peer?.setAnswer(sdp)
      case .addCandidate(let candidate): peer?.addCandidate(candidate)
      case .progress(let step): progress(step)
      case .opened(let size): return .success(PeerChannel(ends, maximumOutgoingSize: size))
      case .failed(let error): return .failure(error)
      }
    }
    setAlarm()
    return nil
  }

  private mutating func setAlarm() {
    guard alarm?.deadline != machine.deadline else { return }
    alarm?.cancel()
    alarm = nil
    guard let deadline = machine.deadline else { return }
    let feed = feed
    let cancel = ports.timer.wake(after: deadline - ports.timer.now) { Self.offer(.alarm, to: feed) }
    alarm = (deadline, cancel)
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
    _ input: @escaping @Sendable (Result<HTTPResponse, PortError>) -> SocketIOMachine.Input
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
  ) async -> Result<HTTPResponse, PortError> {
    do throws(PortError) {
      return .success(try await http.send(request, maximumBodySize: SocketIOMachine.maximumMessageSize))
    } catch {
      return .failure(error)
    }
  }
}

// MARK: - Errors

extension LiquidAuthError {
  /// What to do after a sign-in: dApps wait for it once, and a link that was used works no second time.
  public static let newLink = "reload the dApp's page and take its new link"

  private static let turn =
    "if a network blocks the connection, add a TURN server to wallet.conf (ice-server); then \(newLink)"

  /// Every connection to the server failed; `loss` is the failure of the last.
  static func serverGone(_ loss: PortError) -> Self {
    Self(.serverLost(loss), "the server cannot be reached: \(loss)", hint: "try again later: \(newLink)")
  }

  /// The server had let us in, and went away before the channel was open; how, or how the last try to find it again ended.
  static func serverLost(_ loss: PortError) -> Self {
    Self(
      .serverLost(loss), "the server went away before the channel to the dApp was open: \(loss)",
      hint: "when it is back, \(newLink)")
  }

  /// The server is not who it should be; the reason is the adapter's.
  static func untrusted(_ reason: String) -> Self {
    Self(
      "the server did not prove its identity: \(reason.onOneLine)",
      hint: "do not trust this link, and report it to the dApp's operator")
  }

  /// The server did not let us into its namespace, in its own words.
  static func connectionDenied(_ words: String) -> Self {
    Self("the server denied the connection: \(words.onOneLine)", hint: "ask the dApp for a new link")
  }

  /// One of our messages, in bytes, is larger than the server reads.
  static func messageTooLarge(size: Int, limit: Int) -> Self {
    Self(
      "a message of \(size) bytes is needed; the server accepts \(limit)", hint: "report this to the dApp's operator")
  }

  /// Events came faster than they could be looked at.
  static let flooded = Self(
    "the server sent too many messages", hint: "do not trust this server, and report it to the dApp's operator")

  /// No path to the dApp was found, or it broke off before the channel was open; the reason is the adapter's.
  static func peerConnectionFailed(_ reason: String) -> Self {
    Self("no connection to the dApp: \(reason.onOneLine)", hint: turn)
  }

  /// The dApp's answer led to no channel, and another wallet of this account is connected; the adapter gives the
  /// reason.
  ///
  /// The dApp may have answered the other wallet's offer.
  static func otherWallet(_ reason: String) -> Self {
    Self(
      "no connection to the dApp: \(reason.onOneLine); another wallet of this account is connected, and may have taken "
        + "the answer", hint: "stop one of them, then \(newLink)")
  }

  /// The channel was not open in time; how far it had come.
  static func channelTimedOut(_ stage: SignalingStage) -> Self {
    switch stage {
    case .linking:
      Self(
        .channelTimedOut, "the server did not accept the connection in time", hint: "try again later: \(newLink)")
    case .signalled: Self(.channelTimedOut, "no dApp answered in time", hint: newLink)
    case .connecting, .open: Self(.channelTimedOut, "no path to the dApp was found in time", hint: turn)
    }
  }

  /// The task was cancelled.
  static let cancelled = Self(.cancelled, "cancelled")
}
