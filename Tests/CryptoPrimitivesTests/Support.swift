import CryptoPrimitives
import TestVectors

/// Bytes written as hexadecimal in a test; a typing error stops the test by way of an empty result.
func hex(_ text: String) -> [UInt8] { Hex(text)?.bytes ?? [] }

extension SecretBytes {
  /// A secret of a test, which is none.
  convenience init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// A secret of a test, written as hexadecimal.
  convenience init(hex text: String) { self.init(hex(text)) }

  /// The bytes, for comparison.
  var revealed: Hex { withUnsafeBytes { Hex($0) } }
}
