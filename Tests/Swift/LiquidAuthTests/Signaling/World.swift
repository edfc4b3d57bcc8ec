import Synchronization

@testable import LiquidAuth

/// All ports of the signaling in memory: the test reads the calls and sends the events.
///
/// Time does not move until `advance(by:)`.
final class World: WebSocketPort, PeerConnectionPort, TimerPort, HTTPPort {
  /// A call to a port.
  enum Call: Equatable, Sendable {
    case openWebSocket(url: String, headers: [HTTPHeader], maximumMessageSize: Int)
    case sendText(String)
    case closeWebSocket
    case makePeer([ICEServer], label: String, threshold: Int)
    case createOffer
    case setAnswer(String)
    case addCandidate(ICECandidate)
    case sendMessage(PeerMessage)
    case closePeer
    case http(HTTPRequest, maximumBodySize: Int)
    case httpCancelled
  }

  private struct Alarm {
    let due: Duration
    let ring: @Sendable () -> Void
  }

  private struct State {
    var now = Duration.seconds(77)
    var alarms: [Int: Alarm] = [:]
    var lastAlarm = 0
    var toWebSocket: (@Sendable (WebSocketEvent) -> Void)?
    var toPeer: (@Sendable (PeerEvent) -> Void)?
    var responses: [AsyncStream<HTTPResponse>.Continuation] = []
    var bufferedAmount = 0
    var looksAtBufferedAmount = 0
    var openThings = 0
    var peerFailure: PortError?
  }

  private let state = Mutex(State())
  private let heard: AsyncStream<Call>
  private let feed: AsyncStream<Call>.Continuation

  init() { (heard, feed) = AsyncStream.makeStream() }

  var ports: SignalingPorts {
    SignalingPorts(
      http: self, webSockets: self, peerConnections: self, timer: self, randomness: ConstantRandomness(number: 0))
  }

  // MARK: For tests

  /// Waits for the next call; `nil` if the task is cancelled.
  func call() async -> Call? {
    for await call in heard { return call }
    return nil
  }

  /// The number of open web sockets, peer connections and exchanges.
  var openThings: Int { state.withLock { $0.openThings } }

  /// The number of set alarms.
  var alarms: Int { state.withLock { $0.alarms.count } }

  /// The time to the next alarm.
  var nextAlarm: Duration? { state.withLock { state in state.alarms.values.map { $0.due - state.now }.min() } }

  func webSocket(_ event: WebSocketEvent) { state.withLock { $0.toWebSocket }?(event) }

  func peer(_ event: PeerEvent) { state.withLock { $0.toPeer }?(event) }

  /// Sets the buffered amount and resets the number of its reads.
  func setBufferedAmount(_ amount: Int) {
    state.withLock { ($0.bufferedAmount, $0.looksAtBufferedAmount) = (amount, 0) }
  }

  /// The number of reads of the buffered amount since it was set.
  var looksAtBufferedAmount: Int { state.withLock { $0.looksAtBufferedAmount } }

  func failPeers(_ failure: PortError) { state.withLock { $0.peerFailure = failure } }

  /// Answers an exchange, counted from 0.
  func respond(_ number: Int, _ body: String, status: Int = 200) {
    let response = HTTPResponse(status: status, body: Array(body.utf8))
    state.withLock { $0.responses[number] }.yield(response)
  }

  /// Moves the clock and rings the alarms that are due.
  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let due = state.alarms.filter { $0.value.due <= state.now }
      for number in due.keys { state.alarms[number] = nil }
      return due.values.sorted { $0.due < $1.due }
    }
    for alarm in due { alarm.ring() }
  }

  // MARK: The ports

  var now: Duration { state.withLock { $0.now } }

  func wake(after delay: Duration, deliver: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let number = state.withLock { state in
      state.lastAlarm += 1
      guard delay > .zero else { return state.lastAlarm }
      state.alarms[state.lastAlarm] = Alarm(due: state.now + delay, ring: deliver)
      return state.lastAlarm
    }
    if delay <= .zero { deliver() }
    return { self.state.withLock { $0.alarms[number] = nil } }
  }

  func open(
    url: String, headers: [HTTPHeader], maximumMessageSize: Int, deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection {
    state.withLock { state in
      state.toWebSocket = deliver
      state.openThings += 1
    }
    feed.yield(.openWebSocket(url: url, headers: headers, maximumMessageSize: maximumMessageSize))
    return WebSocketDouble(world: self)
  }

  func make(
    iceServers: [ICEServer], channelLabel: String, bufferedAmountLowThreshold: Int,
    deliver: @escaping @Sendable (PeerEvent) -> Void
  ) throws(PortError) -> any PeerConnection {
    if let failure = state.withLock({ $0.peerFailure }) { throw failure }
    state.withLock { state in
      state.toPeer = deliver
      state.openThings += 1
    }
    feed.yield(.makePeer(iceServers, label: channelLabel, threshold: bufferedAmountLowThreshold))
    return PeerDouble(world: self)
  }

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    let (responses, responder) = AsyncStream.makeStream(of: HTTPResponse.self)
    state.withLock { state in
      state.responses.append(responder)
      state.openThings += 1
    }
    feed.yield(.http(request, maximumBodySize: maximumBodySize))
    var response: HTTPResponse?
    for await one in responses {
      response = one
      break
    }
    // This precedes the report of the end.
    state.withLock { $0.openThings -= 1 }
    if let response { return response }
    feed.yield(.httpCancelled)
    throw .broken("cancelled")
  }

  private final class WebSocketDouble: WebSocketConnection {
    let world: World
    let isOpen = Atomic(true)

    init(world: World) { self.world = world }

    func send(_ text: String) { world.feed.yield(.sendText(text)) }

    func close() {
      guard isOpen.exchange(false, ordering: .relaxed) else { return }
      world.state.withLock { $0.openThings -= 1 }
      world.feed.yield(.closeWebSocket)
    }
  }

  private final class PeerDouble: PeerConnection {
    let world: World
    let isOpen = Atomic(true)

    init(world: World) { self.world = world }

    func createOffer() { world.feed.yield(.createOffer) }
    func setAnswer(_ sdp: String) { world.feed.yield(.setAnswer(sdp)) }
    func addCandidate(_ candidate: ICECandidate) { world.feed.yield(.addCandidate(candidate)) }
    func send(_ message: PeerMessage) { world.feed.yield(.sendMessage(message)) }

    var bufferedAmount: Int {
      world.state.withLock { state in
        state.looksAtBufferedAmount += 1
        return state.bufferedAmount
      }
    }

    func close() {
      guard isOpen.exchange(false, ordering: .relaxed) else { return }
      world.state.withLock { $0.openThings -= 1 }
      world.feed.yield(.closePeer)
    }
  }
}
