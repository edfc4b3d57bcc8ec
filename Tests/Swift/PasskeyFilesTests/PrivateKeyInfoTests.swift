import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import PasskeyFiles

/// Private keys in PKCS #8: RFC 5958, 5915 and 8410.
@Suite struct PrivateKeyInfoTests {
  private func read(_ der: [UInt8]) throws(PasskeyFault) -> (COSEAlgorithm, [UInt8]) {
    let key = try PrivateKeyInfo.read(der)
    return (key.algorithm, key.secret.withUnsafeBytes { Array($0) })
  }

  private static let ed25519: [UInt8] = [6, 3, 0x2B, 0x65, 0x70]

  private static func ec(_ scalar: [UInt8], end: [UInt8] = []) -> [UInt8] {
    Sample.info(Sample.ecPublicKey + Sample.p256, Sample.ecKey(scalar, end: end))
  }

  @Test func `keys of P-256 and Ed25519 are read, with and without public key and parameters`() throws {
    let point = try Sample.point
    let compressed = [2 + point[63] % 2] + point.prefix(32)
    for der in [
      try Sample.der, Self.ec(Sample.secret), Self.ec(Sample.secret, end: Sample.tlv(0xA0, Sample.p256)),
      Self.ec(Sample.secret, end: Sample.tlv(0xA1, Sample.tlv(3, [0] + compressed))),
      Sample.info(
        Sample.ecPublicKey + Sample.p256, Sample.ecKey(Sample.secret), version: 1,
        end: Sample.tlv(0x81, [0, 4] + point)),
      Sample.info(Sample.ecPublicKey + Sample.p256, Sample.ecKey(Sample.secret), end: Sample.tlv(0xA0, [])),
    ] {
      let (algorithm, secret) = try read(der)
      #expect(algorithm == .es256 && secret == Sample.secret)
    }
    let publicKey = try Ed25519.PrivateKey(seed: Hex(Sample.secret).secret).publicKey
    for end in [[], Sample.tlv(0x81, [0] + publicKey)] {
      let (algorithm, secret) = try read(Sample.info(Self.ed25519, Sample.tlv(4, Sample.secret), end: end))
      #expect(algorithm == .edDSA && secret == Sample.secret)
    }
  }

  @Test func `a scalar without its zero bytes is filled up`() throws {
    #expect(try read(Self.ec([7])).1 == [UInt8](repeating: 0, count: 31) + [7])
    let key = [UInt8](Sample.secret.dropFirst())
    #expect(try read(Self.ec(key)).1 == [0] + key)
  }

  // Holds: IMPORT-4
  @Test func `other algorithms are named`() {
    let named: [([UInt8], String)] = [
      ([6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 5, 0], "its key is an RSA key, which is not supported"),
      ([6, 3, 0x2B, 0x65, 0x71], "its key is an Ed448 key, which is not supported"),
      ([6, 1, 0x2A], "its key is of another algorithm, which is not supported"),
      (Sample.ecPublicKey + [6, 5, 0x2B, 0x81, 4, 0, 0x22], "its key is of P-384, which is not supported"),
      (Sample.ecPublicKey + [6, 5, 0x2B, 0x81, 4, 0, 0x0A], "its key is of secp256k1, which is not supported"),
      (Sample.ecPublicKey + [6, 1, 1], "its key is of another elliptic curve, which is not supported"),
    ]
    for (algorithm, reason) in named {
      let error = #expect(throws: PasskeyFault.self) { try read(Sample.info(algorithm, [1, 2, 3])) }
      #expect(error?.reason == reason)
    }
  }

  // Holds: IMPORT-4
  @Test func `a public key of another private key is refused`() throws {
    var point = try Sample.point
    point[63] ^= 1
    for der in [
      Self.ec(Sample.secret, end: Sample.tlv(0xA1, Sample.tlv(3, [0, 4] + point))),
      Self.ec(Sample.secret, end: Sample.tlv(0xA1, Sample.tlv(3, [0, 2 + point[63] % 2] + point.prefix(32)))),
      Sample.info(
        Sample.ecPublicKey + Sample.p256, Sample.ecKey(Sample.secret), version: 1,
        end: Sample.tlv(0x81, [0, 4] + point)),
      Sample.info(
        Self.ed25519, Sample.tlv(4, Sample.secret), end: Sample.tlv(0x81, [0] + [UInt8](repeating: 1, count: 32))),
    ] {
      let error = #expect(throws: PasskeyFault.self) { try read(der) }
      #expect(error?.reason == "its public key does not match its private key")
    }
  }

