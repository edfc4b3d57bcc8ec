import CryptoPrimitives
import TestVectors
import Testing

@Suite struct KeyDerivationTests {
  @Test func `HKDF-SHA-256 gives RFC 5869's basic test case`() {
    let derived = HKDFSHA256.derive(
      key: SecretBytes(Array(repeating: 0x0b, count: 22)), salt: hex("000102030405060708090a0b0c"),
      info: hex("f0f1f2f3f4f5f6f7f8f9"), count: 42)
    #expect(
      derived.revealed.description
        == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
  }

  @Test func `HKDF-SHA-256 gives RFC 5869's test case with longer inputs`() {
    let derived = HKDFSHA256.derive(
      key: SecretBytes(Array(0...0x4f)), salt: Array(0x60...0xaf), info: Array(0xb0...0xff), count: 82)
    #expect(
      derived.revealed.description
        == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
        + "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87")
  }

  @Test func `HKDF-SHA-256 gives RFC 5869's test case without salt and info`() {
    let derived = HKDFSHA256.derive(
      key: SecretBytes(Array(repeating: 0x0b, count: 22)), salt: [], info: [], count: 42)
    #expect(
      derived.revealed.description
        == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
  }

  @Test func `HKDF-SHA-512 gives the subkeys of the recovery vectors`() throws {
    let vectors = try Vector("keys-and-recovery")
    #expect(vectors.subkeys.members.count == 10)
    for (label, expected) in vectors.subkeys.members {
      let derived = HKDFSHA512.derive(
        key: SecretBytes(vectors.input.mainKey.bytes), salt: Array("liquid-auth/keys/v1".utf8), info: Array(label.utf8),
        count: 32)
      #expect(derived.revealed == expected.hex, "\(label)")
    }
  }

  @Test func `HKDF gives any length up to 255 blocks`() {
    let key = SecretBytes([1])
    let longest = HKDFSHA512.derive(key: key, salt: [], info: [2], count: 255 * 64).revealed.bytes
    for count in [0, 1, 63, 64, 65, 128, 255 * 64 - 1] {
      #expect(HKDFSHA512.derive(key: key, salt: [], info: [2], count: count).revealed == Hex(longest.prefix(count)))
    }
    // The last block, from the definition: T(255) = HMAC(PRK, T(254) ‖ info ‖ ff).
    let pseudorandomKey = HMACSHA512.Key(SecretBytes([])).deriveSecret([1], count: 64)
    let last = HMACSHA512.authenticate(Array(longest[253 * 64..<254 * 64]) + [2, 0xff], key: pseudorandomKey)
    #expect(Array(longest.suffix(64)) == last)
  }

  @Test func `PBKDF2-SHA-512 matches Python's hashlib`() throws {
    let password = SecretBytes(Array("password".utf8))
    #expect(
      try PBKDF2SHA512.derive(password: password, salt: Array("salt".utf8), iterations: 1, count: 64).revealed
        .description
        == "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252"
        + "c02d470a285a0501bad999bfe943c08f050235d7d68b1da55e63f73b60a57fce")
    #expect(
      try PBKDF2SHA512.derive(password: password, salt: Array("salt".utf8), iterations: 4096, count: 80).revealed
        .description
        == "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5143f30602641b3d55cd335988cb36b84"
        + "376060ecd532e039b742a239434af2d5d6883f0be4c24d363b638f4c2f8d9175")
  }

  @Test(arguments: [(0, 64), (-1, 64), (1, 0), (1, -1), (1 << 31, 64), (1, 1 << 31)])
  func `PBKDF2 refuses a cost or length out of range`(_ iterations: Int, _ count: Int) {
    #expect(throws: CryptoError.invalidParameter) {
      try PBKDF2SHA512.derive(password: SecretBytes([1]), salt: [], iterations: iterations, count: count)
    }
  }

  @Test func `Argon2id gives the key of the vault's slot`() throws {
    let vault = try Vector("keys-and-recovery").vault
    let key = try Argon2id.derive(
      passphrase: SecretBytes(Array(vault.passphrase.text.utf8)), salt: vault.argon2id.salt.bytes,
      opsLimit: vault.argon2id.opslimit.integer(), memLimit: vault.argon2id.memlimit.integer(), count: 32)
    #expect(key.revealed == vault.argon2id.key.hex)
  }

  @Test func `Argon2id accepts an empty passphrase`() throws {
    let (a, b) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
    let first = try Argon2id.derive(passphrase: SecretBytes([]), salt: a, opsLimit: 1, memLimit: 8192, count: 32)
    let second = try Argon2id.derive(passphrase: SecretBytes([]), salt: b, opsLimit: 1, memLimit: 8192, count: 32)
    #expect(!first.isEqual(to: second))
  }

  struct Cost: Sendable {
    let salt: Int
    let ops: UInt64
    let memory: Int
    let count: Int
    let error: CryptoError
  }

  @Test(arguments: [
    Cost(salt: 15, ops: 1, memory: 8192, count: 32, error: .invalidLength),
    Cost(salt: 17, ops: 1, memory: 8192, count: 32, error: .invalidLength),
    Cost(salt: 16, ops: 0, memory: 8192, count: 32, error: .invalidParameter),
    Cost(salt: 16, ops: 1 << 32, memory: 8192, count: 32, error: .invalidParameter),
    Cost(salt: 16, ops: 1, memory: 8191, count: 32, error: .invalidParameter),
    Cost(salt: 16, ops: 1, memory: -1, count: 32, error: .invalidParameter),
    Cost(salt: 16, ops: 1, memory: 8192, count: 15, error: .invalidParameter),
    Cost(salt: 16, ops: 1, memory: 1 << 43, count: 32, error: .invalidParameter),
  ]) func `Argon2id refuses a salt, cost or length out of range`(_ cost: Cost) {
    #expect(throws: cost.error) {
      try Argon2id.derive(
        passphrase: SecretBytes([1]), salt: Array(repeating: 0, count: cost.salt), opsLimit: cost.ops,
        memLimit: cost.memory, count: cost.count)
    }
  }
}
