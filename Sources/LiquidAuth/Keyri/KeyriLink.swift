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
  public init(_ text: String, otherOrigins: Set<WebOrigin>) throws(KeyriError) {
    guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
    else {
      throw .link
    }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let origin = try? WebOrigin(parts[0].hasSuffix("/") ? parts[0].dropLast() : parts[0]) else {
      throw .link
    }
    guard Self.isOfCompany(origin) || otherOrigins.contains(origin) else { throw .foreignLink }
    self.origin = origin
    sessionID = try Self.sessionID(in: parts[1])
  }

  /// Whether the host is one label below ``domain``, and nothing else is said.
  private static func isOfCompany(_ origin: WebOrigin) -> Bool {
    let labels = origin.host.split(separator: ".", maxSplits: 1)
    return origin.scheme == .https && origin.port == nil && labels.count == 2 && labels[1] == domain
  }

  private static func sessionID(in query: Substring) throws(KeyriError) -> String {
    let prefix = "sessionId="
    let values = query.split(separator: "&").filter { $0.hasPrefix(prefix) }.map { $0.dropFirst(prefix.count) }
    guard values.count == 1, (1...maximumSessionIDLength).contains(values[0].utf8.count),
      values[0].utf8.allSatisfy(\.isUnreserved)
    else { throw .link }
    return String(values[0])
  }
}

extension UInt8 {
  /// A character that a URL takes as it is: RFC 3986 §2.3.
  var isUnreserved: Bool {
    isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercasedASCII) || "-._~".utf8.contains(self)
  }
}
