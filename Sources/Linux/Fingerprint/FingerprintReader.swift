import CSystemd
package import Messages
package import ProcessIO

/// The machine's fingerprint reader, through fprintd on the system bus: net.reactivated.Fprint.Manager and .Device.
///
/// fprintd stores and compares the fingerprints. It reports only whether a finger of this user matched.
package final class FingerprintReader: Sendable {
  private let bus: FprintdBus

  /// Connects to the system bus; `nil` without a bus, or if it has not accepted the connection by the deadline.
  ///
  /// The connection stays open, because a sandbox can forbid later connections.
  package init?(until deadline: ContinuousClock.Instant) {
    guard let bus = FprintdBus(until: deadline) else { return nil }
    self.bus = bus
  }

  /// Checks that there is a reader, and that a finger of this user is enrolled; blocks.
  package func check() throws(FingerprintFailure) {
    try bus.alone { bus throws(FingerprintFailure) in
      try bus.call("ListEnrolledFingers", of: bus.device(), with: "")
    }
  }

  /// Waits for one finger; blocks, and releases the reader before it returns.
  ///
  /// If a claim takes more than ten seconds, this fails, and ``free()`` releases the reader.
  ///
  /// A cancellation does not end a call to fprintd, which can take ten seconds: if the answer to a claim were not read,
  /// the reader would stay claimed, and other programs could not use it.
  ///
  /// - Throws: `cancelled` if the wait is cancelled, `failed` otherwise.
  package func verify(_ cancellation: Cancellation) throws(FingerprintFailure) -> FingerprintResult {
    try bus.alone { bus throws(FingerprintFailure) in
      try cancellation.check()
      let device = try bus.device()
      try cancellation.check()
      try bus.claim(device)
      defer { bus.release() }
      try cancellation.check()
      return try bus.receive(from: device) { () throws(FingerprintFailure) in
        try cancellation.check()
        defer { bus.end("VerifyStop", of: device) }
        return try FingerprintResult(bus.verify(with: device, cancellation))
      }
    }
  }
}

extension FingerprintReader {
  /// Tries to release the reader if fprintd may claim it only after ``verify(_:)`` has failed; blocks.
  ///
  /// - Returns: whether fprintd may still claim it, so that this must be tried again.
  package func free() -> Bool {
    let claimed = try? bus.alone { bus throws(FingerprintFailure) in
      bus.release()
      return bus.claimed
    }
    return claimed != nil
  }
}

extension Cancellation {
  /// Throws `cancelled` after a cancellation.
  fileprivate func check() throws(FingerprintFailure) {
    guard wait(for: -1, 0, until: .now) != .cancelled else { throw .cancelled }
  }
}

/// The result of fprintd for one finger.
package enum FingerprintResult: Sendable, Equatable {
  /// The finger is one of this user's.
  case match
  /// The finger is none of this user's.
  case noMatch
  /// The reader could not read the finger; the advice is a sentence for the dialog.
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

  /// The reader works, and knows no finger of the user.
  package static let noFinger = Self.failed(
    "no finger is enrolled; enroll one with: \(enrolling.joined(separator: " "))")
  /// The command that enrolls one.
  package static let enrolling = ["fprintd-enroll"]

  /// The failure for the name of a D-Bus error; the message of the error comes from another program and is not shown.
  ///
  /// - Parameter hasAnswered: whether fprintd has answered an earlier call. If the bus does not know it then, it has
  ///   ended.
  init(error name: String, hasAnswered: Bool) {
    let fprint = "net.reactivated.Fprint.Error."
    self =
      switch name {
      case fprint + "NoSuchDevice": .failed("there is no fingerprint reader")
      case fprint + "NoEnrolledPrints": .noFinger
      case fprint + "AlreadyInUse": .inUse
      case fprint + "PermissionDenied":
        .failed("polkit does not let this session use the fingerprint reader; log in at this machine")
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
        hasAnswered ? .fprintdEnded : .failed("fprintd is not installed; install the package fprintd")
      case "org.freedesktop.DBus.Error.NoReply": .fprintdEnded
      default: .failed("fprintd failed: \(name.isEmpty ? "it gave no reason" : name)")
      }
  }
}
