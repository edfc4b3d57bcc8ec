import NIOSSL

/// Whom the wallet trusts, at every connection that it makes: the certificates of the system, and of one file more.
struct TLSPolicy {
  /// What all connections are made with: TLS 1.2 at least, certificate and name checked.
  let configuration: TLSConfiguration

  /// - Parameter file: the PEM file of a private certificate authority, trusted beside those of the system.
  init(certificateAuthorities file: String?) throws(WalletFailure) {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    if let file {
      do {
        let certificates = try NIOSSLCertificate.fromPEMFile(file)
        guard !certificates.isEmpty else { throw WalletFailure("\(file) holds no certificate in PEM") }
        configuration.additionalTrustRoots = [.certificates(certificates)]
      } catch let failure as WalletFailure {
        throw failure
      } catch {
        throw WalletFailure("cannot read certificates from \(file); give a file in PEM")
      }
    }
    self.configuration = configuration
  }
}
