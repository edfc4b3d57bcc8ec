/// Why a port did not do what it was asked for.
///
/// A reason is the adapter's: lower case, no full stop. Of servers and nodes it is part of a sentence and does not name
/// them, such as `connection refused`; of the authenticator and of WebRTC it is all of it: what happened, then what to do.
public struct PortError: Error, Equatable, Sendable {
  /// What callers do something different for.
  public enum Kind: Equatable, Sendable {
    /// No connection was made: the name is unknown, nobody listens, the network is down, or a library is missing.
    case unreachable
    /// The server is not who it should be: its certificate is not trusted, has run out, or is of another name. The reason
    /// says how a private authority is trusted, where that can be.
    case untrusted
    /// No answer came in time, of a server or of a person. A node that was given transactions may have taken them.
    case timedOut
    /// More came than is read.
    case tooLarge
    /// A binary message came on a web socket, where nothing is said in them.
    case notText
    /// The connection broke off, or what came is not of the protocol.
    case broken
    /// The server closed the connection in order.
    case closed
    /// The other side will not: a node in its own words, which the dApp is told.
    case refused
    /// The person refused, or no prompt could be shown.
    case declined
    /// The transactions are not those of the group that they say they are of; the id that they have, 32 bytes.
    case wrongGroup(computed: [UInt8])
    /// The account may not sign the transaction at that index.
    case notOurSigner(index: Int)
    /// What is to be signed cannot be shown; the transaction's index, `nil` for a message or the list. The dApp is told why.
    case notUnderstood(index: Int?)
  }

  /// What callers do something different for.
  public let kind: Kind
  /// What happened.
  public let reason: String

  /// Joins the two.
  public init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }

  /// No connection was made.
  public static func unreachable(_ reason: String) -> Self { Self(.unreachable, reason) }
  /// The server is not who it should be.
  public static func untrusted(_ reason: String) -> Self { Self(.untrusted, reason) }
  /// No answer came in time.
  public static let timedOut = Self(.timedOut, "it is silent")
  /// More came than is read.
  public static let tooLarge = Self(.tooLarge, "its answer is too long")
  /// A binary message came.
  public static let notText = Self(.notText, "a binary message came")
  /// The connection broke off.
  public static func broken(_ reason: String) -> Self { Self(.broken, reason) }
  /// The server closed the connection.
  public static let closed = Self(.closed, "it closed the connection")
  /// The other side will not.
  public static func refused(_ reason: String) -> Self { Self(.refused, reason) }
  /// A server's refusal, which has a status alone.
  public static func refused(status: Int) -> Self { Self(.refused, "HTTP status \(status)") }
  /// The person refused.
  public static let declined = Self(.declined, "the person refused")
}

extension PortError: CustomStringConvertible {
  /// What happened, as part of a sentence that a terminal may show.
  public var description: String {
    kind == .broken ? "the connection broke off, \(reason.onOneLine)" : reason.onOneLine
  }
}
