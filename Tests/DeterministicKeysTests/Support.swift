import CryptoPrimitives
import DeterministicKeys
import TestVectors

/// Bytes written as hexadecimal in a test; a typing error stops the test by way of an empty result.
func hex(_ text: String) -> [UInt8] { Hex(text)?.bytes ?? [] }

extension SecretBytes {
  /// A secret of a test, which is none.
  convenience init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// What a person of a test types.
  convenience init(typed text: String) { self.init(Array(text.utf8)) }

  /// The bytes, for comparison.
  var revealed: Hex { withUnsafeBytes { Hex($0) } }

  /// The bytes as text, for comparison.
  var revealedText: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension BIP39Phrase {
  /// A phrase of a test.
  init(_ text: String) throws { try self.init(parsing: SecretBytes(typed: text)) }
}

/// A small generator with a seed, so that a failure can be had again (Steele, Lea and Flood, 2014).
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
