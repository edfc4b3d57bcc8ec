import TestVectors
import Testing

@testable import LiquidAuth

/// An open channel over a simulated peer connection.
@Suite(.limited) struct PeerChannelTests {
  let world = World()
  let ends = PeerChannelEnds()

  /// Opens a channel and discards the call that made its peer connection.
  func open(maximumOutgoingSize: Int = 100) async throws -> PeerChannel {
    ends.attach(
      try world.make(iceServers: [], channelLabel: "liquid", bufferedAmountLowThreshold: 1) { ends.receive($0) })
    _ = await world.call()
    return PeerChannel(ends, maximumOutgoingSize: maximumOutgoingSize)
  }

  @Test func `messages are read in order, up to the last one before the close`() async throws {
    let channel = try await open()
    let messages: [PeerMessage] = ["a", "", .binary([0, 0xFF]), "é", .binary([])]
    for message in messages { world.peer(.message(message)) }
    world.peer(.channelClosed)
    world.peer(.message("late"))
    var read: [PeerMessage] = []
    for try await message in channel.messages { read.append(message) }
    #expect(read == messages)
    #expect(world.openThings == 0)
  }

  @Test func `a lost connection is reported after earlier messages`() async throws {
    let channel = try await open()
    world.peer(.message("a"))
    world.peer(.failed("DTLS"))
    var iterator = channel.messages.makeAsyncIterator()
    #expect(try await iterator.next() == "a")
    await #expect(throws: LiquidAuthError.channelLost("DTLS")) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(world.openThings == 0)
  }

  // Holds: SIGNAL-17
  @Test func `the largest ARC-27 frame is accepted; one byte more closes the channel`() async throws {
    let channel = try await open()
    let text = String(repeating: "x", count: ARC27Frame.maximumSize)
    world.peer(.message(.text(text)))
    var iterator = channel.messages.makeAsyncIterator()
    #expect(try await iterator.next() == .text(text))
    world.peer(.message(.binary(Array(text.utf8))))
    #expect(try await iterator.next()?.size == ARC27Frame.maximumSize)
    world.peer(.message(.text(text + "x")))
    await #expect(throws: LiquidAuthError.incomingTooLarge(size: 340_001)) { try await iterator.next() }
    #expect(world.openThings == 0)
  }

  // Holds: SIGNAL-17
  @Test func `the number of unread messages is limited`() async throws {
    let channel = try await open()
    for _ in 0..<PeerChannel.maximumUnreadCount { world.peer(.message("")) }
    #expect(world.openThings == 1)
    world.peer(.message(""))
    #expect(world.openThings == 0)
    var count = 0
    await #expect(throws: LiquidAuthError.unread) { for try await _ in channel.messages { count += 1 } }
    #expect(count == PeerChannel.maximumUnreadCount)
  }

  @Test func `the size of unread messages is limited`() async throws {
    let channel = try await open()
    let message = PeerMessage.text(String(repeating: "x", count: PeerChannel.maximumIncomingSize))
    for _ in 0..<4 { world.peer(.message(message)) }
    #expect(world.openThings == 1)
    world.peer(.message("x"))
    #expect(world.openThings == 0)
    channel.close()
  }

  @Test func `reading messages frees room`() async throws {
    let channel = try await open()
    let message = PeerMessage.text(String(repeating: "x", count: PeerChannel.maximumIncomingSize))
    var iterator = channel.messages.makeAsyncIterator()
    for _ in 0..<20 {
      world.peer(.message(message))
      world.peer(.message(message))
      #expect(try await iterator.next() == message)
      #expect(try await iterator.next() == message)
    }
    for _ in 0..<1000 {
      world.peer(.message(""))
      #expect(try await iterator.next() == "")
    }
    #expect(world.openThings == 1)
  }

  @Test func `a message is sent unchanged`() async throws {
    let channel = try await open(maximumOutgoingSize: 2)
    try await channel.send("é")
    #expect(await world.call() == .sendMessage("é"))
    try await channel.send(.binary([0xFF]))
    #expect(await world.call() == .sendMessage(.binary([0xFF])))
  }

