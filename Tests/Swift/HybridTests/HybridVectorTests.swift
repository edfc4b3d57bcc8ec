import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Hybrid

/// `hybrid.json`: bytes of Chromium, Safari, an iPhone, Telegram and libwebauthn, and faulty ones.
@Suite struct HybridVectorTests {
  private let vectors: Vector

  init() throws { vectors = try Vector("hybrid") }

  @Test func `the digits of codes are read`() throws {
    #expect(vectors.digits.array.count == 25)
    for vector in vectors.digits.array {
      #expect(try Base10.decode(vector.digits.text.utf8) == vector["bytes"].bytes, "\(vector.digits.text)")
    }
  }

  // Holds: INPUT-14
  @Test func `the codes of every browser are read, with their keys`() throws {
    #expect(vectors.codes.array.count == 21)
    for code in vectors.codes.array {
      let read = try FIDOURI(code.uri.text)
      #expect(Hex([4] + read.clientKey.raw) == code.peerUncompressed.hex, "\(code)")
      #expect(read.secret.hex == code.secret.hex && read.eidKey.hex == code.eidKey.hex, "\(code)")
      #expect(Hex(read.tunnelID) == code.tunnelId.hex, "\(code)")
      #expect((read.hint ?? .getAssertion).rawValue == code.hint.text, "\(code)")
      let channels: [UInt64] = code.channels.array.map { $0.integer() }
      #expect(read.channels == channels, "\(code)")
      #expect((read.supportsNonDiscoverable ?? false) == code.nonDiscoverable.isTrue, "\(code)")
    }
  }

  @Test func `a faulty code is refused, and a fault that does not matter is not`() throws {
    #expect(vectors.malformed.codes.array.count == 29 && vectors.malformed.codesTolerated.array.count == 8)
    for code in vectors.malformed.codes.array {
      #expect(throws: HybridError.self, "\(code.why.text)") { try FIDOURI(code.uri.text) }
    }
    for code in vectors.malformed.codesTolerated.array {
      #expect(throws: Never.self, "\(code.why.text)") { try FIDOURI(code.uri.text) }
    }
  }

  @Test func `the key of a handshake comes from the secret and the advert`() throws {
    let cases = vectors.keys.cases.array.filter { $0.kind.integer() == 3 }
    #expect(cases.count == 3)
    for vector in cases {
      let link = try link(secret: vector.secret.bytes), plain = vector.salt.bytes
      let service = try #require(TunnelService(UInt16(plain[14]) | UInt16(plain[15]) << 8))
      let eid = EID(routingID: Array(plain[11..<14]), service: service, nonce: Array(plain[1..<11]))
      #expect(eid.bytes == plain)
      #expect(link.preSharedKey(eid).hex == vector.out.hex)
    }
  }

  @Test func `adverts are made and read`() throws {
    #expect(vectors.adverts.cases.array.count == 14)
    for vector in vectors.adverts.cases.array {
      let key = vector.eidKey.hex.secret, data = vector.serviceData.bytes
      let service = try #require(TunnelService(vector.domain.integer()))
      let eid = EID(routingID: vector.routingId.bytes, service: service, nonce: vector.nonce.bytes)
      #expect(Hex(eid.bytes) == vector.plain.hex, "\(vector)")
      #expect(Hex(try eid.sealed(key)) == Hex(data.prefix(20)), "\(vector)")
      #expect(EID(sealed: data, key: key) == eid, "\(vector)")
    }
    #expect(vectors.malformed.adverts.array.count == 9)
    for vector in vectors.malformed.adverts.array {
      #expect(EID(sealed: vector.serviceData.bytes, key: vector.eidKey.hex.secret) == nil, "\(vector.why.text)")
    }
  }

  @Test func `a number gives the name of a tunnel service`() {
    #expect(vectors.domains.array.count == 16)
    for vector in vectors.domains.array {
      let host = TunnelService(vector["id"].integer())?.host
      #expect(host == vector.domain.optional?.text, "\(vector["id"].integer() as UInt64)")
    }
  }

  @Test func `both sides of a handshake compute the same keys`() throws {
    #expect(vectors.handshakes.array.count == 6)
    for vector in vectors.handshakes.array {
      let preSharedKey = vector.psk.hex.secret
      let keys = NoiseHandshake.Keys(
        toAuthenticator: vector.toAuthenticator.hex.secret, toClient: vector.toClient.hex.secret)
      // The private keys of Chromium and of an iPhone are not known.
      if let key = vector.clientStaticPrivate.optional {
        let client = try NoiseHandshake.Initiator(
          key: P256.PrivateKey(scalar: key.hex.secret), preSharedKey: preSharedKey,
          ephemeral: P256.PrivateKey(scalar: vector.clientEphemeralPrivate.hex.secret))
        #expect(Hex(client.message) == vector.message1.hex, "\(vector)")
        #expect(try client.finish(vector.message2.bytes) == keys, "\(vector)")
      }
      if let ephemeral = vector.authenticatorEphemeralPrivate.optional {
        let (answer, ours) = try NoiseHandshake.respond(
          to: vector.message1.bytes, clientKey: publicKey(vector.clientStaticPublic.bytes),
          preSharedKey: preSharedKey, ephemeral: P256.PrivateKey(scalar: ephemeral.hex.secret))
        #expect(Hex(answer) == vector.message2.hex && ours == keys, "\(vector)")
      }
    }
  }

