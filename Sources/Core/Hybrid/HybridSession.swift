import CryptoPrimitives

/// The authenticator's side of one exchange by a `FIDO:/` code, a QR-initiated transaction (CTAP §11.5.1).
///
/// A pure value: it does no I/O, reads no clock and starts no task. The driver calls `begin` after the user agreed that
/// a computer nearby shows the code. It passes every event, with the time since the start of the exchange, performs the
/// actions in their order, and calls `tick` at `deadline`. A code has one handshake, by a tunnel service or by Bluetooth.
/// A failure ends the exchange, unless the browser can still use another channel that is advertised.
public struct HybridSession: Sendable {
  /// How messages travel, by the number in the code: CTAP §11.5.1.1.
  public enum Channel: UInt64, Sendable {
    /// A web socket to a tunnel service.
    case tunnel = 0
    /// L2CAP over Bluetooth Low Energy.
    case bluetooth = 1
  }

  /// What the driver must do, in the order of the array.
  public enum Action: Hashable, Sendable {
    /// Open a web socket with TLS, the protocol `fido.cable` and the origin `https` or `wss` of the host.
    case connect(host: String, path: String)
    /// Advertise this service data of 0xFFF9: 20 bytes, and 4 more if the browser may connect by Bluetooth.
    case advertise([UInt8])
    /// Withdraw the advert.
    case stopAdvertising
    /// Send this by `channel`: a binary message in one frame, or by Bluetooth any number of packets.
    case send([UInt8])
    /// Begin to work on a request, a command and CBOR; its answer goes to `answer`.
    case perform([UInt8])
    /// Stop working on the request; no answer is due.
    case cancel
    /// Close all connections.
    case close
  }

  /// How an exchange ended.
  public enum Ending: Hashable, Sendable {
    /// The browser has the answer to a registration or sign-in; its status byte.
    case answered(UInt8)
    /// It failed.
    case failed(HybridError)
  }

  /// How long each step may take, and how many messages an exchange may have.
  public enum Limit {
    /// The connection to the tunnel service.
    public static let connection = Duration.seconds(15)
    /// From the advert to the browser's first message.
    public static let advert = Duration.seconds(60)
    /// From the handshake to the browser's request.
    public static let request = Duration.seconds(30)
    /// From the connection to the answer: tunnel services end an exchange after two minutes.
    public static let exchange = Duration.seconds(100)
    /// From the answer to the browser's end.
    public static let end = Duration.seconds(10)
    /// The most messages of the browser after the handshake: an update, getInfo and a request are three.
    static let messages = 32
    /// The most bytes in a message of the browser: one of CTAP, 7,609 bytes (§11.2.4), sealed and padded.
    public static let message = 7_673
  }

  private enum State {
    case new
    case connecting
    case advertising(EID)
    case waiting(Ciphers)
    case performing(Ciphers, command: UInt8)
    case ending(status: UInt8)
    case ended(Ending)
  }

  /// Both directions after the handshake.
  private struct Ciphers {
    var incoming: FrameCipher
    var outgoing: FrameCipher
  }

  /// CTAP2_ERR_USER_ACTION_TIMEOUT, CTAP §6.3.
  private static let timedOut: UInt8 = 0x2F
  /// The commands after whose answer the exchange ends: makeCredential and getAssertion.
  private static let ceremonies: Set<UInt8> = [1, 2]
  /// CR LF, the end of each message by Bluetooth: CTAP §11.5.1.1.2.
  private static let endOfMessage: [UInt8] = [0x0D, 0x0A]

  private let link: FIDOURI
  private let service: TunnelService
  private let getInfo: [UInt8]
  private let ephemeral: P256.PrivateKey
  private let nonce: [UInt8]
  private var state = State.new
  private var connected = Duration.zero
  /// The messages of the browser since the handshake.
  private var received = 0
  /// The PSM of the socket that listens.
  private var psm: UInt16?
  /// The bytes that came by Bluetooth since the last message.
  private var unread: [UInt8] = []

  /// The channels of the exchange that can still be used, until the browser chooses one.
  public private(set) var channels: Set<Channel>
  /// The channel of the browser's first message.
  public private(set) var channel = Channel.tunnel