  // Holds: SIGNAL-18
  @Test func `a message above the limit of the dApp is refused, and the channel stays open`()
    async throws
  {
    let channel = try await open(maximumOutgoingSize: 2)
    await #expect(throws: LiquidAuthError.outgoingTooLarge(size: 3, limit: 2)) { try await channel.send("éx") }
    await #expect(throws: LiquidAuthError.outgoingTooLarge(size: 3, limit: 2)) {
      try await channel.send(.binary([1, 2, 3]))
    }
    try await channel.send("ab")
    #expect(await world.call() == .sendMessage("ab"))
  }

  @Test func `sending waits while the buffer is full`() async throws {
    let channel = try await open()
    world.setBufferedAmount(PeerChannel.highWaterMark)
    try await channel.send("a")
    #expect(await world.call() == .sendMessage("a"))
    world.setBufferedAmount(PeerChannel.highWaterMark + 1)
    async let sending: Void = channel.send("b")
    await waiting()
    world.peer(.bufferedAmountLow)  // Still above the mark.
    world.setBufferedAmount(PeerChannel.lowWaterMark)
    world.peer(.bufferedAmountLow)
    try await sending
    #expect(await world.call() == .sendMessage("b"))
  }

  @Test(arguments: [false, true])
  func `a waiting send fails when the channel closes`(_ isLost: Bool) async throws {
    let channel = try await open()
    world.setBufferedAmount(.max)
    let sending = Task { try await channel.send("b") }
    await waiting()
    if isLost { world.peer(.failed("x")) } else { channel.close() }
    let error = isLost ? LiquidAuthError.channelLost("x") : .channelClosed
    await #expect(throws: error) { try await sending.value }
    #expect(await world.call() == .closePeer)
    channel.close()
    await #expect(throws: error) { try await channel.send("c") }
    #expect(error.kind == .channelLost, "the dApp may come back")
  }

  @Test func `a waiting send fails by the dApp's fault for which the channel closes`() async throws {
    let channel = try await open()
    world.setBufferedAmount(.max)
    let sending = Task { try await channel.send("b") }
    await waiting()
    world.peer(.message(.text(String(repeating: "x", count: PeerChannel.maximumIncomingSize + 1))))
    let error = LiquidAuthError.incomingTooLarge(size: 340_001)
    await #expect(throws: error) { try await sending.value }
    #expect(error.kind == .failed, "no other channel is made for this dApp")
  }

  @Test func `a waiting send can be cancelled and leaves the channel open`() async throws {
    let channel = try await open()
    world.setBufferedAmount(.max)
    let sending = Task { try await channel.send("b") }
    await waiting()
    sending.cancel()
    await #expect(throws: LiquidAuthError.cancelled) { try await sending.value }
    world.setBufferedAmount(0)
    try await channel.send("c")
    #expect(await world.call() == .sendMessage("c"))
  }

  @Test func `cancelling a read closes the channel`() async throws {
    let channel = try await open()
    world.peer(.message("a"))
    let reading = Task {
      var count = 0
      for try await _ in channel.messages {
        count += 1
        try await channel.send("read")
      }
      return count
    }
    #expect(await world.call() == .sendMessage("read"))
    reading.cancel()
    #expect(try await reading.value == 1)
    #expect(await world.call() == .closePeer)
  }

  @Test func `a released channel closes`() async throws {
    do { _ = try await open() }
    #expect(await world.call() == .closePeer)
    #expect(world.openThings == 0)
  }

  @Test func `a reader keeps the channel open`() async throws {
    let messages = try await open().messages
    world.peer(.message("a"))
    var iterator = messages.makeAsyncIterator()
    #expect(try await iterator.next() == "a")
    #expect(world.openThings == 1)
  }

  @Test func `a second close has no effect`() async throws {
    let channel = try await open()
    channel.close()
    channel.close()
    world.peer(.channelClosed)
    #expect(await world.call() == .closePeer)
    #expect(world.openThings == 0)
    for try await _ in channel.messages { Issue.record("a message") }
  }

  @Test func `a connection that is attached after the end is closed`() throws {
    ends.close(nil)
    ends.attach(try world.make(iceServers: [], channelLabel: "", bufferedAmountLowThreshold: 1) { ends.receive($0) })
    #expect(world.openThings == 0)
  }

  /// Waits until a sender waits for room: it reads the amount once before it registers, and once after.
  private func waiting() async {
    while world.looksAtBufferedAmount < 2 { await Task.yield() }
  }
}
