import LiquidAuth
import NIOSSL

/// The certificate that a peer has shown in its DTLS handshake.
struct PeerCertificate {
  private let der: [UInt8]

  /// Reads PEM.
  init?(pem: String) {
    guard let der = try? NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem).toDERBytes() else { return nil }
    self.der = der
  }

  /// Whether a session description names it, as RFC 8122 §6.2 wants of every peer.
  func isNamed(inAnswer description: String) -> Bool {
    (try? CertificateFingerprints(in: description))?.contains(certificate: der) ?? false
  }
}
