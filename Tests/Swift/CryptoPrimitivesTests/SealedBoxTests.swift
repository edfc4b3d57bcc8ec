import CryptoPrimitives
import TestVectors
import Testing

@Suite struct SealedBoxTests {
  private let vectors: Vector
  init() throws { vectors = try Vector("keys-and-recovery") }

  @Test func `the store's rows seal and open as in the vectors`() throws {
    let key = SecretBytes(vectors.subkeys.record.bytes)
    #expect(!vectors.rows.array.isEmpty)
    for row in vectors.rows.array {
      let (nonce, ad) = (row.nonce.bytes, row.associatedData.bytes)
      #expect(try XChaCha20Poly1305.seal(row.padded.bytes, key: key, nonce: nonce, ad: ad) == row.sealed.bytes)
      #expect(try XChaCha20Poly1305.open(row.sealed.bytes, key: key, nonce: nonce, ad: ad) == row.padded.bytes)
    }
  }

  @Test func `the vault's payload seals and opens as a secret`() throws {
    let vault = vectors.vault
    let key = SecretBytes(vault.vaultKey.bytes)
    let (nonce, ad) = (vault.payloadNonce.bytes, vault.payloadAssociatedData.bytes)
    let payload = SecretBytes(vault.payload.bytes)
    #expect(
      try XChaCha20Poly1305.sealSecret(payload, key: key, nonce: nonce, ad: ad) == vault.payloadSealed.bytes)
    #expect(
      try XChaCha20Poly1305.openSecret(vault.payloadSealed.bytes, key: key, nonce: nonce, ad: ad)
        .isEqual(to: payload))
  }

  @Test func `a range seals and opens in place`() throws {
    let (key, nonce): (SecretBytes, [UInt8]) = (SecretBytes(Array(0..<32)), Array(0..<24))
    for count in [0, 1, 63, 64, 65, 1000] {
      let plaintext = [UInt8](repeating: 9, count: count)
      let sealed = try XChaCha20Poly1305.seal(plaintext, key: key, nonce: nonce, ad: [7])
      var bytes = [1, 2] + plaintext + [UInt8](repeating: 0, count: 16) + [3]
      try XChaCha20Poly1305.sealInPlace(&bytes, 2..<count + 18, key: key, nonce: nonce, ad: [7])
      #expect(bytes == [1, 2] + sealed + [3])
      try XChaCha20Poly1305.openInPlace(&bytes, 2..<count + 18, key: key, nonce: nonce, ad: [7])
      #expect(bytes.prefix(count + 2) == [1, 2] + plaintext && bytes.last == 3)

      var other = [1, 2] + sealed + [3]
      #expect(throws: CryptoError.authenticationFailed) {
        try XChaCha20Poly1305.openInPlace(&other, 2..<count + 18, key: key, nonce: nonce, ad: [8])
      }
      #expect(other.prefix(2) == [1, 2] && other.last == 3)
    }
    for (range, nonce) in [(0..<15, nonce), (0..<16, Array(nonce.dropLast()))] {
      var bytes = [UInt8](repeating: 0, count: 16)
      #expect(throws: CryptoError.invalidLength) {
        try XChaCha20Poly1305.sealInPlace(&bytes, range, key: key, nonce: nonce, ad: [])
      }
      #expect(throws: CryptoError.invalidLength) {
        try XChaCha20Poly1305.openInPlace(&bytes, range, key: key, nonce: nonce, ad: [])
      }
    }
  }

  @Test func `a box with any bit flipped does not open`() throws {
    let key = SecretBytes(Array(0..<32))
    let (nonce, ad): ([UInt8], [UInt8]) = (Array(0..<24), [7])
    let sealed = try XChaCha20Poly1305.seal([1, 2, 3], key: key, nonce: nonce, ad: ad)
    #expect(sealed.count == 3 + XChaCha20Poly1305.tagSize)
    for bit in 0..<sealed.count * 8 {
      var flipped = sealed
      flipped[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: CryptoError.authenticationFailed) {
        try XChaCha20Poly1305.open(flipped, key: key, nonce: nonce, ad: ad)
      }
      #expect(throws: CryptoError.authenticationFailed) {
        try XChaCha20Poly1305.openSecret(flipped, key: key, nonce: nonce, ad: ad)
      }
    }
  }

  @Test func `another key, nonce or additional data does not open the box`() throws {
    let (key, nonce): (SecretBytes, [UInt8]) = (SecretBytes(Array(0..<32)), Array(0..<24))
    let sealed = try XChaCha20Poly1305.seal([], key: key, nonce: nonce, ad: [])
    #expect(try XChaCha20Poly1305.open(sealed, key: key, nonce: nonce, ad: []) == [])
    #expect(throws: CryptoError.authenticationFailed) {
      try XChaCha20Poly1305.open(sealed, key: SecretBytes(Array(1..<33)), nonce: nonce, ad: [])
    }
    #expect(throws: CryptoError.authenticationFailed) {
      try XChaCha20Poly1305.open(sealed, key: key, nonce: Array(1..<25), ad: [])
    }
    #expect(throws: CryptoError.authenticationFailed) {
      try XChaCha20Poly1305.open(sealed, key: key, nonce: nonce, ad: [0])
    }
  }

  @Test(arguments: [(31, 24, 16), (33, 24, 16), (32, 23, 16), (32, 25, 16), (32, 24, 15), (32, 24, 0)])
  func `wrong lengths are refused`(_ key: Int, _ nonce: Int, _ sealed: Int) {
    let (secret, nonceBytes) = (SecretBytes.random(count: key), [UInt8](repeating: 0, count: nonce))
    #expect(throws: CryptoError.invalidLength) {
      try XChaCha20Poly1305.open(Array(repeating: 0, count: sealed), key: secret, nonce: nonceBytes, ad: [])
    }
    if sealed == 16 {
      #expect(throws: CryptoError.invalidLength) {
        try XChaCha20Poly1305.seal([], key: secret, nonce: nonceBytes, ad: [])
      }
    }
  }

  @Test func `a box of ChaCha20-Poly1305 opens as in RFC 8439`() throws {
    let key = SecretBytes(Array(0x80...0x9F))
    let (nonce, ad) = (hex("070000004041424344454647"), hex("50515253c0c1c2c3c4c5c6c7"))
    let text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      + "sunscreen would be it."
    let sealed = hex(
      """
      d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
      3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
      92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
      3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd060\
      0691
      """)
    #expect(try ChaCha20Poly1305.open(sealed, key: key, nonce: nonce, ad: ad) == Array(text.utf8))
    #expect(throws: CryptoError.authenticationFailed) {
      try ChaCha20Poly1305.open(sealed, key: key, nonce: nonce, ad: [])
    }
    for index in [0, sealed.count - 1] {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: CryptoError.authenticationFailed) {
        try ChaCha20Poly1305.open(changed, key: key, nonce: nonce, ad: ad)
      }
    }
    #expect(throws: CryptoError.invalidLength) {
      try ChaCha20Poly1305.open(Array(sealed.prefix(15)), key: key, nonce: nonce, ad: ad)
    }
    #expect(throws: CryptoError.invalidLength) {
      try ChaCha20Poly1305.open(sealed, key: key, nonce: nonce + [0], ad: ad)
    }
    #expect(throws: CryptoError.invalidLength) {
      try ChaCha20Poly1305.open(sealed, key: SecretBytes(Array(0x80...0x9E)), nonce: nonce, ad: ad)
    }
  }
}