  /// When `tick` is due next, in the time since the start; `nil` while there is nothing to wait for.
  public private(set) var deadline: Duration?

  /// How it ended; `nil` until then.
  public var ending: Ending? { if case .ended(let ending) = state { ending } else { nil } }

  /// Prepares the answer to a code.
  ///
  /// - Parameters:
  ///   - service: the tunnel service; its number is in the advert even if no tunnel is used, or 0 if the browser does not
  ///     know it.
  ///   - offered: the channels that this machine offers; those that the code lists too are used.
  ///   - getInfo: what the authenticator answers to getInfo over this transport, without the status byte.
  /// - Throws: ``HybridError/digitalCredential``, ``HybridError/channels``, ``HybridError/onlyBluetooth``,
  ///   ``HybridError/noBluetooth`` or ``HybridError/tunnelService(_:)`` if no exchange can follow;
  ///   ``HybridError/crypto(_:)`` if there is no key.
  public init(
    _ link: FIDOURI, service: TunnelService, offering offered: Set<Channel> = [.tunnel], getInfo: [UInt8]
  ) throws(HybridError) {
    let ephemeral: P256.PrivateKey
    do throws(CryptoError) { ephemeral = try P256.PrivateKey.random() } catch { throw .crypto(error) }
    try self.init(
      link, service: service, offering: offered, getInfo: getInfo, ephemeral: ephemeral,
      nonce: randomBytes(EID.nonceSize))
  }

  init(
    _ link: FIDOURI, service: TunnelService, offering offered: Set<Channel> = [.tunnel], getInfo: [UInt8],
    ephemeral: P256.PrivateKey, nonce: [UInt8]
  ) throws(HybridError) {
    switch link.hint {
    case .credentialPresentation, .credentialIssuance: throw .digitalCredential
    case .getAssertion, .makeCredential, nil: break
    }
    let listed = Set(link.channels.compactMap(Channel.init))
    channels = listed.intersection(offered)
    guard !channels.isEmpty else {
      throw listed.isEmpty ? .channels : listed.contains(.bluetooth) ? .onlyBluetooth : .noBluetooth
    }
    // Without a tunnel, any number will do that the browser does not refuse.
    let service = channels.contains(.tunnel) || service.isKnown(to: link) ? service : TunnelService(0) ?? service
    guard service.isKnown(to: link) else { throw .tunnelService(service.number) }
    (self.link, self.service, self.getInfo) = (link, service, getInfo)
    (self.ephemeral, self.nonce) = (ephemeral, nonce)
  }

  // MARK: - Events

  /// Begins; the user has agreed.
  ///
  /// - Parameter psm: the PSM at which this machine listens, 0x80 to 0xFF. Without one, only the tunnel is used, and
  ///   `channels` must have it.
  public mutating func begin(listeningAt psm: UInt16? = nil, at now: Duration) -> [Action] {
    guard case .new = state else { return [] }
    self.psm = psm
    if psm == nil { channels.remove(.bluetooth) }
    // The browser reads a routing id even if it does not use it.
    guard channels.contains(.tunnel) else {
      return advertise(routingID: [UInt8](repeating: 0, count: EID.routingIDSize), at: now)
    }
    (state, deadline) = (.connecting, now + Limit.connection)
    return [.connect(host: service.host, path: "/cable/new/" + Self.hexadecimal(link.tunnelID))]
  }

  /// Takes the tunnel service's answer.
  ///
  /// - Parameters:
  ///   - routingIDs: the values of each `X-caBLE-Routing-ID`; exactly one is valid, of three bytes.
  ///   - subprotocol: the one that the service chose.
  public mutating func opened(routingIDs: [String], subprotocol: String?, at now: Duration) -> [Action] {
    guard case .connecting = state else { return [] }
    guard subprotocol == "fido.cable", routingIDs.count == 1, let id = Self.bytes(hexadecimal: routingIDs[0]),
      id.count == EID.routingIDSize
    else { return fail(.tunnelAnswer) }
    return advertise(routingID: id, at: now)
  }

  /// Takes a binary message of the browser, by the tunnel service.
  public mutating func receive(_ message: [UInt8], at now: Duration) -> [Action] {
    receive(message, by: .tunnel, at: now)
  }

