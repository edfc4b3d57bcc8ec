import Synchronization
import TestVectors
import Testing

@testable import LiquidAuth

/// The driver over ports in memory, from the first call to the last close.
@Suite(.limited) struct StartSignalingTests {
  static let headers = [
    HTTPHeader("User-Agent", "Test (X11; Linux x86_64)"), HTTPHeader("Cookie", "connect.sid=s%3Aa"),
  ]
  static let iceServers = [ICEServer(urls: ["turn:127.0.0.1:3478"], username: "u", credential: "c")]

  let world = World()
  let told = Told()

  /// The reported progress.
  final class Told: Sendable {
    private let list = Mutex<[SignalingProgress]>([])
    func append(_ progress: SignalingProgress) { list.withLock { $0.append(progress) } }
    var stages: [SignalingStage] {
      list.withLock { $0.compactMap { if case .stage(let stage) = $0.event { stage } else { nil } } }
    }
    var elapsed: [Duration] { list.withLock { $0.map(\.elapsed) } }
  }

  func start(
    _ origin: String = "https://dapp.example:8443", path: String = ""
  ) throws -> Task<PeerChannel, any Error> {
    let (origin, world, told) = (try WebOrigin(origin), world, told)
    return Task {
      try await startSignaling(
        origin: origin, path: path, headers: Self.headers, iceServers: Self.iceServers, ports: world.ports
      ) { told.append($0) }
    }
  }

  static func openWebSocket(_ authority: String = "wss://dapp.example:8443") -> World.Call {
    .openWebSocket(
      url: authority + "/socket.io/?EIO=4&transport=websocket", headers: headers, maximumMessageSize: 262_144)
  }

  /// The stages of a session, in order.
  enum Stage: CaseIterable, Sendable {
    case webSocketOpening, webSocketOpen, sessionOpen, letIn, signalled, connecting
  }

  func reach(_ stage: Stage) async throws {
    #expect(await world.call() == .makePeer(Self.iceServers, label: "liquid", threshold: 262_144))
    #expect(await world.call() == .createOffer)
    #expect(await world.call() == Self.openWebSocket())
    if stage == .webSocketOpening { return }
    world.webSocket(.open)
    if stage == .webSocketOpen { return }
    world.webSocket(.text(Client.open))
    #expect(await world.call() == .sendText("40"))
    if stage == .sessionOpen { return }
    world.webSocket(.text(Client.connected))
    if stage == .letIn { return }
    world.peer(.offer(Descriptions.offer))
    #expect(await world.call() == .sendText(try text("offer-description", Descriptions.offer)))
    if stage == .signalled { return }
    world.webSocket(.text(try text("answer-description", Descriptions.answer)))
    #expect(await world.call() == .setAnswer(Descriptions.answer))
  }

  func text(_ name: String, _ argument: some Encodable) throws -> String {
    "4" + SocketIOPacket.text(of: try SocketIOEvent(name, argument))
  }

  // MARK: An open channel

  // Holds: PEERSIGNAL-6
  @Test func `when the channel opens, the web socket is closed and only the channel remains`()
    async throws
  {
    let task = try start()
    try await reach(.connecting)
    world.webSocket(.text(try text("answer-candidate", CandidatePayload(Descriptions.candidate(1)))))
    #expect(await world.call() == .addCandidate(Descriptions.candidate(1)))
    world.advance(by: .milliseconds(400))
    world.peer(.channelOpen)
    world.peer(.message("first"))
    let channel = try await task.value
    #expect(await world.call() == .closeWebSocket)
    #expect(world.openThings == 1)
    #expect(world.alarms == 0)
    #expect(told.stages == [.linking, .signalled, .connecting, .open])
    #expect(told.elapsed == [.zero, .zero, .zero, .milliseconds(400)])
    #expect(channel.maximumOutgoingSize == 262_144)
    var iterator = channel.messages.makeAsyncIterator()
    #expect(try await iterator.next() == "first")
    try await channel.send("second")
    #expect(await world.call() == .sendMessage("second"))
    channel.close()
    #expect(await world.call() == .closePeer)
    #expect(try await iterator.next() == nil)
    #expect(world.openThings == 0)
  }

  // Holds: PEERSIGNIN-13
  @Test(arguments: [
    ("https://dapp.example", "", "wss://dapp.example"), ("http://localhost:3000", "", "ws://localhost:3000"),
    ("http://127.0.0.1", "", "ws://127.0.0.1"), ("https://dapp.example", "/auth", "wss://dapp.example/auth"),
  ])
  func `the web socket uses the link's host, path and scheme`(
    _ origin: String, _ path: String, _ address: String
  ) async throws {
    let task = try start(origin, path: path)
    _ = (await world.call(), await world.call())
    #expect(await world.call() == Self.openWebSocket(address))
    task.cancel()
    _ = await task.result
  }

