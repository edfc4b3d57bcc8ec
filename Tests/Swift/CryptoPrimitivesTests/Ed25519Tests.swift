import CryptoPrimitives
import TestVectors
import Testing

/// RFC 8032 §7.1.
@Suite struct Ed25519Tests {
  struct Sample: Sendable {
    let seed: String
    let publicKey: String
    let message: String
    let signature: String
  }

  static let samples = [
    Sample(
      seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
      signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    Sample(
      seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
      signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
    Sample(
      seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
      signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
  ]

  @Test(arguments: samples) func `keys and signatures match RFC 8032`(_ sample: Sample) throws {
    let key = try Ed25519.PrivateKey(seed: SecretBytes(hex: sample.seed))
    let message = hex(sample.message)
    #expect(key.publicKey == hex(sample.publicKey))
    #expect(try key.signature(for: message) == hex(sample.signature))
    #expect(Ed25519.isValidSignature(hex(sample.signature), for: message, publicKey: key.publicKey))
    #expect(!Ed25519.isValidSignature(hex(sample.signature), for: message + [0], publicKey: key.publicKey))
  }

  @Test(arguments: [0, 31, 33, 64]) func `a seed of another length is refused`(_ count: Int) {
    #expect(throws: CryptoError.invalidLength) { try Ed25519.PrivateKey(seed: .random(count: count)) }
  }

  @Test func `signatures and keys of another length are not valid`() throws {
    let key = try Ed25519.PrivateKey(seed: .random(count: 32))
    let signature = try key.signature(for: [1])
    #expect(Ed25519.isValidSignature(signature, for: [1], publicKey: key.publicKey))
    #expect(!Ed25519.isValidSignature(signature + [0], for: [1], publicKey: key.publicKey))
    #expect(!Ed25519.isValidSignature(Array(signature.dropLast()), for: [1], publicKey: key.publicKey))
    #expect(!Ed25519.isValidSignature(signature, for: [1], publicKey: key.publicKey + [0]))
    #expect(!Ed25519.isValidSignature(signature, for: [1], publicKey: []))
  }

  // Holds: CTAP2-8
  /// Flips one bit of a valid signature, or changes its message or its key.
  @Test func `only a signature that verifies is returned`() throws {
    let key = try Ed25519.PrivateKey(seed: .random(count: 32))
    let message = Array("message".utf8)
    let good = try key.signature(for: message)
    #expect(try Ed25519.verified(good, for: message, publicKey: key.publicKey) == good)
    for index in good.indices {
      var faulty = good
      faulty[index] ^= 1 << UInt8(index % 8)
      #expect(throws: CryptoError.faultySignature) {
        try Ed25519.verified(faulty, for: message, publicKey: key.publicKey)
      }
    }
    for (message, publicKey) in [(message + [0], key.publicKey), (message, try Ed25519.PrivateKey.other.publicKey)] {
      #expect(throws: CryptoError.faultySignature) {
        try Ed25519.verified(good, for: message, publicKey: publicKey)
      }
    }
  }

  // Holds: CTAP2-8
  /// Flips bits of seed ‖ public key one at a time in the key's own memory, as failing memory would.
  @Test func `a key whose memory fails returns no signature`() throws {
    let key = try Ed25519.PrivateKey(seed: .random(count: 32))
    let secret = try #require(Mirror(reflecting: key).descendant("secretKey") as? SecretBytes)
    let good = try key.signature(for: [1])
    for bit in stride(from: 0, to: 8 * secret.count, by: 5) {
      // The seed's hash is the scalar and the nonce key: another seed signs for another public key.
      secret.withFlippedBit(bit) {
        #expect(throws: CryptoError.faultySignature, "bit \(bit)") { try key.signature(for: [1]) }
      }
    }
    #expect(try key.signature(for: [1]) == good)
    #expect(CryptoError.faultySignature.description.contains("was discarded"))
  }

  /// L = 2^252 + 27742317777372353535851937790883648493, little-endian.
  private static let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")

  @Test func `a multiple of the order has no public point`() throws {
    for scalar in [Self.order, Array(repeating: 0, count: 32)] {
      #expect(throws: CryptoError.scalarOutOfRange) {
        try scalar.withUnsafeBytes { scalar throws(CryptoError) in try Ed25519.multiplyBase(by: scalar) }
      }
    }
  }

  @Test func `the sum of points is the point of the sum of scalars`() throws {
    let points = try (1...5).map { try multiplyBase(by: UInt8($0)) }
    #expect(try Ed25519.add(points[0], points[1]) == points[2])
    #expect(try Ed25519.add(points[1], points[2]) == points[4])
    #expect(points[0] == hex("5866666666666666666666666666666666666666666666666666666666666666"))
  }

  @Test func `an invalid point is not added`() throws {
    let point = try multiplyBase(by: 1)
    // No point of the curve has y = 2.
    #expect(throws: CryptoError.invalidPoint) { try Ed25519.add(point, [2] + Array(repeating: 0, count: 31)) }
    #expect(throws: CryptoError.invalidLength) { try Ed25519.add(point, point + [0]) }
    #expect(throws: CryptoError.invalidLength) { try Ed25519.add([], point) }
  }

  @Test func `scalars are reduced modulo the order`() {
    var (reduced, sum) = ([UInt8](repeating: 9, count: 32), [UInt8](repeating: 9, count: 32))
    let wide = Self.order + [UInt8](repeating: 0, count: 32)
    wide.withUnsafeBytes { wide in reduced.withUnsafeMutableBytes { Ed25519.reduce(wide, into: $0) } }
    #expect(reduced == Array(repeating: 0, count: 32))
    // 7 · (L - 1) + 8 = 1 modulo L.
    let (seven, eight) = ([7] + [UInt8](repeating: 0, count: 31), [8] + [UInt8](repeating: 0, count: 31))
    let minusOne = [Self.order[0] - 1] + Self.order[1...]
    seven.withUnsafeBytes { seven in
      minusOne.withUnsafeBytes { minusOne in
        eight.withUnsafeBytes { eight in
          sum.withUnsafeMutableBytes { Ed25519.multiplyAdd(seven, minusOne, eight, into: $0) }
        }
      }
    }
    #expect(sum == [1] + Array(repeating: 0, count: 31))
  }

  private func multiplyBase(by number: UInt8) throws -> [UInt8] {
    try ([number] + [UInt8](repeating: 0, count: 31)).withUnsafeBytes { scalar throws(CryptoError) in
      try Ed25519.multiplyBase(by: scalar)
    }
  }
}

extension Ed25519.PrivateKey {
  fileprivate static var other: Self { get throws { try Self(seed: .random(count: 32)) } }
}
