import AsyncHTTPClient
import Glibc
import LiquidAuth
import NIOCore
import NIOPosix
import NIOSSL
import ProcessIO

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
      throw WalletFailure("\(file.place): cannot read \(file.path): \(SystemNumber())")
    }
    guard let certificates = try? NIOSSLCertificate.fromPEMFile(file.path), !certificates.isEmpty else {
      throw WalletFailure("\(file.place): \(file.path) has no certificate; give a PEM file")
    }
    return certificates
  }
}

// MARK: - Faults

extension PortError {
  /// What stopped a connection, of the many errors by which NIO says so.
  init(connection error: any Error) {
    switch error {
    case let error as NIOConnectionError: self.init(error)
    case let error as IOError: self = Self.reason(error)
    case let error as ChannelError: self.init(error)
    case let error as NIOSSLError: self.init(error)
    case is NIOSSLExtraError: self = .untrusted("its certificate has another name")
    case is SocketAddressError: self = .unreachable("the name is unknown")
    case let error as HTTPClientError: self.init(error)
    default: self = .broken("what it sent is not HTTP")
    }
  }

  private init(_ error: NIOConnectionError) {
    // Of several addresses the last that was tried speaks for all.
    if let last = error.connectionErrors.last {
      self.init(connection: last.error)
    } else {
      self = .unreachable("the name is unknown")
    }
  }

  private init(_ error: ChannelError) {
    if case .connectTimeout = error { self = .timedOut } else { self = .broken("it was closed") }
  }

  private init(_ error: NIOSSLError) {
    switch error {
    case .handshakeFailed(let fault): self = .untrusted(Self.reason(fault))
    case .uncleanShutdown: self = .broken("it was cut off")
    default: self = .broken("TLS failed")
    }
  }

  private init(_ error: HTTPClientError) {
    switch error {
    case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout: self = .timedOut
    case .remoteConnectionClosed: self = .broken("it was closed")
    default: self = .broken("what it sent is not HTTP")
    }
  }

  private static func reason(_ error: IOError) -> PortError {
    let reason = SystemNumber(error.errnoCode).description.lowercased()
    return switch error.errnoCode {
    case ECONNRESET, EPIPE: .broken(reason)
    case ETIMEDOUT: .timedOut
    default: .unreachable(reason)
    }
  }

  private static func reason(_ error: BoringSSLError) -> String {
    let text = "\(error)"
    if text.contains("CERTIFICATE_VERIFY_FAILED") {
      return "its certificate is not trusted (for an authority of your own, give --ca-file, or ca-file in wallet.conf)"
    }
    if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
      return "it does not use TLS (only a server on this machine can do without it: liquid://http://localhost:PORT/)"
    }
    return "TLS failed"
  }
}
