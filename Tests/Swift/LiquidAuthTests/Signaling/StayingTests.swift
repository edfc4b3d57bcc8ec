import Testing

@testable import LiquidAuth

/// A wallet that stays with the dApp: presence, fresh offers, and the ends.
struct StayingTests {
  /// A wallet that stays, with an open channel; the server has reported so many devices, or nothing.
  static func open(devices: Int? = 2) throws -> Wallet {
    var wallet = Wallet(stayingFor: RequestID("r"))
    _ = wallet.begin()
    _ = wallet.letIn()
    if let devices { _ = wallet.receive(try presence(devices)) }
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    _ = wallet.receive(.channelOpen)
    return wallet
  }

  static func presence(_ devices: Int, for request: String = "r") throws -> SocketIOEvent {
    struct Presence: Encodable { let requestId: String, deviceCount: Int, online: Bool }
    return try SocketIOEvent("presence", Presence(requestId: request, deviceCount: devices, online: devices > 0))
  }

  private static func isOpened(_ actions: [SignalingMachine.Action]) -> Bool {
    actions.contains { if case .opened = $0 { true } else { false } }
  }

  @Test func `with presence, the web socket stays open, and only the server's pings are waited for`() throws {
    var wallet = try Self.open()
    #expect(wallet.machine.deadline == wallet.now + .seconds(45))
    #expect(wallet.receive(.text("2")) == [.transport(.send(id(1), "3"))])
    wallet.wait(.seconds(40))
    #expect(wallet.tick() == [])
  }

  @Test func `without presence, the web socket is closed, and the first channel is the last`() throws {
    var wallet = Wallet(stayingFor: RequestID("r"))
    _ = wallet.begin()
    _ = wallet.letIn()
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(wallet.receive(.channelOpen).first == .transport(.close(id(1))))
    #expect(wallet.machine.deadline == nil)
    #expect(wallet.receive(.channelClosed) == [.ended(.done)])
  }

  @Test func `a page that was reloaded gets a fresh offer, again and again`() throws {
    var wallet = try Self.open()
    for _ in 1...5 {
      wallet.wait(.seconds(10))
      #expect(wallet.receive(try Self.presence(1)) == [])
      let since = wallet.now - .seconds(500)
      #expect(wallet.receive(.channelClosed) == [told(.away, after: since)])
      #expect(wallet.receive(try Self.presence(2)) == [told(.returned, after: since), .createOffer])
      let offered = wallet.receive(.offer(Descriptions.offer))
      #expect(offered.first == (try emitted("offer-description", Descriptions.offer)))
      let answered = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
      #expect(answered.first == .setAnswer(Descriptions.answer))
      #expect(Self.isOpened(wallet.receive(.channelOpen)))
    }
  }

  @Test func `a page that is back before the loss is noticed gets its offer then`() throws {
    var wallet = try Self.open()
    #expect(wallet.receive(try Self.presence(1)) == [])
    #expect(wallet.receive(try Self.presence(2)) == [], "an open channel is left alone")
    #expect(wallet.receive(.failed("silence")) == [told(.away), told(.returned), .createOffer])
  }

