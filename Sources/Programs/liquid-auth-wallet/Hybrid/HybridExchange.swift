import Bluetooth
import ControlProtocol
import CryptoPrimitives
import EventLoop
import HTTP
import Hybrid
import LiquidAuth

/// The answer to one code: performs what ``HybridSession`` decides.
///
/// One task handles all events in order, so nothing here needs a lock.
struct HybridExchange: Sendable {
  /// What happened outside.
  private enum Event: Sendable {
    case socket(WebSocketProgress.Event)
    case connection(L2CAPListener.Event)
    case advertising
    case bluetooth(BluetoothFailure)
    /// The authenticator's answer.
    case answer(Result<[UInt8], PortError>)
    case tick
    case stop
  }

  let tunnel: TunnelPlace
  let network: NetworkThread
  let advertiser: LEAdvertiser
  /// It listens, and has accepted nobody; `nil` if only the tunnel is used.
  let listener: L2CAPListener?
  let socket: ControlSocket
  /// Its loop also runs the tasks of the exchange.
  let timer: TaskTimer
  let report: @Sendable (HybridEvent) -> Void

  /// Runs the exchange to its end; when it returns, nothing is left: no advert, no connection, no dialog.
  ///
  /// - Parameter session: a new one.
  /// - Throws: why the browser has no credential.
  func run(_ session: HybridSession) async throws(WalletFailure) {
    let (events, input) = AsyncStream.makeStream(of: Event.self)
    var run = Run(exchange: self, session: session, input: input)
    let outcome = await withTaskCancellationHandler {
      await run.perform(events)
    } onCancel: {
      input.yield(.stop)
    }
    if let failure = outcome { throw failure }
  }

  /// The state of a run.
  private struct Run {
    let exchange: HybridExchange
    var session: HybridSession
    let input: AsyncStream<Event>.Continuation
    var webSocket: WebSocket?
    var advert: Task<Void, Never>?
    var request: Task<Void, Never>?
    var kind: HybridRequestKind?
    /// Whether the browser has proven that it has the code and the advert.
    var isConnected = false
    var cancelAlarm: @Sendable () -> Void = {}
    /// Why it failed, if this says more than the session's own error.
    var reason: WalletFailure?

    init(exchange: HybridExchange, session: HybridSession, input: AsyncStream<Event>.Continuation) {
      (self.exchange, self.session, self.input) = (exchange, session, input)
    }

    /// Returns the failure; `nil` after a success.
    mutating func perform(_ events: AsyncStream<Event>) async -> WalletFailure? {
      let first = session.begin(listeningAt: exchange.listener?.psm, at: exchange.timer.now)
      exchange.listener?.serve(on: exchange.timer.loop) { [input] event in input.yield(.connection(event)) }
      execute(first)
      // An exchange that ended as it began gets no event.
      if session.ending == nil {
        for await event in events {
          let actions = handle(event)
          execute(actions)
          if session.ending != nil { break }
        }
      }
      // A task that is cancelled gets no further event.
      let last = session.stop()
      execute(last)
      cancelAlarm()
      // An exchange that ended as it began has no action that closes it.
      exchange.listener?.close()
      // The advert must be gone when the program says that it is over.
      advert?.cancel()
      request?.cancel()
      await advert?.value
      await request?.value
      switch session.ending {
      case .answered(0)?:
        if let kind { exchange.report(.answered(kind)) }
        return nil
      case .answered(let status)?: return reason ?? WalletFailure(status: status)
      case .failed(let error)?: return reason ?? WalletFailure(error)
      case nil: return reason ?? WalletFailure(HybridError.stopped)
      }
    }

    private mutating func handle(_ event: Event) -> [HybridSession.Action] {
      let now = exchange.timer.now
      switch event {
      case .socket(.open):
        let answer = webSocket?.answer
        return session.opened(
          routingIDs: answer?.values("X-caBLE-Routing-ID") ?? [],
          subprotocol: answer?.values("Sec-WebSocket-Protocol").first, at: now)
      case .socket(.binary(let message)): return session.receive(message, at: now)
      case .socket(.text): return session.receiveText()
      case .socket(.closed(let error)):
        let actions = session.closed()
        if !isConnected, session.ending != nil { reason = failure(ofTunnel: error) }
        return actions
      case .connection(.packet(let bytes)): return session.receive(packet: bytes, at: now)
      case .connection(.closed): return session.closed(.bluetooth)
      case .advertising:
        if !isConnected { exchange.report(.advertising) }
        return []
      case .bluetooth(let failure):
        // The browser needs no advert any more.
        guard !isConnected else { return [] }
        reason = WalletFailure(failure.description)
        return session.stop()
      case .answer(.success(let bytes)): return session.answer(bytes, at: now)
      case .answer(.failure(let error)):
        // CTAP1_ERR_OTHER: the page need not wait. No answer is due if the session has withdrawn the request.
        let actions = session.answer([0x7F], at: now)
        if !actions.isEmpty {
          reason = WalletFailure(error.reason, code: exchange.socket.isNotRunning ? .notRunning : .failed)
        }
        return actions
      case .tick: return session.tick(at: now)
      case .stop: return session.stop()
      }
    }

