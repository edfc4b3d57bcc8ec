/// The link in the QR code of a Keyri login: `https://{company}.onekey.to?sessionId={id}`.
public struct KeyriLink: Equatable, Sendable {
  /// The domain below which each company that uses Keyri has one name.
  public static let domain = "onekey.to"
  /// Characters in a session id, at most.
  public static let maximumSessionIDLength = 128

  /// Where the link points: a page that a phone without the app would open, and that is never asked for here.
  public let origin: WebOrigin
  /// The login in question: letters, digits, `-`, `.`, `_`, `~`, which a URL takes as they are (RFC 3986 §2.3).
  public let sessionID: String

  /// Reads a link.
  ///
  /// Other members of the query are passed over; `sessionId` must be there once. No user information, path or fragment.
  ///
  /// - Parameter otherOrigins: those that the configuration allows besides `https://{company}.onekey.to`.
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

  /// Whether the host is one label below ``domain``, and nothing else is said.
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
  /// A character that a URL takes as it is: RFC 3986 §2.3.
  var isUnreserved: Bool {
    isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercasedASCII) || "-._~".utf8.contains(self)
  }
}

/// An email address: by it a service with Keyri knows its user, and by it the authenticator derives the user's key.
///
/// Its bytes go into the key as they were typed (Recovery §3), capitals and all: another spelling is another key.
public struct KeyriEmail: Equatable, Sendable {
  /// Bytes of UTF-8, at most: RFC 5321 §4.5.3.1.3, less the angle brackets.
  public static let maximumSize = 254

  /// The address.
  public let text: String

  /// Takes what could be an address: something, `@`, something, and nothing invisible.
  public init(_ text: String) throws(LiquidAuthError) {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.maximumSize, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
      text.unicodeScalars.allSatisfy(\.isVisible)
    else { throw .noEmail }
    self.text = text
  }
}

extension Unicode.Scalar {
  /// Neither white space, nor a control, nor a character that changes only how others look.
  fileprivate var isVisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .unassigned, .privateUse: false
    default: true
    }
  }
}
