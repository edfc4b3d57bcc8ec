import CNetwork
import CWebRTC
import EventLoop
import Glibc
import LiquidAuth
import ProcessIO

/// The thread on which all exchanges and web sockets work, and their trust in certificates.
///
/// TLS is of version 1.2 or later; certificate and name are checked.
final class NetworkThread: Sendable {
  /// The most time for a connection, with TLS.
  static let connectionTimeout = Duration.seconds(10)

  private nonisolated(unsafe) let network: OpaquePointer

  /// Starts the thread; opens no connection.
  ///
  /// - Parameter file: the PEM file of a private certificate authority, trusted in addition to those of the system.
  init(certificateAuthorities file: CertificateFile?) throws(WalletFailure) {
    // A library that cannot read the certificates would say so on standard error.
    cwebrtc_report_faults()
    if let file, access(file.path, R_OK) != 0 {
      throw WalletFailure("\(file.place): cannot read \(file.path): \(SystemNumber())")
    }
    var reason = CNETWORK_MADE
    guard let network = cnetwork_make(file?.path, &reason) else { throw Self.failure(reason, file) }
    self.network = network
  }

  deinit { cnetwork_release(network) }

  /// Ends all exchanges and web sockets; returns when nothing is left.
  ///
  /// Call it once, at the end.
  func close() async { await OwnThread.run { [self] in cnetwork_stop(network) } }

  /// Calls `action` on the thread, after earlier ones; returns `false`, and does not call it, after ``close()``.
  @discardableResult func perform(_ action: @escaping @Sendable () -> Void) -> Bool {
    let box = Unmanaged.passRetained(Action(action))
    let isPerformed = cnetwork_perform(network, performAction, releaseAction, box.toOpaque())
    if !isPerformed { box.release() }
    return isPerformed
  }

  /// Lends the C value.
  func withUnsafePointer<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(network) }

  private static func failure(_ reason: cnetwork_start, _ file: CertificateFile?) -> WalletFailure {
    switch (reason, file) {
    case (CNETWORK_NO_CERTIFICATE, let file?):
      WalletFailure("\(file.place): \(file.path) has no certificate; give a PEM file")
    case (CNETWORK_NO_TLS, _): WalletFailure("GLib has no TLS; install glib-networking")
    default: WalletFailure("cannot read the certificates of the system; install ca-certificates")
    }
  }
}

/// What the network's thread calls.
private final class Action: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func performAction(_ action: UnsafeMutableRawPointer?) {
  if let action { Unmanaged<Action>.fromOpaque(action).takeUnretainedValue().body() }
}

private func releaseAction(_ action: UnsafeMutableRawPointer?) {
  if let action { Unmanaged<Action>.fromOpaque(action).release() }
}

extension Duration {
  /// Whole milliseconds, for C.
  var milliseconds: UInt32 {
    let (seconds, attoseconds) = components
    return UInt32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
  }
}

// MARK: - Faults

extension PortError {
  /// The cause of a failed exchange or connection.
  init(_ end: cnetwork_end, number: Int32) {
    switch end {
    case CNETWORK_TIMED_OUT: self = .timedOut
    case CNETWORK_NO_NAME: self = .unreachable("the name is unknown")
    case CNETWORK_UNREACHABLE: self = .unreachable(number == 0 ? "no connection is possible" : Self.reason(number))
    case CNETWORK_LOST: self = .broken(Self.reason(number))
    case CNETWORK_CLOSED: self = .broken("it was closed")
    case CNETWORK_CUT_OFF: self = .broken("it was cut off")
    case CNETWORK_UNTRUSTED:
      self = .untrusted(
        "its certificate is not trusted (for an authority of your own, give --ca-file, or ca-file in wallet.conf)")
    case CNETWORK_OTHER_NAME: self = .untrusted("its certificate has another name")
    case CNETWORK_NOT_TLS:
      self = .untrusted(
        "it does not use TLS (only a server on this machine can do without it: liquid://http://localhost:PORT/)")
    case CNETWORK_NO_HANDSHAKE: self = .untrusted("TLS failed")
    case CNETWORK_TLS_BROKEN: self = .broken("TLS failed")
    case CNETWORK_TOO_LARGE: self = .tooLarge
    case CNETWORK_CANCELLED: self = .broken("it was cancelled")
    default: self = .broken("what it sent is not HTTP")
    }
  }

  private static func reason(_ number: Int32) -> String { SystemNumber(number).description.lowercased() }
}
