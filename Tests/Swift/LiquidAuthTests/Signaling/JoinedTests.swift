import Testing

@testable import LiquidAuth

/// The signaling machine of the wallet, a gateway and a dApp, connected in memory.
struct JoinedTests {
  // Holds: PEERSIGNAL-1
  @Test(arguments: [Joined.Transport.webSocket, .polling(packetsPerBody: 1), .polling(packetsPerBody: .max)])
  func `wallet and dApp open a channel over each transport`(_ transport: Joined.Transport) {
    var joined = Joined(over: transport)
    joined.dAppListens = true
    joined.begin()
    #expect(joined.opened == 262_144)
    #expect(joined.stages == [.linking, .signalled, .connecting, .open])
    #expect(joined.offersHeard == [Descriptions.offer])
    #expect(joined.candidatesAdded == [Descriptions.candidate(11), Descriptions.candidate(12)])
    #expect(Set(joined.candidatesHeard) == [Descriptions.candidate(1), Descriptions.candidate(2)])
  }

  // Holds: SIGNAL-5
  @Test(arguments: [Joined.Transport.webSocket, .polling(packetsPerBody: 1), .polling(packetsPerBody: .max)])
  func `an offer that was lost before the dApp listened is sent again`(_ transport: Joined.Transport) {
    var joined = Joined(over: transport)
    joined.begin()
    joined.letPass(.seconds(10))
    #expect(joined.opened == nil)
    #expect(joined.stages == [.linking, .signalled])
    #expect(joined.offersSent == 4)
    joined.dAppListens = true
    joined.letPass(.seconds(3))
    #expect(joined.opened == 262_144)
    #expect(joined.offersHeard == [Descriptions.offer])
    #expect(Set(joined.candidatesHeard) == [Descriptions.candidate(1), Descriptions.candidate(2)])
  }

  // Holds: SIGNAL-5
  @Test(arguments: [Joined.Transport.webSocket, .polling(packetsPerBody: 1), .polling(packetsPerBody: .max)])
  func `the wallet reconnects to a server that restarts`(_ transport: Joined.Transport) {
    var joined = Joined(over: transport)
    joined.begin()
    joined.letPass(.seconds(4))
    joined.restartServer()
    #expect(joined.opened == nil)
    joined.dAppListens = true
    joined.letPass(.seconds(3))
    #expect(joined.opened == 262_144)
  }

  // Holds: PEERSIGNAL-5
  @Test func `answers after the first are ignored`() {
    var joined = Joined(over: .webSocket)
    joined.dAppListens = true
    joined.answersPerOffer = 3
    joined.begin()
    #expect(joined.opened == 262_144)
    #expect(joined.answersSet == [Descriptions.answer])
  }

  // Holds: PEERSIGNAL-4
  @Test func `a missing dApp times out after two minutes`() {
    var joined = Joined(over: .webSocket)
    joined.begin()
    joined.letPass(.seconds(200))
    #expect(joined.failure == .channelTimedOut(.signalled))
    #expect(joined.offersSent == 40)
    #expect(joined.isConnected == false)
  }

  @Test func `a dApp without working candidates times out after two minutes`() {
    var joined = Joined(over: .webSocket)
    joined.dAppListens = true
    joined.pathExists = false
    joined.begin()
    joined.letPass(.seconds(200))
    #expect(joined.failure == .channelTimedOut(.connecting))
  }
}

/// The simulated network, and the results.
struct Joined {
  enum Transport: Equatable, Sendable {
    case webSocket
    /// Web sockets are refused; one body has up to this number of packets.
    case polling(packetsPerBody: Int)
  }

  private enum Pending {
    case server(SocketIOMachine.Input)
    case peer(PeerEvent)
  }

  var dAppListens = false
  var answersPerOffer = 1
  var pathExists = true
  private(set) var isConnected = false
  private(set) var offersSent = 0
  private(set) var offersHeard: [String] = []
  private(set) var candidatesHeard: [ICECandidate] = []
  private(set) var answersSet: [String] = []
  private(set) var candidatesAdded: [ICECandidate] = []
  private(set) var stages: [SignalingStage] = []
  private(set) var opened: Int?
  private(set) var failure: LiquidAuthError?

  private let transport: Transport
  private var wallet = Wallet()
  private var pending: [Pending] = []
  /// The server's packets for the wallet, and the poll that waits for them.
  private var outbox: [String] = []
  private var poll: SocketIOMachine.ConnectionID?
  private var connection = id(0)
  private var hasSession = false

  init(over transport: Transport) { self.transport = transport }

  mutating func begin() {
    settle(wallet.begin())
    if transport != .webSocket { letPass(.milliseconds(250)) }
  }

