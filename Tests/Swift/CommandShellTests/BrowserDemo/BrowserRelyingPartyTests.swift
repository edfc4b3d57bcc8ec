import CBOR
import CTAP2
import CryptoPrimitives
import LiquidAuth
import Testing

@testable import liquid_auth

/// The relying party must refuse each wrong answer, by the check that is for it.
@Suite struct BrowserRelyingPartyTests {
  typealias Malformed = BrowserRelyingParty.Malformed

  let site = BrowserRelyingParty(origin: BrowserKey.origin)
  let challenge = randomBytes(32)
  let userID = randomBytes(16)
  static let attestationFails = "the attestation's signature is valid"

  private func registered(
    _ key: BrowserKey, packed: Bool = true, ceremony: DemoCeremony = .passkey, known: [[UInt8]] = []
  ) throws -> (verdict: DemoVerdict, passkey: BrowserRelyingParty.Passkey?) {
    try site.verify(key.register(challenge, packed: packed), of: ceremony, challenge: challenge, known: known)
  }

  private func signedIn(
    _ key: BrowserKey, ceremony: DemoCeremony = .signIn, count: UInt32 = 0, isEligible: Bool = true
  ) throws -> (verdict: DemoVerdict, count: UInt32) {
    var passkey = BrowserRelyingParty.Passkey(
      account: .init(credentialID: key.id, publicKey: key.publicKey, signCount: count), isBackupEligible: isEligible,
      isDiscoverable: true)
    let verdict = try site.verify(
      key.signIn(challenge), of: ceremony, challenge: challenge, with: &passkey, userID: userID)
    return (verdict, passkey.account.signCount)
  }

  private func key(_ change: (inout BrowserKey) -> Void = { _ in }) throws -> BrowserKey {
    var key = try BrowserKey()
    key.userHandle = userID
    change(&key)
    return key
  }

