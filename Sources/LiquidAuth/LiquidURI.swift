/// The link in a dApp's QR code: `liquid://host[:port]/?requestId=…`.
///
/// It names the dApp's server, and the request that a sign-in there answers. `liquid://http://localhost…` is what dApps
/// make of a server on this machine that has no TLS, and `liquid://https://…` says what is so anyway.
public struct LiquidURI: Hashable, Sendable {
  /// What a link begins with; upper and lower case are the same.
  public static let scheme = "liquid://"

  /// The server; `origin.host` is its name.
  public let origin: WebOrigin
  /// The request.
  public let requestID: RequestID

  /// Reads a link: RFC 3986, and nothing in it that could mean two things.
  public init(_ text: String) throws(LiquidAuthError) {
    guard let link = text.dropping(prefix: Self.scheme) else {
      throw ["http://", "https://"].contains { text.dropping(prefix: $0) != nil } ? .webPage : .noLiquidLink
    }
    guard !link.utf8.contains(UInt8(ascii: "#")) else { throw .linkFragment }
    let http = link.dropping(prefix: "http://")
    let rest = http ?? link.dropping(prefix: "https://") ?? link
    // Split as bytes: what a mark of Unicode's joins to a separator is one all the same.
    let parts = rest.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    let hierarchy = parts[0].split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
    do throws(LiquidAuthError) {
      origin = try WebOrigin(scheme: http == nil ? .https : .http, authority: Substring(hierarchy[0]))
    } catch {
      throw .link(error)
    }
    guard hierarchy.count == 1 || hierarchy[1].isEmpty else { throw .linkPath }
    requestID = try Self.requestID(in: parts.dropFirst().first ?? Substring().utf8)
  }

  /// The value of the one parameter `requestId`; what other parameters say is passed over.
  private static func requestID(in query: Substring.UTF8View) throws(LiquidAuthError) -> RequestID {
    var values: [String] = []
    for parameter in query.split(separator: UInt8(ascii: "&")) {
      let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (try parts[0].percentDecoded(), try parts.count > 1 ? parts[1].percentDecoded() : "")
      if name.utf8.elementsEqual("requestId".utf8) { values.append(value) }
    }
    guard let value = values.first, !value.isEmpty else { throw .noRequestID }
    guard values.count == 1 else { throw .repeatedRequestID }
    guard value.utf8.count <= RequestID.maximumSize else { throw .longRequestID }
    guard let requestID = RequestID(value) else { throw .requestIDEncoding }
    return requestID
  }
}

extension StringProtocol {
  /// What follows a beginning of ASCII, in which upper and lower case are the same; `nil` for another beginning.
  fileprivate func dropping(prefix: String) -> Substring? {
    guard utf8.prefix(prefix.utf8.count).isEqualIgnoringCase(to: prefix.utf8) else { return nil }
    return Substring(self)[utf8.index(startIndex, offsetBy: prefix.utf8.count)...]
  }
}

extension Substring.UTF8View {
  /// The text with `%` and two hexadecimal digits read as a byte, and a `+` as itself: RFC 3986 §2.1.
  fileprivate func percentDecoded() throws(LiquidAuthError) -> String {
    var (bytes, rest) = ([UInt8](), self)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit else {
        throw .requestIDEncoding
      }
      bytes.append(high << 4 | low)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .requestIDEncoding }
    return text
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit of either case.
  fileprivate var hexadecimalDigit: UInt8? {
    Character(UnicodeScalar(self)).hexDigitValue.flatMap(UInt8.init)
  }
}

extension LiquidAuthError {
  /// The one form of a link whose server has no TLS.
  private static let loopback = "liquid://http://localhost:PORT/"

  /// It does not begin with `liquid://`.
  static let noLiquidLink = Self(
    "this is not a liquid:// link", hint: "copy the one that the dApp shows, or scan its code")

  /// It is the address of a web page.
  static let webPage = Self(
    "this is the address of a web page",
    hint: "open it in a browser, and copy the liquid:// link that it shows: for a server on this machine without TLS, "
      + "\(loopback)?requestId=…")

  /// The link names no server, or one that is not trusted.
  static func link(_ error: LiquidAuthError) -> Self {
    if case .origin(.insecure(let host)) = error.kind {
      return Self(
        error.kind,
        "the link is not followed: links without TLS are only for this machine (\(loopback)), not for \(host)",
        hint: "ask the dApp for a link with https")
    }
    return Self(error.kind, "the link is not followed: \(error.reason)", hint: error.hint)
  }

  /// A path follows the host.
  static let linkPath = Self(
    "the link has a path after the host; links of Liquid Auth servers have none", hint: "ask the dApp for a new one")

  /// It has a fragment.
  static let linkFragment = Self(
    "the link has a fragment (#); liquid:// links have none", hint: "ask the dApp for a new one")

  /// No request is named.
  static let noRequestID = Self(
    "the link names no request (requestId)", hint: "copy it whole, or ask the dApp for a new one")

  /// More than one request is named.
  static let repeatedRequestID = Self(
    "the link names more than one request (requestId)", hint: "ask the dApp for a new one")

  /// The request id has more than 128 bytes.
  static let longRequestID = Self(
    "the link's requestId has more than \(RequestID.maximumSize) bytes", hint: "ask the dApp for a new one")

  /// A percent sign without its two digits, or something that is no text.
  static let requestIDEncoding = Self(
    "the link's requestId is not text, or was cut off", hint: "copy the link whole")
}
