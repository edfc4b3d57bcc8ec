import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct CredentialKeysTests {
  let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  @Test func `exactly the subkeys of the contract are derived`() throws {
    var expected = try KeysAndRecovery.load().subkeys.members.mapValues(\.hex)
    // `keys-and-recovery.json` has no cases for these subkeys.
    expected["row-set"] = try StoreRows.load().subkey.hex
    expected["history"] = try HistoryTests.load().subkey.hex
    let derived = Subkey.allCases.map { ($0.rawValue, keys[$0].hex) }
    #expect(Dictionary(uniqueKeysWithValues: derived) == expected)
  }

  @Test func `the fingerprint identifies the phrase in four bytes`() throws {
    #expect(Hex(keys.fingerprint) == (try KeysAndRecovery.load().fingerprint.hex))
  }

  @Test(arguments: try KeysAndRecovery.load().credentials.array)
  func `tags and secrets of a credential are derived from the relying party and the id`(_ vector: Vector) throws {
    let rpIDHash = try #require(RPIDHash(bytes: vector.rpIdHash.bytes))
    let forms = [
      (vector.hashId.optional, vector.withHashId.optional), (vector.sealed.id.optional, vector.withSealedId.optional),
    ]
    var seen = 0
    for case (let id?, let derived?) in forms {
      seen += 1
      #expect(Hex(keys.rpTag(rpIDHash)) == derived.rpTag.hex)
      #expect(Hex(keys.accountTag(rpIDHash, userID: vector.userId.bytes)) == derived.accountTag.hex)
      #expect(Hex(keys.credentialTag(rpIDHash, id: id.bytes)) == derived.credentialTag.hex)
      #expect(Hex(keys.keyTag(publicKey: vector.publicKey.bytes)) == derived.keyTag.hex)
      #expect(keys.credRandom(rpIDHash, id: id.bytes, userVerified: false).hex == derived.credRandomWithoutUV.hex)
      #expect(keys.credRandom(rpIDHash, id: id.bytes, userVerified: true).hex == derived.credRandomWithUV.hex)
      #expect(keys.largeBlobKey(rpIDHash, id: id.bytes).hex == derived.largeBlobKey.hex)
    }
    #expect(seen > 0)
  }

  @Test func `outputs of hmac-secret are derived from CredRandom and the salt`() throws {
    let vectors = try KeysAndRecovery.load()
    let id = vectors.credentials[0].sealed.id.bytes
    let rpIDHash = RPIDHash(rpID: vectors.credentials[0].rpId.text)
    let salt = vectors.hmacSecretOutput.salt1.bytes
    for (userVerified, output) in [
      (false, vectors.hmacSecretOutput.outputWithoutUV.hex), (true, vectors.hmacSecretOutput.outputWithUV.hex),
    ] {
      let credRandom = keys.credRandom(rpIDHash, id: id, userVerified: userVerified)
      #expect(Hex(HMACSHA256.authenticate(salt, key: credRandom)) == output)
    }
  }

  @Test(arguments: try KeysAndRecovery.load().credentials.array)
  func `the key of a credential is derived from its parameters`(_ vector: Vector) throws {
    let parameters = try #require(KeysAndRecovery.parameters(of: vector))
    let rpIDHash = try #require(RPIDHash(bytes: vector.rpIdHash.bytes))
    let key: CredentialPrivateKey
    if let rpID = vector.rpId.optional?.text {
      #expect(RPIDHash(rpID: rpID) == rpIDHash)
      key = try keys.privateKey(parameters, rpID: rpID)
    } else {
      key = try keys.privateKey(parameters, rpIDHash: rpIDHash)
    }
    #expect(Hex(key.publicKey.bytes) == vector.publicKey.hex)
    #expect(
      key.publicKey
        == (try CredentialPrivateKey(secret: vector.privateKey.hex.secret, algorithm: parameters.algorithm)).publicKey)
    if let hashID = vector.hashId.optional?.hex { #expect(Hex(key.publicKey.hashID) == hashID) }
    if let message = vector.keyMessage.optional?.hex {
      #expect(Hex(CredentialKeys.keyMessage(parameters, rpIDHash: rpIDHash)) == message)
    }
  }

  @Test func `an imported key is used unchanged`() throws {
    let scalar = [UInt8](repeating: 0x42, count: 32)
    let source = try #require(
      CredentialSource(
        rpID: "example.com", userID: [1], id: [2, 3], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .imported, importedKey: Hex(scalar).secret))
    let expected = try P256.PrivateKey(scalar: Hex(scalar).secret).publicKey.raw
    #expect(try keys.privateKey(of: source).publicKey.bytes == expected)
    #expect(!source.isDerivable)
  }

  @Test(arguments: [
    [UInt8](repeating: 0, count: 32),
    [UInt8](repeating: 0xFF, count: 32),
  ])
  func `a scalar out of range is refused`(_ scalar: [UInt8]) {
    #expect(throws: CryptoError.scalarOutOfRange) {
      try CredentialPrivateKey(secret: Hex(scalar).secret, algorithm: .es256)
    }
  }

  // Holds: PEERKEY-2
  @Test(arguments: try KeysAndRecovery.load().userIdText.array)
  func `a user id is used as UTF-8 text, or else as base64url`(_ vector: Vector) {
    #expect(Hex(userIDText(vector.userId.bytes)) == Hex(vector["text"].text.utf8))
  }
}
