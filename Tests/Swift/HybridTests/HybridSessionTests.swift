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

    init(_ members: CBORMap = [:], service: UInt16 = 0) throws {
      key = try P256.PrivateKey.random()
      var map: CBORMap = [
        0: .bytes(key.publicKey.compressed), 1: .bytes(randomBytes(16)), 2: 2, 3: .unsigned(1_780_000_000),
      ]
      for pair in members.pairs { map[pair.key] = pair.value }
      link = try FIDOURI(code(of: map))
      session = try HybridSession(
        link, service: #require(TunnelService(service)), getInfo: Self.getInfo)
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
      ([6: [1]], .channels), ([6: [0, 1]], nil), ([5: "xx"], nil),
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
