/// Opens a channel to the dApp that shows the link, over the signals gateway of its server.
///
/// Call it after the server has accepted the registration or sign-in. The wallet makes the offer and does not send
/// `link`: the session's cookie enters the room of its address. Cancelling the task at any time closes web socket,
/// exchanges and peer connection before this returns.
///
/// - Parameters:
///   - origin: the origin of the link.
///   - headers: the fields of every exchange with the server: `User-Agent`, and the ceremony's `Cookie`. Cookies that
///     the server sets from now on are ignored: none of them belongs to the session.
///   - iceServers: STUN and TURN servers of the configuration.
///   - timeout: the time until the channel must be open; the dApp may wait for its user.
///   - progress: called at each stage, on the calling task.
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

/// Feeds the machine with the events of the ports, one at a time, and performs its actions.
private struct SignalingDriver {
  private enum Event: Sendable {
    case machine(SignalingMachine.Input)
    case alarm
  }

  /// The most events in the queue; a server that sends more, faster than this loop runs, is hostile.
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
  /// The ends of the GET and the POST under way; finished to cancel them.
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

  /// Runs until the channel is open or has failed; then closes everything else.
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
      // A fault that closes the channel during the opening also ends the opening: no further event would end it.
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

  /// Performs actions; returns the outcome, or `nil` while the signaling continues.
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

  /// Makes an exchange concurrently with the loop; it is cancelled when its connection is closed.
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
  /// What to do after a sign-in: dApps wait for it once, and a used link does not work again.
  public static let newLink = "reload the dApp's page and take its new link"

  private static let turn =
    "if a network blocks the connection, add a TURN server to wallet.conf (ice-server); then \(newLink)"

  /// Every connection to the server failed; `loss` is the last failure.
  static func serverGone(_ loss: PortError) -> Self {
    Self(.serverLost(loss), "the server cannot be reached: \(loss)", hint: "try again later: \(newLink)")
  }

  /// The server had accepted the connection, and was lost before the channel was open; `loss` is the last failure.
  static func serverLost(_ loss: PortError) -> Self {
    Self(
      .serverLost(loss), "the connection to the server was lost before the channel to the dApp was open: \(loss)",
      hint: "when the server is back, \(newLink)")
  }

  /// The server's identity is not proven; with the adapter's reason.
  static func untrusted(_ reason: String) -> Self {
    Self(
      "the server did not prove its identity: \(reason.onOneLine)",
      hint: "do not trust this link, and report it to the dApp's operator")
  }

  /// The server denied the namespace, with its own words.
  static func connectionDenied(_ words: String) -> Self {
    Self("the server denied the connection: \(words.onOneLine)", hint: "ask the dApp for a new link")
  }

  /// One of our messages is larger than the server accepts; sizes in bytes.
  static func messageTooLarge(size: Int, limit: Int) -> Self {
    Self(
      "a message of \(size) bytes is needed; the server accepts \(limit)", hint: "report this to the dApp's operator")
  }

  /// Events came faster than they could be handled.
  static let flooded = Self(
    "the server sent too many messages", hint: "do not trust this server, and report it to the dApp's operator")

  /// No path to the dApp was found, or it was lost before the channel was open; with the adapter's reason.
  static func peerConnectionFailed(_ reason: String) -> Self {
    Self("no connection to the dApp: \(reason.onOneLine)", hint: turn)
  }

  /// The dApp's answer led to no channel, and another wallet of this account is connected.
  ///
  /// The dApp may have answered the other wallet's offer. The adapter gives the reason.
  static func otherWallet(_ reason: String) -> Self {
    Self(
      "no connection to the dApp: \(reason.onOneLine); another wallet of this account is connected, and may have taken "
        + "the answer", hint: "stop one of them, then \(newLink)")
  }

  /// The channel was not open in time; with the stage that was reached.
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
