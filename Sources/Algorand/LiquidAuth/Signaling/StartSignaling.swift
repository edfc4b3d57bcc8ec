/// Opens a channel to the dApp that shows the link, over the signals gateway of its server.
///
/// Call it after the server has accepted the registration or sign-in. The wallet makes the offer and does not send
/// `link`: the session's cookie enters the room of its address. Cancelling the task at any time closes web socket,
/// exchanges and peer connection before this returns.
///
/// - Parameters:
///   - origin: the origin of the link.
///   - path: the path below which the server is, as in the link; empty for the root.
///   - headers: the fields of every exchange with the server: `User-Agent`, and the ceremony's `Cookie`. Cookies that
///     the server sets from now on are ignored: none of them belongs to the session.
///   - iceServers: STUN and TURN servers of the configuration.
///   - timeout: the time until the channel must be open; the dApp may wait for its user.
///   - progress: called at each stage, on the calling task.
/// - Returns: the open channel; the web socket is closed by then.
public func startSignaling(
  origin: WebOrigin, path: String = "", headers: [HTTPHeader], iceServers: [ICEServer],
  timeout: Duration = .seconds(120), ports: SignalingPorts,
  progress: @escaping @Sendable (SignalingProgress) -> Void
) async throws(LiquidAuthError) -> PeerChannel {
  if Task.isCancelled { throw .cancelled }
  let machine = SignalingMachine(timeout: timeout, randomness: ports.randomness)
  let outcome = try await withDiscardingTaskGroup { exchanges in
    var driver = SignalingDriver(
      machine, origin: origin, path: path, headers: headers, ports: ports, progress: progress)
    return await driver.run(iceServers: iceServers, &exchanges)
  }.get()
  guard case .channel(let channel) = outcome else { throw .cancelled }
  return channel
}

/// Opens channels to the dApp that shows the link, one after the other, each as
/// ``startSignaling(origin:path:headers:iceServers:timeout:ports:progress:)`` opens one.
///
/// If the server reports who is present for the request, the wallet keeps the connection to it. When a channel has
/// ended and the dApp's page is there again, as after a reload, the wallet makes a fresh offer. Without such reports
/// the first channel is the last, and the wallet closes the connection to the server as soon as the channel is open.
///
/// - Parameters:
///   - path: the path below which the server is, as in the link; empty for the root.
///   - requestID: the dApp's request.
///   - pairing: sent to the server with each connection, if it gave one; without a sign-in, it takes the place of the
///     cookie.
///   - timeout: the time until the first channel must be open, and from the end of a channel until the next must be; a
///     connection that fails at once gives no further time.
///   - isMeant: asks the user whether another session of the page may get the channel, because more devices than before
///     were connected for the request; called on a task of its own, which is cancelled when the answer is not needed.
///   - serve: uses a channel until it is closed. It returns whether another channel is wanted.
/// - Throws: why the first channel was not opened.
/// - Returns: how the last channel, or the wait for another, ended.
public func serveChannels(
  origin: WebOrigin, path: String = "", requestID: RequestID, headers: [HTTPHeader], pairing: DurablePairing?,
  iceServers: [ICEServer], timeout: Duration = .seconds(120), ports: SignalingPorts,
  progress: @escaping @Sendable (SignalingProgress) -> Void,
  isMeant: @escaping @Sendable () async -> Bool, serve: @escaping @Sendable (PeerChannel) async -> Bool
) async throws(LiquidAuthError) -> SignalingEnding {
  if Task.isCancelled { throw .cancelled }
  let machine = SignalingMachine(
    timeout: timeout, stayingFor: requestID, pairing: pairing, randomness: ports.randomness)
  let outcome = try await withDiscardingTaskGroup { exchanges in
    var driver = SignalingDriver(
      machine, origin: origin, path: path, headers: headers, ports: ports, progress: progress, isMeant: isMeant)
    driver.serveChannels(by: serve, &exchanges)
    return await driver.run(iceServers: iceServers, &exchanges)
  }.get()
  guard case .ended(let ending) = outcome else { throw .cancelled }
  return ending
}

