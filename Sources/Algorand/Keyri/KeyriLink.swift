public import LiquidAuth

/// The link in the QR code of a Keyri login: `https://{company}.onekey.to?sessionId={id}`.
public struct KeyriLink: Equatable, Sendable {
  /// The domain below which each company with Keyri has one name.
  public static let domain = "onekey.to"
  /// The most characters of a session id.
  public static let maximumSessionIDLength = 128

  /// The origin of the link: a page for phones without the app, which is never requested here.
  public let origin: WebOrigin
  /// The id of the login: letters, digits, `-`, `.`, `_`, `~`, which need no escapes in a URL (RFC 3986 §2.3).
  public let sessionID: String

  /// Reads a link.
  ///
  /// Other parameters of the query are ignored; `sessionId` must occur exactly once. User information, a path or a
  /// fragment is an error.
  ///
  /// - Parameter otherOrigins: the origins that the configuration allows besides `https://{company}.onekey.to`.
  public init(_ text: String, otherOrigins: Set<WebOrigin>) throws(LiquidAuthError) {
    guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
    else {
      throw .noKeyriLink
    }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let origin = try? WebOrigin(parts[0].hasSuffix("/") ? parts[0].dropLast() : parts[0]) else {
      throw .noKeyriLink
    }
    guard Self.isOfCompany(origin) || otherOrigins.contains(origin) else { throw .foreignKeyriLink }
    self.origin = origin
    sessionID = try Self.sessionID(in: parts[1])
  }

  /// Whether the host is one label below ``domain``, with `https:` and without a port.
  private static func isOfCompany(_ origin: WebOrigin) -> Bool {
    let labels = origin.host.split(separator: ".", maxSplits: 1)
    return origin.scheme == .https && origin.port == nil && labels.count == 2 && labels[1] == domain
  }

  private static func sessionID(in query: Substring) throws(LiquidAuthError) -> String {
    let prefix = "sessionId="
    let values = query.split(separator: "&").filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count) }
    guard values.count == 1, (1...maximumSessionIDLength).contains(values[0].utf8.count),
      values[0].utf8.allSatisfy(\.isUnreserved)
    else { throw .noKeyriLink }
    return String(values[0])
  }
}

extension UInt8 {
  /// Whether a URL needs no escape for this character: RFC 3986 §2.3.
  var isUnreserved: Bool {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: "-._~".utf8.contains(self)
    }
  }
}

/// An email address, by which a service with Keyri knows its user, and from which the authenticator derives the key.
///
/// Its bytes go into the key as typed (Recovery §3), with upper and lower case: another spelling gives another key.
public struct KeyriEmail: Equatable, Sendable {
  /// The most bytes of UTF-8: RFC 5321 §4.5.3.1.3, less the angle brackets.
  public static let maximumSize = 254

  /// The address.
  public let text: String

  /// Accepts one `@` with text on both sides and no invisible characters.
  public init(_ text: String) throws(LiquidAuthError) {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.maximumSize, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
      text.unicodeScalars.allSatisfy(\.isVisible)
    else { throw .noEmail }
    self.text = text
  }
}

extension Unicode.Scalar {
  /// Whether this is neither white space, nor a control, nor a character that only changes how others look.
  fileprivate var isVisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .unassigned, .privateUse: false
    default: true
    }
  }
}
