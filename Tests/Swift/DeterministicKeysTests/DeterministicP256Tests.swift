import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

/// Tests of all members of `deterministic-p256.json` except invalid phrases.
@Suite struct DeterministicP256Tests {
  private let vectors: Vector
  private let mainKey: SecretBytes

  init() throws {
    vectors = try Vector("deterministic-p256")
    let vector = try #require(vectors.upstream.derivedMainKey.array.first { $0.iterations.integer() == 210_000 })
    mainKey = SecretBytes(vector["hex"].bytes)
  }

  @Test func `the phrase gives the main key`() throws {
    let phrase = try BIP39Phrase(vectors.upstream.phrase.text)
    #expect(try MainKey.derive(from: phrase).isEqual(to: mainKey))
    #expect(vectors.upstream.derivedMainKey.array.map { $0.iterations.integer() } == [210_000, 600_000])
    for vector in vectors.upstream.derivedMainKey.array {
      #expect(vector.saltUtf8.text == "liquid")
      let key = try MainKey.derive(from: phrase, iterations: vector.iterations.integer())
      #expect(key.revealed == vector["hex"].hex)
    }
  }

  // Holds: PEERKEY-5
  @Test func `the example app's phrase gives its main key with any case and white space`() throws {
    let vector = vectors.computed.exampleAppPhrase
    #expect(try MainKey.derive(from: BIP39Phrase(vector.phrase.text)).revealed == vector.derivedMainKey.hex)
    let typed = "\n\(vector.phrase.text.uppercased())".replacing(" ", with: "\u{3000}\t")
    #expect(try MainKey.derive(from: BIP39Phrase(typed)).revealed == vector.derivedMainKey.hex)
  }