  @Test(arguments: [true, false])
  func `a right registration is accepted, with self attestation or none`(_ packed: Bool) throws {
    let key = try key { $0.signCount = 3 }
    let (verdict, passkey) = try registered(key, packed: packed)
    #expect(verdict.failed.isEmpty)
    #expect(verdict.checks.count == (packed ? 12 : 10))
    #expect(passkey?.account == .init(credentialID: key.id, publicKey: key.publicKey, signCount: 3))
    #expect(passkey?.isBackupEligible == true && passkey?.isDiscoverable == true)
    #expect(verdict.facts.contains(.init(name: "flags", value: "0x5d: UP UV BE BS AT")))
    #expect(
      verdict.facts.contains(
        .init(name: "AAGUID", value: "83e27e5d-962b-474d-be2c-9c194dd147a9 (Liquid Auth for Linux)")))
    #expect(verdict.facts.contains(.init(name: "transports", value: "usb")))
  }

  @Test func `a right sign-in is accepted, and its counter kept`() throws {
    let (verdict, count) = try signedIn(key())
    #expect(verdict.failed.isEmpty && verdict.checks.count == 13 && count == 0)
    #expect(try signedIn(key { $0.signCount = 8 }, count: 7).count == 8)
    #expect(try signedIn(key { $0.crossOrigin = nil }).verdict.holds)
  }

  /// A change of a key, and the checks that fail at a sign-in.
  static let wrong: [(name: String, change: @Sendable (inout BrowserKey) -> Void, fails: [String])] = [
    ("origin", { $0.origin = "http://localhost:8081" }, ["the origin is http://localhost:8080"]),
    ("origin of TLS", { $0.origin = "https://localhost:8080" }, ["the origin is http://localhost:8080"]),
    ("origin with a slash", { $0.origin = "http://localhost:8080/" }, ["the origin is http://localhost:8080"]),
    ("type of U2F", { $0.type = "navigator.id.getAssertion" }, ["the type is webauthn.get"]),
    ("type of a payment", { $0.type = "payment.get" }, ["the type is webauthn.get"]),
    ("frame", { $0.crossOrigin = "true" }, ["the page is not embedded in a page of another origin"]),
    ("rp.id", { $0.rpID = "localhost.example" }, ["rpIdHash is that of localhost"]),
    ("no UP", { $0.flags.remove(.userPresent) }, ["the user was present (UP)"]),
    ("no UV", { $0.flags.remove(.userVerified) }, ["the user was verified (UV)"]),
    (
      "BS without BE", { $0.flags.remove(.backupEligible) },
      [
        "the backup state (BS) is set only with backup eligibility (BE)",
        "backup eligibility (BE) is as at the registration",
      ]
    ),
    ("no user", { $0.userHandle = nil }, ["the user handle is the account's"]),
    ("another user", { $0.userHandle = [1] }, ["the user handle is the account's"]),
    (
      "counter changed after signing", { $0.afterSigning = { Array($0.dropLast()) + [1] } },
      ["the signature is valid"]
    ),
  ]

  // Holds: DEMO-1
  @Test(arguments: wrong.indices)
  func `a wrong sign-in fails its own check only`(_ index: Int) throws {
    let (name, change, fails) = Self.wrong[index]
    let (verdict, count) = try signedIn(key { change(&$0) })
    #expect(verdict.failed == fails, "\(name)")
    #expect(count == 0, "\(name)")
  }

  // Holds: DEMO-1
  @Test func `another challenge fails, and one that is only longer`() throws {
    let key = try key()
    for other in [randomBytes(32), challenge + [0], Array(challenge.dropLast()), []] {
      #expect(
        try site.verify(key.register(other), of: .passkey, challenge: challenge, known: []).verdict.failed
          == ["the challenge is the one of this step"])
    }
  }

  // Holds: DEMO-1
  @Test func `a signature of another key fails`() throws {
    var passkey = BrowserRelyingParty.Passkey(
      account: .init(credentialID: [1], publicKey: try BrowserKey().publicKey, signCount: 0), isBackupEligible: true,
      isDiscoverable: true)
    let verdict = try site.verify(
      key().signIn(challenge), of: .signIn, challenge: challenge, with: &passkey, userID: userID)
    #expect(verdict.failed == ["the signature is valid"])
  }

  // Holds: DEMO-1
  @Test(arguments: [(0, 1), (1, 1), (4, 5), (0, UInt32.max)] as [(UInt32, UInt32)])
  func `a signature counter that does not grow fails, and is not kept`(_ now: UInt32, _ last: UInt32) throws {
    let (verdict, count) = try signedIn(key { $0.signCount = now }, count: last)
    #expect(verdict.failed == ["the signature counter is higher than before (\(last))"])
    #expect(count == last)
  }

  @Test func `verification is required only where the page requires it`() throws {
    let presence = try key { $0.flags = .userPresent }
    #expect(try signedIn(presence, ceremony: .secondFactorSignIn, isEligible: false).verdict.holds)
    #expect(try registered(presence, ceremony: .secondFactor).verdict.holds)
    #expect(
      try signedIn(presence, ceremony: .prf, isEligible: false).verdict.failed == ["the user was verified (UV)"])
  }

  // Holds: DEMO-1
  @Test(arguments: wrong.indices.prefix(7))
  func `a wrong registration fails its own check only, and gives no passkey`(_ index: Int) throws {
    let (name, change, fails) = Self.wrong[index]
    let (verdict, passkey) = try registered(key { change(&$0) })
    let expected = fails.map { $0 == "the type is webauthn.get" ? "the type is webauthn.create" : $0 }
    #expect(verdict.failed == expected, "\(name)")
    #expect(passkey == nil, "\(name)")
  }

  // Holds: DEMO-1
  @Test func `a registration with a known or another id fails`() throws {
    let key = try key()
    #expect(try registered(key, known: [[1], key.id]).verdict.failed == ["the credential id is new"])
    var credential = try key.register(challenge)
    credential.id = Base64URLBytes([1])
    #expect(
      try site.verify(credential, of: .passkey, challenge: challenge, known: []).verdict.failed
        == ["the credential id is the one in the authenticator data"])
    let long = try self.key { $0.id = randomBytes(1024) }
    #expect(try registered(long).verdict.failed == ["the credential id is the one in the authenticator data"])
  }

  // Holds: DEMO-1
  @Test func `an attestation that is false, foreign or of another algorithm fails`() throws {
    let changed = try key { $0.afterSigning = { Array($0[..<36]) + [1] + $0[37...] } }
    #expect(try registered(changed).verdict.failed == [Self.attestationFails])
    let foreign: [(CBORMap) -> CBORMap] = [
      { $0.with("fmt", "fido-u2f") },
      { $0.with("attStmt", .map(["alg": -7, "sig": .bytes([1]), "x5c": [.bytes([2])]])) },
    ]
    for change in foreign {
      let key = try key { $0.attestation = { CBOREncoder.encode(.map(change($0))) } }
      #expect(try registered(key).verdict.failed == ["the attestation is none, or packed by the passkey itself"])
    }
    let filled = try key { $0.attestation = { CBOREncoder.encode(.map($0.with("fmt", "none"))) } }
    #expect(try registered(filled).verdict.failed == ["the attestation is none, as requested"])
    let other = try key {
      $0.attestation = { map in
        let signature = map["attStmt"]?.map?["sig"] ?? .bytes([])
        return CBOREncoder.encode(.map(map.with("attStmt", .map(["alg": -8, "sig": signature]))))
      }
    }
    #expect(try registered(other).verdict.failed == ["the attestation is packed, by the passkey itself"])
  }

  static let malformedObjects: [(name: String, change: @Sendable (CBORMap) -> [UInt8])] = [
    ("nothing", { _ in [] }),
    ("cut off", { CBOREncoder.encode(.map($0)).dropLast(10) }),
    ("bytes behind", { CBOREncoder.encode(.map($0)) + [0] }),
    ("a text", { _ in CBOREncoder.encode("attestation") }),
    ("a huge map", { _ in [0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] }),
    (
      "huge bytes",
      { _ in [0xa1, 0x68] + Array("authData".utf8) + [0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] }
    ),
    ("an indefinite length", { _ in [0xbf, 0xff] }),
    ("deep", { _ in [UInt8](repeating: 0x81, count: 60_000) }),
    ("no authData", { CBOREncoder.encode(.map($0.with("authData", nil))) }),
    ("no attStmt", { CBOREncoder.encode(.map($0.with("attStmt", nil))) }),
    ("no fmt", { CBOREncoder.encode(.map($0.with("fmt", nil))) }),
    ("fmt is a number", { CBOREncoder.encode(.map($0.with("fmt", 1))) }),
    ("no signature", { CBOREncoder.encode(.map($0.with("attStmt", .map(["alg": -7])))) }),
    ("short authData", { CBOREncoder.encode(.map($0.with("authData", .bytes([UInt8](repeating: 0, count: 36))))) }),
    (
      "a key that is no point",
      { map in
        var data = map["authData"]?.bytes ?? []
        data[data.count - 1] ^= 1
        return CBOREncoder.encode(.map(map.with("authData", .bytes(data))))
      }
    ),
    (
      "an id of 65535 bytes",
      { map in
        var data = map["authData"]?.bytes ?? []
        (data[53], data[54]) = (0xff, 0xff)
        return CBOREncoder.encode(.map(map.with("authData", .bytes(data))))
      }
    ),
  ]

  // Holds: DEMO-2
  @Test(arguments: malformedObjects.indices)
  func `a malformed attestation object is refused`(_ index: Int) throws {
    let (name, change) = Self.malformedObjects[index]
    let key = try key { $0.attestation = change }
    #expect(throws: Malformed.self, "\(name)") { try registered(key) }
  }

  // Holds: DEMO-2
  @Test(arguments: [
    "", "{", "null", "[]", "{}", #"{"type":"webauthn.get"}"#, #"{"type":1,"challenge":"","origin":""}"#,
    #"{"type":"webauthn.get","type":"webauthn.get","challenge":"","origin":""}"#,
    #"{"type":"webauthn.get","challenge":"","origin":"","crossOrigin":"no"}"#,
    "{\"type\":\"webauthn.get\",\"challenge\":\"\",\"origin\":\"\"}\0",
  ])
  func `malformed client data are refused`(_ text: String) throws {
    var credential = try key().signIn(challenge)
    credential.clientDataJSON = Base64URLBytes(Array(text.utf8))
    var passkey = BrowserRelyingParty.Passkey(
      account: .init(credentialID: [], publicKey: try key().publicKey, signCount: 0), isBackupEligible: true,
      isDiscoverable: true)
    #expect(throws: Malformed.self) {
      try site.verify(credential, of: .signIn, challenge: challenge, with: &passkey, userID: userID)
    }
  }

  // Holds: DEMO-2
  @Test func `a sign-in with a part missing, cut off or too long is refused`() throws {
    let key = try key()
    #expect(throws: Malformed.self) { try signedIn(self.key { $0.afterSigning = { Array($0.dropLast()) } }) }
    #expect(throws: Malformed.self) { try signedIn(self.key { $0.afterSigning = { $0 + [0] } }) }
    #expect(throws: Malformed.self) {
      try site.verify(key.signIn(challenge), of: .passkey, challenge: challenge, known: [])
    }
    var passkey = try #require(try registered(key).passkey)
    #expect(throws: Malformed.self) {
      try site.verify(key.register(challenge), of: .signIn, challenge: challenge, with: &passkey, userID: userID)
    }
  }
}

extension CBORMap {
  fileprivate func with(_ key: CBORValue, _ value: CBORValue?) -> CBORMap {
    var changed = self
    changed[key] = value
    return changed
  }
}
