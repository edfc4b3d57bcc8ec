import CBOR
import CTAP2
import TestVectors
import Testing

@Suite struct AuthenticatorDataParsingTests {
  /// Authenticator data as the commands write them, one of each form.
  private func everyForm() async -> [[UInt8]] {
    var world = TestWorld()
    let protect: [(CBORValue, CBORValue?)] = [(6, ["credProtect": 2])]
    let answers = [
      await world.makeCredential(Requests.makeCredential()),
      await world.makeCredential(Requests.makeCredential(algorithms: [-8], changes: protect)),
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: protect)),
      await world.getAssertion(Requests.getAssertion(uv: true)),
    ]
    return answers.compactMap { $0.map?[2]?.bytes }
  }

  @Test func `encoded authenticator data parse to the same bytes`() async throws {
    let forms = await everyForm()
    #expect(forms.count == 4)
    for bytes in forms {
      let data = try AuthenticatorData(parsing: bytes)
      #expect(data.bytes == bytes)
      let parsed = try #require(ParsedAuthenticatorData(bytes))
      #expect(data.flags.rawValue == parsed.flags)
      #expect(data.attestedCredentialData?.credentialID ?? [] == parsed.credentialID)
      #expect(data.attestedCredentialData?.publicKey.map ?? CBORMap() == parsed.coseKey)
      #expect(data.extensions == parsed.extensions ?? CBORMap())
    }
  }

  @Test func `a missing or extra byte is refused`() async throws {
    for bytes in await everyForm() {
      for count in 0..<bytes.count {
        #expect(throws: CBORError.invalid("")) { try AuthenticatorData(parsing: Array(bytes.prefix(count))) }
      }
      #expect(throws: CBORError.invalid("")) { try AuthenticatorData(parsing: bytes + [0]) }
    }
  }

  @Test func `a flag that does not match the data is refused`() async throws {
    for bytes in await everyForm() {
      for flag: UInt8 in [0x40, 0x80] {
        var changed = bytes
        changed[32] ^= flag
        #expect(throws: CBORError.self) { try AuthenticatorData(parsing: changed) }
      }
    }
  }

  static let keys: [(String, String)] = [
    ("an algorithm that is not supported", "a301020339010020410a"),
    ("an Ed25519 key of 31 bytes", "a401010327200621581f" + String(repeating: "01", count: 31)),
    (
      "a point that is not on the curve",
      "a5010203262001215820" + String(repeating: "01", count: 32) + "225820" + String(repeating: "01", count: 32)
    ),
  ]

  @Test(arguments: keys)
  func `an invalid COSE key is refused`(why: String, encoding: String) throws {
    let bytes = try #require(Hex(encoding)).bytes
    let map = try #require(try CBORDecoder.decode(bytes).map)
    #expect(throws: CBORError.self) { try COSEKey(map) }
  }

  @Test func `an extra member of a COSE key is refused`() async throws {
    let bytes = try #require(await everyForm().first)
    var map = try #require(ParsedAuthenticatorData(bytes)).coseKey
    #expect(try COSEKey(map).map == map)
    map[4] = [1]
    #expect(throws: CBORError.self) { try COSEKey(map) }
  }

  @Test func `messages of real devices parse and encode to the same bytes`() throws {
    let messages = try Vector("u2f-and-ctap2-messages").ctap2
    let registration = try AuthenticatorData(parsing: messages.authDataMakeCredential.bytes)
    #expect(registration.bytes == messages.authDataMakeCredential.bytes)
    #expect(registration.attestedCredentialData?.bytes == messages.attestedCredentialData.bytes)
    #expect(registration.signCount == 0x1C)
    let assertion = try AuthenticatorData(parsing: messages.authDataGetAssertion.bytes)
    #expect(assertion.bytes == messages.authDataGetAssertion.bytes)
    #expect(assertion.flags == .userPresent && assertion.signCount == 0x1D)

    for (message, data) in [
      (messages.makeCredentialResponse, messages.authDataMakeCredential),
      (messages.getAssertionResponse, messages.authDataGetAssertion),
    ] {
      let map = try #require(try CBORDecoder.decode(message.bytes).map)
      #expect(map[2] == .bytes(data.bytes))
      #expect(CBOREncoder.encode(.map(map)) == message.bytes)
    }
    for message in [messages.getInfoResponse, messages.getInfoResponseWithUnknownKey] {
      #expect(CBOREncoder.encode(try CBORDecoder.decode(message.bytes)) == message.bytes)
    }
  }
}
