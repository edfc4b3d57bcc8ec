/// A point in time as the machine's driver counts it: nanoseconds since a start of the driver's choice.
///
/// The machine reads no clock; tests move time by hand.
public struct Instant: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the driver's start.
  public let nanoseconds: Int64

  /// Makes an instant from its distance to the driver's start.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The instant that lies `duration` later; it stops at the ends of the range.
  public func advanced(by duration: Duration) -> Instant {
    let (seconds, attoseconds) = duration.components
    let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, tooFar) = nanoseconds.addingReportingOverflow(whole)
    let (exact, past) = sum.addingReportingOverflow(attoseconds / 1_000_000_000)
    if tooLong || tooFar || past { return Instant(nanoseconds: seconds < 0 ? .min : .max) }
    return Instant(nanoseconds: exact)
  }

  /// How long it is from here to `other`.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  /// Whether `lhs` comes first.
  public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
}
