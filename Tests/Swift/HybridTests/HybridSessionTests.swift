import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import Hybrid

@Suite struct HybridSessionTests {
  /// A browser that showed a code, and the session that answers it.
  private struct Exchange {
    let key: P256.PrivateKey
    let link: FIDOURI
    var session: HybridSession
    var incoming = FrameCipher(SecretBytes.random(count: 32))
    var outgoing = FrameCipher(SecretBytes.random(count: 32))

    static let getInfo: [UInt8] = [0xA0]

    init(
      _ members: CBORMap = [:], service: UInt16 = 0, offering channels: Set<HybridSession.Channel> = [.tunnel]
    ) throws {
      key = try P256.PrivateKey.random()
      var map: CBORMap = [
        0: .bytes(key.publicKey.compressed), 1: .bytes(randomBytes(16)), 2: 2, 3: .unsigned(1_780_000_000),
      ]
      for pair in members.pairs { map[pair.key] = pair.value }
      link = try FIDOURI(code(of: map))
      session = try HybridSession(
        link, service: #require(TunnelService(service)), offering: channels, getInfo: Self.getInfo)
    }

    /// An exchange by Bluetooth alone, and its advert.
    static func byBluetooth() throws -> (exchange: Exchange, advert: [UInt8]) {
      var exchange = try Exchange([6: [0, 1]], offering: [.bluetooth])
      guard case .advertise(let advert)? = exchange.session.begin(listeningAt: 0x82, at: .zero).first else {
        throw HybridError.channels
      }
      return (exchange, advert)
    }

    /// The service data of the advert.
    mutating func advert() throws -> [UInt8] {
      _ = session.begin(at: .zero)
      guard
        case .advertise(let data)? = session.opened(
          routingIDs: ["0A0b0c"], subprotocol: "fido.cable", at: .seconds(1)
        ).first
      else { throw HybridError.tunnelAnswer }
      return data
    }

    /// The browser's first message, for an advert that it heard.
    func hello(_ advert: [UInt8]) throws -> NoiseHandshake.Initiator {
      let eid = try #require(EID(sealed: advert, key: link.eidKey))
      return try NoiseHandshake.Initiator(
        key: key, preSharedKey: link.preSharedKey(eid), ephemeral: P256.PrivateKey.random())
    }

    /// Everything up to the handshake's end.
    mutating func shakeHands() throws {
      let client = try hello(advert())
      let actions = session.receive(client.message, at: .seconds(2))
      guard case .send(let reply) = actions[1], case .send(let first) = actions[2] else { throw HybridError.handshake }
      #expect(actions[0] == .stopAdvertising && actions.count == 3)
      let keys = try client.finish(reply)
      (incoming, outgoing) = (FrameCipher(keys.toClient), FrameCipher(keys.toAuthenticator))
      #expect(try incoming.open(first) == AuthenticatorMessage.first(getInfo: Self.getInfo))
    }

    mutating func send(_ message: [UInt8], at now: Duration = .seconds(3)) throws -> [HybridSession.Action] {
      session.receive(try outgoing.seal(message), at: now)
    }

    mutating func read(_ action: HybridSession.Action?) throws -> [UInt8] {
      guard case .send(let frame)? = action else { throw HybridError.message }
      return try incoming.open(frame)
    }
  }

  @Test func `a sign-in goes from the code to the browser's shutdown`() throws {
    var exchange = try Exchange()
    let tunnel = exchange.session.begin(at: .zero)
    let path = "/cable/new/" + Hex(exchange.link.tunnelID).description
    #expect(tunnel == [.connect(host: "cable.ua5v.com", path: path)])
    try exchange.shakeHands()
    #expect(try exchange.send([1, 2, 0xA0]) == [.perform([2, 0xA0])])
    let answer = exchange.session.answer([0, 0xA1, 1, 2], at: .seconds(40))
    #expect(try exchange.read(answer.first) == [1, 0, 0xA1, 1, 2])
    #expect(exchange.session.ending == nil)
    #expect(try exchange.send([0]) == [.close])
    #expect(exchange.session.ending == .answered(0) && exchange.session.deadline == nil)
  }

