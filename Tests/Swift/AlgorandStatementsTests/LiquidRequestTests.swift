import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestVectors
import Testing

@testable import AlgorandStatements
@testable import CTAP2
@testable import CTAP2Tests

/// The vectors in the member `liquid` of `keys-and-recovery.json`.
enum LiquidVectors {
  static func load() throws -> Vector { try Vector("keys-and-recovery").liquid }
}

private func context(
  command: String, rpID: String, clientDataHash: [UInt8], up: Bool = true, uv: Bool = true
) -> LiquidRequest.Context {
  LiquidRequest.Context(
    ceremony: command == "makeCredential" ? .create : .get, rpID: rpID, clientDataHash: clientDataHash,
    userPresence: up, userVerification: uv)
}

@Suite struct LiquidRequestTests {
  private static let challenge = "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgSg"
  let account: AlgorandAccount

  init() throws { account = try #require(TestWorld().keySource.current).algorandAccount() }

  @Test func `the first account of the vault is that of the vectors`() throws {
    let vectors = try LiquidVectors.load()
    #expect(account.address.text == vectors.address.text)
    #expect(Hex(account.address.publicKey) == vectors.publicKey.hex)
  }

  @Test func `the reserved tags are those of the contract`() throws {
    let expected = try LiquidVectors.load().reservedTags.array.map(\.text)
    #expect(expected.count == 47)
    #expect(LiquidReservedTags.all.sorted() == expected.sorted())
  }

  // Holds: PEERSIGNIN-10
  @Test(arguments: try LiquidVectors.load().accepted.array)
  func `an accepted input is signed byte for byte`(_ vector: Vector) throws {
    let request = try LiquidRequest(
      CBORDecoder.decode(vector.input.bytes),
      in: context(command: vector.command.text, rpID: vector.rpId.text, clientDataHash: vector.clientDataHash.bytes))
    let credentialID = vector.credentialId.optional?.bytes ?? [1, 2, 3]
    #expect(Hex(request.signingInput(credentialID: credentialID)) == vector.signingInput.hex)

    let output = try request.output(
      credentialID: credentialID, account: account, consent: UserConsent(Confirmation(userVerified: true)))
    #expect(Hex(CBOREncoder.encode(.map(output))) == vector.output.hex)
    #expect(Hex(CBOREncoder.encode(["liquid": .map(output)])) == vector.authDataExtensions.hex)
    #expect(Hex(try output.requiredBytes("signature")) == vector.signature.hex)
    #expect(
      Ed25519.isValidSignature(
        vector.signature.bytes, for: vector.signingInput.bytes, publicKey: account.address.publicKey))
    #expect((request.origin == nil) == (vector.clientDataJSON.optional == nil))
  }

