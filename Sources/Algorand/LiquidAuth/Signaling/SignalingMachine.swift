/// The wallet's side of the signals gateway as the initiator, from the start to an open channel.
///
/// A pure value over ``SocketIOMachine``: events of the server and of the peer connection in, actions out. The server
/// sends every signal to everyone in the room of the wallet's address, including the sender, and stores none: an offer
/// is lost if the dApp does not listen yet. So the machine repeats the offer until the first answer, and then its
/// candidates once. Only the first usable answer counts, because anybody in the room can send others. Other offers are
/// ignored, but reveal that another wallet of the account is connected.
struct SignalingMachine: Sendable {
  /// The interval at which the offer is repeated until it is answered.
  static let offerInterval = Duration.seconds(3)
  /// The time until the first report of a missing answer.
  static let timeout = Duration.seconds(15)
  /// The most candidates of the dApp that are used, and of ours that are sent.
  static let maximumCandidates = 64

  /// An event of the server or of the peer connection.
  enum Input: Sendable {
    case server(SocketIOMachine.Input)
    case peer(PeerEvent)
  }

  /// An action for the driver, which performs them in the order of the array.
  enum Action: Equatable, Sendable {
    /// Use the network.
    case transport(SocketIOMachine.Exchange)
    /// Use the peer connection.
    case createOffer
    case setAnswer(String)
    case addCandidate(ICECandidate)
    /// Report progress to the user.
    case progress(SignalingProgress)
    /// Done: the channel is open, and the peer accepts messages of this size.
    case opened(maximumMessageSize: Int)
    /// Done: there will be no channel.
    case failed(LiquidAuthError)
  }

  private enum Phase {
    case idle
    /// Waits for the connection to the namespace, and for the offer.
    case linking
    /// The offer was sent; the next time is `resend`.
    case signalled(resend: Duration)
    case connecting(SessionDescription)
    case ended
  }

  private let role = SignalingRole.initiator
  private let timeout: Duration
  private var socket: SocketIOMachine
  private var phase = Phase.idle
  private var begun = Duration.zero
  private var isConnected = false
  /// Whether the server has accepted the connection before.
  private var wasConnected = false
  /// How the last connection ended; `nil` once the server has accepted a new one.
  private var loss: PortError?
  private var offer: (text: String, sections: Int)?
  private var ownCandidates: [ICECandidate] = []
  private var heldCandidates: [ICECandidate] = []
  private var takenCandidates = 0
  private var ignoredAnswers = 0
  private var unusableAnswer: LiquidAuthError?
  private var refusedCandidates = 0
  /// When the offer was first sent, and the waiting time at which the next report is due.
  private var waiting = (since: Duration.zero, next: timeout)
  private var hasHeardOtherOffer = false

  /// A machine that has not begun.
  ///
  /// - Parameter timeout: from the beginning to the open channel.
  init(timeout: Duration, randomness: any RandomNumberGenerator & Sendable) {
    self.timeout = timeout
    socket = SocketIOMachine(randomness: randomness)
  }

  // MARK: Events

  /// Connects to the server, and makes the offer meanwhile.
  mutating func begin(at now: Duration) -> [Action] {
    guard case .idle = phase else { return [] }
    begun = now
    phase = .linking
    return [report(.stage(.linking), at: now), .createOffer] + take(socket.begin(at: now), at: now)
  }

  /// Takes an event of the server or of the peer connection.
  mutating func receive(_ input: Input, at now: Duration) -> [Action] {
    let overdue = tick(at: now)
    guard isRunning else { return overdue }
    switch input {
    case .server(let input): return overdue + take(socket.receive(input, at: now), at: now)
    case .peer(let event): return overdue + take(event, at: now)
    }
  }

  /// Performs the actions that are due at `now`: fails, repeats the offer, or serves the connection.
  mutating func tick(at now: Duration) -> [Action] {
    guard isRunning else { return [] }
    guard now < begun + timeout else { return fail(overdue) }
    var actions = take(socket.tick(at: now), at: now)
    if case .signalled(let resend) = phase, resend <= now { actions += sendOffer(at: now) + reportWaiting(at: now) }
    return actions
  }

