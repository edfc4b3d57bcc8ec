/// The link in a dApp's QR code: `liquid://host[:port]/?requestId=…`.
///
/// A link names the dApp's server, and the request that a sign-in there answers. Others write
/// `liquid:host?requestId=…`, `liquid://host/REQUESTID`, and, for a server below a path of its host,
/// `liquid://host/path/?requestId=…`. dApps write `liquid://http://localhost…` for a server on this machine without
/// TLS; `liquid://https://…` means the same as no scheme.
public struct LiquidURI: Hashable, Sendable {
  /// The prefix of a link, case-insensitive; two slashes follow, or none.
  public static let scheme = "liquid:"
  /// The most bytes of a path, with the slash at its beginning.
  private static let maximumPathSize = 255

  /// The server; `origin.host` is its name.
  public let origin: WebOrigin
  /// The path below which the server is, such as `/auth`; empty for the root.
  public let path: String
  /// The request.
  public let requestID: RequestID

  /// Reads a link: RFC 3986, without anything ambiguous.
  public init(_ text: String) throws(LiquidAuthError) {
    guard let afterScheme = text.dropping(prefix: Self.scheme), !afterScheme.isEmpty else {
      throw ["http://", "https://"].contains { text.dropping(prefix: $0) != nil } ? .webPage : .noLiquidLink
    }
    let afterSlashes = afterScheme.dropping(prefix: "//")
    guard afterSlashes != nil || afterScheme.utf8.first != UInt8(ascii: "/") else { throw .noLiquidLink }
    let link = afterSlashes ?? afterScheme
    guard !link.utf8.contains(UInt8(ascii: "#")) else { throw .linkFragment }
    let http = link.dropping(prefix: "http://")
    let rest = http ?? link.dropping(prefix: "https://") ?? link
    // Split as bytes: a combining mark must not hide a separator.
    let parts = rest.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    let hierarchy = parts[0].split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
    do throws(LiquidAuthError) {
      origin = try WebOrigin(scheme: http == nil ? .https : .http, authority: Substring(hierarchy[0]))
    } catch {
      throw .link(error)
    }
    let place = hierarchy.count > 1 ? hierarchy[1] : Substring().utf8
    if parts.count == 1, !place.isEmpty {
      // Without a query, the only segment is the request.
      guard !place.contains(UInt8(ascii: "/")) else { throw .linkPath }
      (path, requestID) = ("", try Self.requestID(try place.percentDecoded()))
    } else {
      (path, requestID) = (try Self.path(place), try Self.requestID(in: parts.dropFirst().first ?? Substring().utf8))
    }
  }

  /// Whether a text has the form of ``path``.
  public static func isPath(_ text: String) -> Bool {
    text.isEmpty || (try? Self.path(Substring(text).utf8.dropFirst())) == text
  }

  /// Segments of unreserved characters (RFC 3986 §2.3), none of them empty or of dots, and a slash at the end or none.
  private static func path(_ place: Substring.UTF8View) throws(LiquidAuthError) -> String {
    guard !place.isEmpty else { return "" }
    let whole = place.last == UInt8(ascii: "/") ? place.dropLast() : place
    let segments = whole.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isPlain = segments.allSatisfy { segment in
      !segment.isEmpty && !segment.allSatisfy { $0 == UInt8(ascii: ".") }
        && segment.allSatisfy { "-._~".utf8.contains($0) || $0.isASCIIDigit || 0x61...0x7A ~= $0.lowercasedASCII }
    }
    guard isPlain, whole.count < maximumPathSize else { throw .linkPath }
    return "/" + String(decoding: whole, as: UTF8.self)
  }

  /// The value of the only parameter `requestId`; other parameters are ignored.
  private static func requestID(in query: Substring.UTF8View) throws(LiquidAuthError) -> RequestID {
    var values: [String] = []
    for parameter in query.split(separator: UInt8(ascii: "&")) {
      let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (try parts[0].percentDecoded(), try parts.count > 1 ? parts[1].percentDecoded() : "")
      if name.utf8.elementsEqual("requestId".utf8) { values.append(value) }
    }
    guard let value = values.first, !value.isEmpty else { throw .noRequestID }
    guard values.count == 1 else { throw .repeatedRequestID }
    return try requestID(value)
  }

  private static func requestID(_ value: String) throws(LiquidAuthError) -> RequestID {
    guard value.utf8.count <= RequestID.maximumSize else { throw .longRequestID }
    guard let requestID = RequestID(value) else { throw .requestIDEncoding }
    return requestID
  }
}

extension StringProtocol {
  /// Removes a prefix in ASCII, case-insensitively; `nil` if the text begins otherwise.
  fileprivate func dropping(prefix: String) -> Substring? {
    guard utf8.prefix(prefix.utf8.count).isEqualIgnoringCase(to: prefix.utf8) else { return nil }
    return Substring(self)[utf8.index(startIndex, offsetBy: prefix.utf8.count)...]
  }
}

extension Substring.UTF8View {
  /// Decodes `%` and two hexadecimal digits as a byte; `+` stays as it is: RFC 3986 §2.1.
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
  /// The only form of a link to a server without TLS.
  private static let loopback = "liquid://http://localhost:PORT/"

  /// The text does not begin with `liquid:`, or names nothing after it.
  static let noLiquidLink = Self(
    "this is not a liquid:// link", hint: "copy the one that the dApp shows, or scan its code")

  /// The text is the address of a web page.
  static let webPage = Self(
    "this is the address of a web page",
    hint: "open it in a browser, and copy the liquid:// link that it shows: for a server on this machine without TLS, "
      + "\(loopback)?requestId=…")

  /// The link names no server, or an untrusted one.
  static func link(_ error: LiquidAuthError) -> Self {
    if case .origin(.insecure(let host)) = error.kind {
      return Self(
        error.kind,
        "the link is not followed: links without TLS are only for this machine (\(loopback)), not for \(host)",
        hint: "ask the dApp for a link with https")
    }
    return Self(error.kind, "the link is not followed: \(error.reason)", hint: error.hint)
  }

  /// What follows the host is neither a path nor a request.
  static let linkPath = Self(
    "what follows the host of the link is neither a request nor a path of letters, digits, - . _ and ~",
    hint: "ask the dApp for a new link")

  /// The link has a fragment.
  static let linkFragment = Self(
    "the link has a fragment (#); liquid:// links have none", hint: "ask the dApp for a new one")

  /// The link names no request.
  static let noRequestID = Self(
    "the link names no request (requestId)", hint: "copy it whole, or ask the dApp for a new one")

  /// The link names more than one request.
  static let repeatedRequestID = Self(
    "the link names more than one request (requestId)", hint: "ask the dApp for a new one")

  /// The request id has more than 128 bytes.
  static let longRequestID = Self(
    "the link's requestId has more than \(RequestID.maximumSize) bytes", hint: "ask the dApp for a new one")

  /// A percent sign without two digits, or bytes that are not text.
  static let requestIDEncoding = Self(
    "the link's requestId is not text, or was cut off", hint: "copy the link whole")
}
