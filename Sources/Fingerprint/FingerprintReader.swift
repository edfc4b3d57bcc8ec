import CSystemd
package import ProcessIO

/// The machine's fingerprint reader, through fprintd on the system bus: net.reactivated.Fprint.Manager and .Device.
///
/// fprintd stores and compares the fingerprints. It reports only whether a finger of this user matched.
package final class FingerprintReader: Sendable {
  private let bus: FprintdBus

  /// Connects to the system bus; `nil` without one.
  ///
  /// The connection stays open, because a sandbox may forbid a later one. The bus sends messages to it only during a
  /// verification.
  package init?() {
    guard let bus = FprintdBus() else { return nil }
    self.bus = bus
  }

  /// Checks that there is a reader, and that a finger of this user is enrolled; blocks.
  package func check() throws(FingerprintFailure) {
    try bus.alone { bus throws(FingerprintFailure) in
      try bus.call("ListEnrolledFingers", of: bus.device(), with: "")
    }
  }

  /// Waits for fingers; blocks.
  ///
  /// - Parameter next: receives the result for each finger, and returns whether to wait for another. It is not called
  ///   again after a match.
  /// - Throws: `cancelled` if the wait is cancelled, `failed` otherwise.
  package func verify(
    _ cancellation: Cancellation, _ next: (FingerprintResult) -> Bool
  ) throws(FingerprintFailure) {
    try bus.alone { bus throws(FingerprintFailure) in
      let device = try bus.device()
      try bus.call("Claim", of: device, with: "")
      defer { _ = try? bus.call("Release", of: device) }
      try bus.receive(from: device) { () throws(FingerprintFailure) in
        var result = FingerprintResult.noMatch
        repeat { result = try verifyOnce(bus, device, cancellation, next) } while result == .noMatch
      }
    }
  }

  /// One verification of fprintd, from VerifyStart to VerifyStop.
  ///
  /// - Returns: `noMatch` if another verification must follow; `match` if the wait is over.
  private func verifyOnce(
    _ bus: FprintdBus, _ device: String, _ cancellation: Cancellation, _ next: (FingerprintResult) -> Bool
  ) throws(FingerprintFailure) -> FingerprintResult {
    try bus.call("VerifyStart", of: device, with: "any")
    defer { _ = try? bus.call("VerifyStop", of: device) }
    while true {
      let status = try bus.status(of: device, cancellation)
      let result = try FingerprintResult(status)
      guard next(result), result != .match else { return .match }
      if result == .noMatch { return result }
    }
  }
}

/// The result of fprintd for one finger.
package enum FingerprintResult: Sendable, Equatable {
  /// The finger is one of this user's.
  case match
  /// The finger is none of this user's.
  case noMatch
  /// The reader could not read the finger; the advice is a sentence for the dialog.
  case unread(advice: String)

  /// - Parameter status: the first argument of the signal VerifyStatus.
  init(_ status: String) throws(FingerprintFailure) {
    switch status {
    case "verify-match": self = .match
    case "verify-no-match": self = .noMatch
    case "verify-retry-scan": self = .unread(advice: "The finger could not be read. Try again.")
    case "verify-swipe-too-short": self = .unread(advice: "The swipe was too short. Try again.")
    case "verify-finger-not-centered": self = .unread(advice: "The finger was not in the middle. Try again.")
    case "verify-remove-and-retry": self = .unread(advice: "Lift the finger, and try again.")
    case "verify-too-fast": self = .unread(advice: "The swipe was too fast. Try again.")
    case "verify-disconnected": throw .failed("the fingerprint reader was unplugged; plug it in, and try again")
    default: throw .failed("the fingerprint reader failed; run: sudo systemctl restart fprintd")
    }
  }
}

/// Why no finger can be verified.
package enum FingerprintFailure: Error, Equatable {
  /// The wait was cancelled.
  case cancelled
  /// What is wrong, then what to do: lower case, no full stop.
  case failed(String)

  /// The failure for the name of a D-Bus error; the message of the error comes from another program and is not shown.
  init(error name: String) {
    let fprint = "net.reactivated.Fprint.Error."
    self =
      switch name {
      case fprint + "NoSuchDevice": .failed("there is no fingerprint reader")
      case fprint + "NoEnrolledPrints": .failed("no finger is enrolled; enroll one with: fprintd-enroll")
      case fprint + "AlreadyInUse": .failed("another program uses the fingerprint reader; try again")
      case fprint + "PermissionDenied":
        .failed("polkit does not let this session use the fingerprint reader; log in at this machine")
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
        .failed("fprintd is not installed; install the package fprintd")
      default: .failed("fprintd failed: \(name.isEmpty ? "it gave no reason" : name)")
      }
  }
}