  /// When `tick` is due next; `nil` before the beginning and after the end.
  var deadline: Duration? {
    guard isRunning else { return nil }
    var deadlines = [begun + timeout]
    if let deadline = socket.deadline { deadlines.append(deadline) }
    if case .signalled(let resend) = phase, isConnected { deadlines.append(resend) }
    return deadlines.min()
  }

  private var isRunning: Bool {
    switch phase {
    case .idle, .ended: false
    case .linking, .signalled, .connecting: true
    }
  }

  /// The error at the timeout: the fault of the last answer if none was usable, or the lost server, since without it
  /// the dApp could not answer.
  private var overdue: LiquidAuthError {
    switch (phase, unusableAnswer, loss) {
    case (.signalled, let error?, _): error
    case (.linking, _, let loss?), (.signalled, _, let loss?): gone(loss)
    case (.connecting, _, _) where hasHeardOtherOffer: .otherWallet("no path was found in time")
    default: .channelTimedOut(stage)
    }
  }

  private func gone(_ loss: PortError) -> LiquidAuthError { wasConnected ? .serverLost(loss) : .serverGone(loss) }

  private var stage: SignalingStage {
    switch phase {
    case .idle, .linking: .linking
    case .signalled: .signalled
    case .connecting, .ended: .connecting
    }
  }

  // MARK: The server

  private mutating func take(_ actions: [SocketIOMachine.Action], at now: Duration) -> [Action] {
    var taken: [Action] = []
    for action in actions where isRunning {
      switch action {
      case .transport(let exchange): taken.append(.transport(exchange))
      case .connected: taken += connected(at: now)
      case .event(let event): taken += take(event, at: now)
      case .lost(let loss, let delay):
        isConnected = false
        self.loss = loss
        taken.append(report(.reconnecting(loss, delay: delay), at: now))
      case .failed(let error):
        if case .serverLost(let loss) = error.kind { taken += fail(gone(loss)) } else { taken += fail(error) }
      }
    }
    return taken
  }

  /// The server has accepted the connection: sends what may have been lost before.
  private mutating func connected(at now: Duration) -> [Action] {
    (isConnected, wasConnected, loss) = (true, true, nil)
    switch phase {
    case .linking, .signalled: return sendOffer(at: now)
    case .connecting: return sendCandidates(at: now)
    case .idle, .ended: return []
    }
  }

  private mutating func take(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    switch event.name {
    case SignalingRole.responder.descriptionEvent: takeAnswer(event, at: now)
    case role.descriptionEvent: takeOffer(event)
    case SignalingRole.responder.candidateEvent, SignalingRole.candidateEvent: takeCandidate(event, at: now)
    default: []
    }
  }

  /// Receives our own offer, or that of another wallet of the account, which shares the room.
  private mutating func takeOffer(_ event: SocketIOEvent) -> [Action] {
    if let offer, let other = try? event.argument(String.self), !other.isSame(as: offer.text) {
      hasHeardOtherOffer = true
    }
    return []
  }

  /// Accepts the first usable answer; later ones are ignored.
  private mutating func takeAnswer(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    guard case .signalled = phase, let offer else { return ignoreAnswer(at: now) }
    let answer: SessionDescription
    do throws(LiquidAuthError) {
      answer = try Self.answer(in: event, sections: offer.sections)
    } catch {
      unusableAnswer = error
      return ignoreAnswer(at: now)
    }
    phase = .connecting(answer)
    defer { heldCandidates = [] }
    return [.setAnswer(answer.text)] + heldCandidates.map(Action.addCandidate)
      + [report(.stage(.connecting), at: now)] + sendCandidates(at: now)
  }

  private mutating func ignoreAnswer(at now: Duration) -> [Action] {
    ignoredAnswers += 1
    return ignoredAnswers.isPowerOfTwo ? [report(.ignoredAnswers(ignoredAnswers), at: now)] : []
  }

  private static func answer(
    in event: SocketIOEvent, sections: Int
  ) throws(LiquidAuthError) -> SessionDescription {
    guard let payload = try? event.argument(AnswerPayload.self) else { throw .malformedAnswer }
    guard payload.type?.isSame(as: "answer") ?? true else { throw .noAnswer }
    let answer = try SessionDescription(payload.sdp)
    guard answer.sectionCount == sections else { throw .otherSections }
    return answer
  }

