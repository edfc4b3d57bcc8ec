import Glibc
import NIOSSL

/// Whom the wallet trusts, at every connection that it makes: the certificates of the system, and of one file more.
struct TLSPolicy {
  /// What all connections are made with: TLS 1.2 at least, certificate and name checked.
  let configuration: TLSConfiguration

  /// - Parameter file: the PEM file of a private certificate authority, trusted beside those of the system.
  init(certificateAuthorities file: CertificateFile?) throws(WalletFailure) {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    if let file { configuration.additionalTrustRoots = [.certificates(try Self.certificates(of: file))] }
    self.configuration = configuration
  }

  private static func certificates(of file: CertificateFile) throws(WalletFailure) -> [NIOSSLCertificate] {
    guard access(file.path, R_OK) == 0 else {
      throw WalletFailure("\(file.place): cannot read \(file.path): \(String(cString: strerror(errno)))")
    }
    guard let certificates = try? NIOSSLCertificate.fromPEMFile(file.path), !certificates.isEmpty else {
      throw WalletFailure("\(file.place): \(file.path) holds no certificate; give a file in PEM")
    }
    return certificates
  }
}
