import CryptoPrimitives
import Recovery

/// The attestation certificate of one U2F registration: Recovery §10.
///
/// X.509 v3 in DER for the credential's own key, signed with it. Nothing is stored, and two registrations cannot be
/// linked, as they could by a certificate of the device.
enum U2FCertificate {
  /// ecdsa-with-SHA256 (RFC 5758 §3.2).
  private static let signatureAlgorithm = DER.sequence(
    DER.item(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]))
  /// id-ecPublicKey on prime256v1 (RFC 5480 §2.1.1).
  private static let keyAlgorithm = DER.sequence(
    DER.item(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
    DER.item(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]))
  /// CN=Liquid Auth U2F.
  private static let name = DER.sequence(
    DER.item(
      0x31,
      DER.sequence(DER.item(0x06, [0x55, 0x04, 0x03]), DER.item(0x0C, Array("Liquid Auth U2F".utf8)))))
  /// 2000-01-01 to 2049-12-31, in UTCTime.
  private static let validity = DER.sequence(
    DER.item(0x17, Array("000101000000Z".utf8)), DER.item(0x17, Array("491231235959Z".utf8)))

  /// What is signed: version 3, serial number 1, and the key (X ‖ Y, 64 bytes).
  static func toBeSigned(publicKey: [UInt8]) -> [UInt8] {
    DER.sequence(
      DER.item(0xA0, DER.item(0x02, [2])), DER.item(0x02, [1]), signatureAlgorithm, name, validity, name,
      DER.sequence(keyAlgorithm, DER.item(0x03, [0, 4] + publicKey)))
  }

  /// The certificate in DER.
  static func certificate(_ toBeSigned: [UInt8], signature: [UInt8]) -> [UInt8] {
    DER.sequence(toBeSigned, signatureAlgorithm, DER.item(0x03, [0] + signature))
  }
}

/// The part of ASN.1's distinguished encoding (X.690) that a certificate needs.
private enum DER {
  /// One item, of at most 65 535 bytes.
  static func item(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length: [UInt8] =
      switch content.count {
      case ..<128: [UInt8(content.count)]
      case ..<256: [0x81, UInt8(content.count)]
      default: [0x82] + UInt16(content.count).bigEndianBytes
      }
    return [tag] + length + content
  }

  static func sequence(_ items: [UInt8]...) -> [UInt8] { item(0x30, items.flatMap(\.self)) }
}
