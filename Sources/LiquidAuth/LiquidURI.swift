/// The link in a dApp's QR code: `liquid://host[:port]/?requestId=…`.
///
/// It names the dApp's server, and the request that a sign-in there answers. `liquid://http://localhost…` is what dApps
/// make of a server on this machine that has no TLS, and `liquid://https://…` says what is so anyway.
public struct LiquidURI: Hashable, Sendable {
  /// What a link begins with; upper and lower case are the same.
  public static let scheme = "liquid://"

  /// The server.
  public let origin: WebOrigin
  /// The request.
  public let requestID: RequestID

  /// Joins the two.
  public init(origin: WebOrigin, requestID: RequestID) {
    self.origin = origin
    self.requestID = requestID
  }

  /// Reads a link: RFC 3986, and nothing in it that could mean two things.
  public init(_ text: String) throws(LiquidURIError) {
    guard let link = text.dropping(prefix: Self.scheme) else {
      throw ["http://", "https://"].contains { text.dropping(prefix: $0) != nil } ? .webPage : .scheme
    }
    guard !link.utf8.contains(UInt8(ascii: "#")) else { throw .fragment }
    let http = link.dropping(prefix: "http://")
    let rest = http ?? link.dropping(prefix: "https://") ?? link
    // Split as bytes: what a mark of Unicode's joins to a separator is one all the same.
    let parts = rest.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    let hierarchy = parts[0].split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
    do throws(WebOriginError) {
      origin = try WebOrigin(scheme: http == nil ? .https : .http, authority: Substring(hierarchy[0]))
    } catch {
      throw .origin(error)
    }
    guard hierarchy.count == 1 || hierarchy[1].isEmpty else { throw .path }
    requestID = try Self.requestID(in: parts.dropFirst().first ?? Substring().utf8)
  }

  /// The value of the one parameter `requestId`; what other parameters say is passed over.
  private static func requestID(in query: Substring.UTF8View) throws(LiquidURIError) -> RequestID {
    var values: [String] = []
    for parameter in query.split(separator: UInt8(ascii: "&")) {
      let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (try parts[0].percentDecoded(), try parts.count > 1 ? parts[1].percentDecoded() : "")
      if name.utf8.elementsEqual("requestId".utf8) { values.append(value) }
    }
    guard let value = values.first, !value.isEmpty else { throw .noRequestID }
    guard values.count == 1 else { throw .repeatedRequestID }
    guard value.utf8.count <= RequestID.maximumSize else { throw .longRequestID }
    guard let requestID = RequestID(value) else { throw .encoding }
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
  fileprivate func percentDecoded() throws(LiquidURIError) -> String {
    var (bytes, rest) = ([UInt8](), self)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit else {
        throw .encoding
      }
      bytes.append(high << 4 | low)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .encoding }
    return text
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit of either case.
  fileprivate var hexadecimalDigit: UInt8? {
    Character(UnicodeScalar(self)).hexDigitValue.flatMap(UInt8.init)
  }
}

/// Why a text is no `liquid://` link that is followed.
public enum LiquidURIError: Error, Equatable, Sendable, CustomStringConvertible {
  /// It does not begin with `liquid://`.
  case scheme
  /// It is the address of a web page.
  case webPage
  /// The server that it names is none that is trusted, or none at all.
  case origin(WebOriginError)
  /// A path follows the host.
  case path
  /// It has a fragment.
  case fragment
  /// No request is named.
  case noRequestID
  /// More than one request is named.
  case repeatedRequestID
  /// The request id has more than 128 bytes.
  case longRequestID
  /// A percent sign without its two digits, or something that is no text.
  case encoding

  /// The one form of a link whose server has no TLS.
  private static let loopback = "liquid://http://localhost:PORT/"

  /// What is wrong, and what to do.
  public var description: String {
    switch self {
    case .scheme: "this is no liquid:// link; copy the one that the dApp shows, or scan its code"
    case .webPage:
      "this is the address of a web page; open it in a browser, and copy the liquid:// link that it shows: for a server "
        + "on this machine without TLS, \(Self.loopback)?requestId=…"
    case .origin(.insecure(let host)):
      "the link is not followed: without TLS only this machine is spoken to, by \(Self.loopback), and \(host) is "
        + "another; ask the dApp for a link of https"
    case .origin(let error): "the link is not followed: \(error)"
    case .path: "the link has a path behind the host, which no Liquid Auth server has; ask the dApp for a new one"
    case .fragment: "the link has a fragment (#), which means nothing here; ask the dApp for a new one"
    case .noRequestID: "the link names no request (requestId); copy it whole, or ask the dApp for a new one"
    case .repeatedRequestID: "the link names more than one request (requestId); ask the dApp for a new one"
    case .longRequestID:
      "the link's requestId has more than \(RequestID.maximumSize) bytes; ask the dApp for a new one"
    case .encoding: "the link's requestId is not text, or was cut off; copy the link whole"
    }
  }
}
