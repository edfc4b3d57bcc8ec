import CryptoPrimitives
import LiquidAuth
import TestVectors
import Testing

@testable import Keyri

@Suite struct KeyriValuesTests {
  @Test func `a public key has OpenSSL's encoding`() throws {
    for vector in try KeyriVectors.load().keys.array {
      let encoded = SubjectPublicKeyInfo.encode(try P256.PublicKey(vector.publicKey.hex))
      #expect(Hex(encoded) == vector.spki.hex, "\(vector)")
      #expect(Base64.encode(encoded) == vector.spkiBase64.text, "\(vector)")
    }
  }

  @Test func `a payload is sealed byte for byte`() throws {
    for vector in try KeyriVectors.load().sealed.array {
      let ephemeral = try P256.PrivateKey(vector.ephemeralPrivateKey.hex)
      let (iv, salt) = (vector.iv.bytes, vector.salt.bytes)
      let randomness = KeyriRandomness(bytes: { $0 == iv.count ? iv : salt }, key: { ephemeral })
      let sealed = try KeyriSealedPayload(
        vector.payload.bytes, for: try P256.PublicKey(vector.browserPublicKey.hex), randomness: randomness)
      #expect(sealed.publicKey == vector.browserData.publicKey.text, "\(vector)")
      #expect(sealed.ciphertext == vector.browserData.ciphertext.text, "\(vector)")
      #expect(sealed.salt == vector.browserData.salt.text, "\(vector)")
      #expect(sealed.iv == vector.browserData.iv.text, "\(vector)")
    }
  }

  // Holds: KEYRI-7, PEERSERVER-2
  @Test func `the system's randomness gives each payload its own key, salt and nonce`() throws {
    let browserKey = try P256.PublicKey(try KeyriVectors.load().sealed[0].browserPublicKey.hex)
    let all = try (0..<16).map { _ in try KeyriSealedPayload([], for: browserKey, randomness: .system) }
    #expect(Set(all.map(\.publicKey)).count == 16)
    #expect(Set(all.map(\.salt)).count == 16)
    #expect(Set(all.map(\.iv)).count == 16)
    #expect(all.allSatisfy { Base64.decode($0.salt)?.count == 32 })
  }

  @Test func `signed data is 13 digits and a nonce`() throws {
    let flow = try KeyriVectors.load().flow
    #expect(
      try KeyriTimestampNonce(at: flow.milliseconds.integer(), nonce: flow.nonce.bytes).text == flow.dataText.text)
    #expect(
      try KeyriTimestampNonce(at: 1_000_000_000_000, nonce: [0, 15, 16, 255]).text == "1000000000000_000f10ff")
    #expect(try KeyriTimestampNonce(at: 9_999_999_999_999, nonce: []).text == "9999999999999_")
  }

  @Test(arguments: [0, 1, 1_789_000_000, 999_999_999_999, 10_000_000_000_000, UInt64.max])
  func `a time without 13 digits is refused`(_ milliseconds: UInt64) {
    #expect(throws: LiquidAuthError.wrongClock) { try KeyriTimestampNonce(at: milliseconds, nonce: []) }
  }

  @Test func `signed data is fresh for less than 60 seconds, and not before its own time`() throws {
    let made = try KeyriTimestampNonce(at: 1_789_000_000_000, nonce: [])
    #expect(made.isFresh(at: 1_789_000_000_000))
    #expect(made.isFresh(at: 1_789_000_059_999))
    #expect(!made.isFresh(at: 1_789_000_060_000))
    #expect(!made.isFresh(at: 1_788_999_999_999))
  }

  @Test(arguments: [
    "a@b", "alice@example.com", "Alice+tag@Example.com", "\"@example.com", "älice@exämple.com", "a'b@c",
  ])
  func `an email address is not changed`(_ text: String) throws {
    #expect(Array(try KeyriEmail(text).text.utf8) == Array(text.utf8))
  }

  @Test(arguments: [
    "", "@", "a@", "@b", "alice", "a@b@c", "a b@c", " a@b", "a@b\n", "a@b\u{0}", "a@\u{202E}b", "a\u{200B}@b",
    "a@b\u{E000}",
    "a\u{2028}@b", String(repeating: "a", count: 253) + "@b",
  ])
  func `an invalid email address is refused`(_ text: String) {
    #expect(throws: LiquidAuthError.noEmail) { try KeyriEmail(text) }
  }

  @Test func `the spelling of an address is kept byte for byte`() throws {
    #expect(try KeyriEmail("e\u{301}@b").text.utf8.count == 5)
    #expect(try KeyriEmail("\u{E9}@b").text.utf8.count == 4)
    #expect(try KeyriEmail(String(repeating: "a", count: 252) + "@b").text.utf8.count == 254)
  }

  @Test(arguments: ["", "a b", "a/b", "a?b", "a%20", "a&b", "ä", String(repeating: "a", count: 129)])
  func `an app key that would change the request is refused`(_ text: String) throws {
    let world = try KeyriWorld()
    let origin = try WebOrigin("https://api.example")
    #expect(throws: LiquidAuthError.keyriAppKey) {
      try KeyriSessions(
        origin: origin, appKey: text, http: world, keys: ScriptedAssociationKeys(world: world), now: { 0 },
        randomness: .system)
    }
  }

  @Test func `a logged token shows only its length`() throws {
    let token = try #require(FirebaseToken(Array("aGVhZA.Ym9keQ.c2ln".utf8)))
    #expect("\(token)" == "FirebaseToken(18)")
    var dumped = ""
    dump(token, to: &dumped)
    #expect(!dumped.contains("aGVhZA") && !dumped.contains("97"))
  }

  @Test func `each error has a remedy`() {
    let faults: [LiquidAuthError] = [
      .noKeyriLink, .foreignKeyriLink, .noEmail, .keyriAppKey, .wrongClock, .keyriServer(.timedOut),
      .keyriServer(.tooLarge), .keyriServer(.unreachable("x")), .keyriServer(.untrusted("x")),
      .keyriServer(.broken("x")),
      .keyriAuthenticator(.declined), .keyriAuthenticator(.timedOut), .keyriAuthenticator(.refused("x")),
      .keyriAuthenticator(.unreachable("x")), .keyriRedirected, .keyriRegistered, .keyriUnauthorized,
      .keyriRefused(status: 500, reason: nil), .keyriAnswer("x"), .otherKeyriSession, .browserKey, .anotherUser,
      .anotherOrigin, .deniedByRisk, .keyriTooLate,
    ]
    #expect(Set(faults.map(\.description)).count == faults.count - 1, "both x of the authenticator are its own words")
    #expect(
      LiquidAuthError.keyriRefused(status: 410, reason: "gone\u{1B}").description
        == "the server refused with status 410: gone\\u{1B}; ask for a new code, or try later")
  }
}