  /// Moves time from deadline to deadline; the server pings every 20 seconds.
  mutating func letPass(_ duration: Duration) {
    let end = wallet.now + duration
    var ping = wallet.now + .seconds(20)
    while let deadline = wallet.machine.deadline, min(deadline, ping) <= end {
      wallet.now = min(deadline, ping)
      if ping <= wallet.now {
        ping += .seconds(20)
        outbox += hasSession ? ["2"] : []
      }
      settle(wallet.tick())
    }
    wallet.now = end
  }

  /// Drops all sessions; the new server accepts connections at once.
  mutating func restartServer() {
    (outbox, poll, hasSession) = ([], nil, false)
    switch transport {
    case .webSocket: pending.append(.server(.init(connection: connection, event: .webSocket(.closed(nil)))))
    case .polling:
      pending.append(
        .server(.init(connection: connection, event: .polled(.success(HTTPResponse(status: 400))))))
    }
    settle([])
  }

  // MARK: The network

  private mutating func settle(_ actions: [SignalingMachine.Action]) {
    perform(actions)
    deliver()
    while !pending.isEmpty {
      switch pending.removeFirst() {
      case .server(let input): perform(wallet.machine.receive(.server(input), at: wallet.now))
      case .peer(let event): perform(wallet.receive(event))
      }
      deliver()
    }
  }

  private mutating func perform(_ actions: [SignalingMachine.Action]) {
    for action in actions {
      switch action {
      case .transport(let exchange): perform(exchange)
      case .createOffer:
        pending += [
          .peer(.candidate(Descriptions.candidate(1))), .peer(.offer(Descriptions.offer)),
          .peer(.candidate(Descriptions.candidate(2))),
        ]
      case .setAnswer(let text): answersSet.append(text)
      case .addCandidate(let candidate):
        candidatesAdded.append(candidate)
        if candidatesAdded.count == 2, pathExists { pending.append(.peer(.channelOpen)) }
      case .progress(let told): if case .stage(let stage) = told.event { stages.append(stage) }
      case .opened(let size): opened = size
      case .failed(let error): failure = error
      case .ask, .ended: Issue.record("this wallet does not stay")
      }
    }
  }

  private mutating func perform(_ exchange: SocketIOMachine.Exchange) {
    switch exchange {
    case .openWebSocket(let id, _) where transport == .webSocket:
      (connection, isConnected, hasSession) = (id, true, true)
      pending.append(.server(.init(connection: id, event: .webSocket(.open))))
      outbox.append(Client.open)
    case .openWebSocket(let id, _):
      pending.append(.server(.init(connection: id, event: .webSocket(.closed(.refused(status: 400))))))
    case .poll(let id, let target):
      if target == Client.pollingTarget {
        (connection, isConnected, hasSession) = (id, true, true)
        outbox.append(Client.open)
      }
      poll = id
    case .send(_, let text): relay(text)
    case .post(let id, _, let body):
      for text in body.split(separator: "\u{1e}") { relay(String(text)) }
      pending.append(.server(.init(connection: id, event: .posted(.success(HTTPResponse(status: 200))))))
    case .close: isConnected = false
    }
  }

  /// Delivers the server's packets as messages, or as the body of the waiting poll.
  private mutating func deliver() {
    switch transport {
    case .webSocket:
      for text in outbox { pending.append(.server(.init(connection: connection, event: .webSocket(.text(text))))) }
      outbox = []
    case .polling(let count):
      guard let waiting = poll, !outbox.isEmpty else { return }
      let body = outbox.prefix(count).joined(separator: "\u{1e}")
      outbox.removeFirst(min(count, outbox.count))
      poll = nil
      let response = HTTPResponse(status: 200, body: Array(body.utf8))
      pending.append(.server(.init(connection: waiting, event: .polled(.success(response)))))
    }
  }

  // MARK: The gateway and the dApp

  /// Relays a signal to all in the room: the wallet itself, and the dApp if it listens.
  private mutating func relay(_ text: String) {
    if text == "40" { outbox.append(Client.connected) }
    guard text.hasPrefix("42"), let event = try? SocketIOEvent(array: String(text.dropFirst(2))) else { return }
    outbox.append(text)
    if event.name == "offer-description" { offersSent += 1 }
    if dAppListens { hear(event) }
  }

  private mutating func hear(_ event: SocketIOEvent) {
    switch event.name {
    case "offer-candidate":
      let candidate = try? event.argument(CandidatePayload.self).candidate(sections: 1)
      candidate.map { candidatesHeard.append($0) }
    case "offer-description" where offersHeard.isEmpty:
      (try? event.argument(String.self)).map { offersHeard.append($0) }
      for _ in 0..<answersPerOffer { say("answer-description", Descriptions.answer) }
      for number in [11, 12] { say("answer-candidate", CandidatePayload(Descriptions.candidate(number))) }
    default: break
    }
  }

  private mutating func say(_ name: String, _ argument: some Encodable) {
    guard let event = try? SocketIOEvent(name, argument) else { return }
    outbox.append("4" + SocketIOPacket.text(of: event))
  }
}
