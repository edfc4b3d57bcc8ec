import CryptoPrimitives
import TestVectors
import Testing

@Suite struct P256Tests {
  @Test func `two signatures determine the public key`() throws {
    for _ in 0..<20 {
      let key = try P256.PrivateKey.random()
      let (first, second) = (try key.signature(for: [1]), try key.signature(for: [2]))
      let found = P256.publicKeys(recoveredFrom: first, for: [1])
      #expect(found.count == 2 && found.contains(key.publicKey))
      #expect(found.filter { $0.isValidSignature(second, for: [2]) } == [key.publicKey])
      #expect(!P256.publicKeys(recoveredFrom: first, for: [3]).contains(key.publicKey))
    }
    for malformed in [[], [0x30], [0x30, 0x06, 2, 1, 0, 2, 1, 1]] as [[UInt8]] {
      #expect(P256.publicKeys(recoveredFrom: malformed, for: [1]) == [])
    }
  }

  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"

  @Test func `the scalar 1 gives the generator`() throws {
    let key = try P256.PrivateKey(scalar: SecretBytes(hex: String(repeating: "00", count: 31) + "01"))
    #expect(key.publicKey.x == hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"))
    #expect(key.publicKey.y == hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"))
    #expect(key.publicKey.raw == key.publicKey.x + key.publicKey.y)
  }

  @Test func `the greatest scalar gives the generator's negative`() throws {
    let key = try P256.PrivateKey(scalar: SecretBytes(hex: String(Self.order.dropLast(2)) + "50"))
    #expect(key.publicKey.x == hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"))
    #expect(key.publicKey.y == hex("b01cbd1c01e58065711814b583f061e9d431cca994cea1313449bf97c840ae0a"))
  }

  @Test(arguments: [
    String(repeating: "00", count: 32), order, String(order.dropLast(2)) + "52", String(repeating: "ff", count: 32),
    "ffffffff00000001" + String(repeating: "00", count: 24), "", "01", String(repeating: "01", count: 31),
    String(repeating: "01", count: 33),
  ]) func `a scalar out of range is an error`(_ scalar: String) {
    #expect(!P256.isValidScalar(SecretBytes(hex: scalar)))
    #expect(throws: CryptoError.scalarOutOfRange) { try P256.PrivateKey(scalar: SecretBytes(hex: scalar)) }
  }

  @Test(arguments: [
    String(repeating: "00", count: 31) + "01", String(order.dropLast(2)) + "50",
    "fffffffe" + String(repeating: "ff", count: 28), "01" + String(repeating: "00", count: 31),
  ]) func `a scalar from 1 to n - 1 is in range`(_ scalar: String) {
    #expect(P256.isValidScalar(SecretBytes(hex: scalar)))
  }

  /// A number, a scalar and their sum.
  private static let sums: [(String, String, String?)] = {
    let zeros = String(repeating: "00", count: 31)
    let (zero, one, two) = (zeros + "00", zeros + "01", zeros + "02")
    let (high, all) = ("ff" + zeros, String(repeating: "ff", count: 32))
    let (greatest, less) = (String(order.dropLast(2)) + "50", String(order.dropLast(2)) + "4f")
    return [
      (one, one, two), (zero, greatest, greatest),
      // n − 1 plus 2 is 1, and plus itself n − 2.
      (two, greatest, one), (greatest, greatest, less),
      // The sum does not fit into 32 bytes.
      (high, high, "fe000000ffffffff00000000000000004319055258e8617b0c46353d039cdaaf"),
      (one, greatest, nil), (order, one, nil), (all, one, nil),
    ]
  }()

  @Test(arguments: sums)
  func `a number is added to a scalar modulo n`(_ number: String, _ scalar: String, _ sum: String?) {
    var changed = hex(scalar)
    let isAdded = changed.withUnsafeMutableBytes { changed in
      hex(number).withUnsafeBytes { P256.add($0, to: changed) }
    }
    #expect(isAdded == (sum != nil))
    #expect(changed == hex(sum ?? scalar), "unchanged without a sum")
  }

  @Test func `a signature is valid for its message and key only`() throws {
    let (key, other) = (try P256.PrivateKey.random(), try P256.PrivateKey.random())
    let message = Array("message".utf8)
    let signature = try key.signature(for: message)
    #expect(key.publicKey.isValidSignature(signature, for: message))
    #expect(!key.publicKey.isValidSignature(signature, for: message + [0]))
    #expect(!key.publicKey.isValidSignature(signature + [0], for: message))
    #expect(!key.publicKey.isValidSignature([], for: message))
    #expect(!other.publicKey.isValidSignature(signature, for: message))
    #expect(try key.signature(for: message) != signature)
    #expect(key.publicKey.isValidSignature(try key.signature(for: []), for: []))
  }

