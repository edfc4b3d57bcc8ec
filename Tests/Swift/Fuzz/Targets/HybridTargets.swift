import CBOR
import CryptoPrimitives

@testable import Hybrid

/// Hybrid transports: what a tunnel service and a browser send, or a stranger in their place.
enum HybridTargets {
  static let all: [Target] = [
    Target(
      "hybrid-frame", of: "the content of a frame, or of an advert, of a hybrid transport", atMost: 2048,
      seeds: {
        [
          padded([1, 2, 0xA0]), padded([0]), padded([2, 0xA0]), [1, 1, 0xA0, 0],
          EID(routingID: [1, 2, 3], service: service, nonce: nonce).bytes, [0] + [UInt8](repeating: 7, count: 15),
        ]
      }, read: readFrame),
    Target(
      "hybrid-session", of: "what the tunnel service, the browser and the person do in one exchange", atMost: 1024,
      seeds: { exchanges }, read: readExchange),
  ]

  private static let key = constant { try P256.PrivateKey(scalar: secret([UInt8](repeating: 0x21, count: 32))) }
  private static let ephemeral = constant { try P256.PrivateKey(scalar: secret([UInt8](repeating: 0x22, count: 32))) }
  private static let browsersEphemeral = constant {
    try P256.PrivateKey(scalar: secret([UInt8](repeating: 0x23, count: 32)))
  }
  private static let nonce = [UInt8](0..<10)
  private static let service = constant {
    guard let service = TunnelService(0) else { throw HybridError.tunnelService(0) }
    return service
  }
  private static let getInfo: [UInt8] = [0xA0]

  /// The code that the browser shows: its key, the secret, and the number of tunnel services that it knows.
  private static let link = constant {
    let members: CBORMap = [
      0: .bytes(key.publicKey.compressed), 1: .bytes([UInt8](repeating: 9, count: 16)), 2: 2, 6: [0, 1],
    ]
    return try FIDOURI(FIDOURI.scheme + digits(of: CBOREncoder.encode(.map(members))))
  }

