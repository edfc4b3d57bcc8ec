import AsyncHTTPClient
import Glibc
import LiquidAuth
import NIOCore
import NIOPosix
import NIOSSL
import ProcessIO

/// The trust settings of every connection: the certificates of the system, and of one additional file.
struct TLSPolicy {
  /// The configuration of all connections: TLS 1.2 or later, certificate and name checked.
  let configuration: TLSConfiguration

  /// - Parameter file: the PEM file of a private certificate authority, trusted in addition to those of the system.
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
  /// The cause of a failed connection, from the various errors of NIO.
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
    // If several addresses failed, the error of the last one is reported.
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
