import CSystemd
package import Messages
package import ProcessIO

/// The machine's fingerprint reader, through fprintd on the system bus: net.reactivated.Fprint.Manager and .Device.
///
/// fprintd keeps the fingers and compares them. It says only whether one of this user's fingers matched.
package final class FingerprintReader: Sendable {
  private let bus: FprintdBus

  /// Connects to the system bus; `nil` without one.
  ///
  /// The connection stays open, because a sandbox may forbid a later one. The bus sends nothing to it unless a finger is
  /// being verified.
  package init?() {
    guard let bus = FprintdBus() else { return nil }
    self.bus = bus
  }

  /// Checks that there is a reader, and that fprintd knows a finger of this user; blocks.
  package func check() throws(FingerprintFailure) {
    try bus.alone { bus throws(FingerprintFailure) in
      try bus.call("ListEnrolledFingers", of: bus.device(), with: "")
    }
  }

  /// Waits for fingers; blocks.
  ///
  /// - Parameter next: gets what a finger gave, and returns whether to wait for another. It is not called again after a
  ///   match.
  /// - Throws: also if it is cancelled.
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
  /// - Returns: `noMatch` if another is to follow.
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

/// What fprintd said of one finger.
package enum FingerprintResult: Sendable, Equatable {
  /// It is a finger of this user.
  case match
  /// It is none of them.
  case noMatch
  /// The reader could not read it; the advice is for people.
  case unread(advice: Message)

  /// - Parameter status: the first argument of the signal VerifyStatus.
  init(_ status: String) throws(FingerprintFailure) {
    switch status {
    case "verify-match": self = .match
    case "verify-no-match": self = .noMatch
    case "verify-retry-scan": self = .unread(advice: Message("The finger could not be read. Try again."))
    case "verify-swipe-too-short": self = .unread(advice: Message("The swipe was too short. Try again."))
    case "verify-finger-not-centered": self = .unread(advice: Message("The finger was not in the middle. Try again."))
    case "verify-remove-and-retry": self = .unread(advice: Message("Lift the finger, and try again."))
    case "verify-too-fast": self = .unread(advice: Message("The swipe was too fast. Try again."))
    case "verify-disconnected": throw .failed("the fingerprint reader was unplugged")
    default: throw .failed("the fingerprint reader failed; unplug it, or start the service again: fprintd")
    }
  }
}

/// Why no finger can be verified.
package enum FingerprintFailure: Error, Equatable {
  /// The wait was cancelled.
  case cancelled
  /// What is wrong, then what to do: lower case, no full stop.
  case failed(String)

  /// The failure for an error of D-Bus; words of other programs are not passed on.
  init(error name: String) {
    let fprint = "net.reactivated.Fprint.Error."
    self =
      switch name {
      case fprint + "NoSuchDevice": .failed("there is no fingerprint reader")
      case fprint + "NoEnrolledPrints": .failed("no finger is enrolled; enroll one with: fprintd-enroll")
      case fprint + "AlreadyInUse": .failed("another program uses the fingerprint reader; try again")
      case fprint + "PermissionDenied":
        .failed("the system does not let this session use the fingerprint reader (polkit)")
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
        .failed("fprintd is not installed; install the package fprintd")
      default: .failed("fprintd failed: \(name.isEmpty ? "it gave no reason" : name)")
      }
  }
}
