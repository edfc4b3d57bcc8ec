/// The wallet's side of the signals gateway as the initiator, from the start to an open channel.
///
/// A pure value over ``SocketIOMachine``: events of the server and of the peer connection in, actions out. The server
/// sends every signal to everyone in the room of the wallet's address, including the sender, and stores none: an offer
/// is lost if the dApp does not listen yet. So the machine repeats the offer until the first answer, and then its
/// candidates once. Only the first usable answer counts, because anybody in the room can send others. Other offers are
/// ignored, but reveal that another wallet of the account is connected.
///
/// A machine that stays keeps the connection while the channel is open, if the server reports ``SignalingPresence``.
/// When the channel has ended and the page is there, it makes a fresh offer, since a page that was reloaded waits for
/// one.
struct SignalingMachine: Sendable {
  /// The interval at which the offer is repeated until it is answered.
  static let offerInterval = Duration.seconds(3)
  /// The time until the first report of a missing answer.
  static let timeout = Duration.seconds(15)
  /// A connection that fails so soon after its channel was opened was of no use to the dApp.
  static let shortestUse = Duration.seconds(5)
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
    /// The channel is open, and the peer accepts messages of this size; done, unless the machine stays.
    case opened(maximumMessageSize: Int)
    /// Ask the user whether another session of the page may get the channel; ``answer(isMeant:at:)`` takes the answer.
    case ask
    /// Done: there will be no channel.
    case failed(LiquidAuthError)
    /// Done: the last channel has ended.
    case ended(SignalingEnding)
  }

  private enum Phase {
    case idle
    /// Waits for the connection to the namespace, and for the offer.
    case linking
    /// The offer was sent; the next time is `resend`.
    case signalled(resend: Duration)
    case connecting(SessionDescription)
    /// The channel of a machine that stays is open.
    case open
    /// The channel has ended, and the dApp is not back; at `retry`, if it is there, the next offer is made.
    case away(retry: Duration?)
    /// The user is asked about another session of the page; with it, there were so many devices.
    case asking(devices: Int)
    case ended
  }

  private let role = SignalingRole.initiator
  private let timeout: Duration
  /// The dApp's request; `nil` for a machine that ends when the channel is open.
  private let requestID: RequestID?
  private var socket: SocketIOMachine
  private var phase = Phase.idle
  private var begun = Duration.zero
  /// When the channel must be open, or open again.
  private var limit = Duration.zero
  private var isConnected = false
  /// Whether the server has accepted the connection before.
  private var wasConnected = false
  /// How the last connection ended; `nil` once the server has accepted a new one.
  private var loss: PortError?
  private var offer: (text: String, sections: Int)?
  private var ownCandidates: [ICECandidate] = []
  private var heldCandidates: [ICECandidate] = []
  private var handledCandidates = 0
  private var ignoredAnswers = 0
  private var unusableAnswer: LiquidAuthError?
  private var refusedCandidates = 0
  /// When the offer was first sent, and the waiting time at which the next report is due.
  private var waiting = (since: Duration.zero, next: timeout)
  private var hasHeardOtherOffer = false
  private var presence = SignalingPresence()
  private var hasOpened = false
  /// When the last channel was opened.
  private var opened = Duration.zero
  /// Whether the page has left the server since its answer.
  private var hasLeft = false
  /// Why the connection to the server ended while a channel was open.
  private var serverEnd: LiquidAuthError?

  /// A machine that has not begun.
  ///
  /// - Parameters:
  ///   - timeout: from the beginning to the open channel, and from the end of a channel to the next; a connection that
  ///     fails at once gives no further time.
  ///   - requestID: the dApp's request, for a machine that stays.
  ///   - pairing: proves to the server who connects, if it gave one.
  init(
    timeout: Duration, stayingFor requestID: RequestID? = nil, pairing: DurablePairing? = nil,
    randomness: any RandomNumberGenerator & Sendable
  ) {
    self.timeout = timeout
    self.requestID = requestID
    socket = SocketIOMachine(pairing: pairing, randomness: randomness)
  }

  // MARK: Events

  /// Connects to the server, and makes the offer meanwhile.
  mutating func begin(at now: Duration) -> [Action] {
    guard case .idle = phase else { return [] }
    begun = now
    limit = now + timeout
    phase = .linking
    return [report(.stage(.linking), at: now), .createOffer] + handle(socket.begin(at: now), at: now)
  }

  /// Takes an event of the server or of the peer connection.
  mutating func receive(_ input: Input, at now: Duration) -> [Action] {
    let overdue = tick(at: now)
    guard isRunning else { return overdue }
    switch input {
    case .server(let input): return overdue + handle(socket.receive(input, at: now), at: now)
    case .peer(let event): return overdue + handle(event, at: now)
    }
  }

  /// Performs the actions that are due at `now`: fails, repeats the offer, or serves the connection.
  mutating func tick(at now: Duration) -> [Action] {
    guard isRunning else { return [] }
    guard isOpen || now < limit else { return hasOpened ? end(.nobodyReturned) : fail(overdue) }
    var actions = handle(socket.tick(at: now), at: now)
    switch phase {
    case .signalled(let resend) where resend <= now: actions += sendOffer(at: now) + reportWaiting(at: now)
    case .away(let retry?) where retry <= now: actions += offerAgain(at: now)
    default: break
    }
    return actions
  }

  /// Takes the user's answer about another session of the page.
  mutating func answer(isMeant: Bool, at now: Duration) -> [Action] {
    guard case .asking(let devices) = phase else { return [] }
    guard isMeant else { return end(.refused) }
    presence.agree(to: devices)
    return offerAgain(at: now)
  }

  /// When `tick` is due next; `nil` before the beginning and after the end.
  var deadline: Duration? {
    guard isRunning else { return nil }
    var deadlines = isOpen ? [] : [limit]
    if let deadline = socket.deadline { deadlines.append(deadline) }
    switch phase {
    case .signalled(let resend) where isConnected: deadlines.append(resend)
    case .away(let retry?): deadlines.append(retry)
    default: break
    }
    return deadlines.min()
  }

  private var isRunning: Bool {
    switch phase {
    case .idle, .ended: false
    case .linking, .signalled, .connecting, .open, .away, .asking: true
    }
  }

  private var isOpen: Bool { if case .open = phase { true } else { false } }

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
    case .connecting, .open, .away, .asking, .ended: .connecting
    }
  }

  // MARK: The server

  private mutating func handle(_ actions: [SocketIOMachine.Action], at now: Duration) -> [Action] {
    var handled: [Action] = []
    for action in actions where isRunning {
      switch action {
      case .transport(let exchange): handled.append(.transport(exchange))
      case .connected: handled += connected(at: now)
      case .event(let event): handled += handle(event, at: now)
      case .lost(let loss, let delay):
        isConnected = false
        self.loss = loss
        presence.serverLost()
        // The server does so to the other sessions of a passkey that signs in; a new connection would count twice.
        if hasOpened, loss == .removed {
          handled += loseServer(.removedByServer, at: now)
        } else {
          handled.append(report(.reconnecting(loss, delay: delay), at: now))
        }
      case .failed(let error):
        if case .serverLost(let loss) = error.kind {
          handled += loseServer(gone(loss), at: now)
        } else {
          handled += loseServer(error, at: now)
        }
      }
    }
    return handled
  }

  /// The server has accepted the connection: sends what may have been lost before.
  private mutating func connected(at now: Duration) -> [Action] {
    (isConnected, wasConnected, loss) = (true, true, nil)
    switch phase {
    case .linking, .signalled: return sendOffer(at: now)
    case .connecting: return sendCandidates(at: now)
    case .idle, .open, .away, .asking, .ended: return []
    }
  }

  /// The server is gone for good; an open channel does not need it.
  private mutating func loseServer(_ error: LiquidAuthError, at now: Duration) -> [Action] {
    guard hasOpened else { return fail(error) }
    guard isOpen else { return end(.byServer(error)) }
    serverEnd = error
    return closeSocket() + [report(.serverLeft(error), at: now)]
  }

  private mutating func handle(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    switch event.name {
    case SignalingRole.responder.descriptionEvent: handleAnswer(event, at: now)
    case role.descriptionEvent: handleOffer(event)
    case SignalingRole.responder.candidateEvent, SignalingRole.candidateEvent: handleCandidate(event, at: now)
    case PresencePayload.event: handlePresence(event, at: now)
    default: []
    }
  }

  /// Receives our own offer, or that of another wallet of the account, which shares the room.
  private mutating func handleOffer(_ event: SocketIOEvent) -> [Action] {
    if let offer, let other = try? event.argument(String.self), !other.isSame(as: offer.text) {
      hasHeardOtherOffer = true
    }
    return []
  }

  /// Accepts the first usable answer; later ones are ignored.
  private mutating func handleAnswer(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    guard case .signalled = phase, let offer else { return ignoreAnswer(at: now) }
    let answer: SessionDescription
    do throws(LiquidAuthError) {
      answer = try Self.answer(in: event, sections: offer.sections)
    } catch {
      unusableAnswer = error
      return ignoreAnswer(at: now)
    }
    (phase, hasLeft) = (.connecting(answer), false)
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
  private mutating func handleCandidate(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    let payload = try? event.argument(CandidatePayload.self)
    guard payload?.isLast != true else { return [] }
    guard let candidate = payload?.candidate(sections: offer?.sections ?? 1), handledCandidates < Self.maximumCandidates
    else {
      refusedCandidates += 1
      return refusedCandidates.isPowerOfTwo ? [report(.refusedCandidates(refusedCandidates), at: now)] : []
    }
    handledCandidates += 1
    if case .connecting = phase { return [.addCandidate(candidate)] }
    heldCandidates.append(candidate)
    return []
  }

  // MARK: Presence

  /// Takes the number of devices for this request; those of other requests of the account are ignored.
  private mutating func handlePresence(_ event: SocketIOEvent, at now: Duration) -> [Action] {
    guard let requestID, let payload = try? event.argument(PresencePayload.self), payload.requestId == requestID,
      payload.deviceCount >= 0
    else { return [] }
    presence.count(payload.deviceCount)
    switch phase {
    case .away: return offerAgain(at: now)
    // The page left again before it had the offer.
    case .linking, .signalled: return hasOpened && !presence.hasPage ? offerAgain(at: now) : []
    // A page may leave the server as soon as it has the channel; one that comes back before that waits for an offer.
    case .connecting:
      let isBack = hasLeft && presence.hasPage
      hasLeft = !presence.hasPage
      return hasOpened && isBack ? offerAgain(at: now) : []
    case .idle, .open, .asking, .ended: return []
    }
  }

  /// The channel of a machine that stays has ended.
  private mutating func endChannel(hasFailed: Bool, at now: Duration) -> [Action] {
    if let serverEnd { return end(.byServer(serverEnd)) }
    guard presence.isReported else { return end(.done) }
    // A page that opens a channel of its own does so at each return, and would keep the wallet at work without end.
    if !hasFailed || now - opened >= Self.shortestUse { limit = now + timeout }
    guard now < limit else { return end(.nobodyReturned) }
    presence.channelEnded(at: now)
    return [report(.away, at: now)] + offerAgain(at: now)
  }

  /// Makes a fresh offer if a page is there; asks first if there were more devices than before.
  private mutating func offerAgain(at now: Duration) -> [Action] {
    switch presence.nextOffer(at: now) {
    case .notYet(let retry):
      phase = .away(retry: retry)
      return []
    case .ifAgreed(let devices):
      phase = .asking(devices: devices)
      return [report(.otherSession(devices: devices), at: now), .ask]
    case .now:
      phase = .linking
      (offer, unusableAnswer, hasHeardOtherOffer) = (nil, nil, false)
      (ownCandidates, heldCandidates, handledCandidates) = ([], [], 0)
      waiting = (since: now, next: Self.timeout)
      return [report(.returned, at: now), .createOffer]
    }
  }

  // MARK: The peer

  private mutating func handle(_ event: PeerEvent, at now: Duration) -> [Action] {
    switch (event, phase) {
    case (.offer(let text), .linking):
      offer = (text, text.split(whereSeparator: \.isNewline).count { $0.hasPrefix("m=") })
      return isConnected ? sendOffer(at: now) : []
    case (.candidate(let candidate), _): return handleOwn(candidate, at: now)
    case (.channelOpen, .connecting(let answer)):
      let actions = [report(.stage(.open), at: now), .opened(maximumMessageSize: answer.maximumMessageSize)]
      guard requestID != nil else { return end() + actions }
      if !hasOpened { limit = now + timeout }
      (phase, hasOpened, opened) = (.open, true, now)
      presence.channelOpened()
      return presence.isReported ? actions : closeSocket() + actions
    case (.noRelay, _): return [report(.noRelay, at: now)]
    case (.channelClosed, .open): return endChannel(hasFailed: false, at: now)
    case (.failed, .open): return endChannel(hasFailed: true, at: now)
    // The peer connection whose end is known.
    case (.channelClosed, .away), (.channelClosed, .asking), (.failed, .away), (.failed, .asking): return []
    case (.channelClosed, _): return failPeer("it was closed", at: now)
    case (.failed(let reason), _): return failPeer(reason, at: now)
    case (.offer, _), (.channelOpen, _), (.message, _), (.bufferedAmountLow, _): return []
    }
  }

  private mutating func failPeer(_ reason: String, at now: Duration) -> [Action] {
    if hasOpened {
      presence.delayOffer(at: now)
      return offerAgain(at: now)
    }
    if case .connecting = phase, hasHeardOtherOffer { return fail(.otherWallet(reason)) }
    return fail(.peerConnectionFailed(reason))
  }

  private mutating func handleOwn(_ candidate: ICECandidate, at now: Duration) -> [Action] {
    guard ownCandidates.count < Self.maximumCandidates else { return [] }
    ownCandidates.append(candidate)
    guard isConnected else { return [] }
    switch phase {
    case .signalled, .connecting: return send(candidate, at: now)
    case .idle, .linking, .open, .away, .asking, .ended: return []
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
      return handle(socket.emit(try SocketIOEvent(name, argument), at: now), at: now)
    } catch {
      return fail(error)
    }
  }

  // MARK: Ends

  private func report(_ event: SignalingProgress.Event, at now: Duration) -> Action {
    .progress(SignalingProgress(event: event, elapsed: now - begun))
  }

  private mutating func end(_ ending: SignalingEnding) -> [Action] { end() + [.ended(ending)] }

  private mutating func end() -> [Action] {
    phase = .ended
    return closeSocket()
  }

  private mutating func closeSocket() -> [Action] {
    isConnected = false
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