  @Test func `a page that closes the channel may leave, which the server notices a moment later`() throws {
    var wallet = try Self.open()
    #expect(wallet.receive(.channelClosed) == [told(.away)])
    #expect(wallet.receive(try Self.presence(1)) == [])
    #expect(wallet.machine.deadline == wallet.now + .seconds(45), "nothing is due for a page that has left")
    wallet.wait(.milliseconds(300))
    #expect(
      wallet.receive(try Self.presence(2)) == [told(.returned, after: .milliseconds(300)), .createOffer],
      "devices that are counted again count at once")
  }

  @Test func `a page that closes the channel and stays gets a fresh offer after a moment`() throws {
    var wallet = try Self.open()
    #expect(wallet.receive(.channelClosed) == [told(.away)])
    #expect(wallet.machine.deadline == wallet.now + .seconds(1))
    wallet.wait(.seconds(1))
    #expect(wallet.tick() == [told(.returned, after: .seconds(1)), .createOffer])
  }

  // Holds: SIGNAL-20
  @Test func `a page that closes one channel after the other gets each offer later`() throws {
    var wallet = try Self.open()
    for seconds in [1, 2, 4, 8, 16, 32] {
      wallet.wait(.seconds(3))
      _ = wallet.receive(.text("2"))
      _ = wallet.receive(.channelClosed)
      #expect(wallet.machine.deadline == wallet.now + .seconds(seconds))
      wallet.wait(.seconds(seconds))
      #expect(wallet.tick().last == .createOffer)
      _ = wallet.receive(.offer(Descriptions.offer))
      _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
      _ = wallet.receive(.channelOpen)
    }
  }

  // Holds: SIGNAL-20
  @Test(arguments: [true, false])
  func `a connection that fails at once at each return gives no further time, and a closed channel does`(
    fails: Bool
  ) throws {
    let event: PeerEvent = fails ? .failed("the dApp opened a channel of its own: another") : .channelClosed
    var wallet = try Self.open()
    wallet.wait(.seconds(40))
    _ = wallet.receive(.failed("silence"))
    for _ in 1...39 {
      _ = wallet.receive(.text("2"))
      _ = wallet.receive(try Self.presence(1))
      wallet.wait(.seconds(3))
      #expect(wallet.receive(try Self.presence(2)).last == .createOffer)
      _ = wallet.receive(.offer(Descriptions.offer))
      _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
      #expect(Self.isOpened(wallet.receive(.channelOpen)))
      _ = wallet.receive(event)
    }
    // Two minutes after the channel that was used.
    wallet.wait(.seconds(3))
    let last: SignalingMachine.Action = fails ? .ended(.nobodyReturned) : .createOffer
    #expect(wallet.tick().last == last)
  }

  // Holds: SIGNAL-20
  @Test func `a connection that fails at once after the time to come back is the end`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(1))
    _ = wallet.receive(.failed("the dApp opened a channel of its own: another"))
    for _ in 1...4 {
      wallet.wait(.seconds(29))
      _ = wallet.receive(.text("2"))
    }
    wallet.wait(.seconds(2))
    #expect(wallet.receive(try Self.presence(2)).last == .createOffer)
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(Self.isOpened(wallet.receive(.channelOpen)))
    wallet.wait(.seconds(3))
    #expect(
      wallet.receive(.failed("the dApp opened a channel of its own: another"))
        == [.transport(.close(id(1))), .ended(.nobodyReturned)])
  }

  // Holds: SIGNAL-20
  @Test func `presence of other requests does not count`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(1))
    _ = wallet.receive(.channelClosed)
    #expect(wallet.receive(try Self.presence(2, for: "other")) == [])
    #expect(wallet.receive(try Self.presence(-1)) == [])
    #expect(wallet.receive(try SocketIOEvent("presence", "no object")) == [])
  }

  // Holds: SIGNAL-20
  @Test func `the user is asked if there are more devices than before`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(3))
    #expect(wallet.receive(.channelClosed) == [told(.away), told(.otherSession(devices: 3)), .ask])
    #expect(wallet.receive(try Self.presence(3)) == [], "one question at a time")
    wallet.wait(.seconds(3))
    #expect(
      wallet.machine.answer(isMeant: true, at: wallet.now) == [told(.returned, after: .seconds(3)), .createOffer])
  }

  // Holds: SIGNAL-20
  @Test func `a late end of the old peer connection neither asks again nor withdraws the question`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(3))
    _ = wallet.receive(.channelClosed)
    #expect(wallet.receive(.failed("late")) == [])
    wallet.wait(.seconds(3))
    #expect(wallet.tick() == [])
    #expect(wallet.machine.answer(isMeant: true, at: wallet.now).last == .createOffer)
  }

  @Test func `a refused session ends the connection`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(3))
    _ = wallet.receive(.channelClosed)
    #expect(
      wallet.machine.answer(isMeant: false, at: wallet.now) == [.transport(.close(id(1))), .ended(.refused)])
    #expect(wallet.machine.answer(isMeant: true, at: wallet.now) == [])
  }

  // Holds: SIGNAL-20
  @Test func `a yes is for as many devices as the question named`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(3))
    _ = wallet.receive(.channelClosed)
    _ = wallet.receive(try Self.presence(4))
    wallet.wait(.seconds(3))
    #expect(
      wallet.machine.answer(isMeant: true, at: wallet.now) == [
        told(.otherSession(devices: 4), after: .seconds(3)), .ask,
      ])
  }

  // Holds: SIGNAL-20
  @Test func `the user is asked if another device has joined and one has left, once`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(3))
    _ = wallet.receive(try Self.presence(2))
    #expect(wallet.receive(.channelClosed) == [told(.away), told(.otherSession(devices: 3)), .ask])
    wallet.wait(.seconds(3))
    #expect(wallet.machine.answer(isMeant: true, at: wallet.now).last == .createOffer)
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    _ = wallet.receive(.channelOpen)
    wallet.wait(.seconds(3))
    _ = wallet.receive(try Self.presence(2))
    #expect(wallet.receive(.channelClosed).last == .createOffer)
  }

  // Holds: SIGNAL-20
  @Test func `the user is asked if a device has come and gone before the next offer`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(2))
    _ = wallet.receive(.channelClosed)
    _ = wallet.receive(.failed("no path"))
    for devices in [3, 2] { #expect(wallet.receive(try Self.presence(devices)) == []) }
    wallet.wait(.seconds(3))
    #expect(wallet.tick() == [told(.otherSession(devices: 3), after: .seconds(3)), .ask])
  }

  @Test func `devices that were there at the first channel need no question`() throws {
    var wallet = try Self.open(devices: 3)
    _ = wallet.receive(try Self.presence(2))
    _ = wallet.receive(try Self.presence(3))
    #expect(wallet.receive(.channelClosed) == [told(.away), told(.returned), .createOffer])
  }

  @Test func `nobody who comes back in time is an end`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(1))
    _ = wallet.receive(.channelClosed)
    for _ in 1...4 {
      wallet.wait(.seconds(29))
      _ = wallet.receive(.text("2"))
    }
    wallet.wait(.seconds(4))
    #expect(wallet.tick() == [.transport(.close(id(1))), .ended(.nobodyReturned)])
  }

  // Holds: SIGNAL-20
  @Test func `a page that leaves again before the channel is open is waited for again`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(2))
    _ = wallet.receive(.channelClosed)
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(wallet.receive(try Self.presence(1)) == [])
    #expect(wallet.receive(try Self.presence(2)) == [], "three seconds lie between two offers")
    wallet.wait(.seconds(3))
    #expect(wallet.tick() == [told(.returned, after: .seconds(3)), .createOffer])
  }

  @Test func `a page that leaves the server as soon as it has the channel keeps it`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(2))
    _ = wallet.receive(.channelClosed)
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(wallet.receive(try Self.presence(1)) == [])
    #expect(Self.isOpened(wallet.receive(.channelOpen)))
    #expect(wallet.receive(.channelClosed) == [told(.away)])
    #expect(wallet.receive(try Self.presence(2)) == [], "three seconds lie between two offers")
    wallet.wait(.seconds(3))
    #expect(wallet.tick().last == .createOffer)
  }

  /// Whether the page was reloaded meanwhile is not known, and the same page takes no second offer.
  @Test(arguments: [true, false])
  func `a server that is lost while a channel is about to open takes nothing away from it`(opens: Bool) throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(2))
    _ = wallet.receive(.channelClosed)
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    _ = wallet.receive(.closed(nil))
    _ = wallet.tickAtDeadline()
    wallet.connection += 1
    _ = wallet.letIn()
    #expect(wallet.receive(try Self.presence(2)) == [])
    if opens {
      #expect(Self.isOpened(wallet.receive(.channelOpen)))
    } else {
      #expect(wallet.receive(.failed("no path")) == [])
      wallet.wait(.seconds(3))
      #expect(wallet.tick().last == .createOffer)
    }
  }

  @Test func `a path that is not found is tried again, and not at once`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(2))
    _ = wallet.receive(.channelClosed)
    wallet.wait(.seconds(10))
    #expect(wallet.receive(.failed("no path")) == [])
    wallet.wait(.seconds(3))
    #expect(wallet.tick() == [told(.returned, after: .seconds(13)), .createOffer])
  }

  @Test func `the server's restart leaves the channel open, and presence counts anew`() throws {
    var wallet = try Self.open()
    let lost = wallet.receive(.closed(nil))
    #expect(lost.contains(told(.reconnecting(.closed, delay: .milliseconds(250)))))
    _ = wallet.tickAtDeadline()
    wallet.connection += 1
    #expect(wallet.letIn() == [], "nothing is sent again")
    let closed = wallet.receive(.channelClosed)
    #expect(closed.count == 1, "the old number of devices does not count")
    let back = wallet.receive(try Self.presence(2))
    #expect(back.last == .createOffer)
  }

  // Holds: SIGNAL-20
  @Test func `a removed wallet keeps its channel, and does not connect again`() throws {
    var wallet = try Self.open()
    #expect(
      wallet.receive(.text("41")) == [.transport(.close(id(1))), told(.serverLeft(.removedByServer))])
    #expect(wallet.machine.deadline == nil)
    #expect(wallet.receive(.channelClosed) == [.ended(.byServer(.removedByServer))])
  }

  @Test func `a server that refuses while the dApp is away is the end`() throws {
    var wallet = try Self.open()
    _ = wallet.receive(try Self.presence(1))
    _ = wallet.receive(.channelClosed)
    let error = LiquidAuthError.connectionDenied("no")
    #expect(
      wallet.receive(.text(#"44{"message":"no"}"#)) == [.transport(.close(id(1))), .ended(.byServer(error))])
  }
}