  @Test func `the offer is sent again when the alarm rings`() async throws {
    let task = try start()
    try await reach(.signalled)
    for _ in 1...3 {
      world.advance(by: .seconds(3))
      #expect(await world.call() == .sendText(try text("offer-description", Descriptions.offer)))
    }
    task.cancel()
    _ = await task.result
  }

  @Test func `without web sockets, the channel opens by polling`() async throws {
    let task = try start()
    try await reach(.webSocketOpening)
    world.webSocket(.closed(.refused(status: 400)))
    #expect(await world.call() == .closeWebSocket)
    await alarmIsSet()
    world.advance(by: .milliseconds(250))
    let target = "https://dapp.example:8443/socket.io/?EIO=4&transport=polling"
    #expect(await world.call() == get(target))
    world.respond(0, Client.open)
    let calls = [await world.call(), await world.call()]
    #expect(calls.contains(post(target + "&sid=abc", "40")))
    #expect(calls.contains(get(target + "&sid=abc")))
    let poll = calls[0] == get(target + "&sid=abc") ? 1 : 2
    world.respond(3 - poll, "ok")
    world.peer(.offer(Descriptions.offer))
    world.respond(poll, Client.connected)
    let offer = try text("offer-description", Descriptions.offer)
    let later = [await world.call(), await world.call()]
    #expect(later.contains(post(target + "&sid=abc", offer)))
    #expect(later.contains(get(target + "&sid=abc")))
    let second = later[0] == get(target + "&sid=abc") ? 3 : 4
    world.respond(7 - second, "ok")
    world.respond(second, try text("answer-description", Descriptions.answer))
    #expect(Set([name(await world.call()), name(await world.call())]) == ["setAnswer", "GET"])
    world.peer(.channelOpen)
    let channel = try await task.value
    #expect(await world.call() == .httpCancelled)
    #expect(world.openThings == 1)
    channel.close()
    #expect(world.openThings == 0)
  }

  @Test func `a waiting poll on a lost connection is cancelled`() async throws {
    let task = try start()
    try await reach(.webSocketOpening)
    world.webSocket(.closed(.refused(status: 400)))
    _ = await world.call()
    await alarmIsSet()
    world.advance(by: .milliseconds(250))
    _ = await world.call()
    world.respond(0, Client.open)
    let calls = [await world.call(), await world.call()]
    let post = name(calls[0]) == "POST" ? 1 : 2
    world.respond(post, "no", status: 400)
    #expect(await world.call() == .httpCancelled)
    #expect(world.openThings == 1)
    task.cancel()
    await #expect(throws: LiquidAuthError.cancelled) { try await task.value }
    #expect(world.openThings == 0)
  }

  // MARK: Cancellation