/// Feeds the machine with the events of the ports, one at a time, and performs its actions.
private struct SignalingDriver {
  private enum Event: Sendable {
    case machine(SignalingMachine.Input)
    /// An event of a peer connection, with its number: late ones of an earlier connection do not count.
    case peer(Int, PeerEvent)
    /// The user's answer.
    case answer(isMeant: Bool)
    /// No further channel is wanted.
    case isServed
    case alarm
  }

  /// What the loop returns.
  enum Outcome: Sendable {
    case channel(PeerChannel)
    case ended(SignalingEnding)
  }

  /// The most events in the queue; a server that sends more, faster than this loop runs, is hostile.
  private static let maximumWaitingEvents = 256

  private let origin: WebOrigin
  private let path: String
  private let headers: [HTTPHeader]
  private let ports: SignalingPorts
  private let progress: @Sendable (SignalingProgress) -> Void
  /// `nil` if the first channel is returned.
  private let isMeant: (@Sendable () async -> Bool)?
  private let events: AsyncStream<Event>
  private let feed: AsyncStream<Event>.Continuation

  private var machine: SignalingMachine
  private var iceServers: [ICEServer] = []
  private var ends = PeerChannelEnds()
  private var peer: (any PeerConnection)?
  /// The number of peer connections so far.
  private var peerCount = 0
  private var hasOffered = false
  /// The channels for `serve`.
  private let channels: AsyncStream<PeerChannel>
  private let channelFeed: AsyncStream<PeerChannel>.Continuation
  /// The end of the question to the user; finished to withdraw it.
  private var questionEnd: AsyncStream<Never>.Continuation?
  private var webSocket: (any WebSocketConnection)?
  /// The ends of the GET and the POST under way; finished to cancel them.
  private var exchangeEnds: [HTTPRequest.Method: AsyncStream<Never>.Continuation] = [:]
  private var alarm: (deadline: Duration, cancel: @Sendable () -> Void)?

