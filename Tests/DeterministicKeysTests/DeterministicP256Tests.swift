import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

/// Every member of `deterministic-p256.json` that is no phrase to refuse.
@Suite struct DeterministicP256Tests {
  struct Vectors: Decodable {
    struct MainKeyVector: Decodable {
      let saltUtf8: String
      let iterations: Int
      let hex: Hex
    }
    struct InvalidParameter: Decodable {
      let iterations: Int?
      let keyLengthBytes: Int?
    }
    struct PublishedKey: Decodable {
      let origin: String
      let userHandle: String
      let counter: UInt32
      let publicKeyRawXY: Hex
      let credentialId: Hex
      let publicKeySPKI: Hex
    }
    struct Signatures: Decodable {
      struct Item: Decodable {
        let format: String
        let hex: Hex
      }
      let messageUtf8: String
      let items: [Item]
    }
    struct DomainKey: Decodable {
      let origin: String
      let userHandle: String
      let counter: UInt32
      let sha512: Hex
      let privateKey: Hex
      let publicKeyRawXY: Hex
      let credentialId_sha256_of_rawXY: Hex
    }
    struct Collision: Decodable {
      let a: DomainKey
      let b: DomainKey
    }
    struct ExampleApp: Decodable {
      let phrase: String
      let derivedMainKey: Hex
    }
    struct CredentialIDVariants: Decodable {
      let rawXY_sha256: Hex
      let x963_04XY_sha256: Hex
      let spkiDER_sha256: Hex
    }
    struct Upstream: Decodable {
      let phrase: String
      let derivedMainKey: [MainKeyVector]
      let invalidParameters: [InvalidParameter]
      let domainKey: PublishedKey
      let signaturesOver: Signatures
    }
    struct Computed: Decodable {
      let domainKeys: [DomainKey]
      let concatenationCollision: Collision
      let exampleAppPhrase: ExampleApp
      let credentialIdVariants: CredentialIDVariants
    }
    let upstream: Upstream
    let computed: Computed
  }

  private let vectors: Vectors
  private let mainKey: SecretBytes

  init() throws {
    vectors = try VectorFile("deterministic-p256").decode(Vectors.self)
    mainKey = SecretBytes(try #require(vectors.upstream.derivedMainKey.first { $0.iterations == 210_000 }).hex.bytes)
  }

  @Test func `the phrase gives the main key`() throws {
    let phrase = try BIP39Phrase(vectors.upstream.phrase)
    #expect(try MainKey.derive(from: phrase).isEqual(to: mainKey))
    #expect(vectors.upstream.derivedMainKey.map(\.iterations) == [210_000, 600_000])
    for vector in vectors.upstream.derivedMainKey {
      #expect(vector.saltUtf8 == "liquid")
      #expect(try MainKey.derive(from: phrase, iterations: vector.iterations).revealed == vector.hex)
    }
  }

  @Test func `the example app's phrase gives its main key, however it is typed`() throws {
    let vector = vectors.computed.exampleAppPhrase
    #expect(try MainKey.derive(from: BIP39Phrase(vector.phrase)).revealed == vector.derivedMainKey)
    let typed = "\n\(vector.phrase.uppercased())".replacing(" ", with: "\u{3000}\t")
    #expect(try MainKey.derive(from: BIP39Phrase(typed)).revealed == vector.derivedMainKey)
  }

  @Test func `parameters that make no main key are an error`() throws {
    let phrase = try BIP39Phrase(vectors.upstream.phrase)
    #expect(vectors.upstream.invalidParameters.count == 3)
    for parameters in vectors.upstream.invalidParameters {
      // The third is a length of 511 bits; ours are bytes.
      guard parameters.iterations != nil || parameters.keyLengthBytes != nil else { continue }
      #expect(throws: CryptoError.invalidParameter) {
        try PBKDF2SHA512.derive(
          password: phrase.utf8, salt: Array("liquid".utf8), iterations: parameters.iterations ?? 210_000,
          count: parameters.keyLengthBytes ?? 64)
      }
    }
  }

  @Test func `the published domain key comes out`() throws {
    let published = vectors.upstream.domainKey
    let publicKey = try key(published.origin, published.userHandle, published.counter).publicKey
    #expect(Hex(publicKey.raw) == published.publicKeyRawXY)
    #expect(Hex(SHA256.hash(publicKey.raw)) == published.credentialId)
    #expect(try key(published.origin, published.userHandle, 1).publicKey != publicKey)
  }

