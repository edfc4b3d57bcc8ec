extension CTAPHIDStateMachine {
  /// What the driver must do, in the order of the array.
  public enum Action: Hashable, Sendable {
    /// Write this report to the host.
    case send(Report)
    /// Begin to work on a request; its answer goes to `respond`.
    case dispatch(Request)
    /// Stop working on a request: it was withdrawn (an answer is still due) or its channel began anew (none is).
    case cancel(TransactionID)
    /// Show the person which device this is.
    case wink
  }

  /// One request for the authenticator.
  public struct Request: Hashable, Sendable {
    /// Which protocol the payload speaks.
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

    /// Names the request in everything that is said of it later.
    public let transaction: TransactionID
    /// The channel that waits for the answer.
    public let channel: ChannelID
    /// The protocol of the payload.
    public let kind: Kind
    /// The message, 1 to 7609 bytes.
    public let payload: [UInt8]
  }

  /// Names one request of one machine; never used twice, so that a late answer cannot reach another request.
  public struct TransactionID: Hashable, Sendable {
    let rawValue: UInt64
  }
}
