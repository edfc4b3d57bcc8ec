import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct UserTests {
  @Test func `the service's users are read`() throws {
    let vectors = try BackendVectors.load()
    let exchanges = vectors.attestation.array + vectors.assertion.array
    #expect(exchanges.count == 12)
    for exchange in exchanges {
      let user = try exchange.responseResponse.decode(User.self)
      #expect(user.wallet.utf8.count == 58)
      #expect(user.credentials.map(\.credId) == [exchange.responseBody.id.text])
      #expect(user.credentials.map(\.device) == ["Pixel 8 Pro"])
    }
  }

  private static let faults: [(String, LiquidAuthError)] = [
    (#"{"credentials":[]}"#, .missingRequiredField("wallet")),
    (#"{"wallet":"A"}"#, .missingRequiredField("credentials")),
    (#"{"wallet":"A","credentials":{}}"#, .invalidJSON("credentials has a wrong type")),
    (#"{"wallet":"A","credentials":[{}]}"#, .missingRequiredField("credentials.Index 0.credId")),
    (#"{"wallet":null,"credentials":[]}"#, .invalidJSON("wallet has a wrong type")),
  ]

  @Test(arguments: faults) func `an invalid user is refused with the member's name`(
    _ json: String, _ error: LiquidAuthError
  ) {
    #expect(throws: error) { try ServerSession.decode(User.self, Array(json.utf8)) }
  }

  private struct Refusal: CustomTestStringConvertible {
    let json: String
    var reason: String?
    var statusCode: Int?
    var message: String?
    var hasError = false

    var testDescription: String { json }
  }

  /// Errors of the service, of NestJS with one message and with many, and without a text.
  private static let refusals: [Refusal] = [
    Refusal(
      json: #"{"reason":"not_found","error":"User not found."}"#, reason: "not_found", message: "User not found.",
      hasError: true),
    Refusal(
      json: #"{"statusCode":500,"message":"Internal server error"}"#, statusCode: 500,
      message: "Internal server error"),
    Refusal(
      json: #"{"statusCode":400,"message":["a","b"],"error":"Bad Request"}"#, statusCode: 400, message: "a, b",
      hasError: true),
    Refusal(json: #"{"error":true}"#, hasError: true), Refusal(json: #"{"error":{"a":1}}"#, hasError: true),
    Refusal(json: #"{"error":null}"#), Refusal(json: #"{"reason":1,"statusCode":"500","message":{}}"#),
    Refusal(json: #"{"wallet":"A","credentials":[]}"#),
  ]

  @Test(arguments: refusals) private func `a refusal is read in every known form`(
    _ expected: Refusal
  ) throws {
    let body = try ServerSession.decode(ErrorBody.self, Array(expected.json.utf8))
    #expect(body.reason == expected.reason && body.statusCode == expected.statusCode)
    #expect(body.message == expected.message && body.hasError == expected.hasError)
  }

  @Test func `a pairing of a wallet is read, and any other is none`() throws {
    func pairing(_ json: String) throws -> DurablePairing? {
      let user = #"{"wallet":"W","credentials":[],"pairing":\#(json)}"#
      return try JSONCoding.decode(User.self, from: user.utf8).pairing
    }
    let read = try pairing(#"{"version":2,"pairingId":"p","role":"controller","credential":"c","more":1}"#)
    #expect(read == DurablePairing(pairingID: "p", credential: "c"))
    #expect(try read?.auth() == #"{"credential":"c","pairingId":"p","role":"controller","version":2}"#)
    for other in [
      #"{"version":3,"pairingId":"p","role":"controller","credential":"c"}"#,
      #"{"version":2,"pairingId":"p","role":"provider","credential":"c"}"#,
      #"{"version":2,"pairingId":"p","role":"controller","credential":"a b"}"#, #"{"version":2}"#, "null", "7",
      #"{"version":2,"pairingId":"p","role":"controller","credential":""}"#,
      #"{"version":2,"pairingId":"","role":"controller","credential":"c"}"#,
      #"{"version":2,"pairingId":"p","role":"controller","credential":"\#(String(repeating: "c", count: 1025))"}"#,
    ] {
      #expect(try pairing(other) == nil)
    }
  }
}
