import CryptoPrimitives
import TestVectors

/// The vectors in `keyri.json`, computed by Python.
enum KeyriVectors {
  static func load() throws -> Vector { try Vector("keyri") }
}

extension P256.PublicKey {
  /// A public key from X ‖ Y.
  init(_ raw: Hex) throws { try self.init(x: Array(raw.bytes.prefix(32)), y: Array(raw.bytes.suffix(32))) }
}

extension P256.PrivateKey {
  /// A private key from its scalar.
  init(_ scalar: Hex) throws {
    var bytes = scalar.bytes
    try self.init(scalar: SecretBytes(consuming: &bytes))
  }
}