  // Holds: SIGNAL-19
  @Test(arguments: Stage.allCases)
  func `cancelling at any stage leaves nothing open`(_ stage: Stage) async throws {
    let task = try start()
    try await reach(stage)
    task.cancel()
    await #expect(throws: LiquidAuthError.cancelled) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  // Holds: SIGNAL-19
  @Test func `cancelling during a retry delay leaves nothing open`() async throws {
    let task = try start()
    try await reach(.letIn)
    world.webSocket(.closed(nil))
    #expect(await world.call() == .closeWebSocket)
    task.cancel()
    await #expect(throws: LiquidAuthError.cancelled) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  // Holds: SIGNAL-19
  @Test func `cancelling during polling aborts both requests`() async throws {
    let task = try start()
    try await reach(.webSocketOpening)
    world.webSocket(.closed(.refused(status: 400)))
    _ = await world.call()
    await alarmIsSet()
    world.advance(by: .milliseconds(250))
    _ = await world.call()
    world.respond(0, Client.open)
    _ = (await world.call(), await world.call())
    #expect(world.openThings == 3)
    task.cancel()
    await #expect(throws: LiquidAuthError.cancelled) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  @Test func `cancelling before the start opens nothing`() async throws {
    let (world, origin) = (world, try WebOrigin("https://dapp.example"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await startSignaling(origin: origin, headers: [], iceServers: [], ports: world.ports) { _ in }
    }
    await #expect(throws: LiquidAuthError.cancelled) { try await task.value }
    world.webSocket(.open)
    #expect(world.openThings == 0)
  }

  // MARK: Failures

  @Test func `without WebRTC, nothing is sent to the server`() async throws {
    world.failPeers(PortError.unreachable("a plug-in is missing; install it"))
    let task = try start()
    await #expect(throws: LiquidAuthError("a plug-in is missing; install it")) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
    #expect(told.stages == [])
  }

  @Test(arguments: Stage.allCases.dropFirst(3))
  func `the timeout closes everything`(_ stage: Stage) async throws {
    let task = try start()
    try await reach(stage)
    // Time moves after all events are handled.
    while told.stages.count < [Stage.letIn: 1, .signalled: 2, .connecting: 3][stage] ?? 0 { await Task.yield() }
    world.advance(by: .seconds(120))
    let reached: SignalingStage = [.signalled: .signalled, .connecting: .connecting][stage] ?? .linking
    await #expect(throws: LiquidAuthError.channelTimedOut(reached)) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  @Test(arguments: [PeerEvent.failed("no path"), .channelClosed])
  func `a peer connection that fails closes everything`(_ event: PeerEvent) async throws {
    let task = try start()
    try await reach(.connecting)
    world.peer(event)
    await #expect(throws: LiquidAuthError.self) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  @Test(arguments: [
    (WebSocketEvent.text("garbage"), LiquidAuthError.malformed("packet")),
    (.closed(.untrusted("expired")), .untrusted("expired")), (.closed(.notText), .binary),
  ])
  func `a faulty server closes everything`(_ event: WebSocketEvent, _ error: LiquidAuthError) async throws {
    let task = try start()
    try await reach(.signalled)
    world.webSocket(event)
    await #expect(throws: error) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  @Test func `messages before the channel is open are limited`() async throws {
    let task = try start()
    try await reach(.connecting)
    for _ in 0..<10_000 { world.peer(.message("x")) }
    await #expect(throws: LiquidAuthError.self) { try await task.value }
    #expect(world.openThings == 0)
  }

  // Holds: SIGNAL-11
  @Test(arguments: [
    (String(repeating: "x", count: 340_001), 1, LiquidAuthError.incomingTooLarge(size: 340_001)), ("x", 257, .unread),
  ])
  func `a channel that closes before it is open ends the signaling`(
    _ text: String, _ count: Int, _ fault: LiquidAuthError
  ) async throws {
    let task = try start()
    try await reach(.connecting)
    for number in 0..<count {
      world.peer(.message(.text(text)))
      // The driver handles these events before more arrive, so the event limit is not reached.
      guard number % 100 == 99 else { continue }
      world.webSocket(.text("2"))
      #expect(await world.call() == .sendText("3"))
    }
    await #expect(throws: LiquidAuthError.peerConnectionFailed(fault.description)) { try await task.value }
    #expect(world.openThings == 0)
  }

  // Holds: SIGNAL-10
  @Test func `too many unhandled events end the signaling`() async throws {
    let (world, origin) = (FloodingWorld(), try WebOrigin("https://dapp.example"))
    await #expect(throws: LiquidAuthError.flooded) {
      try await startSignaling(origin: origin, headers: [], iceServers: [], ports: world.ports) { _ in }
    }
    #expect(world.world.openThings == 0)
  }

  /// Sends a flood of packets before `open` of the web socket returns.
  struct FloodingWorld: WebSocketPort {
    let world = World()

    var ports: SignalingPorts {
      var ports = world.ports
      ports.webSockets = self
      return ports
    }

    func open(
      url: String, headers: [HTTPHeader], maximumMessageSize: Int, deliver: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketConnection {
      deliver(.text(Client.open))
      for _ in 0..<1000 { deliver(.text("6")) }
      return world.open(url: url, headers: headers, maximumMessageSize: maximumMessageSize, deliver: deliver)
    }
  }

  // MARK: Calls

  private func get(_ url: String) -> World.Call {
    .http(HTTPRequest(method: .get, url: url, headers: Self.headers), maximumBodySize: 262_144)
  }

  private func post(_ url: String, _ body: String) -> World.Call {
    let headers = Self.headers + [HTTPHeader("Content-Type", "text/plain;charset=UTF-8")]
    return .http(
      HTTPRequest(method: .post, url: url, headers: headers, body: Array(body.utf8)), maximumBodySize: 262_144)
  }

  private func name(_ call: World.Call?) -> String {
    switch call {
    case .setAnswer: "setAnswer"
    case .http(let request, _): request.method.rawValue
    default: "another"
    }
  }

  /// Waits until the driver has set the alarm of its next try, after it has closed the web socket.
  private func alarmIsSet() async {
    while world.nextAlarm != .milliseconds(250) { await Task.yield() }
  }
}
