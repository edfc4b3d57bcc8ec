/// Why a call of a port failed.
///
/// The adapter writes the reason: lower case, no full stop. For servers and nodes it is part of a sentence and does not
/// name them, such as `connection refused`. For the authenticator and WebRTC it says what happened, then what to do.
public struct PortError: Error, Equatable, Sendable {
  /// The failures that callers treat differently.
  public enum Kind: Equatable, Sendable {
    /// No connection was made: the name is unknown, no server listens, the network is down, or a library is missing.
    case unreachable
    /// The server's identity is not proven: its certificate is not trusted, has expired, or is for another name. The
    /// reason explains how to trust a private certificate authority, if that may help.
    case untrusted
    /// A server or the user did not answer in time. A node may have accepted transactions that were sent to it.
    case timedOut
    /// The answer or message is longer than the limit.
    case tooLarge
    /// A binary message came on a web socket, where only text is expected.
    case notText
    /// The connection was lost, or the other side violated the protocol.
    case broken
    /// The server closed the connection properly.
    case closed
    /// The other side refused. A node's message is sent on to the dApp.
    case refused
    /// The user or a policy refused, or no prompt could be shown; the reason says which, as in `the user refused`.
    case declined
    /// The transactions do not match their group id; the id of the group that they form, 32 bytes.
    case wrongGroup(computed: [UInt8])
    /// The account may not sign the transaction at that index.
    case notOurSigner(index: Int)
    /// The data to sign cannot be shown; the transaction's index, `nil` for a message or the list. The dApp gets the
    /// reason.
    case notUnderstood(index: Int?)
  }

  /// The failures that callers treat differently.
  public let kind: Kind
  /// What happened.
  public let reason: String

  public init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }

  /// No connection was made.
  public static func unreachable(_ reason: String) -> Self { Self(.unreachable, reason) }
  /// The server's identity is not proven.
  public static func untrusted(_ reason: String) -> Self { Self(.untrusted, reason) }
  /// No answer came in time.
  public static let timedOut = Self(.timedOut, "it did not answer in time")
  /// The answer or message is longer than the limit.
  public static let tooLarge = Self(.tooLarge, "its answer is too long")
  /// A binary message came.
  public static let notText = Self(.notText, "a binary message came")
  /// The connection was lost.
  public static func broken(_ reason: String) -> Self { Self(.broken, reason) }
  /// The server closed the connection.
  public static let closed = Self(.closed, "it closed the connection")
  /// The other side refused.
  public static func refused(_ reason: String) -> Self { Self(.refused, reason) }
  /// A server refused, with a status and no message.
  public static func refused(status: Int) -> Self { Self(.refused, "HTTP status \(status)") }
  /// The user refused.
  public static let declined = Self(.declined, "the user refused")
}

extension PortError: CustomStringConvertible {
  /// What happened, as part of a sentence that is safe to show on a terminal.
  public var description: String {
    kind == .broken ? "the connection was lost, \(reason.onOneLine)" : reason.onOneLine
  }
}