  @Test(arguments: [
    (
      "sample", "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
      "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    ),
    (
      "test", "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
      "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
    ),
  ]) func `signatures of RFC 6979 are valid under its key`(_ message: String, _ r: String, _ s: String) throws {
    // RFC 6979 §A.2.5, with SHA-256.
    let scalar = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"
    let key = try P256.PrivateKey(scalar: SecretBytes(hex: scalar)).publicKey
    #expect(key.x == hex("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"))
    #expect(key.y == hex("7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"))
    let integers = [r, s].flatMap { half in
      let digits = hex(half).drop { $0 == 0 }
      let padded = (digits.first ?? 0) >= 0x80 ? [0] + digits : Array(digits)
      return [2, UInt8(padded.count)] + padded
    }
    let signature = [0x30, UInt8(integers.count)] + integers
    #expect(key.isValidSignature(signature, for: Array(message.utf8)))
    #expect(!key.isValidSignature(signature, for: Array((message + " ").utf8)))
  }

  @Test func `signatures are DER of 8 to 72 bytes`() throws {
    let key = try P256.PrivateKey.random()
    for index in 0..<64 {
      let signature = try key.signature(for: [UInt8(index)])
      #expect((8...72).contains(signature.count))
      #expect(signature[0] == 0x30 && Int(signature[1]) == signature.count - 2 && signature[2] == 0x02)
      #expect(key.publicKey.isValidSignature(signature, for: [UInt8(index)]))
    }
  }

  // Holds: CTAP2-8
  /// Flips one bit of a valid signature, or changes its message or its key.
  @Test func `only a P-256 signature that verifies is returned`() throws {
    let (key, other) = (try P256.PrivateKey.random(), try P256.PrivateKey.random())
    let message = Array("message".utf8)
    let good = try key.signature(for: message)
    #expect(try key.publicKey.verified(good, for: message) == good)
    for index in good.indices {
      var faulty = good
      faulty[index] ^= 1 << UInt8(index % 8)
      #expect(throws: CryptoError.faultySignature, "byte \(index)") {
        try key.publicKey.verified(faulty, for: message)
      }
    }
    #expect(throws: CryptoError.faultySignature) { try key.publicKey.verified(good, for: message + [0]) }
    #expect(throws: CryptoError.faultySignature) { try other.publicKey.verified(good, for: message) }
    #expect(try key.publicKey.verified(good, for: message) == good)
  }

  // Holds: CTAP2-8
  /// Flips bits of the scalar one at a time in the key's own memory, as failing memory would.
  @Test func `a P-256 key whose memory fails returns no signature`() throws {
    // Not random: with a first byte other than ff, each changed scalar is in range.
    let scalar = SecretBytes(hex: "7f" + String(repeating: "5a", count: 31))
    let key = try P256.PrivateKey(scalar: scalar)
    #expect(key.publicKey.isValidSignature(try key.signature(for: [1]), for: [1]))
    for bit in stride(from: 0, to: 8 * P256.fieldSize, by: 5) {
      scalar.withFlippedBit(bit) {
        #expect(throws: CryptoError.faultySignature, "bit \(bit)") { try key.signature(for: [1]) }
      }
    }
    #expect(key.publicKey.isValidSignature(try key.signature(for: [1]), for: [1]))
  }

  @Test func `one key signs from many threads`() async throws {
    let key = try P256.PrivateKey.random()
    let valid = try await withThrowingTaskGroup(of: Bool.self) { group in
      for index in 0..<64 {
        group.addTask { key.publicKey.isValidSignature(try key.signature(for: [UInt8(index)]), for: [UInt8(index)]) }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(valid == 64)
  }

  @Test func `a thousand keys can exist at once`() throws {
    let keys = try (0..<1000).map { _ in try P256.PrivateKey.random() }
    #expect(Set(keys.map(\.publicKey)).count == 1000)
  }

  @Test func `invalid coordinates are refused`() throws {
    let point = try P256.PrivateKey.random().publicKey
    #expect(try P256.PublicKey(x: point.x, y: point.y) == point)
    var y = point.y
    y[31] ^= 1
    #expect(throws: CryptoError.invalidPoint) { try P256.PublicKey(x: point.x, y: y) }
    #expect(throws: CryptoError.invalidPoint) {
      try P256.PublicKey(x: Array(repeating: 0, count: 32), y: Array(repeating: 0, count: 32))
    }
    #expect(throws: CryptoError.invalidPoint) { try P256.PublicKey(x: Array(repeating: 0xff, count: 32), y: point.y) }
    #expect(throws: CryptoError.invalidLength) { try P256.PublicKey(x: [0] + point.x, y: point.y) }
    #expect(throws: CryptoError.invalidLength) { try P256.PublicKey(x: point.x, y: []) }
  }

  @Test func `both sides of ECDH get the vector's secret`() throws {
    // RFC 5903 §8.1.
    let initiator = try P256.PrivateKey(
      scalar: SecretBytes(hex: "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433"))
    let responder = try P256.PrivateKey(
      scalar: SecretBytes(hex: "c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53"))
    let expected = hex("d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de")
    #expect(initiator.publicKey.x == hex("dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180"))
    #expect(try initiator.sharedSecret(with: responder.publicKey).revealed == Hex(expected))
    #expect(try responder.sharedSecret(with: initiator.publicKey).revealed == Hex(expected))
  }
}
