extension CTAPHIDStateMachine {
  /// What the driver must do, in the order of the array.
  public enum Action: Hashable, Sendable {
    /// Write this report to the host.
    case send(Report)
    /// Begin to work on a request; its answer goes to `respond`.
    case dispatch(Request)
    /// Stop working on a request: it was withdrawn (an answer is still due), or its channel was resynchronised (no
    /// answer is due).
    case cancel(TransactionID)
    /// Show the user which device this is.
    case wink
  }

  /// One request for the authenticator.
  public struct Request: Hashable, Sendable {
    /// The protocol of a payload.
    public enum Kind: Hashable, Sendable {
      /// CTAP2: a command byte and CBOR.
      case cbor
      /// U2F: an APDU.
      case msg

      var command: CTAPHIDCommand {
        switch self {
        case .cbor: .cbor
        case .msg: .msg
        }
      }
    }

    /// Identifies the request in later actions and calls.
    public let transaction: TransactionID
    /// The channel that waits for the answer.
    public let channel: ChannelID
    /// The protocol of the payload.
    public let kind: Kind
    /// The message, 1 to 7609 bytes.
    public let payload: [UInt8]
  }

  /// Identifies one request of one machine; never used twice, so a late answer cannot reach another request.
  public struct TransactionID: Hashable, Sendable {
    let rawValue: UInt64
  }
}

/// A point in time: nanoseconds since a start that the machine's driver chooses.
///
/// The machine reads no clock; tests move time by hand.
public struct Instant: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the driver's start.
  public let nanoseconds: Int64

  /// Makes an instant from its distance to the driver's start.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The instant `duration` later, or the end of the range.
  public func advanced(by duration: Duration) -> Instant {
    let (seconds, attoseconds) = duration.components
    let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, tooFar) = nanoseconds.addingReportingOverflow(whole)
    let (exact, past) = sum.addingReportingOverflow(attoseconds / 1_000_000_000)
    if tooLong || tooFar || past { return Instant(nanoseconds: seconds < 0 ? .min : .max) }
    return Instant(nanoseconds: exact)
  }

  /// The time from this instant to `other`.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  /// Whether `lhs` comes first.
  public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
}