  /// Takes a packet that came by Bluetooth: a part of a message, or more than one message.
  ///
  /// CR LF ends a message, but sealed bytes can contain it, too. So a message ends at the first CR LF before which it
  /// opens.
  public mutating func receive(packet: [UInt8], at now: Duration) -> [Action] {
    switch state {
    case .advertising, .waiting, .performing, .ending: break
    case .new, .connecting, .ended: return []
    }
    guard serves(.bluetooth) else { return [] }
    // CR may have been the last byte of the packet before.
    var next = max(0, unread.count - 1)
    unread += packet
    var actions: [Action] = []
    while let end = firstEnd(from: next) {
      var attempt = self
      let more = attempt.receive(Array(unread[..<end]), by: .bluetooth, at: now)
      if attempt.ending == .failed(.handshake) || attempt.ending == .failed(.frame) {
        next = end + 1
        continue
      }
      attempt.unread.removeFirst(end + Self.endOfMessage.count)
      self = attempt
      next = 0
      actions += more
      if ending != nil { return actions }
    }
    if case .advertising = state {
      guard unread.count >= NoiseHandshake.messageSize + Self.endOfMessage.count else { return [] }
      return drop(.bluetooth, because: .handshake)
    }
    return unread.count < Limit.message + Self.endOfMessage.count ? actions : actions + fail(.message)
  }

  private mutating func receive(_ message: [UInt8], by channel: Channel, at now: Duration) -> [Action] {
    guard serves(channel) else { return [] }
    do throws(HybridError) {
      switch state {
      case .advertising(let eid): return try shakeHands(message, eid, by: channel, at: now)
      case .waiting(var ciphers):
        let opened = try open(message, in: &ciphers)
        state = .waiting(ciphers)
        return try handle(opened, ciphers)
      case .performing(var ciphers, let command):
        let opened = try open(message, in: &ciphers)
        state = .performing(ciphers, command: command)
        switch opened {
        case .update: return []
        case .shutdown: throw .browserLeft
        case .ctap: throw .message
        }
      case .ending: throw .message
      case .new, .connecting, .ended: return []
      }
    } catch {
      return fail(error)
    }
  }

  /// Takes a text message, which browsers never send.
  public mutating func receiveText() -> [Action] { serves(.tunnel) ? fail(.message) : [] }

  /// Takes the end of a channel's connection, or the failure to open it.
  public mutating func closed(_ channel: Channel = .tunnel) -> [Action] {
    guard serves(channel) else { return [] }
    switch state {
    case .new, .ended: return []
    case .connecting where channel == .tunnel: return fail(.noTunnel)
    case .connecting, .advertising: return drop(channel, because: channel == .tunnel ? .noBrowser : .browserLeft)
    case .waiting, .performing, .ending: return fail(.browserLeft)
    }
  }

  /// Takes the authenticator's answer, a status and CBOR.
  public mutating func answer(_ bytes: [UInt8], at now: Duration) -> [Action] {
    guard case .performing(var ciphers, let command) = state else { return [] }
    do throws(HybridError) {
      let frame = try ciphers.outgoing.seal(AuthenticatorMessage.answer(bytes))
      if Self.ceremonies.contains(command) {
        (state, deadline) = (.ending(status: bytes.first ?? 0), now + Limit.end)
      } else {
        (state, deadline) = (.waiting(ciphers), min(now + Limit.request, connected + Limit.exchange))
      }
      return [send(frame)]
    } catch {
      return fail(error)
    }
  }

  /// Stops the exchange: the person ended it, or the program ends.
  public mutating func stop() -> [Action] { fail(.stopped) }

  /// Does what is due at `now`.
  public mutating func tick(at now: Duration) -> [Action] {
    guard let due = deadline, due <= now else { return [] }
    switch state {
    case .connecting: return fail(.noTunnel)
    case .advertising: return fail(.noBrowser)
    case .waiting: return fail(unread.isEmpty ? .noRequest : .frame)
    case .performing:
      let actions: [Action] = [.cancel] + answer([Self.timedOut], at: now)
      // After a question, the browser could go on, but the time of the exchange is over.
      if case .waiting = state { return actions + fail(.noRequest) }
      return actions
    case .ending: return fail(.browserLeft)
    case .new, .ended: return []
    }
  }