  @Test func `getInfo is answered, and the exchange goes on`() throws {
    var exchange = try Exchange()
    try exchange.shakeHands()
    #expect(try exchange.send([1, 4]) == [.perform([4])])
    #expect(try exchange.read(exchange.session.answer([0, 0xA0], at: .seconds(4)).first) == [1, 0, 0xA0])
    #expect(try exchange.send([2, 0xA0]) == [], "an update is ignored")
    #expect(exchange.session.deadline == .seconds(34))
    #expect(try exchange.send([1, 4], at: .seconds(33)) == [.perform([4])])
    #expect(try exchange.read(exchange.session.answer([0, 0xA0], at: .seconds(99)).first) == [1, 0, 0xA0])
    #expect(exchange.session.deadline == .seconds(101), "questions do not prolong the exchange")
    #expect(try exchange.send([1, 1, 0xA0]) == [.perform([1, 0xA0])])
    #expect(try exchange.read(exchange.session.answer([0x27], at: .seconds(5)).first) == [1, 0x27])
    #expect(exchange.session.closed() == [.close] && exchange.session.ending == .answered(0x27))
  }

  @Test(
    arguments: [
      ([6: "x"], nil), ([6: ["x"]], .channels), ([5: "dcp"], .digitalCredential), ([5: "dci"], .digitalCredential),
      ([6: [1]], .onlyBluetooth), ([6: [7]], .channels), ([6: [0, 1]], nil), ([5: "xx"], nil),
    ] as [(CBORMap, HybridError?)])
  func `a code that no exchange can follow is refused before anything is sent`(
    _ members: CBORMap, _ error: HybridError?
  ) throws {
    if let error {
      #expect(throws: error) { try Exchange(members) }
    } else {
      _ = try Exchange(members)
    }
  }

  @Test func `a browser must know the tunnel service`() throws {
    #expect(throws: HybridError.tunnelService(1)) { try Exchange([2: 1], service: 1) }
    #expect(throws: HybridError.tunnelService(1)) { try Exchange([2: "2"], service: 1) }
    _ = try Exchange([2: 2], service: 1)
    _ = try Exchange([2: 1], service: 0)
    _ = try Exchange([2: 0], service: 300)
  }

  @Test(
    arguments: [
      ([], "fido.cable"), (["0a0b"], "fido.cable"), (["0a0b0c0d"], "fido.cable"), (["zzzzzz"], "fido.cable"),
      (["0a0b0c", "0a0b0c"], "fido.cable"), (["0a0b0"], "fido.cable"), (["0a0b0c"], nil), (["0a0b0c"], "other"),
    ] as [([String], String?)])
  func `nothing is advertised without one routing id and the protocol`(_ ids: [String], _ chosen: String?) throws {
    var exchange = try Exchange()
    _ = exchange.session.begin(at: .zero)
    #expect(exchange.session.opened(routingIDs: ids, subprotocol: chosen, at: .seconds(1)) == [.close])
    #expect(exchange.session.ending == .failed(.tunnelAnswer))
  }

