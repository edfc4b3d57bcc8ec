import CryptoPrimitives
import TestVectors
import Testing

/// NIST SP 800-38A, F.2.1 and F.2.5.
@Suite struct AESCBCTests {
  private static let vector = "000102030405060708090a0b0c0d0e0f"
  private static let plaintext =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"

  static let vectors = [
    (
      "2b7e151628aed2a6abf7158809cf4f3c",
      "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b273bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"
    ),
    (
      "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
      "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"
    ),
  ]

  private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex(hex)).bytes }
  private func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes(SecretBytes.init(copying:)) }

  @Test(arguments: vectors) func `AES-CBC with both key sizes matches the vectors, both ways`(
    key: String, ciphertext: String
  ) throws {
    let (key, ciphertext) = (secret(try bytes(key)), try bytes(ciphertext))
    let (plaintext, vector) = (try bytes(Self.plaintext), try bytes(Self.vector))
    #expect(
      try AESCBC.encrypt(secret(plaintext), key: key, initializationVector: vector) == ciphertext)
    #expect(
      try AESCBC.decrypt(ciphertext, key: key, initializationVector: vector)
        .isEqual(to: secret(plaintext)))
  }

  @Test(arguments: [(32, 15, 16), (32, 16, 15), (32, 16, 17), (24, 16, 16), (0, 16, 16), (31, 16, 16)])
  func `other lengths are refused`(key: Int, vector: Int, text: Int) {
    let (key, vector, text) = (
      secret([UInt8](repeating: 1, count: key)), [UInt8](repeating: 2, count: vector),
      [UInt8](repeating: 3, count: text)
    )
    #expect(throws: CryptoError.invalidLength) {
      try AESCBC.encrypt(secret(text), key: key, initializationVector: vector)
    }
    #expect(throws: CryptoError.invalidLength) {
      try AESCBC.decrypt(text, key: key, initializationVector: vector)
    }
  }

  @Test func `an empty plaintext encrypts to an empty ciphertext`() throws {
    let key = secret([UInt8](repeating: 1, count: 32))
    #expect(try AESCBC.encrypt(secret([]), key: key, initializationVector: bytes(Self.vector)) == [])
  }
}