  @Test func `invalid parameters of the main key are refused`() throws {
    let phrase = try BIP39Phrase(vectors.upstream.phrase.text)
    #expect(vectors.upstream.invalidParameters.array.count == 3)
    for parameters in vectors.upstream.invalidParameters.array {
      // The third has a length of 511 bits; only whole bytes are supported.
      let (iterations, count) = (parameters.iterations.optional, parameters.keyLengthBytes.optional)
      guard iterations != nil || count != nil else { continue }
      #expect(throws: CryptoError.invalidParameter) {
        try PBKDF2SHA512.derive(
          password: phrase.utf8, salt: Array("liquid".utf8), iterations: iterations?.integer() ?? 210_000,
          count: count?.integer() ?? 64)
      }
    }
  }

  @Test func `the published domain key is derived`() throws {
    let published = vectors.upstream.domainKey
    let publicKey = try key(published.origin.text, published.userHandle.text, published.counter.integer()).publicKey
    #expect(Hex(publicKey.raw) == published.publicKeyRawXY.hex)
    #expect(Hex(SHA256.hash(publicKey.raw)) == published.credentialId.hex)
    #expect(try key(published.origin.text, published.userHandle.text, 1).publicKey != publicKey)
  }

  // Holds: PEERKEY-2
  @Test func `domain keys are derived for every origin, handle and counter`() throws {
    #expect(vectors.computed.domainKeys.array.count == 9)
    let collision = vectors.computed.concatenationCollision
    for vector in vectors.computed.domainKeys.array + [collision.a, collision.b] {
      let (origin, handle) = (Array(vector.origin.text.utf8), Array(vector.userHandle.text.utf8))
      let scalar = try DeterministicP256.scalar(
        mainKey: mainKey, origin: origin, userHandle: handle, counter: vector.counter.integer())
      #expect(scalar.revealed == vector.privateKey.hex)
      #expect(scalar.revealed == Hex(vector.sha512.bytes.prefix(32)))
      let publicKey = try key(vector.origin.text, vector.userHandle.text, vector.counter.integer()).publicKey
      #expect(Hex(publicKey.raw) == vector.publicKeyRawXY.hex)
      #expect(Hex(SHA256.hash(publicKey.raw)) == vector.credentialId_sha256_of_rawXY.hex)
    }
  }

  // Holds: PEERKEY-3
  @Test func `origin and handle are concatenated without a separator`() throws {
    let collision = vectors.computed.concatenationCollision
    let (a, b) = (collision.a.origin.text, collision.b.origin.text)
    #expect(a != b)
    #expect(
      try key(a, collision.a.userHandle.text, 0).publicKey == key(b, collision.b.userHandle.text, 0).publicKey)
  }

  // Holds: PEERKEY-1
  @Test func `the credential id hashes X and Y alone`() throws {
    let (published, variants) = (vectors.upstream.domainKey, vectors.computed.credentialIdVariants)
    let raw = try key(published.origin.text, published.userHandle.text, published.counter.integer()).publicKey.raw
    let subjectPublicKeyInfo = hex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + [4] + raw
    #expect(Hex(subjectPublicKeyInfo) == published.publicKeySPKI.hex)
    #expect(Hex(SHA256.hash(raw)) == variants.rawXY_sha256.hex)
    #expect(Hex(SHA256.hash([4], raw)) == variants.x963_04XY_sha256.hex)
    #expect(Hex(SHA256.hash(subjectPublicKeyInfo)) == variants.spkiDER_sha256.hex)
  }

  // Holds: PEERKEY-7
  @Test func `signatures of the Kotlin and Swift wallets are valid`() throws {
    let published = vectors.upstream.domainKey
    let publicKey = try key(published.origin.text, published.userHandle.text, published.counter.integer()).publicKey
    let message = Array(vectors.upstream.signaturesOver.messageUtf8.text.utf8)
    #expect(vectors.upstream.signaturesOver.items.array.count == 4)
    for item in vectors.upstream.signaturesOver.items.array {
      let signature = item.format.text == "DER" ? item["hex"].bytes : der(item["hex"].bytes)
      #expect(publicKey.isValidSignature(signature, for: message))
      #expect(!publicKey.isValidSignature(signature, for: message + [0]))
    }
  }

  @Test func `a signature is valid under the published key`() throws {
    let published = vectors.upstream.domainKey
    let signature = try key(published.origin.text, published.userHandle.text, published.counter.integer())
      .signature(for: Array("Hello, World!".utf8))
    let raw = published.publicKeyRawXY.bytes
    let publicKey = try P256.PublicKey(x: Array(raw[..<32]), y: Array(raw[32...]))
    #expect(publicKey.isValidSignature(signature, for: Array("Hello, World!".utf8)))
  }

  // Holds: PEERKEY-4
  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  ]) func `a digest out of range is refused`(_ digest: String) {
    #expect(throws: CryptoError.scalarOutOfRange) { try DeterministicP256.inRange(SecretBytes(hex(digest))) }
  }

  // Holds: PEERKEY-4
  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000001",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550",
  ]) func `a digest at the limit of the range is the scalar`(_ digest: String) throws {
    #expect(try DeterministicP256.inRange(SecretBytes(hex(digest))).revealed == Hex(hex(digest)))
  }

  private func key(_ origin: String, _ userHandle: String, _ counter: UInt32) throws -> P256.PrivateKey {
    try DeterministicP256.privateKey(
      mainKey: mainKey, origin: Array(origin.utf8), userHandle: Array(userHandle.utf8), counter: counter)
  }

  /// The DER encoding of r ‖ s: SEQUENCE { INTEGER r, INTEGER s }.
  private func der(_ raw: [UInt8]) -> [UInt8] {
    let integers = [raw[..<32], raw[32...]].flatMap { half in
      let digits = half.drop { $0 == 0 }
      let padded = (digits.first ?? 0) >= 0x80 ? [0] + digits : Array(digits)
      return [2, UInt8(padded.count)] + padded
    }
    return [0x30, UInt8(integers.count)] + integers
  }
}
