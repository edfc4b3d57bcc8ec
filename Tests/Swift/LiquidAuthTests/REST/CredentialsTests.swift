import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct CredentialsTests {
  @Test func `the answer of a registration equals that of phones`() throws {
    for vector in try BackendVectors.load().attestation.array {
      let body = try vector.responseBody.decode(AttestationCredential.self)
      #expect(try JSONValue(ServerSession.encode(body)) == vector.responseBody.json)
      let made = AttestationCredential(
        id: body.id.bytes, response: body.response, liquid: body.clientExtensionResults.liquid)
      #expect(made == body)
    }
  }

  // Holds: PEERSIGNIN-5
  @Test func `the answer of a sign-in equals that of phones, with the account's signature`() throws {
    let vectors = try BackendVectors.load().assertion.array
    #expect(vectors.count == 6)
    for vector in vectors {
      var recorded = try #require(vector.responseBody.json)
      let requestID = vector.responseBody.clientExtensionResults.liquid.requestId
      let liquid = LiquidExtensionResult(
        requestId: try requestID.decode(RequestID.self), address: "A",
        signature: Base64URLBytes([1]), device: "Linux")
      recorded["clientExtensionResults"] = try JSONValue(ServerSession.encode(ClientExtensionResults(liquid: liquid)))
      let body = try ServerSession.decode(AssertionCredential.self, recorded.json())
      #expect(try JSONValue(ServerSession.encode(body)) == recorded)
      #expect(body.clientExtensionResults.liquid.requestId.number != nil)
      #expect(AssertionCredential(id: body.id.bytes, response: body.response, liquid: liquid) == body)
    }
  }

  @Test func `a registration signs the same bytes as phones`() throws {
    for vector in try BackendVectors.load().attestation.array {
      let body = try vector.responseBody.decode(AttestationCredential.self)
      let liquid = body.clientExtensionResults.liquid
      let address = try #require(AlgorandAddress(text: Array(liquid.address.utf8)))
      let challenge = try Challenge(vector.requestResponse.decode(AttestationOptions.self).challenge)
      #expect(Ed25519.isValidSignature(liquid.signature.bytes, for: challenge.bytes, publicKey: address.publicKey))
      #expect(try vector.responseResponse.decode(User.self).wallet == liquid.address)

      let data = try Self.authenticatorData(body)
      #expect(data.attestedCredentialData?.credentialID == body.id.bytes)
      #expect(data.flags.contains([.userPresent, .userVerified]))
      let passkey = AttestedPasskey(id: body.id.bytes, authenticatorData: data.bytes, liquid: liquid)
      #expect(passkey.attestationObject == body.response.attestationObject.bytes)
    }
  }

  @Test func `a sign-in signs the same bytes as phones`() throws {
    let vectors = try BackendVectors.load()
    var keys: [[UInt8]: CredentialPublicKey] = [:]
    for vector in vectors.attestation.array {
      let body = try vector.responseBody.decode(AttestationCredential.self)
      keys[body.id.bytes] = try Self.authenticatorData(body).attestedCredentialData?.publicKey.publicKey
    }
    for vector in vectors.assertion.array {
      let response = try vector.responseBody.response.decode(AssertionCredential.Response.self)
      let options = try vector.requestResponse.decode(AssertionOptions.self)
      let id = try #require(options.allowCredentials?.first?.id.bytes)
      guard case .es256(let key) = keys[id] else {
        Issue.record("no ES256 key of this passkey")
        continue
      }
      let signed = response.authenticatorData.bytes + SHA256.hash(response.clientDataJSON.bytes)
      #expect(key.isValidSignature(response.signature.bytes, for: signed))
    }
  }

  private static func authenticatorData(_ body: AttestationCredential) throws -> AuthenticatorData {
    let object = try #require(CBORDecoder.decode(body.response.attestationObject.bytes).map)
    return try AuthenticatorData(parsing: #require(object["authData"]?.bytes))
  }

  @Test func `an answer is encoded to fixed bytes`() throws {
    let liquid = LiquidExtensionResult(
      requestId: try #require(RequestID("7")), address: "A", signature: Base64URLBytes([0xFB, 0xFF]),
      device: "a/\"b\"")
    let assertion = AssertionCredential(
      id: [1, 2, 3],
      response: .init(
        clientDataJSON: Base64URLBytes(Array("{}".utf8)), authenticatorData: Base64URLBytes([4]),
        signature: Base64URLBytes([5]), userHandle: Base64URLBytes([6])), liquid: liquid)
    #expect(
      String(decoding: try ServerSession.encode(assertion), as: UTF8.self)
        == #"{"clientExtensionResults":{"liquid":{"address":"A","device":"a/\"b\"","requestId":7,"signature":"-_8","#
        + #""type":"algorand"}},"id":"AQID","rawId":"AQID","response":{"authenticatorData":"BA","clientDataJSON":"e30","#
        + #""signature":"BQ","userHandle":"Bg"},"type":"public-key"}"#)
  }

  @Test(arguments: ["\"AQ=\"", "\"AR\"", "\"A\"", "\"+w\"", "1", "null"])
  func `base64url in another form is refused`(_ json: String) {
    #expect(throws: LiquidAuthError.self) { try ServerSession.decode(Base64URLBytes.self, Array(json.utf8)) }
  }
}