  @Test func `domain keys come out for every origin, handle and counter`() throws {
    #expect(vectors.computed.domainKeys.count == 9)
    let collision = vectors.computed.concatenationCollision
    for vector in vectors.computed.domainKeys + [collision.a, collision.b] {
      let (origin, handle) = (Array(vector.origin.utf8), Array(vector.userHandle.utf8))
      let scalar = try DeterministicP256.scalar(
        mainKey: mainKey, origin: origin, userHandle: handle, counter: vector.counter)
      #expect(scalar.revealed == vector.privateKey)
      #expect(scalar.revealed == Hex(vector.sha512.bytes.prefix(32)))
      let publicKey = try key(vector.origin, vector.userHandle, vector.counter).publicKey
      #expect(Hex(publicKey.raw) == vector.publicKeyRawXY)
      #expect(Hex(SHA256.hash(publicKey.raw)) == vector.credentialId_sha256_of_rawXY)
    }
  }

  @Test func `an origin that ends where a handle begins gives the same key`() throws {
    let collision = vectors.computed.concatenationCollision
    #expect(collision.a.origin != collision.b.origin)
    #expect(
      try key(collision.a.origin, collision.a.userHandle, 0).publicKey
        == key(collision.b.origin, collision.b.userHandle, 0).publicKey)
  }

  @Test func `the credential id hashes X and Y alone`() throws {
    let (published, variants) = (vectors.upstream.domainKey, vectors.computed.credentialIdVariants)
    let raw = try key(published.origin, published.userHandle, published.counter).publicKey.raw
    let subjectPublicKeyInfo = hex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + [4] + raw
    #expect(Hex(subjectPublicKeyInfo) == published.publicKeySPKI)
    #expect(Hex(SHA256.hash(raw)) == variants.rawXY_sha256)
    #expect(Hex(SHA256.hash([4], raw)) == variants.x963_04XY_sha256)
    #expect(Hex(SHA256.hash(subjectPublicKeyInfo)) == variants.spkiDER_sha256)
  }

  @Test func `signatures of the Kotlin and Swift wallets are valid`() throws {
    let published = vectors.upstream.domainKey
    let publicKey = try key(published.origin, published.userHandle, published.counter).publicKey
    let message = Array(vectors.upstream.signaturesOver.messageUtf8.utf8)
    #expect(vectors.upstream.signaturesOver.items.count == 4)
    for item in vectors.upstream.signaturesOver.items {
      let signature = item.format == "DER" ? item.hex.bytes : der(item.hex.bytes)
      #expect(publicKey.isValidSignature(signature, for: message))
      #expect(!publicKey.isValidSignature(signature, for: message + [0]))
    }
  }

  @Test func `a signature of ours is valid under the published key`() throws {
    let published = vectors.upstream.domainKey
    let signature = try key(published.origin, published.userHandle, published.counter)
      .signature(for: Array("Hello, World!".utf8))
    let raw = published.publicKeyRawXY.bytes
    let publicKey = try P256.PublicKey(x: Array(raw[..<32]), y: Array(raw[32...]))
    #expect(publicKey.isValidSignature(signature, for: Array("Hello, World!".utf8)))
  }

  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  ]) func `a digest out of range is an error, neither a crash nor another key`(_ digest: String) {
    #expect(throws: CryptoError.scalarOutOfRange) { try DeterministicP256.inRange(SecretBytes(hex(digest))) }
  }

  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000001",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550",
  ]) func `a digest at the edge of the range is the scalar`(_ digest: String) throws {
    #expect(try DeterministicP256.inRange(SecretBytes(hex(digest))).revealed == Hex(hex(digest)))
  }

  private func key(_ origin: String, _ userHandle: String, _ counter: UInt32) throws -> P256.PrivateKey {
    try DeterministicP256.privateKey(
      mainKey: mainKey, origin: Array(origin.utf8), userHandle: Array(userHandle.utf8), counter: counter)
  }

  /// r ‖ s as SEQUENCE { INTEGER r, INTEGER s }.
  private func der(_ raw: [UInt8]) -> [UInt8] {
    let integers = [raw[..<32], raw[32...]].flatMap { half in
      let digits = half.drop { $0 == 0 }
      let padded = (digits.first ?? 0) >= 0x80 ? [0] + digits : Array(digits)
      return [2, UInt8(padded.count)] + padded
    }
    return [0x30, UInt8(integers.count)] + integers
  }
}