  /// Seven bytes in little-endian are 17 digits, and fewer bytes at the end are fewer digits (CTAP §11.5.1).
  private static func digits(of bytes: [UInt8]) -> String {
    stride(from: 0, to: bytes.count, by: 7).map { start in
      let chunk = bytes[start..<min(start + 7, bytes.count)]
      let text = String(chunk.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
      return String(repeating: "0", count: [0, 3, 5, 8, 10, 13, 15, 17][chunk.count] - text.count) + text
    }.joined()
  }

  /// A message with the padding that a sender adds.
  private static func padded(_ message: [UInt8]) -> [UInt8] {
    let zeros = 31 - message.count % 32
    return message + [UInt8](repeating: 0, count: zeros) + [UInt8(zeros)]
  }

  // MARK: - Frames and adverts

  /// The input under a correct tag, because any other would not open.
  private static func readFrame(_ input: [UInt8]) throws {
    let frameKey = secret([UInt8](repeating: 3, count: 32))
    let nonce = [UInt8](repeating: 0, count: AESGCM.nonceSize)
    var cipher = FrameCipher(frameKey)
    if let message = try? cipher.open(try AESGCM.seal(input, key: frameKey, nonce: nonce, ad: [])) {
      expect(input.starts(with: message), "another message")
      expect(input.last.map(Int.init) == input.count - message.count - 1, "padding that does not say its length")
      var (sender, receiver) = (FrameCipher(frameKey), FrameCipher(frameKey))
      let frame = try sender.seal(message)
      expect(frame.count % 32 == AESGCM.tagSize, "a frame of \(frame.count) bytes")
      expect(try receiver.open(frame) == message, "another message after it was sealed")
      expect((try? receiver.open(frame)) == nil, "a frame opened twice")
      readMessage(message)
    }
    readMessage(input)
    try readAdvert(input)
  }

  private static func readMessage(_ bytes: [UInt8]) {
    guard let message = try? ClientMessage(bytes) else { return }
    switch message {
    case .shutdown: expect(bytes[0] == 0, "a shutdown of type \(bytes[0])")
    case .ctap(let request): expect([1] + request == bytes && !request.isEmpty, "another request")
    case .update:
      expect(bytes[0] == 2 && (try? CBORDecoder.decode(Array(bytes.dropFirst()))) != nil, "an update that is no CBOR")
    }
  }

  /// The first block of the input as an advert's content, and the rest as bytes after it.
  private static func readAdvert(_ input: [UInt8]) throws {
    guard input.count >= AESCBC.blockSize else { return }
    let content = Array(input.prefix(AESCBC.blockSize))
    let key = link.eidKey
    let block = try AESCBC.encrypt(
      secret(content), key: key.part(0..<32), initializationVector: [UInt8](repeating: 0, count: AESCBC.blockSize))
    let tag = HMACSHA256.authenticate(block, key: key.part(32..<64)).prefix(4)
    let data = block + Array(tag) + input.dropFirst(content.count)
    guard let eid = EID(sealed: data, key: key) else {
      let number = UInt16(content[14]) | UInt16(content[15]) << 8
      expect(content[0] != 0 || TunnelService(number) == nil, "an advert that browsers accept was refused")
      return
    }
    expect(eid.bytes == content, "another content")
    expect(try eid.sealed(key) == Array(data.prefix(EID.sealedSize)), "another advert")
    let host = eid.service.host
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789.".utf8)
    expect(host.hasPrefix("cable.") && host.utf8.allSatisfy(letters.contains), "no host: \(host)")
    var changed = data
    changed[AESCBC.blockSize] ^= 1
    expect(EID(sealed: changed, key: key) == nil, "an advert with another tag was read")
  }

  // MARK: - One exchange

  /// The authenticator's side, what it has open, and the browser.
  private struct Exchange {
    var session: HybridSession
    var now = Duration.zero
    var isConnected = false
    var isAdvertising = false
    var isPerforming = false
    /// The browser that heard the advert.
    var initiator: NoiseHandshake.Initiator?
    var incoming: FrameCipher?
    var outgoing: FrameCipher?
    /// The last frame of the browser.
    var last: [UInt8] = []

    /// Does what the session wants, and checks that it wants nothing twice, and closes what it opened.
    mutating func execute(_ actions: [HybridSession.Action]) throws {
      let hadEnded = session.ending != nil && !isConnected
      expect(!hadEnded || actions.isEmpty, "\(actions.count) actions after the end")
      for action in actions {
        switch action {
        case .connect(let host, let path):
          expect(!isConnected && initiator == nil, "a second connection")
          expect(host == service.host && path.hasPrefix("/cable/new/"), "a connection to \(host)\(path)")
          isConnected = true
        case .advertise(let data):
          let size = EID.sealedSize + (session.channels.contains(.bluetooth) ? 4 : 0)
          expect(isConnected && !isAdvertising && data.count == size, "an advert of \(data.count) bytes")
          guard let eid = EID(sealed: data, key: link.eidKey) else { fatalError("an advert that no browser accepts") }
          isAdvertising = true
          initiator = try NoiseHandshake.Initiator(
            key: key, preSharedKey: link.preSharedKey(eid), ephemeral: browsersEphemeral)
        case .stopAdvertising:
          expect(isAdvertising, "an advert was stopped twice")
          isAdvertising = false
        case .send(let frame): try receive(frame)
        case .perform(let request):
          expect(!isPerforming && !request.isEmpty, "two requests at once")
          isPerforming = true
        case .cancel:
          expect(isPerforming, "no request to cancel")
          isPerforming = false
        case .close:
          expect(isConnected, "no connection to close")
          isConnected = false
        }
      }
      guard session.ending != nil else { return }
      expect(!isConnected && !isAdvertising && !isPerforming, "something is open after the end")
      expect(session.deadline == nil, "a deadline after the end")
    }

    /// The browser's side: the answer of the handshake, then frames that it can open.
    private mutating func receive(_ sent: [UInt8]) throws {
      expect(isConnected, "a frame without a connection")
      let isPacket = session.channel == .bluetooth
      expect(!isPacket || sent.suffix(2) == [13, 10], "a message by Bluetooth without its end")
      let frame = isPacket ? Array(sent.dropLast(2)) : sent
      guard incoming != nil else {
        guard let keys = try initiator?.finish(frame) else { fatalError("a frame before the advert") }
        (incoming, outgoing) = (FrameCipher(keys.toClient), FrameCipher(keys.toAuthenticator))
        return
      }
      let message = try incoming?.open(frame)
      let isFirst = message == AuthenticatorMessage.first(getInfo: getInfo)
      expect(isFirst || message?.first == 1, "a message of an unknown type")
    }
  }

  private static func readExchange(_ input: [UInt8]) throws {
    var choices = Choices(input)
    var exchange = Exchange(
      session: try HybridSession(
        link, service: service, offering: choices.bool() ? [.tunnel, .bluetooth] : [.tunnel], getInfo: getInfo,
        ephemeral: ephemeral, nonce: nonce))
    var steps = 0
    while !choices.isEmpty, steps < 32 {
      steps += 1
      try step(&choices, &exchange)
    }
    try exchange.execute(exchange.session.stop())
    expect(exchange.session.ending != nil, "an exchange that cannot be stopped")
  }

  private static func step(_ choices: inout Choices, _ exchange: inout Exchange) throws {
    let now = exchange.now
    switch choices.number(below: 13) {
    case 0: try exchange.execute(exchange.session.begin(listeningAt: 0x82, at: now))
    case 1: try exchange.execute(exchange.session.opened(routingIDs: ["0a0B0c"], subprotocol: "fido.cable", at: now))
    case 2:
      let ids = (0..<choices.number(below: 3)).map { _ in String(decoding: choices.counted(), as: UTF8.self) }
      let subprotocol = choices.one(of: ["fido.cable", "fido.cable2", nil])
      try exchange.execute(exchange.session.opened(routingIDs: ids, subprotocol: subprotocol, at: now))
    case 3: try receive(exchange.initiator?.message ?? [], in: &exchange)
    case 4:
      var message = exchange.initiator?.message ?? []
      if !message.isEmpty { message[choices.number(below: message.count)] ^= choices.byte() }
      try receive(message, in: &exchange)
    case 5, 6:
      let message = choices.counted()
      try receive(try exchange.outgoing?.seal(message) ?? message, in: &exchange)
    case 7: try receive(choices.bool() ? exchange.last : choices.counted(), in: &exchange)
    case 8:
      // An answer that nobody waits for is dropped.
      let actions = exchange.session.answer([choices.byte()] + choices.counted(), at: now)
      expect(exchange.isPerforming || actions.isEmpty, "an answer without a request")
      exchange.isPerforming = false
      try exchange.execute(actions)
    case 9:
      let deadline = exchange.session.deadline ?? now
      exchange.now = choices.bool() ? max(now, deadline) : now + .seconds(Int(choices.byte()))
      try exchange.execute(exchange.session.tick(at: exchange.now))
      expect(exchange.session.deadline.map { $0 > exchange.now } ?? true, "a deadline that has passed")
    case 11: try receivePacket((exchange.initiator?.message ?? []) + [13, 10], in: &exchange)
    case 12:
      let message = choices.counted()
      let frame = try exchange.outgoing?.seal(message) ?? message
      try receivePacket(frame + choices.one(of: [[13, 10], [13], []] as [[UInt8]]), in: &exchange)
    default:
      let actions =
        switch choices.number(below: 4) {
        case 0: exchange.session.closed()
        case 1: exchange.session.receiveText()
        case 2: exchange.session.closed(.bluetooth)
        default: exchange.session.stop()
        }
      try exchange.execute(actions)
    }
  }

  private static func receive(_ message: [UInt8], in exchange: inout Exchange) throws {
    exchange.last = message
    try exchange.execute(exchange.session.receive(message, at: exchange.now))
  }

  private static func receivePacket(_ packet: [UInt8], in exchange: inout Exchange) throws {
    try exchange.execute(exchange.session.receive(packet: packet, at: exchange.now))
  }

  // MARK: - Seeds

  /// Those by the tunnel alone; then, with both channels, a sign-in by Bluetooth, and one by the tunnel.
  private static let exchanges: [[UInt8]] =
    exchangesByTunnel.map { [0] + $0 } + [
      [1, 0, 1, 11] + [12, 2, 2, 0xA0, 0] + [12, 3, 1, 2, 0xA0, 0] + [8, 0, 1, 0xA0] + [12, 1, 0, 0],
      [1, 0, 1, 3] + [10, 2] + [5, 3, 1, 2, 0xA0] + [8, 0, 1, 0xA0] + [5, 1, 0],
    ]

  /// A sign-in to the browser's shutdown; getInfo, an update and a registration; a stranger; a browser that leaves; time,
  /// during a sign-in and during getInfo.
  private static let exchangesByTunnel: [[UInt8]] = [
    [0, 1, 3] + [5, 3, 1, 2, 0xA0] + [8, 0, 1, 0xA0] + [5, 1, 0],
    [0, 1, 3] + [5, 2, 1, 4] + [8, 0, 0] + [5, 2, 2, 0xA0] + [5, 3, 1, 1, 0xA0] + [8, 0x27, 0] + [10, 0],
    [0, 1, 4, 70, 1], [0, 2, 1, 6] + Array("0a0b0c".utf8) + [0],
    [0, 1, 3] + [5, 3, 1, 2, 0xA0] + [7, 1] + [10, 1], [0, 9, 0, 14] + [1, 9, 1, 9, 1],
    [0, 1, 3] + [5, 3, 1, 2, 0xA0] + [9, 1] + [9, 1], [0, 1, 3, 5, 2, 1, 4, 9, 1],
  ]
}
