/// The port to a server: one request out, one response in.
///
/// An adapter follows no redirects, keeps no cookies, requests no passwords and trusts only the certificates of the
/// system and of its configuration. All other decisions are made in this module, where they can be tested.
public protocol HTTPPort: Sendable {
  /// Makes one exchange; cancelling the task ends it.
  ///
  /// - Parameter maximumBodySize: the longest response body, bytes after transfer coding. A longer body, or a larger
  ///   `Content-Length`, is ``PortError/tooLarge``; a body is never cut off.
  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse
}

/// One field of a request or a response: RFC 9110 §6.3.
public struct HTTPHeader: Hashable, Sendable {
  /// The name as sent or received; compare it with ``isNamed(_:)``.
  public let name: String
  /// The value, without surrounding white space.
  public let value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether the field has that name; case-insensitive in ASCII.
  public func isNamed(_ name: String) -> Bool { self.name.utf8.isEqualIgnoringCase(to: name.utf8) }
}

/// A request to a server.
public struct HTTPRequest: Equatable, Sendable {
  /// The supported methods: RFC 9110 §9.
  public enum Method: String, Sendable {
    /// GET
    case get = "GET"
    /// POST
    case post = "POST"
  }

  /// The method.
  public let method: Method
  /// An absolute URL, `https:` or, on loopback only, `http:`, without user information or fragment.
  public let url: String
  /// The fields to send besides those that HTTP itself needs (Host, Content-Length).
  public let headers: [HTTPHeader]
  /// The body; `nil` sends none.
  public let body: [UInt8]?

  public init(method: Method, url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// A server's response.
public struct HTTPResponse: Equatable, Sendable {
  /// The status code, 100–599.
  public let status: Int
  /// All fields, in the order received; each `Set-Cookie` is a field of its own (RFC 6265 §3).
  public let headers: [HTTPHeader]
  /// The whole body.
  public let body: [UInt8]

  public init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The value of the first field of that name.
  public func header(_ name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
}

extension Sequence<UInt8> {
  /// Compares case-insensitively in ASCII.
  func isEqualIgnoringCase(to other: some Sequence<UInt8>) -> Bool {
    lazy.map(\.lowercasedASCII).elementsEqual(other.lazy.map(\.lowercasedASCII))
  }
}

extension UInt8 {
  /// The lower-case form of an upper-case ASCII letter; any other byte is unchanged.
  var lowercasedASCII: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}
