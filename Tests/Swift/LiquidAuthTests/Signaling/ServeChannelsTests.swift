import TestVectors
import Testing

@testable import LiquidAuth

/// The driver of a wallet that stays, over ports in memory.
@Suite(.limited) struct ServeChannelsTests {
  private let world = World()
  private let begins: AsyncStream<Void>
  private let began: AsyncStream<Void>.Continuation

  init() { (begins, began) = AsyncStream.makeStream() }

  /// - Parameter wantsMore: whether another channel may follow each.
  private func start(
    wantsMore: Bool = true, isMeant: @escaping @Sendable () async -> Bool = { true }
  ) throws -> Task<SignalingEnding, any Error> {
    let (origin, requestID) = (try WebOrigin("https://dapp.example:8443"), try #require(RequestID("r")))
    let (world, began) = (world, began)
    return Task {
      try await serveChannels(
        origin: origin, path: "/auth", requestID: requestID, headers: StartSignalingTests.headers, pairing: nil,
        iceServers: [], ports: world.ports, progress: { _ in }, isMeant: isMeant,
        serve: { channel in
          began.yield()
          do { for try await _ in channel.messages {} } catch {}
          channel.close()
          return wantsMore
        })
    }
  }

  private static let makePeer = World.Call.makePeer([], label: "liquid", threshold: 262_144)

  /// Waits until the wallet is connected, and reports so many devices.
  private func connect(devices: Int = 2) async throws {
    #expect(await world.call() == Self.makePeer)
    #expect(await world.call() == .createOffer)
    #expect(await world.call() == StartSignalingTests.openWebSocket("wss://dapp.example:8443/auth"))
    world.webSocket(.open)
    world.webSocket(.text(Client.open))
    #expect(await world.call() == .sendText("40"))
    world.webSocket(.text(Client.connected))
    try report(devices)
  }

  private func report(_ devices: Int) throws {
    world.webSocket(.text("4" + SocketIOPacket.text(of: try StayingTests.presence(devices))))
  }

  /// Answers the offer of the last peer connection, and opens its channel.
  private func open() async throws {
    let offer = SocketIOPacket.text(of: try SocketIOEvent("offer-description", Descriptions.offer))
    world.peer(.offer(Descriptions.offer))
    #expect(await world.call() == .sendText("4" + offer))
    let answer = SocketIOPacket.text(of: try SocketIOEvent("answer-description", Descriptions.answer))
    world.webSocket(.text("4" + answer))
    #expect(await world.call() == .setAnswer(Descriptions.answer))
    world.peer(.channelOpen)
    for await _ in begins.prefix(1) {}
  }

  @Test func `a page that is reloaded gets a channel over a new peer connection`() async throws {
    let task = try start()
    try await connect()
    try await open()
    for _ in 1...3 {
      world.peer(.channelClosed)
      #expect(await world.call() == .closePeer)
      try report(2)
      // Three seconds lie between two offers.
      world.advance(by: .seconds(3))
      #expect(await world.call() == Self.makePeer)
      #expect(await world.call() == .createOffer)
      try await open()
      #expect(world.openThings == 2, "the web socket and one peer connection")
    }
    task.cancel()
    await #expect(throws: LiquidAuthError.cancelled) { try await task.value }
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  @Test func `if no further channel is wanted, nothing stays open`() async throws {
    let task = try start(wantsMore: false)
    try await connect()
    try await open()
    world.peer(.channelClosed)
    #expect(try await task.value == .done)
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }

  @Test func `a server that goes away for good ends with the channel`() async throws {
    let task = try start()
    try await connect()
    try await open()
    world.webSocket(.text("41"))
    #expect(await world.call() == .closeWebSocket)
    world.peer(.message("still open"))
    world.peer(.channelClosed)
    #expect(try await task.value == .byServer(.removedByServer))
    #expect(world.openThings == 0)
  }

  @Test func `a question about another session that nobody answers is withdrawn`() async throws {
    let (questions, asked) = AsyncStream.makeStream(of: Void.self)
    let task = try start(isMeant: {
      asked.yield()
      // It ends when its task is cancelled.
      let (never, _) = AsyncStream.makeStream(of: Void.self)
      for await _ in never {}
      return true
    })
    try await connect()
    try await open()
    try report(3)
    world.peer(.channelClosed)
    for await _ in questions.prefix(1) {}
    world.advance(by: .seconds(120))
    #expect(try await task.value == .nobodyReturned)
    #expect(world.openThings == 0)
    #expect(world.alarms == 0)
  }
}
