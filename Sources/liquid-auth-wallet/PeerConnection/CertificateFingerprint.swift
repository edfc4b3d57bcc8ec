import CryptoPrimitives
import NIOSSL

/// The fingerprint by which a session description names the certificate of its peer: RFC 8122 §5.
enum CertificateFingerprint {
  private static let attribute = "a=fingerprint:"

  /// Whether a description names this certificate, by SHA-256, which every WebRTC peer writes (RFC 8827 §6.5).
  ///
  /// - Parameter certificate: PEM; anything else is named by nobody.
  static func isNamed(in description: String, certificate: String) -> Bool {
    guard let certificate = try? NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem),
      let bytes = try? certificate.toDERBytes()
    else { return false }
    return fingerprints(in: description).contains(SHA256.hash(bytes))
  }

  /// All fingerprints by SHA-256 that a description has, 32 bytes each.
  static func fingerprints(in description: String) -> [[UInt8]] {
    description.split(whereSeparator: \.isNewline).compactMap { line in
      guard line.hasPrefix(attribute) else { return nil }
      let fields = line.dropFirst(attribute.count).split(separator: " ")
      guard fields.count == 2, fields[0].lowercased() == "sha-256" else { return nil }
      let bytes = fields[1].split(separator: ":", omittingEmptySubsequences: false)
        .map { $0.utf8.count == 2 ? UInt8($0, radix: 16) : nil }
      guard bytes.count == 32, !bytes.contains(nil) else { return nil }
      return bytes.compactMap(\.self)
    }
  }
}