  @Test func `the state of a handshake is right after each step`() throws {
    let vector = vectors.handshakes[0]
    let trace = Dictionary(uniqueKeysWithValues: vector.trace.array.map { ($0.after.text, $0) })
    let key = try P256.PrivateKey(scalar: vector.clientStaticPrivate.hex.secret)
    let own = try P256.PrivateKey(scalar: vector.authenticatorEphemeralPrivate.hex.secret)
    func check(_ state: NoiseState, _ step: String) {
      #expect(Hex(state.hash) == trace[step]?.h.hex, "\(step)")
      #expect(state.chainingKey.hex == trace[step]?.ck.hex, "\(step)")
    }
    var state = NoiseState(clientKey: key.publicKey, preSharedKey: vector.psk.hex.secret)
    check(state, "psk")
    let client = try state.readEphemeral(vector.message1.bytes)
    check(state, "client e (psk form)")
    try state.checkTag(vector.message1.bytes)
    check(state, "client tag")
    _ = state.addEphemeral(own)
    check(state, "authenticator e (psk form)")
    state.mixKey(try own.sharedSecret(with: client))
    check(state, "ee")
    state.mixKey(try own.sharedSecret(with: key.publicKey))
    check(state, "se")
    _ = try state.tag()
    check(state, "authenticator tag")
    #expect(Hex(state.hash) == vector.handshakeHash.hex)
  }

  @Test func `a faulty first message is refused`() throws {
    let all = vectors.malformed.handshakes
    #expect(all.cases.array.count == 13)
    for vector in all.cases.array {
      let key = try publicKey((vector.clientStaticPublic.optional ?? all.clientStaticPublic).bytes)
      let preSharedKey = (vector.psk.optional ?? all.psk).hex.secret
      let ephemeral = try P256.PrivateKey(scalar: all.authenticatorEphemeralPrivate.hex.secret)
      #expect(throws: HybridError.handshake, "\(vector.why.text)") {
        try NoiseHandshake.respond(
          to: vector.message1.bytes, clientKey: key, preSharedKey: preSharedKey, ephemeral: ephemeral)
      }
    }
  }

  @Test func `messages are sealed and opened`() throws {
    #expect(vectors.frames.array.count == 31)
    for vector in vectors.frames.array {
      var cipher = FrameCipher(vector.key.hex.secret, counter: vector.counter.integer())
      guard vector.aad.text.isEmpty else {
        // The form before 2022 is not served.
        #expect(throws: HybridError.frame) { try cipher.open(vector.frame.bytes) }
        continue
      }
      #expect(Hex(try cipher.open(vector.frame.bytes)) == vector.plain.hex, "\(vector)")
      guard vector.padded.bytes.count.isMultiple(of: 32), vector.padded.bytes.last ?? 0 < 32 else { continue }
      var sealer = FrameCipher(vector.key.hex.secret, counter: vector.counter.integer())
      #expect(Hex(try sealer.seal(vector.plain.bytes)) == vector.frame.hex, "\(vector)")
    }
    var last = FrameCipher(SecretBytes.random(count: 32), counter: 0xFF_FFFF)
    _ = try last.seal([])
    #expect(throws: HybridError.frame) { try last.seal([]) }
  }

  @Test func `a faulty frame is refused`() {
    let all = vectors.malformed.frames
    #expect(all.cases.array.count == 11)
    for vector in all.cases.array {
      var cipher = FrameCipher(all.key.hex.secret, counter: all.counter.integer())
      #expect(throws: HybridError.frame, "\(vector.why.text)") { try cipher.open(vector.frame.bytes) }
    }
  }

  @Test func `the first message has getInfo and says that CTAP is spoken`() throws {
    let vector = vectors.postHandshake[4]
    let map = try #require(CBORDecoder.decode(vector["bytes"].bytes).map)
    let getInfo = try map.requiredBytes(1)
    #expect(Hex(AuthenticatorMessage.first(getInfo: getInfo)) == vector["bytes"].hex)
  }

  @Test func `the messages of a browser have types`() throws {
    for vector in vectors.malformed.plainTexts.array where vector["do"].text.hasPrefix("close") {
      #expect(throws: HybridError.message, "\(vector.why.text)") { try ClientMessage(vector.plain.bytes) }
    }
    #expect(try ClientMessage([0]) == .shutdown && ClientMessage([0, 0]) == .shutdown)
    #expect(try ClientMessage([1, 4]) == .ctap([4]) && ClientMessage([2, 0xA0]) == .update)
  }

  /// A code with this secret.
  private func link(secret: [UInt8]) throws -> FIDOURI {
    let key = try publicKey(vectors.handshakes[0].clientStaticPublic.bytes)
    return try FIDOURI(code(of: [0: .bytes(key.compressed), 1: .bytes(secret)]))
  }

  private func publicKey(_ point: [UInt8]) throws -> P256.PublicKey {
    try P256.PublicKey(x: Array(point[1..<33]), y: Array(point[33..<65]))
  }
}

/// The link of a code with this content.
func code(of map: CBORMap) -> String {
  let bytes = CBOREncoder.encode(.map(map))
  return FIDOURI.scheme
    + stride(from: 0, to: bytes.count, by: 7).map { start in
      let chunk = bytes[start..<min(start + 7, bytes.count)]
      let text = String(chunk.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
      let width = [0, 3, 5, 8, 10, 13, 15, 17][chunk.count]
      return String(repeating: "0", count: width - text.count) + text
    }.joined()
}