  init(
    _ machine: SignalingMachine, origin: WebOrigin, path: String, headers: [HTTPHeader], ports: SignalingPorts,
    progress: @escaping @Sendable (SignalingProgress) -> Void, isMeant: (@Sendable () async -> Bool)? = nil
  ) {
    self.machine = machine
    (self.origin, self.path) = (origin, path)
    self.headers = headers
    self.ports = ports
    self.progress = progress
    self.isMeant = isMeant
    (channels, channelFeed) = AsyncStream.makeStream()
    (events, feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumWaitingEvents))
  }

  /// Gives the channels to `serve`, concurrently with the loop.
  func serveChannels(
    by serve: @escaping @Sendable (PeerChannel) async -> Bool, _ exchanges: inout DiscardingTaskGroup
  ) {
    exchanges.addTask { [channels, feed] in
      for await channel in channels {
        guard await serve(channel) else { return Self.offer(.isServed, to: feed) }
      }
    }
  }

  /// Runs until the channel is open or has failed, or until the last has ended; then closes everything else.
  mutating func run(
    iceServers: [ICEServer], _ exchanges: inout DiscardingTaskGroup
  ) async -> Result<Outcome, LiquidAuthError> {
    defer { release() }
    self.iceServers = iceServers
    let outcome: Result<Outcome, LiquidAuthError>
    do throws(PortError) {
      try makePeerConnection()
      outcome = await loop(&exchanges)
    } catch {
      outcome = .failure(LiquidAuthError(error.reason))
    }
    // Only a channel that is returned stays open.
    if case .success(.channel) = outcome {} else { ends.close(nil) }
    return outcome
  }

  private mutating func makePeerConnection() throws(PortError) {
    peerCount += 1
    let (ends, feed, number) = (ends, feed, peerCount)
    let peer = try ports.peerConnections.make(
      iceServers: iceServers, channelLabel: PeerChannel.label, bufferedAmountLowThreshold: PeerChannel.lowWaterMark
    ) { event in
      // A fault that closes the channel during the opening also ends the opening: no further event would end it.
      let fault = ends.receive(event)
      switch event {
      // Those of an open channel would fill the queue.
      case .message where fault == nil, .bufferedAmountLow: break
      default: Self.offer(.peer(number, fault.map { .failed($0.description) } ?? event), to: feed)
      }
    }
    ends.attach(peer)
    self.peer = peer
  }

  private mutating func loop(_ exchanges: inout DiscardingTaskGroup) async -> Result<Outcome, LiquidAuthError> {
    if let outcome = perform(machine.begin(at: ports.timer.now), &exchanges) { return outcome }
    for await event in events {
      let now = ports.timer.now
      let actions: [SignalingMachine.Action] =
        switch event {
        case .machine(let input): machine.receive(input, at: now)
        case .peer(peerCount, let event): machine.receive(.peer(event), at: now)
        case .peer: []
        case .answer(let isMeant): machine.answer(isMeant: isMeant, at: now)
        case .isServed: [.ended(.done)]
        case .alarm: machine.tick(at: now)
        }
      if let outcome = perform(actions, &exchanges) { return outcome }
    }
    return .failure(Task.isCancelled ? .cancelled : .flooded)
  }

  private mutating func release() {
    feed.finish()
    channelFeed.finish()
    questionEnd?.finish()
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
  ) -> Result<Outcome, LiquidAuthError>? {
    for action in actions {
      switch action {
      case .transport(let exchange): perform(exchange, &exchanges)
      case .createOffer:
        do throws(PortError) { try createOffer() } catch { return .failure(LiquidAuthError(error.reason)) }
      case .setAnswer(let sdp): peer?.setAnswer(sdp)
      case .addCandidate(let candidate): peer?.addCandidate(candidate)
      case .progress(let step): progress(step)
      case .opened(let size):
        let channel = PeerChannel(ends, maximumOutgoingSize: size)
        guard isMeant != nil else { return .success(.channel(channel)) }
        channelFeed.yield(channel)
      case .ask: startQuestion(&exchanges)
      case .failed(let error): return .failure(error)
      case .ended(let ending): return .success(.ended(ending))
      }
    }
    setAlarm()
    return nil
  }

  /// Makes the offer of a new peer connection, if the present one has made its own.
  private mutating func createOffer() throws(PortError) {
    if hasOffered {
      ends.close(nil)
      ends = PeerChannelEnds()
      try makePeerConnection()
    }
    hasOffered = true
    peer?.createOffer()
  }

  /// Asks the user concurrently with the loop.
  private mutating func startQuestion(_ exchanges: inout DiscardingTaskGroup) {
    guard let isMeant else { return }
    let (end, ender) = AsyncStream.makeStream(of: Never.self)
    questionEnd = ender
    exchanges.addTask { [feed] in
      await withTaskGroup { race in
        race.addTask { Self.offer(.answer(isMeant: await isMeant()), to: feed) }
        race.addTask { for await _ in end {} }
        await race.next()
        race.cancelAll()
      }
    }
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
      let request = HTTPRequest(method: .get, url: origin.serialized + path + target, headers: headers)
      send(request, &exchanges) { .init(connection: id, event: .polled($0)) }
    case .post(let id, let target, let body):
      let type = HTTPHeader("Content-Type", "text/plain;charset=UTF-8")
      let request = HTTPRequest(
        method: .post, url: origin.serialized + path + target, headers: headers + [type], body: Array(body.utf8))
      send(request, &exchanges) { .init(connection: id, event: .posted($0)) }
    case .close: closeConnection()
    }
  }

  private mutating func openWebSocket(_ id: SocketIOMachine.ConnectionID, _ target: String) {
    let feed = feed
    let scheme = origin.scheme == .https ? "wss" : "ws"
    webSocket = ports.webSockets.open(
      url: "\(scheme)://\(origin.authority)\(path)\(target)", headers: headers,
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