    private mutating func execute(_ actions: [HybridSession.Action]) {
      for action in actions {
        switch action {
        case .connect(let host, let path): connect(host, path)
        case .advertise(let data): advertise(data)
        case .stopAdvertising:
          advert?.cancel()
          isConnected = session.ending == nil
          guard isConnected else { break }
          exchange.report(.connected)
          // The browser has chosen a channel.
          if session.channel == .bluetooth { webSocket?.close() } else { exchange.listener?.close() }
        case .send(let message):
          if session.channel == .bluetooth { exchange.listener?.send(message) } else { webSocket?.send(message) }
        case .perform(let message): forward(message)
        case .cancel: request?.cancel()
        case .close:
          webSocket?.close()
          exchange.listener?.close()
        }
      }
      // The connection can be a stranger's.
      if !session.channels.contains(.bluetooth) { exchange.listener?.close() }
      cancelAlarm()
      cancelAlarm = {}
      guard let deadline = session.deadline else { return }
      cancelAlarm = exchange.timer.wake(after: deadline - exchange.timer.now) { [input] in input.yield(.tick) }
    }

    /// Why the web socket ended before the browser was connected.
    private func failure(ofTunnel error: PortError?) -> WalletFailure {
      let service = "the tunnel service \(exchange.tunnel.reached)"
      guard advert == nil else {
        return WalletFailure(
          "\(service) ended the connection before the browser was connected\(error.map { ": \($0)" } ?? ""); scan a new "
            + "code")
      }
      return WalletFailure(
        "cannot use \(service): \(error.map { "\($0)" } ?? "it closed the connection"); check the network, or choose "
          + "another service with --tunnel-number" + (exchange.listener == nil ? "" : ", or give --no-tunnel"))
    }

    private mutating func connect(_ host: String, _ path: String) {
      exchange.report(.connecting(host: exchange.tunnel.reached))
      let place = WebSocketPlace("wss://" + exchange.tunnel.reached + path)
      let opening = place.flatMap { place in
        WebSocketOpening(
          authority: place.authority, target: place.target, fields: [("Origin", "wss://" + host)],
          subprotocol: "fido.cable", nonce: randomBytes(WebSocketOpening.nonceSize))
      }
      guard let place, let opening else {
        input.yield(.socket(.closed(.unreachable("it has no valid address"))))
        return
      }
      let machine = WebSocketMachine(
        client: HybridSession.Limit.message, content: .binary, randomness: SystemRandomNumberGenerator())
      webSocket = WebSocket(on: exchange.network, at: place, WebSocketProgress(opening, machine)) { [input] event in
        input.yield(.socket(event))
      }
    }

    private mutating func advertise(_ data: [UInt8]) {
      let isConnectable = session.channels.contains(.bluetooth)
      advert = Task(executorPreference: exchange.timer.loop) { [advertiser = exchange.advertiser, input] in
        let outcome = await OwnThread.run(cancellable: { cancellation -> BluetoothFailure? in
          do throws(BluetoothFailure) {
            try advertiser.advertise(data, isConnectable: isConnectable, until: cancellation) {
              input.yield(.advertising)
            }
            return nil
          } catch {
            return error
          }
        })
        // Without a thread there is no advert.
        guard let outcome else {
          input.yield(.bluetooth(.busEnded))
          return
        }
        if let failure = outcome { input.yield(.bluetooth(failure)) }
      }
    }

    private mutating func forward(_ message: [UInt8]) {
      // That an earlier request failed, such as getInfo, says nothing about this one.
      reason = nil
      if let (kind, rpID) = HybridRequestKind.read(message) {
        self.kind = kind
        exchange.report(.requested(kind, rpID: rpID))
      }
      request = Task(executorPreference: exchange.timer.loop) { [socket = exchange.socket, input] in
        do throws(PortError) {
          input.yield(.answer(.success(try await socket.ask(PerformHybrid(message)).bytes)))
        } catch {
          input.yield(.answer(.failure(error)))
        }
      }
    }
  }
}

// MARK: - Failures

extension WalletFailure {
  /// The failure of an exchange.
  init(_ error: HybridError) {
    let code: Code =
      switch error {
      case .noTunnel, .noBrowser, .noRequest: .timedOut
      case .stopped: .interrupted
      case .noLink, .digits, .content, .digitalCredential, .channels, .onlyBluetooth, .noBluetooth, .tunnelService,
        .tunnelAnswer, .handshake, .frame, .message, .browserLeft, .crypto:
        .failed
      }
    self.init(error.description, code: code)
  }

  /// The authenticator's answer, by its status: CTAP §6.3.
  init(status: UInt8) {
    switch status {
    case 0x27:
      self.init(
        "the request was refused, here or by a policy, or you could not be asked or verified; the authenticator's log "
          + "says which", code: .refused)
    case 0x2F: self.init("nobody answered the authenticator's prompt in time", code: .refused)
    case 0x2D:
      self.init(
        "the authenticator withdrew the request, for example because the vault was locked; to try again, scan a new "
          + "code")
    case 0x32:
      self.init(
        Problem(
          "the passphrase was wrong too often, and the vault is locked now", hint: "unlock it",
          with: ["liquid-auth", "unlock"]), code: .refused)
    case 0x2E: self.init("this vault has no passkey that the site accepts; was it made with another phrase?")
    case 0x19: self.init("this vault has a passkey of this account at the site already")
    case 0x26: self.init("the site accepts no kind of key that this authenticator makes")
    case 0x28:
      self.init(
        Problem(
          "the store has no room for another passkey", hint: "remove some:",
          run: ["liquid-auth", "credentials", "list"]))
    default:
      let digits = String(status, radix: 16, uppercase: true)
      self.init("the authenticator refused the request with status 0x\(digits); its log says why")
    }
  }
}