  // MARK: - Steps

  private mutating func advertise(routingID: [UInt8], at now: Duration) -> [Action] {
    let eid = EID(routingID: routingID, service: service, nonce: nonce)
    let advert: [UInt8]
    do throws(CryptoError) { advert = try eid.sealed(link.eidKey) } catch { return fail(.crypto(error)) }
    (state, connected, deadline) = (.advertising(eid), now, now + Limit.advert)
    let psm = channels.contains(.bluetooth) ? psm : nil
    return [.advertise(advert + (psm.map(EID.suffix(psm:)) ?? []))]
  }

  /// Gives up a channel; ends the exchange if it was the last one.
  private mutating func drop(_ channel: Channel, because error: HybridError) -> [Action] {
    channels.remove(channel)
    return channels.isEmpty ? fail(error) : []
  }

  private mutating func shakeHands(
    _ message: [UInt8], _ eid: EID, by channel: Channel, at now: Duration
  ) throws(HybridError) -> [Action] {
    // Before any key is derived: a stranger's packet can have thousands of CR LF.
    guard message.count == NoiseHandshake.messageSize else { throw .handshake }
    // A stranger's bytes are no part of the exchange by the tunnel.
    if channel == .tunnel { unread = [] }
    let (reply, keys) = try NoiseHandshake.respond(
      to: message, clientKey: link.clientKey, preSharedKey: link.preSharedKey(eid), ephemeral: ephemeral)
    var ciphers = Ciphers(incoming: FrameCipher(keys.toAuthenticator), outgoing: FrameCipher(keys.toClient))
    let first = try ciphers.outgoing.seal(AuthenticatorMessage.first(getInfo: getInfo))
    (state, deadline, self.channel) = (.waiting(ciphers), now + Limit.request, channel)
    return [.stopAdvertising, send(reply), send(first)]
  }

  /// Whether the channel's events concern the exchange; once the browser has chosen the other one, they do not.
  private func serves(_ channel: Channel) -> Bool {
    switch state {
    case .new, .connecting, .advertising: channels.contains(channel)
    case .waiting, .performing, .ending, .ended: channel == self.channel
    }
  }

  private func send(_ message: [UInt8]) -> Action {
    .send(channel == .bluetooth ? message + Self.endOfMessage : message)
  }

  /// The index of the first CR LF in `unread` from an index on.
  private func firstEnd(from start: Int) -> Int? {
    (start..<max(start, unread.count - 1)).first { unread[$0...].starts(with: Self.endOfMessage) }
  }

  /// Opens the browser's next message.
  private mutating func open(_ message: [UInt8], in ciphers: inout Ciphers) throws(HybridError) -> ClientMessage {
    received += 1
    guard received <= Limit.messages else { throw .message }
    return try ClientMessage(ciphers.incoming.open(message))
  }

  private mutating func handle(
    _ message: ClientMessage, _ ciphers: Ciphers
  ) throws(HybridError) -> [Action] {
    switch message {
    case .update: return []
    case .shutdown: throw .browserLeft
    case .ctap(let request):
      (state, deadline) = (.performing(ciphers, command: request[0]), connected + Limit.exchange)
      return [.perform(request)]
    }
  }

  /// Ends the exchange; after the answer, an error is no failure.
  private mutating func fail(_ error: HybridError) -> [Action] {
    if case .ending(let status) = state { return end(.answered(status)) }
    return end(.failed(error))
  }

  /// Ends the exchange, with its advert, its request and its connection.
  private mutating func end(_ ending: Ending) -> [Action] {
    let last: [Action] =
      switch state {
      case .new, .ended: []
      case .connecting, .waiting, .ending: [.close]
      case .advertising: [.stopAdvertising, .close]
      case .performing: [.cancel, .close]
      }
    if self.ending == nil { (state, deadline) = (.ended(ending), nil) }
    return last
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// `nil` for text that is not bytes in hexadecimal.
  private static func bytes(hexadecimal text: String) -> [UInt8]? {
    let digits = text.utf8.map { byte in Character(UnicodeScalar(byte)).hexDigitValue }
    guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { index in
      UInt8((digits[index] ?? 0) << 4 | (digits[index + 1] ?? 0))
    }
  }
}