  @Test func `a browser that did not hear this advert is refused, and the advert is withdrawn`() throws {
    var exchange = try Exchange()
    _ = try exchange.advert()
    let other = EID(routingID: [1, 2, 3], service: try #require(TunnelService(0)))
    let client = try NoiseHandshake.Initiator(
      key: exchange.key, preSharedKey: exchange.link.preSharedKey(other), ephemeral: P256.PrivateKey.random())
    #expect(exchange.session.receive(client.message, at: .seconds(2)) == [.stopAdvertising, .close])
    #expect(exchange.session.ending == .failed(.handshake))
  }

  @Test func `a shortened first message is refused at every length`() throws {
    for count in 0..<NoiseHandshake.messageSize {
      var exchange = try Exchange()
      let client = try exchange.hello(exchange.advert())
      let actions = exchange.session.receive(Array(client.message.prefix(count)), at: .seconds(2))
      #expect(actions == [.stopAdvertising, .close], "\(count) bytes")
    }
  }

  @Test(arguments: [[3, 0x7B, 0x7D], [4, 0], [0xFF], [], [1], [2], [2, 0xFF]] as [[UInt8]])
  func `a message that is not served ends the exchange`(_ message: [UInt8]) throws {
    var exchange = try Exchange()
    try exchange.shakeHands()
    #expect(try exchange.send(message) == [.close])
    #expect(exchange.session.ending == .failed(.message))
  }

  // Holds: HYBRID-4
  @Test(arguments: [[2, 0xA0], [1, 4]] as [[UInt8]])
  func `a browser that sends more messages than an exchange has is refused`(_ message: [UInt8]) throws {
    var exchange = try Exchange()
    try exchange.shakeHands()
    for _ in 0..<32 {
      _ = try exchange.send(message)
      _ = exchange.session.answer([0, 0xA0], at: .seconds(3))
      #expect(exchange.session.ending == nil)
    }
    #expect(try exchange.send(message) == [.close])
    #expect(exchange.session.ending == .failed(.message))
  }

  @Test func `a frame that was sent before is refused`() throws {
    var exchange = try Exchange()
    try exchange.shakeHands()
    let frame = try exchange.outgoing.seal([2, 0xA0])
    #expect(exchange.session.receive(frame, at: .seconds(3)) == [])
    #expect(exchange.session.receive(frame, at: .seconds(3)) == [.close])
    #expect(exchange.session.ending == .failed(.frame))
  }

  @Test func `a browser that leaves takes its dialog with it`() throws {
    for leaves in [true, false] {
      var exchange = try Exchange()
      try exchange.shakeHands()
      _ = try exchange.send([1, 2, 0xA0])
      #expect(try (leaves ? exchange.send([0]) : exchange.session.closed()) == [.cancel, .close])
      #expect(exchange.session.ending == .failed(.browserLeft))
      #expect(exchange.session.answer([0], at: .seconds(4)) == [], "an answer that comes too late is dropped")
    }
  }

  @Test func `a second request while one is open ends both`() throws {
    var exchange = try Exchange()
    try exchange.shakeHands()
    _ = try exchange.send([1, 2, 0xA0])
    #expect(try exchange.send([1, 2, 0xA0]) == [.cancel, .close])
    #expect(exchange.session.ending == .failed(.message))
  }

  @Test func `each step has its time`() throws {
    var exchange = try Exchange()
    _ = exchange.session.begin(at: .zero)
    #expect(exchange.session.tick(at: .seconds(14)) == [])
    #expect(exchange.session.tick(at: .seconds(15)) == [.close])
    #expect(exchange.session.ending == .failed(.noTunnel))

    exchange = try Exchange()
    _ = try exchange.advert()
    #expect(exchange.session.deadline == .seconds(61))
    #expect(exchange.session.tick(at: .seconds(61)) == [.stopAdvertising, .close])
    #expect(exchange.session.ending == .failed(.noBrowser))

    exchange = try Exchange()
    try exchange.shakeHands()
    #expect(exchange.session.deadline == .seconds(32))
    #expect(exchange.session.tick(at: .seconds(32)) == [.close])
    #expect(exchange.session.ending == .failed(.noRequest))

    exchange = try Exchange()
    try exchange.shakeHands()
    _ = try exchange.send([1, 2, 0xA0], at: .seconds(30))
    #expect(exchange.session.deadline == .seconds(101))
    let late = exchange.session.tick(at: .seconds(101))
    #expect(late.first == .cancel)
    #expect(try exchange.read(late.last) == [1, 0x2F])
    #expect(exchange.session.tick(at: .seconds(111)) == [.close])
    #expect(exchange.session.ending == .answered(0x2F))
  }

  @Test func `a question that is still open when the time is over ends the exchange`() throws {
    var exchange = try Exchange()
    try exchange.shakeHands()
    #expect(try exchange.send([1, 4]) == [.perform([4])])
    let late = exchange.session.tick(at: .seconds(101))
    #expect(late.count == 3 && late.first == .cancel && late.last == .close)
    #expect(try exchange.read(late[1]) == [1, 0x2F])
    #expect(exchange.session.ending == .failed(.noRequest) && exchange.session.deadline == nil)
  }

  // Holds: HYBRID-12
  @Test(
    arguments: [
      ([:], [.bluetooth], .noBluetooth), ([6: true], [.bluetooth], .noBluetooth),
      ([6: [0]], [.bluetooth], .noBluetooth), ([6: [7]], [.tunnel, .bluetooth], .channels),
      ([6: [1]], [.bluetooth], nil), ([6: [1]], [.tunnel, .bluetooth], nil), ([6: [0, 7, 1]], [.bluetooth], nil),
    ] as [(CBORMap, Set<HybridSession.Channel>, HybridError?)])
  func `only channels that the code lists are used`(
    _ members: CBORMap, _ offered: Set<HybridSession.Channel>, _ error: HybridError?
  ) throws {
    if let error {
      #expect(throws: error) { try Exchange(members, offering: offered) }
    } else {
      let channels = try Exchange(members, offering: offered).session.channels
      #expect(channels == [.bluetooth])
    }
  }

  // Holds: HYBRID-12
  @Test(arguments: [(1, 0), (2, 1)] as [(CBORValue, UInt16)])
  func `by Bluetooth alone, the advert names service 0 if the browser does not know the other`(
    _ known: CBORValue, _ named: UInt16
  ) throws {
    var exchange = try Exchange([2: known, 6: [0, 1]], service: 1, offering: [.bluetooth])
    guard case .advertise(let advert)? = exchange.session.begin(listeningAt: 0x82, at: .zero).first else {
      throw HybridError.channels
    }
    #expect(EID(sealed: advert, key: exchange.link.eidKey)?.service.number == named)
  }

  // Holds: HYBRID-12
  @Test(arguments: [1, 2, 41, 82, 10_000])
  func `by Bluetooth an exchange needs no service, in packets of any size`(_ size: Int) throws {
    let (start, advert) = try Exchange.byBluetooth()
    var exchange = start
    #expect(Array(advert.dropFirst(EID.sealedSize)) == [0xA1, 0x01, 0x18, 0x82])
    #expect(EID(sealed: advert, key: exchange.link.eidKey)?.routingID == [0, 0, 0])
    let client = try exchange.hello(advert)
    let actions = receive(client.message + [13, 10], by: size, &exchange)
    #expect(actions.count == 3 && actions[0] == .stopAdvertising && exchange.session.channel == .bluetooth)
    let replies = actions.compactMap { action -> [UInt8]? in
      if case .send(let reply) = action, reply.suffix(2) == [13, 10] { Array(reply.dropLast(2)) } else { nil }
    }
    let keys = try client.finish(replies[0])
    (exchange.incoming, exchange.outgoing) = (FrameCipher(keys.toClient), FrameCipher(keys.toAuthenticator))
    #expect(try exchange.incoming.open(replies[1]) == AuthenticatorMessage.first(getInfo: Exchange.getInfo))
    // An update and a request, whose frame contains CR LF.
    var outgoing = exchange.outgoing
    let update = try outgoing.seal([2, 0xA0]) + [13, 10]
    var (request, frame): ([UInt8], [UInt8]) = ([], [])
    repeat {
      var cipher = outgoing
      request = [2] + randomBytes(4000)
      frame = try cipher.seal([1] + request)
    } while !zip(frame, frame.dropFirst()).contains { $0 == 13 && $1 == 10 }
    #expect(receive(update + frame + [13, 10], by: size, &exchange) == [.perform(request)])
    let answered = exchange.session.answer([0], at: .seconds(4))
    guard case .send(let answer)? = answered.first else { throw HybridError.message }
    #expect(try exchange.incoming.open(Array(answer.dropLast(2))) == [1, 0])
    #expect(exchange.session.closed(.bluetooth) == [.close] && exchange.session.ending == .answered(0))
  }

  private func receive(_ bytes: [UInt8], by size: Int, _ exchange: inout Exchange) -> [HybridSession.Action] {
    stride(from: 0, to: bytes.count, by: size).flatMap { start in
      exchange.session.receive(packet: Array(bytes[start..<min(start + size, bytes.count)]), at: .seconds(2))
    }
  }

  // Holds: HYBRID-12
  @Test func `an advert that cannot be encrypted ends the exchange as it begins`() throws {
    let exchange = try Exchange([6: [0, 1]])
    // Without its nonce, an EID is not a whole block.
    var session = try HybridSession(
      exchange.link, service: #require(TunnelService(0)), offering: [.bluetooth], getInfo: Exchange.getInfo,
      ephemeral: exchange.key, nonce: [])
    #expect(session.begin(listeningAt: 0x82, at: .zero) == [])
    #expect(session.ending == .failed(.crypto(.invalidLength)) && session.deadline == nil)
  }

  // Holds: HYBRID-12
  @Test func `a stranger who connects by Bluetooth ends the exchange, and gets no answer`() throws {
    var (exchange, _) = try Exchange.byBluetooth()
    let junk = [UInt8](repeating: 4, count: 80) + [13, 10]
    #expect(exchange.session.receive(packet: junk, at: .seconds(1)) == [])
    #expect(exchange.session.receive(packet: [0], at: .seconds(1)) == [.stopAdvertising, .close])
    #expect(exchange.session.ending == .failed(.handshake))
    exchange = try Exchange.byBluetooth().exchange
    #expect(exchange.session.closed(.bluetooth) == [.stopAdvertising, .close])
    #expect(exchange.session.ending == .failed(.browserLeft))
  }

  // Holds: HYBRID-12
  @Test func `a message by Bluetooth that cannot be opened is never served`() throws {
    for count in [32, HybridSession.Limit.message + 2] {
      let (start, advert) = try Exchange.byBluetooth()
      var exchange = start
      _ = exchange.session.receive(packet: try exchange.hello(advert).message + [13, 10], at: .seconds(1))
      let junk = [UInt8](repeating: 4, count: count - 2) + [13, 10]
      let actions = exchange.session.receive(packet: junk, at: .seconds(2))
      #expect(actions == (count == 32 ? [] : [.close]))
      #expect(exchange.session.tick(at: .seconds(31)) == (count == 32 ? [.close] : []))
      #expect(exchange.session.ending == .failed(count == 32 ? .frame : .message))
    }
  }

  // Holds: HYBRID-12
  @Test(arguments: [HybridSession.Channel.tunnel, .bluetooth])
  func `with both channels the browser chooses, and the other channel does not matter any more`(
    _ chosen: HybridSession.Channel
  ) throws {
    var exchange = try Exchange([6: [1, 0]], offering: [.tunnel, .bluetooth])
    let connect = exchange.session.begin(listeningAt: 0xFF, at: .zero)
    guard case .connect? = connect.first else { throw HybridError.noTunnel }
    #expect(exchange.session.receive(packet: [1, 13, 10], at: .zero) == [], "nobody knows the PSM yet")
    let opened = exchange.session.opened(routingIDs: ["0a0b0c"], subprotocol: "fido.cable", at: .seconds(1))
    guard case .advertise(let advert)? = opened.first else { throw HybridError.tunnelAnswer }
    #expect(advert.suffix(4) == [0xA1, 0x01, 0x18, 0xFF])
    let other: HybridSession.Channel = chosen == .tunnel ? .bluetooth : .tunnel
    #expect(exchange.session.closed(other) == [] && exchange.session.ending == nil)
    let client = try exchange.hello(advert)
    let actions =
      chosen == .tunnel
      ? exchange.session.receive(client.message, at: .seconds(2))
      : exchange.session.receive(packet: client.message + [13, 10], at: .seconds(2))
    #expect(actions.count == 3 && exchange.session.channel == chosen)
    #expect(exchange.session.closed(other) == [])
    let late =
      chosen == .tunnel
      ? exchange.session.receive(packet: [1, 13, 10], at: .seconds(3))
      : exchange.session.receive([1], at: .seconds(3)) + exchange.session.receiveText()
    #expect(late == [] && exchange.session.ending == nil)
    #expect(exchange.session.closed(chosen) == [.close] && exchange.session.ending == .failed(.browserLeft))
  }

  // Holds: HYBRID-12
  @Test func `if the tunnel fails before the advert, the exchange ends, although Bluetooth is offered too`() throws {
    var exchange = try Exchange([6: [0, 1]], offering: [.tunnel, .bluetooth])
    _ = exchange.session.begin(listeningAt: 0x80, at: .zero)
    #expect(exchange.session.closed(.bluetooth) == [] && exchange.session.closed(.tunnel) == [.close])
    #expect(exchange.session.ending == .failed(.noTunnel))
  }

  // Holds: HYBRID-12
  /// Nobody listens there (`nil`); or a stranger leaves before the advert (0), or sends so many bytes.
  @Test(arguments: [nil, 0, 1, 82, 83, 1000] as [Int?])
  func `with both channels, a stranger by Bluetooth does not end the exchange by the tunnel`(_ size: Int?) throws {
    var exchange = try Exchange([6: [0, 1]], offering: [.tunnel, .bluetooth])
    _ = exchange.session.begin(listeningAt: size == nil ? nil : 0x82, at: .zero)
    if size == 0 { #expect(exchange.session.closed(.bluetooth) == []) }
    let opened = exchange.session.opened(routingIDs: ["0a0b0c"], subprotocol: "fido.cable", at: .seconds(1))
    guard case .advertise(let advert)? = opened.first else { throw HybridError.tunnelAnswer }
    #expect(advert.count == ((size ?? 0) == 0 ? 20 : 24), "the PSM only if somebody can connect")
    let junk = [UInt8](repeating: 13, count: size ?? 0)
    #expect(exchange.session.receive(packet: junk, at: .seconds(1)) == [])
    let left: Set<HybridSession.Channel> = size == 1 || size == 82 ? [.tunnel, .bluetooth] : [.tunnel]
    #expect(exchange.session.channels == left)
    let client = try exchange.hello(advert)
    #expect(exchange.session.receive(client.message, at: .seconds(2)).count == 3)
    #expect(exchange.session.tick(at: .seconds(32)) == [.close])
    #expect(exchange.session.ending == .failed(.noRequest), "not what the stranger sent")
  }

  @Test func `stopping leaves nothing behind`() throws {
    var exchange = try Exchange()
    #expect(exchange.session.stop() == [] && exchange.session.ending == .failed(.stopped))
    exchange = try Exchange()
    _ = try exchange.advert()
    #expect(exchange.session.stop() == [.stopAdvertising, .close])
    #expect(exchange.session.stop() == [] && exchange.session.begin(at: .zero) == [])
    #expect(exchange.session.receiveText() == [] && exchange.session.closed() == [])
  }
}
