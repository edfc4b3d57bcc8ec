import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

@Suite struct SecretSharingTests {
  @Test func `products and inverses are those of AES`() {
    // FIPS 197 §4.2 and §4.2.1.
    #expect(GF256.product(0x57, 0x83) == 0xc1)
    #expect(GF256.product(0x57, 0x13) == 0xfe)
    // Powers of 3, which has order 255, give every product another way.
    var powers: [UInt8] = [1]
    for _ in 1..<255 { powers.append(powers[powers.count - 1] ^ GF256.product(2, powers[powers.count - 1])) }
    #expect(Set(powers).count == 255)
    for (i, a) in powers.enumerated() {
      for (j, b) in powers.enumerated() where GF256.product(a, b) != powers[(i + j) % 255] {
        Issue.record("\(a) × \(b)")
      }
      #expect(GF256.inverse(of: a) == powers[(255 - i) % 255])
      #expect(GF256.product(a, 0) == 0 && GF256.product(0, a) == 0)
    }
    #expect(GF256.inverse(of: 0) == 0)
  }

  @Test func `a polynomial is evaluated anywhere from its points`() {
    // f(x) = 5 + 3x + 7x², one byte, from three of its points.
    func f(_ x: UInt8) -> UInt8 { 5 ^ GF256.product(3, x) ^ GF256.product(7, GF256.product(x, x)) }
    let points = ([9, 0, 200] as [UInt8]).map { x in
      SecretSharing.Point(index: x, value: SecretBytes([f(x)]))
    }
    for x in UInt8.min ... .max {
      #expect(SecretSharing.value(at: x, from: points).revealed == Hex([f(x)]), "\(x)")
    }
  }

  /// Every threshold and number of shares that the standard allows.
  static let policies = (1...16).flatMap { count in
    (1...count).filter { $0 > 1 || count == 1 }.map { (threshold: $0, count: count) }
  }

  @Test func `any threshold of the values gives the secret, and fewer or others do not`() throws {
    var generator = SplitMix64(state: 39)
    #expect(Self.policies.count == 121)
    for (threshold, count) in Self.policies {
      let secret = SecretBytes.random(count: 16)
      let values = SecretSharing.split(secret, threshold: threshold, count: count, using: &generator)
      #expect(values.count == count)
      let points = values.enumerated().map { SecretSharing.Point(index: UInt8($0), value: $1) }
      let orders = [points, points.reversed()] + (0..<3).map { _ in points.shuffled(using: &generator) }
      for order in orders {
        let chosen = Array(order.prefix(threshold))
        #expect(try SecretSharing.recover(chosen, threshold: threshold).isEqual(to: secret))
      }
      guard threshold > 1 else { continue }
      // One of them with one bit changed.
      var bytes = values[0].revealed.bytes
      bytes[Int.random(in: 0..<16, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      let changed = [SecretSharing.Point(index: 0, value: SecretBytes(bytes))] + points[1..<threshold]
      #expect(throws: SLIP39Error.digest) { try SecretSharing.recover(changed, threshold: threshold) }
      // One fewer: the polynomial of lower degree through them has another secret, whose digest does not fit.
      guard threshold > 2 else { continue }
      #expect(throws: SLIP39Error.digest) {
        try SecretSharing.recover(Array(points.prefix(threshold - 1)), threshold: threshold - 1)
      }
    }
  }
}
