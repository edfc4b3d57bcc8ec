import CryptoPrimitives
import TestVectors
import Testing

/// McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases 13, 14 and 16.
@Suite struct AESGCMTests {
  struct Case {
    let key, nonce, ad, plaintext, sealed: String
  }

  static let cases = [
    Case(
      key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24), ad: "", plaintext: "",
      sealed: "530f8afbc74536b9a963b4f1c4cb738b"),
    Case(
      key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24), ad: "",
      plaintext: String(repeating: "0", count: 32),
      sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
    Case(
      key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", nonce: "cafebabefacedbaddecaf888",
      ad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      plaintext:
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
      sealed:
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
    ),
  ]

  private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex(hex)).bytes }
  private func secret(_ bytes: [UInt8]) -> SecretBytes { bytes.withUnsafeBytes(SecretBytes.init(copying:)) }

  @Test(arguments: cases) func `sealing and opening match the vectors`(_ example: Case) throws {
    let key = secret(try bytes(example.key))
    let (nonce, ad) = (try bytes(example.nonce), try bytes(example.ad))
    let (plaintext, sealed) = (try bytes(example.plaintext), try bytes(example.sealed))
    #expect(try AESGCM.seal(plaintext, key: key, nonce: nonce, ad: ad) == sealed)
    #expect(try AESGCM.open(sealed, key: key, nonce: nonce, ad: ad) == plaintext)
  }

  @Test func `any changed bit is refused`() throws {
    let example = Self.cases[2]
    let key = secret(try bytes(example.key))
    let (nonce, ad, sealed) = (try bytes(example.nonce), try bytes(example.ad), try bytes(example.sealed))
    for bit in 0..<8 * sealed.count {
      var changed = sealed
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: CryptoError.authenticationFailed) { try AESGCM.open(changed, key: key, nonce: nonce, ad: ad) }
    }
    let others: [(nonce: [UInt8], ad: [UInt8])] = [(nonce.reversed(), ad), (nonce, ad + [0]), (nonce, [])]
    for other in others {
      #expect(throws: CryptoError.authenticationFailed) {
        try AESGCM.open(sealed, key: key, nonce: other.nonce, ad: other.ad)
      }
    }
  }

  @Test(arguments: [(31, 12, 16), (33, 12, 16), (16, 12, 16), (32, 11, 16), (32, 16, 16), (32, 12, 15)])
  func `other lengths are refused`(key: Int, nonce: Int, sealed: Int) {
    let key = secret([UInt8](repeating: 1, count: key))
    let nonce = [UInt8](repeating: 2, count: nonce)
    #expect(throws: CryptoError.invalidLength) {
      try AESGCM.open([UInt8](repeating: 3, count: sealed), key: key, nonce: nonce, ad: [])
    }
    guard sealed == 16 else { return }
    #expect(throws: CryptoError.invalidLength) { try AESGCM.seal([], key: key, nonce: nonce, ad: []) }
  }
}
