import CryptoPrimitives
import TestVectors
import Testing

/// WebAuthn Level 3, "Test vectors": the key of each ES256 and Ed25519 credential, and its assertion's signature.
@Suite struct WebAuthnVectorTests {
  static func cases(containing name: String) throws -> [Vector] {
    try Vector("webauthn-l3").vectors.array.filter { $0.id.text.contains(name) }
  }

  @Test func `the file has ten ES256 credentials and one of Ed25519`() throws {
    #expect(try Self.cases(containing: "es256").count == 10)
    #expect(try Self.cases(containing: "eddsa").count == 1)
  }

  @Test(arguments: try cases(containing: "es256"))
  func `an ES256 credential's key and signature match the vector`(_ vector: Vector) throws {
    let (registration, assertion) = (vector.registration, vector.authentication)
    let publicKey = try P256.PrivateKey(scalar: SecretBytes(registration.credential_private_key.bytes)).publicKey
    let coordinates = hex("215820") + publicKey.x + hex("225820") + publicKey.y  // -2: X, -3: Y of the COSE key
    #expect(registration.attestationObject.bytes.contains(coordinates))
    let signed = assertion.authenticatorData.bytes + SHA256.hash(assertion.clientDataJSON.bytes)
    #expect(publicKey.isValidSignature(assertion.signature.bytes, for: signed))
    #expect(!publicKey.isValidSignature(assertion.signature.bytes, for: signed.reversed()))
  }

  @Test(arguments: try cases(containing: "eddsa"))
  func `an Ed25519 credential's key and signature match the vector`(_ vector: Vector) throws {
    let (registration, assertion) = (vector.registration, vector.authentication)
    let key = try Ed25519.PrivateKey(seed: SecretBytes(registration.private_key.bytes))
    #expect(registration.attestationObject.bytes.contains(hex("215820") + key.publicKey))
    let signed = assertion.authenticatorData.bytes + SHA256.hash(assertion.clientDataJSON.bytes)
    #expect(try key.signature(for: signed) == assertion.signature.bytes)
    #expect(Ed25519.isValidSignature(assertion.signature.bytes, for: signed, publicKey: key.publicKey))
  }
}
