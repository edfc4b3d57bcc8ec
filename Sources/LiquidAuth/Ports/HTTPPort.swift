/// The port to a server: one request out, one response in.
///
/// An adapter follows no redirect, keeps no cookie, asks nobody for a password and trusts the certificates of the system
/// and of its configuration, no others. Everything else is decided in this room, where it can be tested.
public protocol HTTPPort: Sendable {
  /// Makes one exchange; cancelling the task ends it.
  ///
  /// - Parameter maximumBodySize: the longest response body, bytes after transfer coding. A longer body, or a larger
  ///   `Content-Length`, is ``PortError/tooLarge``; a body is never cut off.
  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse
}

/// One field of a request or a response: RFC 9110 §6.3.
public struct HTTPHeader: Hashable, Sendable {
  /// The name as it is sent or was received; compare it by ``isNamed(_:)``.
  public let name: String
  /// The value, without white space around it.
  public let value: String

  /// Joins the two.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether this is the field of that name; upper and lower case of ASCII are the same.
  public func isNamed(_ name: String) -> Bool { self.name.utf8.isEqualIgnoringCase(to: name.utf8) }
}

/// What is asked of a server.
public struct HTTPRequest: Equatable, Sendable {
  /// The methods that are used: RFC 9110 §9.
  public enum Method: String, Sendable {
    /// GET
    case get = "GET"
    /// POST
    case post = "POST"
  }

  /// The method.
  public let method: Method
  /// An absolute URL, `https:` or, on loopback alone, `http:`, with neither user information nor fragment.
  public let url: String
  /// What is sent besides what HTTP itself needs (Host, Content-Length).
  public let headers: [HTTPHeader]
  /// The body; `nil` sends none.
  public let body: [UInt8]?

  /// Joins the four.
  public init(method: Method, url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// What a server answers.
public struct HTTPResponse: Equatable, Sendable {
  /// The status code, 100–599.
  public let status: Int
  /// All fields, in the order in which they came; each `Set-Cookie` is one of its own (RFC 6265 §3).
  public let headers: [HTTPHeader]
  /// The body, whole.
  public let body: [UInt8]

  /// Joins the three.
  public init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The value of the first field of that name.
  public func header(_ name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
}

extension Sequence<UInt8> {
  /// Compares texts of protocols, in which upper and lower case of ASCII are the same.
  func isEqualIgnoringCase(to other: some Sequence<UInt8>) -> Bool {
    lazy.map(\.lowercasedASCII).elementsEqual(other.lazy.map(\.lowercasedASCII))
  }
}

extension UInt8 {
  /// The small letter of a capital letter of ASCII; any other byte is itself.
  var lowercasedASCII: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}