  /// Holds candidates that come before the answer.
  private mutating func takeCandidate(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    let payload = try? event.argument(CandidatePayload.self)
    guard payload?.isLast != true else { return [] }
    guard let candidate = payload?.candidate(sections: offer?.sections ?? 1), takenCandidates < Self.maximumCandidates
    else {
      refusedCandidates += 1
      return refusedCandidates.isPowerOfTwo ? [report(.refusedCandidates(refusedCandidates), at: now)] : []
    }
    takenCandidates += 1
    if case .connecting = phase { return [.addCandidate(candidate)] }
    heldCandidates.append(candidate)
    return []
  }

  // MARK: The peer

  private mutating func take(_ event: PeerEvent, at now: Duration) -> [Action] {
    switch (event, phase) {
    case (.offer(let text), .linking):
      offer = (text, text.split(whereSeparator: \.isNewline).count { $0.hasPrefix("m=") })
      return isConnected ? sendOffer(at: now) : []
    case (.candidate(let candidate), _): return takeOwn(candidate, at: now)
    case (.channelOpen, .connecting(let answer)):
      let actions = [report(.stage(.open), at: now), .opened(maximumMessageSize: answer.maximumMessageSize)]
      return end() + actions
    case (.noRelay, _): return [report(.noRelay, at: now)]
    case (.channelClosed, _): return failPeer("it was closed")
    case (.failed(let reason), _): return failPeer(reason)
    case (.offer, _), (.channelOpen, _), (.message, _), (.bufferedAmountLow, _): return []
    }
  }

  private mutating func failPeer(_ reason: String) -> [Action] {
    if case .connecting = phase, hasHeardOtherOffer { return fail(.otherWallet(reason)) }
    return fail(.peerConnectionFailed(reason))
  }

  private mutating func takeOwn(_ candidate: ICECandidate, at now: Duration) -> [Action] {
    guard ownCandidates.count < Self.maximumCandidates else { return [] }
    ownCandidates.append(candidate)
    guard isConnected else { return [] }
    switch phase {
    case .signalled, .connecting: return send(candidate, at: now)
    case .idle, .linking, .ended: return []
    }
  }

  // MARK: Sending

  private mutating func sendOffer(at now: Duration) -> [Action] {
    guard let offer, isConnected else { return [] }
    let wasSent = if case .signalled = phase { true } else { false }
    phase = .signalled(resend: now + Self.offerInterval)
    let actions = emit(role.descriptionEvent, offer.text, at: now)
    guard !wasSent, isRunning else { return actions }
    waiting.since = now
    return actions + [report(.stage(.signalled), at: now)] + sendCandidates(at: now)
  }

  private mutating func reportWaiting(at now: Duration) -> [Action] {
    guard isRunning, now >= waiting.since + waiting.next else { return [] }
    defer { waiting.next *= 2 }
    return [report(.waiting(waiting.next), at: now)]
  }

  private mutating func sendCandidates(at now: Duration) -> [Action] {
    var actions: [Action] = []
    for candidate in ownCandidates { actions += send(candidate, at: now) }
    return actions
  }

  private mutating func send(_ candidate: ICECandidate, at now: Duration) -> [Action] {
    emit(role.candidateEvent, CandidatePayload(candidate), at: now)
  }

  private mutating func emit(_ name: String, _ argument: some Encodable, at now: Duration) -> [Action] {
    guard isRunning, isConnected else { return [] }
    do throws(LiquidAuthError) {
      return take(socket.emit(try SocketIOEvent(name, argument), at: now), at: now)
    } catch {
      return fail(error)
    }
  }

  // MARK: Ends

  private func report(_ event: SignalingProgress.Event, at now: Duration) -> Action {
    .progress(SignalingProgress(event: event, elapsed: now - begun))
  }

  private mutating func end() -> [Action] {
    phase = .ended
    return socket.close().compactMap { if case .transport(let exchange) = $0 { .transport(exchange) } else { nil } }
  }

  private mutating func fail(_ error: LiquidAuthError) -> [Action] {
    guard isRunning else { return [] }
    return end() + [.failed(error)]
  }
}

extension Int {
  /// Whether it is 1, 2, 4, 8 and so on, so that repeated events are reported ever less often.
  fileprivate var isPowerOfTwo: Bool { self > 0 && self & (self - 1) == 0 }
}
