import CryptoPrimitives

/// Shamir's scheme, for each byte of a secret separately (SLIP-39, "Sharing a secret").
///
/// A polynomial over GF(256) has the secret at 255, a digest of it at 254, and the shares at 0 to 15.
enum SecretSharing {
  /// The values of the polynomials at one index: one byte for each byte of the secret.
  struct Point {
    /// Not secret.
    let index: UInt8
    let value: SecretBytes
  }

  private static let secretIndex: UInt8 = 255
  private static let digestIndex: UInt8 = 254
  /// Bytes of the digest; the point at 254 is the digest, then random bytes.
  private static let digestSize = 4

  /// The standard's SplitSecret: `count` values for the indices 0 to `count` - 1, any `threshold` of which give the
  /// secret.
  ///
  /// - Precondition: 1 ≤ `threshold` ≤ `count` ≤ 16, and the secret has at least 16 bytes.
  static func split(
    _ secret: SecretBytes, threshold: Int, count: Int, using generator: inout some RandomNumberGenerator
  ) -> [SecretBytes] {
    guard threshold > 1 else { return Array(repeating: secret, count: count) }
    let drawn = (0..<threshold - 2).map { index in
      Point(index: UInt8(index), value: SecretBytes(count: secret.count) { fill($0, using: &generator) })
    }
    let digest = SecretBytes(count: secret.count) { bytes in
      let digest = UnsafeMutableRawBufferPointer(rebasing: bytes[..<digestSize])
      let random = UnsafeMutableRawBufferPointer(rebasing: bytes[digestSize...])
      fill(random, using: &generator)
      secret.withUnsafeBytes { write(digestOf: $0, random: UnsafeRawBufferPointer(random), to: digest) }
    }
    let known = drawn + [Point(index: digestIndex, value: digest), Point(index: secretIndex, value: secret)]
    return drawn.map(\.value) + (threshold - 2..<count).map { value(at: UInt8($0), from: known) }
  }

  /// The standard's RecoverSecret.
  ///
  /// - Precondition: there are `threshold` points, with distinct indices below 16 and values of one length.
  /// - Throws: ``SLIP39Error/digest`` if the points are not of one polynomial.
  static func recover(_ points: [Point], threshold: Int) throws(SLIP39Error) -> SecretBytes {
    precondition(points.count == threshold && threshold > 0, "a secret is recovered from as many shares as it needs")
    guard threshold > 1 else { return points[0].value }
    let secret = value(at: secretIndex, from: points)
    let isValid = value(at: digestIndex, from: points).withUnsafeBytes { bytes in
      let given = UnsafeRawBufferPointer(rebasing: bytes[..<digestSize])
      let random = UnsafeRawBufferPointer(rebasing: bytes[digestSize...])
      return withWipedBytes(count: digestSize) { computed in
        secret.withUnsafeBytes { write(digestOf: $0, random: random, to: computed) }
        return zip(given, computed).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
      }
    }
    guard isValid else { throw .digest }
    return secret
  }

  /// The standard's Interpolate: the value at `index` of the polynomials of lowest degree through the points.
  static func value(at index: UInt8, from points: [Point]) -> SecretBytes {
    SecretBytes(count: points.first?.value.count ?? 0) { result in
      for point in points {
        let others = points.lazy.map(\.index).filter { $0 != point.index }
        let numerator = others.reduce(1) { GF256.product($0, $1 ^ index) }
        let denominator = others.reduce(1) { GF256.product($0, $1 ^ point.index) }
        let weight = GF256.product(numerator, GF256.inverse(of: denominator))
        point.value.withUnsafeBytes { bytes in
          for place in bytes.indices { result[place] ^= GF256.product(weight, bytes[place]) }
        }
      }
    }
  }

  /// The first 4 bytes of HMAC-SHA256(key: random, message: secret).
  private static func write(
    digestOf secret: UnsafeRawBufferPointer, random: UnsafeRawBufferPointer, to digest: UnsafeMutableRawBufferPointer
  ) {
    withWipedBytes(count: HMACSHA256.size) { tag in
      HMACSHA256.authenticate(secret, key: random, into: tag)
      digest.copyMemory(from: UnsafeRawBufferPointer(rebasing: tag[..<digestSize]))
    }
  }

  /// Fills `bytes` with the generator's numbers: 8 bytes each, the most significant first.
  private static func fill(_ bytes: UnsafeMutableRawBufferPointer, using generator: inout some RandomNumberGenerator) {
    for start in stride(from: 0, to: bytes.count, by: 8) {
      withUnsafeBytes(of: generator.next().bigEndian) { number in
        for (place, byte) in zip(start..<bytes.count, number) { bytes[place] = byte }
      }
    }
  }
}

/// GF(256) with the polynomial x^8 + x^4 + x^3 + x + 1, as in AES; a sum and a difference are `^`.
///
/// No branch and no address depends on a factor, so the time does not depend on a secret.
enum GF256 {
  static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
    var (multiple, product): (UInt8, UInt8) = (a, 0)
    for bit in 0..<8 as Range<UInt8> {
      product ^= multiple & (0 &- (b >> bit & 1))
      multiple = multiple << 1 ^ (0x1b & (0 &- (multiple >> 7)))
    }
    return product
  }

  /// The inverse of `a`, or 0 for 0: the power 254.
  static func inverse(of a: UInt8) -> UInt8 {
    // 254 is 2 + 4 + ... + 128.
    var (power, result): (UInt8, UInt8) = (a, 1)
    for _ in 1..<8 {
      power = product(power, power)
      result = product(result, power)
    }
    return result
  }
}
