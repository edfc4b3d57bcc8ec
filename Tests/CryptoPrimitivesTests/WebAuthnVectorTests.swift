import CryptoPrimitives
import TestVectors
import Testing

/// WebAuthn Level 3, "Test vectors": each ES256 and Ed25519 credential's key, and its assertion's signature.
@Suite struct WebAuthnVectorTests {
  struct Case: Decodable, Sendable, CustomTestStringConvertible {
    struct Registration: Decodable, Sendable {
      let credential_private_key: Hex?
      let private_key: Hex?
      let attestationObject: Hex
    }
    struct Authentication: Decodable, Sendable {
      let authenticatorData: Hex
      let clientDataJSON: Hex
      let signature: Hex
    }
    let id: String
    let registration: Registration?
    let authentication: Authentication?
    var testDescription: String { id }
  }
  struct File: Decodable { let vectors: [Case] }

  static func cases(containing name: String) -> [Case] {
    (try? VectorFile("webauthn-l3").decode(File.self).vectors.filter { $0.id.contains(name) }) ?? []
  }

  @Test func `the file has ten ES256 credentials and one of Ed25519`() {
    #expect(Self.cases(containing: "es256").count == 10)
    #expect(Self.cases(containing: "eddsa").count == 1)
  }

  @Test(arguments: cases(containing: "es256")) func `an ES256 credential's key and signature fit`(_ vector: Case) throws
  {
    let registration = try #require(vector.registration)
    let assertion = try #require(vector.authentication)
    let scalar = try #require(registration.credential_private_key)
    let publicKey = try P256.PrivateKey(scalar: SecretBytes(scalar.bytes)).publicKey
    let coordinates = hex("215820") + publicKey.x + hex("225820") + publicKey.y  // -2: X, -3: Y of the COSE key
    #expect(registration.attestationObject.bytes.contains(coordinates))
    let signed = assertion.authenticatorData.bytes + SHA256.hash(assertion.clientDataJSON.bytes)
    #expect(publicKey.isValidSignature(assertion.signature.bytes, for: signed))
    #expect(!publicKey.isValidSignature(assertion.signature.bytes, for: signed.reversed()))
  }

  @Test(arguments: cases(containing: "eddsa")) func `an Ed25519 credential's key and signature fit`(_ vector: Case)
    throws
  {
    let registration = try #require(vector.registration)
    let assertion = try #require(vector.authentication)
    let seed = try #require(registration.private_key)
    let key = try Ed25519.PrivateKey(seed: SecretBytes(seed.bytes))
    #expect(registration.attestationObject.bytes.contains(hex("215820") + key.publicKey))
    let signed = assertion.authenticatorData.bytes + SHA256.hash(assertion.clientDataJSON.bytes)
    #expect(try key.signature(for: signed) == assertion.signature.bytes)
    #expect(Ed25519.isValidSignature(assertion.signature.bytes, for: signed, publicKey: key.publicKey))
  }
}
