import CryptoPrimitives

/// A P-256 key as Keyri's servers and most others read it: SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7, RFC 5480 §2).
enum SubjectPublicKeyInfo {
  /// SEQUENCE { SEQUENCE { id-ecPublicKey, secp256r1 }, BIT STRING } up to the point, uncompressed.
  private static let head: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// 91 bytes: the same 27 for each key, then X ‖ Y.
  static func encode(_ key: P256.PublicKey) -> [UInt8] { head + key.raw }
}