  @Test(arguments: try LiquidVectors.load().refused.array)
  func `a refused input ends the command with its status`(_ vector: Vector) throws {
    let input = try CBORDecoder.decode(vector.input.bytes)
    let error = #expect(throws: CTAPError.self) {
      try LiquidRequest(
        input,
        in: context(
          command: vector.command.text, rpID: vector.rpId.text, clientDataHash: vector.clientDataHash.bytes,
          up: vector.up.optional?.isTrue ?? true, uv: vector.uv.optional?.isTrue ?? true))
    }
    #expect(error.map { Hex([$0.status.rawValue]) } == vector.status.hex)
  }

  @Test func `the vectors have 34 refused inputs`() throws {
    #expect(try LiquidVectors.load().refused.array.count == 34)
  }

  // MARK: - Other inputs

  /// Client data in the exact form, with the given members.
  private static func clientData(
    type: String = "webauthn.get", challenge: String = challenge, origin: String = "https://example.com",
    end: String = "}"
  ) -> String {
    "{\"type\":\"\(type)\",\"challenge\":\"\(challenge)\",\"origin\":\"\(origin)\"\(end)"
  }

  /// The status of a challenge-form request; `success` if it is accepted.
  private func status(
    _ clientData: [UInt8], rpID: String = "example.com", ceremony: LiquidRequest.Ceremony = .get,
    members: CBORMap = [:], up: Bool = true, uv: Bool = true
  ) -> CTAPStatus {
    var input = members
    input["clientDataJSON"] = .bytes(clientData)
    return status(
      .map(input),
      LiquidRequest.Context(
        ceremony: ceremony, rpID: rpID, clientDataHash: SHA256.hash(clientData), userPresence: up,
        userVerification: uv))
  }

  private func status(_ input: CBORValue, _ context: LiquidRequest.Context) -> CTAPStatus {
    do {
      _ = try LiquidRequest(input, in: context)
      return .success
    } catch {
      return error.status
    }
  }

  @Test(arguments: [
    ("example.com", "https://example.com", true),
    ("example.com", "https://www.example.com", true),
    ("example.com", "https://a.b-c.example.com:1", true),
    ("example.com", "https://az09.example.com:9", true),
    ("example.com", "https://example.com:65535", true),
    ("localhost", "https://localhost", true),
    ("localhost", "http://localhost", true),
    ("localhost", "http://localhost:8080", true),
    ("com", "https://com", true),
    ("example.com", "https://example.com:65536", false),
    ("example.com", "https://example.com:", false),
    ("example.com", "https://example.com:0443", false),
    ("example.com", "https://example.com:443443", false),
    ("example.com", "https://example.com:44a", false),
    ("example.com", "https://example.com:+443", false),
    ("example.com", "https://example.com?", false),
    ("example.com", "https://example.com#", false),
    ("example.com", "https://example.com.", false),
    ("example.com", "https://example.com.evil.example", false),
    ("example.com", "https://evil-example.com", false),
    ("example.com", "https://evil_.example.com", false),
    ("example.com", "https://exämple.com", false),
    ("example.com", "https://", false),
    ("example.com", "https:/example.com", false),
    ("example.com", "HTTPS://example.com", false),
    ("example.com", "wss://example.com", false),
    ("example.com", "example.com", false),
    ("example.com", "", false),
    ("example.com", "null", false),
    ("localhost", "http://localhost.", false),
    ("localhost", "http://www.localhost", false),
    ("localhost", "https://www.localhost", false),
    ("localhost", "http://localhost:", false),
    ("example.com", "http://localhost", false),
    ("", "https://", false),
    ("", "https://example.com", false),
  ])
  func `an origin must belong to the relying party`(_ rpID: String, _ origin: String, _ isOurs: Bool) {
    let status = status(Array(Self.clientData(origin: origin).utf8), rpID: rpID)
    #expect(status == (isOurs ? .success : .liquidOrigin))
  }

  @Test(arguments: [
    "", "}", "{}", clientData() + " ", clientData() + "}", " " + clientData(), clientData(end: ""),
    clientData(end: ",\"crossOrigin\":false"), clientData(end: ",\"crossOrigin\":false}}"),
    clientData(end: ", \"crossOrigin\":false}"), clientData(end: ",\"topOrigin\":\"https://example.com\"}"),
    clientData(type: "webauthn.create"), clientData(type: "webauthn.get "), clientData(type: "payment.get"),
    clientData(origin: "https://example.com\",\"x\":\""), clientData(challenge: "\""),
    "{\"type\":\"webauthn.get\",\"challenge\":\"" + challenge,
    "{\"type\":\"webauthn.get\",\"origin\":\"https://example.com\",\"challenge\":\"" + challenge + "\"}",
    clientData().replacingOnce("type", with: "TYPE"), clientData().replacingOnce("\"origin\"", with: "'origin'"),
  ])
  func `client data in any other form is not signed`(_ clientData: String) {
    // The length is checked first: empty client data is below the limit.
    #expect(status(Array(clientData.utf8)) == (clientData.isEmpty ? .invalidLength : .liquidClientDataForm))
  }

  @Test func `both exact forms are signed, each for its own ceremony`() {
    for end in ["}", ",\"crossOrigin\":false}"] {
      let get = Array(Self.clientData(end: end).utf8)
      let create = Array(Self.clientData(type: "webauthn.create", end: end).utf8)
      #expect(status(get) == .success)
      #expect(status(create, ceremony: .create) == .success)
      #expect(status(get, ceremony: .create) == .liquidClientDataForm)
    }
  }

  @Test(arguments: [
    "", String(challenge.dropLast()), challenge + "A", challenge + "=", String(challenge.dropLast()) + "=",
    String(challenge.dropLast()) + "h", String(challenge.dropLast()) + "+", String(challenge.dropLast()) + "ü",
  ])
  func `a challenge that is not 43 canonical characters is not signed`(_ challenge: String) {
    #expect(status(Array(Self.clientData(challenge: challenge).utf8)) == .liquidChallenge)
  }

  @Test func `invalid UTF-8 is refused with the status of its member`() {
    var clientData = Array(Self.clientData().utf8)
    clientData[40] = 0xFF
    #expect(status(clientData) == .liquidChallenge)
    clientData = Array(Self.clientData(origin: "https://example.com?").utf8)
    clientData[clientData.count - 3] = 0xFF
    #expect(status(clientData) == .liquidOrigin)
  }

  // Holds: PEERSIGNIN-10
  @Test(arguments: LiquidReservedTags.all)
  func `a challenge that begins with a reserved tag is not signed`(_ tag: String) {
    let bytes = Array(tag.utf8) + [UInt8](repeating: 0, count: 32 - tag.utf8.count)
    #expect(status(Array(Self.clientData(challenge: Base64URL.encode(bytes)).utf8)) == .liquidReservedChallenge)
    let other = [0] + bytes.dropLast()
    #expect(status(Array(Self.clientData(challenge: Base64URL.encode(other)).utf8)) == .success)
  }

  @Test(arguments: [
    ("device", 64, CTAPStatus.success), ("device", 65, .invalidLength), ("requestId", 128, .success),
    ("requestId", 129, .invalidLength), ("another", 2000, .success),
  ])
  func `known members have limits in bytes; unknown ones have none`(
    _ member: String, _ count: Int, _ expected: CTAPStatus
  ) {
    let members: CBORMap = [.text(member): .text(String(repeating: "x", count: count))]
    #expect(status(Array(Self.clientData().utf8), members: members) == expected)
    let wide: CBORMap = [.text(member): .text(String(repeating: "é", count: count / 2 + count % 2))]
    #expect(status(Array(Self.clientData().utf8), members: wide) == expected)
  }

  @Test func `client data has at most 1024 bytes`() {
    let room = 1024 - Self.clientData(origin: "https://.example.com").utf8.count
    let full = Self.clientData(origin: "https://\(String(repeating: "a", count: room)).example.com")
    #expect(full.utf8.count == 1024)
    #expect(status(Array(full.utf8)) == .success)
    #expect(status(Array(full.utf8) + [0x20]) == .invalidLength)
  }

  /// Each input also has every later fault.
  @Test func `checks are made in the order of the contract`() {
    let wrong = context(
      command: "getAssertion", rpID: "example.org", clientDataHash: [UInt8](repeating: 0, count: 32), up: false,
      uv: false)
    let long = CBORValue.text(String(repeating: "x", count: 2000))
    #expect(status(false, wrong) == .invalidOption)
    #expect(status(["device": 1, "requestId": long], wrong) == .cborUnexpectedType)
    #expect(status(["requestId": 1, "device": long], wrong) == .cborUnexpectedType)
    #expect(status(["clientDataJSON": "x", "device": long], wrong) == .cborUnexpectedType)
    #expect(status([1], wrong) == .cborUnexpectedType)
    #expect(status(["device": long], wrong) == .missingParameter)
    #expect(status(["device": long, "clientDataJSON": .bytes([1])], wrong) == .invalidLength)
    #expect(status(["clientDataJSON": .bytes([])], wrong) == .invalidLength)
    #expect(status(["clientDataJSON": .bytes([1])], wrong) == .invalidOption)

    var later = wrong
    later.userPresence = true
    #expect(status(["clientDataJSON": .bytes([1])], later) == .puatRequired)
    later.userVerification = true
    #expect(status(["clientDataJSON": .bytes([1])], later) == .liquidClientDataHash)
    later.clientDataHash = SHA256.hash([1])
    #expect(status(["clientDataJSON": .bytes([1])], later) == .liquidClientDataForm)

    let reserved = Base64URL.encode(Array("TX".utf8) + [UInt8](repeating: 0, count: 30))
    #expect(status(Array(Self.clientData(challenge: "x").utf8), rpID: "example.org") == .liquidOrigin)
    #expect(status(Array(Self.clientData(challenge: reserved + "A").utf8)) == .liquidChallenge)
    #expect(status(Array(Self.clientData(challenge: reserved).utf8)) == .liquidReservedChallenge)
  }

  @Test(arguments: [
    (true, false, CTAPStatus.puatRequired), (false, true, .invalidOption), (false, false, .invalidOption),
  ])
  func `the bound form needs presence and verification too`(_ up: Bool, _ uv: Bool, _ expected: CTAPStatus) {
    let hash = [UInt8](repeating: 1, count: 32)
    #expect(
      status(true, context(command: "getAssertion", rpID: "example.com", clientDataHash: hash, up: up, uv: uv))
        == expected)
  }

  // Holds: PEERSIGNIN-2
  @Test(arguments: [(true, false), (false, true), (false, false)])
  func `a signature needs presence and verification`(_ up: Bool, _ uv: Bool) throws {
    let request = try LiquidRequest(
      true, in: context(command: "getAssertion", rpID: "example.com", clientDataHash: [UInt8](repeating: 1, count: 32)))
    #expect(throws: CTAPError(.puatRequired, "")) {
      try request.output(
        credentialID: [1], account: account, consent: UserConsent(Confirmation(userPresent: up, userVerified: uv)))
    }
  }

  @Test func `the bound form differs by ceremony, relying party, client data and credential`() throws {
    func input(
      _ command: String = "getAssertion", _ rpID: String = "example.com", _ hash: UInt8 = 1, _ id: UInt8 = 1
    ) throws -> [UInt8] {
      try LiquidRequest(
        true, in: context(command: command, rpID: rpID, clientDataHash: [UInt8](repeating: hash, count: 32))
      ).signingInput(credentialID: [id])
    }
    let inputs = [
      try input(), try input("makeCredential"), try input("getAssertion", "example.org"),
      try input("getAssertion", "example.com", 2), try input("getAssertion", "example.com", 1, 2),
    ]
    #expect(Set(inputs).count == inputs.count)
    #expect(inputs.allSatisfy { $0.count == 117 })
    #expect(!inputs.contains(where: LiquidReservedTags.isPrefix(of:)))
  }
}

extension String {
  fileprivate func replacingOnce(_ text: String, with other: String) -> String {
    guard let range = firstRange(of: text) else { return self }
    return replacingCharacters(in: range, with: other)
  }

  private func replacingCharacters(in range: Range<Index>, with other: String) -> String {
    String(self[..<range.lowerBound]) + other + self[range.upperBound...]
  }
}
