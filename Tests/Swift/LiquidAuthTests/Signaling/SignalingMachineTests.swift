import Testing

@testable import LiquidAuth

/// The messages of the wallet, one by one.
struct SignalingMachineTests {
  // Holds: PEERSIGNAL-2
  @Test func `the offer is created while connecting, and sent when offer and server are ready`() throws {
    var wallet = Wallet()
    #expect(
      wallet.begin() == [
        told(.stage(.linking)), .createOffer, .transport(.openWebSocket(id(1), target: Client.webSocketTarget)),
      ])
    #expect(wallet.begin() == [])
    #expect(wallet.receive(.offer(Descriptions.offer)) == [])
    wallet.wait(.seconds(2))
    #expect(
      wallet.letIn() == [
        try emitted("offer-description", Descriptions.offer), told(.stage(.signalled), after: .seconds(2)),
      ])
  }

  // Holds: PEERSIGNAL-1
  @Test func `the offer is sent as an unchanged string`() throws {
    var wallet = Wallet.linked()
    let actions = wallet.receive(.offer("v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"))
    let text = #"42["offer-description","v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"]"#
    #expect(actions.first == .transport(.send(id(1), text)))
  }

  @Test func `candidates are sent as they are gathered, and earlier ones after the offer`() throws {
    var wallet = Wallet.linked()
    #expect(wallet.receive(.candidate(Descriptions.candidate(1))) == [])
    let actions = wallet.receive(.offer(Descriptions.offer))
    #expect(actions.suffix(1) == (try emittedCandidates([1]))[...])
    #expect(wallet.receive(.candidate(Descriptions.candidate(2))) == (try emittedCandidates([2])))
    let text =
      #"42["offer-candidate",{"candidate":"candidate:2 1 udp 2113937151 127.0.0.1 50002 typ host","sdpMLineIndex":0,"#
      + #""sdpMid":"0"}]"#
    #expect(try emittedCandidates([2]) == [.transport(.send(id(1), text))])
  }

  // Holds: PEERSIGNAL-4
  @Test func `the offer is repeated every three seconds until the answer`() throws {
    var wallet = Wallet.signalled()
    for _ in 1...4 {
      wallet.wait(.milliseconds(2999))
      #expect(wallet.tick() == [])
      wallet.wait(.milliseconds(1))
      #expect(wallet.tick() == [try emitted("offer-description", Descriptions.offer)])
    }
    _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    wallet.wait(.seconds(30))
    #expect(wallet.tick() == [])
  }

  // Holds: PEERSIGNAL-4
  @Test func `after the answer, queued candidates are added and own candidates are sent again`() throws {
    var wallet = Wallet.signalled()
    _ = wallet.receive(.candidate(Descriptions.candidate(1)))
    _ = wallet.receive(.candidate(Descriptions.candidate(2)))
    #expect(wallet.receive(try candidate(7)) == [])
    #expect(wallet.receive(try candidate(8, in: "candidate")) == [])
    wallet.wait(.seconds(1))
    #expect(
      wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer)) == [
        .setAnswer(Descriptions.answer), .addCandidate(Descriptions.candidate(7)),
        .addCandidate(Descriptions.candidate(8)), told(.stage(.connecting), after: .seconds(1)),
      ] + (try emittedCandidates([1, 2])))
    #expect(wallet.receive(try candidate(9)) == [.addCandidate(Descriptions.candidate(9))])
    #expect(wallet.receive(.candidate(Descriptions.candidate(3))) == (try emittedCandidates([3])))
  }

  @Test func `an answer may be an object`() throws {
    for payload in [["sdp": Descriptions.answer, "type": "answer"], ["sdp": Descriptions.answer]] {
      var wallet = Wallet.signalled()
      let actions = wallet.receive(try SocketIOEvent("answer-description", payload))
      #expect(actions.first == .setAnswer(Descriptions.answer))
    }
  }

  @Test func `an open channel closes the web socket and reports the dApp's message limit`() throws {
    var wallet = try Wallet.connecting()
    wallet.wait(.milliseconds(300))
    #expect(
      wallet.receive(.channelOpen) == [
        .transport(.close(id(1))), told(.stage(.open), after: .milliseconds(300)),
        .opened(maximumMessageSize: 262_144),
      ])
    #expect(wallet.machine.deadline == nil)
    #expect(wallet.receive(.failed("late")) == [])
    #expect(wallet.receive(try candidate(1)) == [])
    #expect(wallet.receive(.closed(nil)) == [])
    #expect(wallet.tick() == [])
  }

  // MARK: Ignored messages

  // Holds: SIGNAL-4, PEERSIGNAL-3
  @Test func `incoming offers are ignored`() throws {
    var wallet = Wallet.signalled()
    for _ in 0..<1000 {
      #expect(wallet.receive(try SocketIOEvent("offer-description", Descriptions.offer)) == [])
      #expect(wallet.receive(try candidate(1, in: "offer-candidate")) == [])
    }
    #expect(wallet.receive(try SocketIOEvent("link-response", "x")) == [])
    #expect(wallet.receive(try SocketIOEvent("", "x")) == [])
    let answer = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(answer.filter { if case .addCandidate = $0 { true } else { false } } == [])
  }

  // Holds: SIGNAL-6, PEERSIGNAL-5
  @Test func `the first answer is used; later ones are counted`() throws {
    var wallet = try Wallet.connecting()
    let second = try SocketIOEvent("answer-description", Descriptions.description(setup: "passive"))
    var counts: [Int] = []
    for _ in 1...100 {
      for action in wallet.receive(second) {
        guard case .progress(let told) = action, case .ignoredAnswers(let count) = told.event else {
          Issue.record("\(action)")
          continue
        }
        counts.append(count)
      }
    }
    #expect(counts == [1, 2, 4, 8, 16, 32, 64])
    #expect(wallet.receive(.channelOpen).last == .opened(maximumMessageSize: 262_144))
  }

  // Holds: SIGNAL-6
  @Test func `an answer before the offer is counted and not used`() throws {
    var wallet = Wallet.linked()
    let answer = try SocketIOEvent("answer-description", Descriptions.answer)
    #expect(wallet.receive(answer) == [told(.ignoredAnswers(1))])
    _ = wallet.receive(.offer(Descriptions.offer))
    #expect(wallet.receive(answer).first == .setAnswer(Descriptions.answer))
  }

  // Holds: SIGNAL-9
  @Test func `64 candidates of the dApp are used; the others are counted`() throws {
    var wallet = Wallet.signalled()
    for number in 1...40 { #expect(wallet.receive(try candidate(number)) == []) }
    let answer = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(answer.count { if case .addCandidate = $0 { true } else { false } } == 40)
    var (added, counts) = (40, [Int]())
    for number in 41...1000 {
      for action in wallet.receive(try candidate(number)) {
        switch action {
        case .addCandidate: added += 1
        case .progress(let told):
          if case .refusedCandidates(let count) = told.event { counts.append(count) }
        default: Issue.record("\(action)")
        }
      }
    }
    #expect(added == 64)
    #expect(counts == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
  }

  // Holds: DAPPSERVER-16
  @Test func `unusable TURN servers are reported without ending the attempt`() throws {
    var wallet = try Wallet.connecting()
    #expect(wallet.receive(.noRelay) == [told(.noRelay)])
    #expect(wallet.receive(.channelOpen).contains(.opened(maximumMessageSize: 262_144)))
  }

  @Test func `at most 64 own candidates are sent`() throws {
    var wallet = Wallet.signalled()
    var sent = 0
    for number in 1...1000 { sent += wallet.receive(.candidate(Descriptions.candidate(number))).count }
    #expect(sent == 64)
  }

  // Holds: SIGNAL-9
  @Test(arguments: [
    #""candidate:1""#, "1", "null", "[]", #"{"candidate":7}"#, #"{"candidate":"host"}"#, #"{"candidate":"candidate"}"#,
    #"{"candidate":" candidate:1"}"#, #"{"candidate":"candidate:1\r\na=x"}"#, #"{"candidate":"candidate:é"}"#,
    #"{"candidate":"candidate:1","sdpMLineIndex":1}"#, #"{"candidate":"candidate:1","sdpMLineIndex":-1}"#,
    #"{"candidate":"candidate:1","sdpMLineIndex":1e300}"#, #"{"candidate":"candidate:1","sdpMLineIndex":0.5}"#,
    #"{"candidate":"candidate:1","sdpMLineIndex":"0"}"#, #"{"candidate":"candidate:1","sdpMid":7}"#,
    #"{"candidate":"candidate:1","sdpMid":"\u0000"}"#,
    #"{"candidate":"candidate:\#(String(repeating: "x", count: 1015))"}"#,
    #"{"candidate":"candidate:1","sdpMid":"\#(String(repeating: "x", count: 1025))"}"#,
  ])
  func `an invalid candidate is refused and the next one is used`(_ payload: String) throws {
    var wallet = try Wallet.connecting()
    let event = try SocketIOEvent(array: "[\"answer-candidate\",\(payload)]")
    #expect(wallet.receive(event) == [told(.refusedCandidates(1))])
    #expect(wallet.receive(try candidate(1)) == [.addCandidate(Descriptions.candidate(1))])
  }

  @Test(arguments: [
    (#"{"candidate":"candidate:1","sdpMid":"0","sdpMLineIndex":0,"usernameFragment":"u"}"#, "0" as String?),
    (#"{"candidate":"a=candidate:1","sdpMid":null,"sdpMLineIndex":null}"#, nil),
    (#"{"candidate":"candidate:1"}"#, nil), (#"{"candidate":"candidate:1","sdpMid":""}"#, nil),
  ])
  func `a candidate is accepted in each form that browsers write`(_ payload: String, _ tag: String?) throws {
    var wallet = try Wallet.connecting()
    let candidate = ICECandidate(candidate: "candidate:1", sdpMid: tag, sdpMLineIndex: 0)
    #expect(
      wallet.receive(try SocketIOEvent(array: "[\"answer-candidate\",\(payload)]")) == [.addCandidate(candidate)])
  }

  @Test(arguments: [#"{"candidate":""}"#, #"{"candidate":null}"#, "{}"])
  func `the end of the candidates is ignored`(_ payload: String) throws {
    var wallet = try Wallet.connecting()
    #expect(wallet.receive(try SocketIOEvent(array: "[\"answer-candidate\",\(payload)]")) == [])
  }

  // MARK: Refusals

  // Holds: SIGNAL-7
  @Test(arguments: [
    (#""""#, LiquidAuthError.malformedAnswer), ("1", .malformedAnswer), ("null", .malformedAnswer),
    ("[]", .malformedAnswer),
    ("{}", .malformedAnswer),
    (#"{"sdp":1}"#, .malformedAnswer), (#"{"sdp":"v=0","type":1}"#, .malformedAnswer),
    (#"{"sdp":"v=0","type":"offer"}"#, .noAnswer),
    (#"{"sdp":"v=0","type":"pranswer"}"#, .noAnswer), (#""v=0""#, .noDataChannel),
    (#""v=0\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel""#, .noFingerprint),
    (#""\#(String(repeating: "x", count: 32_769))""#, .longAnswer),
  ])
  func `an unusable answer is counted, and the next usable one is used`(
    _ payload: String, _ error: LiquidAuthError
  ) throws {
    var wallet = Wallet.signalled()
    let unusable = try SocketIOEvent(array: "[\"answer-description\",\(payload)]")
    #expect(wallet.receive(unusable) == [told(.ignoredAnswers(1))])
    var patient = wallet
    #expect(
      wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer)).first
        == .setAnswer(Descriptions.answer))
    patient.wait(.seconds(120))
    #expect(patient.tick() == ended(error), "where none follows, it is what went wrong")
    #expect(patient.machine.deadline == nil)
  }

  @Test func `an answer without a payload is counted`() throws {
    var wallet = Wallet.signalled()
    #expect(wallet.receive(try SocketIOEvent(array: #"["answer-description"]"#)) == [told(.ignoredAnswers(1))])
  }

  // Holds: SIGNAL-7
  @Test func `an answer with another number of sections is counted and not used`() throws {
    var wallet = Wallet.signalled()
    let text = Descriptions.answer + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
    #expect(wallet.receive(try SocketIOEvent("answer-description", text)) == [told(.ignoredAnswers(1))])
    wallet.wait(.seconds(120))
    #expect(wallet.tick() == ended(.otherSections))
  }

  // Holds: SIGNAL-16
  @Test(arguments: [PeerEvent.failed("ICE failed"), .channelClosed])
  func `a failed peer connection ends the signaling with a remedy`(_ event: PeerEvent) throws {
    let reason = event == .channelClosed ? "it was closed" : "ICE failed"
    for var wallet in [Wallet.linked(), .signalled(), try .connecting()] {
      #expect(wallet.receive(event) == ended(.peerConnectionFailed(reason)))
      #expect(LiquidAuthError.peerConnectionFailed(reason).description.contains("TURN server"))
    }
  }

  @Test func `late events of the peer connection are ignored`() throws {
    var wallet = Wallet.signalled()
    #expect(wallet.receive(.channelOpen) == [])
    #expect(wallet.receive(.offer("v=0")) == [])
    #expect(wallet.receive(.message("x")) == [])
    #expect(wallet.receive(.bufferedAmountLow) == [])
    #expect(wallet.tickAtDeadline() == [try emitted("offer-description", Descriptions.offer)])
  }

  // MARK: Time and lost connections

  // Holds: SIGNAL-16
  @Test func `the timeout error names the stage`() throws {
    for (wallet, stage) in [
      (Wallet.linked(), SignalingStage.linking), (.signalled(), .signalled), (try .connecting(), .connecting),
    ] {
      var (wallet, pings) = (wallet, 0)
      while pings < 5 {
        wallet.wait(.milliseconds(23_999))
        pings += 1
        _ = wallet.receive(.text("2"))
      }
      wallet.wait(.milliseconds(4))
      #expect(wallet.tick().last != .failed(.channelTimedOut(stage)))
      wallet.wait(.milliseconds(1))
      #expect(wallet.machine.deadline == wallet.now)
      #expect(wallet.tick() == ended(.channelTimedOut(stage)))
      #expect(wallet.tick() == [])
    }
  }

  // Holds: SIGNAL-13
  @Test func `a missing answer is reported after 15 seconds, then at each doubling`() throws {
    var (wallet, told) = (Wallet.linked(), [SignalingProgress]())
    wallet.wait(.seconds(10))
    _ = wallet.receive(.offer(Descriptions.offer))
    while wallet.machine.deadline != nil {
      for case .progress(let progress) in wallet.tickAtDeadline() { told.append(progress) }
      if wallet.now.components.seconds.isMultiple(of: 5) { _ = wallet.receive(.text("2")) }
    }
    #expect(
      told
        == [15, 30, 60].map {
          SignalingProgress(event: .waiting(.seconds($0)), elapsed: .seconds(10 + $0))
        })
  }

  // Holds: SIGNAL-12
  @Test func `a failed connection after another wallet's answer names that wallet, not TURN`() throws {
    let other = Descriptions.offer + "a=ice-ufrag:other\r\n"
    for reason in ["nothing reaches the peer", nil] {
      var wallet = Wallet.signalled()
      #expect(wallet.receive(try SocketIOEvent("offer-description", other)) == [])
      _ = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
      if let reason {
        #expect(wallet.receive(.failed(reason)) == ended(.otherWallet(reason)))
      } else {
        wallet.wait(.seconds(120))
        #expect(wallet.tick() == ended(.otherWallet("no path was found in time")))
      }
    }
    #expect(!LiquidAuthError.otherWallet("x").description.contains("TURN"))
    // Without an answer, or without another wallet's offer as a text, the error names no other wallet.
    var waiting = Wallet.signalled()
    _ = waiting.receive(try SocketIOEvent("offer-description", other))
    #expect(waiting.receive(.failed("x")) == ended(.peerConnectionFailed("x")))
    var alone = Wallet.signalled()
    _ = alone.receive(try SocketIOEvent("offer-description", Descriptions.offer))
    _ = alone.receive(try SocketIOEvent("offer-description", ["sdp": other]))
    _ = alone.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(alone.receive(.failed("x")) == ended(.peerConnectionFailed("x")))
  }

  @Test func `an event after the deadline ends the signaling with the timeout error`() throws {
    var wallet = try Wallet.connecting()
    wallet.wait(.seconds(120))
    #expect(wallet.receive(.channelOpen) == ended(.channelTimedOut(.connecting)))
  }

  // Holds: PEERSIGNAL-6
  @Test func `a lost connection is reported and the offer is sent again at once`() throws {
    var wallet = Wallet.signalled()
    _ = wallet.receive(.candidate(Descriptions.candidate(1)))
    wallet.wait(.seconds(2))
    #expect(
      wallet.receive(.closed(nil)) == [
        .transport(.close(id(1))), told(.reconnecting(.closed, delay: .milliseconds(250)), after: .seconds(2)),
      ])
    #expect(wallet.receive(.candidate(Descriptions.candidate(2))) == [])
    #expect(wallet.tickAtDeadline() == [.transport(.openWebSocket(id(2), target: Client.webSocketTarget))])
    wallet.wait(.seconds(5))
    #expect(wallet.tick() == [])
    wallet.connection = 2
    #expect(wallet.letIn() == [try emitted("offer-description", Descriptions.offer, on: 2)])
    let answer = wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer))
    #expect(answer.suffix(2) == (try emittedCandidates([1, 2], on: 2))[...])
  }

  // Holds: PEERSIGNAL-6
  @Test func `a reconnect after the answer sends the candidates again, but no offer`() throws {
    var wallet = try Wallet.connecting()
    _ = wallet.receive(.candidate(Descriptions.candidate(1)))
    #expect(wallet.reconnect() == (try emittedCandidates([1], on: 2)))
    #expect(wallet.receive(try candidate(5)) == [.addCandidate(Descriptions.candidate(5))])
    #expect(wallet.receive(.channelOpen).last == .opened(maximumMessageSize: 262_144))
  }

  @Test func `an answer over the old connection is ignored`() throws {
    var wallet = Wallet.signalled()
    _ = wallet.reconnect()
    wallet.connection = 1
    #expect(wallet.receive(try SocketIOEvent("answer-description", Descriptions.answer)) == [])
  }

  // Holds: SIGNAL-15
  @Test func `a server that stays unreachable ends the signaling`() {
    var wallet = Wallet.signalled()
    for _ in 1...7 {
      _ = wallet.receive(.closed(.unreachable("refused")))
      _ = wallet.tickAtDeadline()
      wallet.connection += 1
    }
    #expect(
      wallet.receive(.closed(.unreachable("refused"))) == [
        .transport(.close(id(8))), .failed(.serverLost(.unreachable("refused"))),
      ])
    #expect(wallet.machine.deadline == nil)
  }

  // Holds: SIGNAL-15
  @Test func `a server that never admitted the wallet is reported as unreachable, not as lost`() {
    var wallet = Wallet()
    _ = wallet.begin()
    for _ in 1...7 {
      _ = wallet.receive(.closed(.refused(status: 503)))
      _ = wallet.tickAtDeadline()
      wallet.connection += 1
    }
    #expect(wallet.receive(.closed(nil)).last == .failed(.serverGone(.closed)))
  }

  // Holds: SIGNAL-15
  @Test(arguments: [true, false])
  func `the timeout error distinguishes a lost server from a silent dApp`(_ comesBack: Bool) {
    var wallet = Wallet.signalled()
    for _ in 1...5 {
      wallet.wait(.seconds(23))
      _ = wallet.receive(.text("2"))
    }
    _ = wallet.receive(.closed(nil))
    if comesBack {
      _ = wallet.tickAtDeadline()
      wallet.connection = 2
      _ = wallet.letIn()
    }
    wallet.wait(.seconds(10))
    #expect(wallet.tick().last == .failed(comesBack ? .channelTimedOut(.signalled) : .serverLost(.closed)))
  }

  @Test func `at the timeout, an unreachable server is reported instead of a silent dApp`() {
    var wallet = Wallet(timeout: .seconds(8))
    _ = wallet.begin()
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(.closed(.unreachable("refused")))
    wallet.wait(.seconds(8))
    #expect(wallet.tick() == [.failed(.serverGone(.unreachable("refused")))])
  }

  @Test func `errors about a lost server and a silent dApp have these texts`() {
    #expect(
      [LiquidAuthError.serverGone(.timedOut), .serverLost(.closed), .channelTimedOut(.signalled)].map(\.description)
        == [
          "the server cannot be reached: it did not answer in time; try again later: reload the dApp's page and take its new link",
          "the connection to the server was lost before the channel to the dApp was open: it closed the connection; "
            + "when the server is back, reload the dApp's page and take its new link",
          "no dApp answered in time; reload the dApp's page and take its new link",
        ])
  }

  // Holds: SIGNAL-1
  @Test func `a malformed packet ends the connection`() {
    var wallet = Wallet.signalled()
    #expect(wallet.receive(.text("42[")) == ended(.malformed("JSON")))
    #expect(wallet.receive(.channelOpen) == [])
  }

  @Test func `an offer above the server's limit ends the signaling`() {
    var wallet = Wallet()
    _ = wallet.begin()
    _ = wallet.receive(.offer(Descriptions.offer))
    _ = wallet.receive(.text(#"0{"sid":"a","pingInterval":25000,"pingTimeout":20000,"maxPayload":100}"#))
    let actions = wallet.receive(.text(Client.connected))
    guard case .failed(let error)? = actions.last else {
      Issue.record("\(actions)")
      return
    }
    #expect(error.reason.hasPrefix("a message of ") && error.reason.hasSuffix("the server accepts 100"))
    #expect(actions.count == 2)
  }

  private static let waited = [
    "no dApp answered in time", "no path to the dApp", "the server did not", "the connection to the server was lost",
  ]
  private static let refused = [
    "the server violates Socket.IO", "the dApp's answer cannot be used", "the server cannot be reached",
    "a message of ",
  ]

  @Test func `a session with a changed byte ends in a typed error, an open channel or the timeout`()
    throws
  {
    let session = [
      Client.open, Client.connected, "42[\"answer-candidate\",{\"candidate\":\"candidate:1\",\"sdpMid\":\"0\"}]",
      "42[\"answer-description\",{\"sdp\":\"v=0\\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\\n"
        + "\(Descriptions.fingerprint)\",\"type\":\"answer\"}]", "2",
    ]
    #expect(outcome(of: session) == .opened(maximumMessageSize: 65_536))
    var (randomness, outcomes) = (SeededRandomness(state: 27), [String: Int]())
    for (number, message) in session.enumerated() {
      for index in message.utf8.indices {
        var (changed, bytes) = (session, Array(message.utf8))
        bytes[message.utf8.distance(from: message.startIndex, to: index)] = UInt8.random(
          in: 0...127, using: &randomness)
        changed[number] = String(decoding: bytes, as: UTF8.self)
        switch outcome(of: changed) {
        case .opened?: outcomes["opened", default: 0] += 1
        case .failed(let error)? where Self.waited.contains { error.reason.hasPrefix($0) }:
          outcomes["waited", default: 0] += 1
        case .failed(let error)? where Self.refused.contains { error.reason.hasPrefix($0) }:
          outcomes["refused", default: 0] += 1
        case let other: Issue.record("\(String(describing: other)) after \(changed[number])")
        }
      }
    }
    #expect(outcomes.values.reduce(0, +) == session.map(\.utf8.count).reduce(0, +))
    #expect(outcomes.keys.sorted() == ["opened", "refused", "waited"])
  }

  /// The last action of a session whose peer connection opens after the answer.
  private func outcome(of session: [String]) -> SignalingMachine.Action? {
    var (wallet, actions) = (Wallet(), [SignalingMachine.Action]())
    _ = wallet.begin()
    _ = wallet.receive(.offer(Descriptions.offer))
    for text in session { actions += wallet.receive(.text(text)) }
    actions += wallet.receive(.channelOpen)
    while wallet.machine.deadline != nil { actions += wallet.tickAtDeadline() }
    return actions.last
  }

  private func candidate(_ number: Int, in event: String = "answer-candidate") throws -> SocketIOEvent {
    try SocketIOEvent(event, CandidatePayload(Descriptions.candidate(number)))
  }
}
