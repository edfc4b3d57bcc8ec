import CryptoPrimitives
import TestVectors

@testable import LiquidAuth

/// `Tests/Vectors/keyri.json`, which Python computed.
enum KeyriVectors {
  static func load() throws -> Vector { try Vector("keyri") }
}

extension P256.PublicKey {
  /// X ‖ Y of a vector.
  init(_ raw: Hex) throws { try self.init(x: Array(raw.bytes.prefix(32)), y: Array(raw.bytes.suffix(32))) }
}

extension P256.PrivateKey {
  /// The scalar of a vector.
  init(_ scalar: Hex) throws {
    var bytes = scalar.bytes
    try self.init(scalar: SecretBytes(consuming: &bytes))
  }
}
