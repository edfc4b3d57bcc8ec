import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct CredentialOptionsTests {
  // Holds: PEERSIGNIN-4
  @Test func `a registration request equals that of phones`() throws {
    let vectors = try BackendVectors.load().attestation.array
    #expect(vectors.count == 6)
    for vector in vectors {
      let request = AttestationRequest(username: vector.requestBody.username.text)
      #expect(try JSONValue(ServerSession.encode(request)) == vector.requestBody.json)
    }
  }

  // Holds: PEERSIGNIN-3, PEERSIGNIN-4
  @Test func `requests are encoded to fixed bytes`() throws {
    #expect(
      String(decoding: try ServerSession.encode(AttestationRequest(username: "A")), as: UTF8.self)
        == #"{"authenticatorSelection":{"userVerification":"required"},"displayName":"Liquid Auth User","#
        + #""extensions":{"liquid":true},"username":"A"}"#)
    #expect(
      String(decoding: try ServerSession.encode(AssertionRequest()), as: UTF8.self)
        == #"{"extensions":{"liquid":true},"userVerification":"required"}"#)
  }

  @Test func `the service's options are read`() throws {
    let vectors = try BackendVectors.load()
    for vector in vectors.attestation.array {
      let options = try vector.requestResponse.decode(AttestationOptions.self)
      #expect(options.rp == .init(id: "catfish-pro-wolf.ngrok-free.app", name: "Algorand Foundation FIDO2 Server"))
      #expect(options.pubKeyCredParams?.map(\.alg) == [-7, -257])
      #expect(options.excludeCredentials?.isEmpty == true)
      #expect(try Challenge(options.challenge).bytes.count == 32)
    }
    for vector in vectors.assertion.array {
      let options = try vector.requestResponse.decode(AssertionOptions.self)
      #expect(options.rpId == "catfish-pro-wolf.ngrok-free.app")
      #expect(try Challenge(options.challenge).bytes.count == 32)
      let id = try #require(options.allowCredentials?.first?.id)
      #expect(try JSONValue(ServerSession.encode(id)) == vector.responseBody.id.json)
    }
  }

  private static let faults: [(String, LiquidAuthError)] = [
    (#"{"rp":{"id":"a"}}"#, .missingRequiredField("challenge")),
    (#"{"challenge":null}"#, .invalidJSON("challenge has a wrong type")),
    (#"{"challenge":1}"#, .invalidJSON("challenge has a wrong type")),
    (#"{"challenge":"a","rp":"b"}"#, .invalidJSON("rp has a wrong type")),
    (#"{"challenge":"a","rp":{"id":1}}"#, .invalidJSON("rp.id has a wrong type")),
    (
      #"{"challenge":"a","excludeCredentials":[{"type":"public-key"}]}"#,
      .missingRequiredField("excludeCredentials.Index 0.id")
    ),
    (
      #"{"challenge":"a","excludeCredentials":[{"type":"public-key","id":"+"}]}"#,
      .invalidJSON("excludeCredentials.Index 0.id is malformed")
    ),
    ("[]", .invalidJSON("the answer has a wrong type")), ("null", .invalidJSON("the answer has a wrong type")),
    ("", .invalidJSON("it is not JSON")), ("{", .invalidJSON("it is not JSON")),
    (#"{"challenge":"a"} {}"#, .invalidJSON("it is not JSON")),
  ]

  @Test(arguments: faults)
  func `a missing or wrong member is named`(_ json: String, _ error: LiquidAuthError) {
    #expect(throws: error) { try ServerSession.decode(AttestationOptions.self, Array(json.utf8)) }
  }

  // Holds: PEERSIGNIN-15
  @Test func `unknown members are ignored, pairings too`() throws {
    let json = #"{"challenge":"a","rpId":"b","pairing":{"version":2},"timeout":"soon","userVerification":7}"#
    let options = try ServerSession.decode(AssertionOptions.self, Array(json.utf8))
    #expect(options == AssertionOptions(challenge: "a", rpId: "b"))
  }
}