  // Holds: IMPORT-4
  @Test func `a scalar out of range is refused`() {
    for scalar in [[0], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32)] {
      let error = #expect(throws: PasskeyFault.self) { try read(Self.ec(scalar)) }
      #expect(error?.reason == "the private key cannot be used")
    }
  }

  // Holds: IMPORT-4
  @Test func `other structures are refused, and each that is cut off`() throws {
    let der = try Sample.der
    for count in 0..<der.count { #expect(throws: PasskeyFault.self, "\(count)") { try read(Array(der[..<count])) } }
    var notShortest = Sample.tlv(0x30, [2, 1, 0])
    notShortest.replaceSubrange(1...1, with: [0x81, 3])
    for wrong in [
      der + [0], Sample.tlv(0x31, Array(der.dropFirst(2))), notShortest, [0x30, 0x80, 0, 0],
      [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x83, 0, 0, 0], Self.ec([]),
      Self.ec([UInt8](repeating: 0, count: 33)),
      Sample.info(Sample.ecPublicKey + Sample.p256, Sample.ecKey(Sample.secret), version: 2),
      Sample.info(Sample.ecPublicKey + Sample.p256 + [5, 0], Sample.ecKey(Sample.secret)),
      Sample.info(Self.ed25519, Sample.secret), Sample.info(Self.ed25519, Sample.tlv(4, Array(0..<31))),
      Sample.info(Self.ed25519 + [5, 0], Sample.tlv(4, Sample.secret)),
      Sample.info(Sample.ecPublicKey + Sample.p256, Sample.tlv(0x30, [2, 1, 2] + Sample.tlv(4, Sample.secret))),
      Self.ec(Sample.secret, end: Sample.tlv(0xA1, Sample.tlv(3, [7, 4]))), Self.ec(Sample.secret, end: [5, 0]),
      Self.ec(Sample.secret, end: Sample.tlv(0xA0, Sample.ecPublicKey)),
    ] { #expect(throws: PasskeyFault.self, "\(wrong)") { try read(wrong) } }
  }

  @Test func `PEM is read with any line ends, and nothing else`() throws {
    let der = try Sample.der
    for pem in [Sample.pem(der), Sample.pem(der, lineEnd: "\r\n"), "\n  " + Sample.pem(der) + "\n"] {
      let key = try Encoded.privateKey(pem: Array(pem.utf8))
      #expect(key.secret.withUnsafeBytes { Array($0) } == Sample.secret)
    }
    let pem = Sample.pem(der)
    for wrong in [
      "", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----", Base64URL.encode(der),
      pem.replacing("PRIVATE", with: "EC PRIVATE"), pem + pem, pem.replacing("-----END", with: "====\n-----END"),
      pem.replacing("BEGIN", with: "begin"),
      pem.replacing("M", with: "-"), pem.replacing("M", with: "%"),
    ] { #expect(throws: PasskeyFault.self, "\(wrong)") { try Encoded.privateKey(pem: Array(wrong.utf8)) } }
  }

  @Test func `times are read`() {
    for (text, time) in [
      ("1970-01-01T00:00:00Z", 0), ("2024-02-29T12:34:56Z", 1_709_210_096_000),
      ("2000-03-01T00:00:00.5Z", 951_868_800_500),
      ("2025-12-31T23:59:59.123456Z", 1_767_225_599_123),
    ] as [(String, UInt64)] { #expect(Encoded.time(text) == time) }
    for text in [
      "", "2024-02-29", "1969-12-31T23:59:59Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-01-01T24:00:00Z",
      "2024-01-01T00:00:00+01:00", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00,5Z", "2024-01-0xT00:00:00Z",
    ] { #expect(Encoded.time(text) == nil, "\(text)") }
  }
}
