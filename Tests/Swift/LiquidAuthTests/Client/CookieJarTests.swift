import Testing

@testable import LiquidAuth

@Suite struct CookieJarTests {
  private static let session = "connect.sid=s%3Aabc.def%2Fg; Path=/; HttpOnly"
  private static let date = HTTPHeader("Date", "Sat, 21 Nov 2026 12:00:00 GMT")

  /// The cookies sent to a path after responses to `/attestation/request` that set these cookies.
  private static func sent(
    _ cookies: [String]..., origin: String = "https://app.example.com", path: String = "/socket.io/"
  ) throws -> String? {
    var jar = CookieJar(origin: try WebOrigin(origin))
    for response in cookies {
      let fields = response.map { HTTPHeader("set-cookie", $0) }
      jar.store(HTTPResponse(status: 201, headers: [Self.date] + fields), forPath: "/attestation/request")
    }
    return jar.header(forPath: path)?.value
  }

  // Holds: PEERSIGNIN-13
  @Test func `the session cookie is sent unchanged`() throws {
    #expect(try Self.sent([Self.session]) == "connect.sid=s%3Aabc.def%2Fg")
    #expect(try Self.sent([]) == nil)
  }

  @Test func `a cookie with the same name and path is replaced in its place`() throws {
    #expect(try Self.sent(["a=1; Path=/", "b=2; Path=/"], ["a=3; Path=/"]) == "a=3; b=2")
    #expect(try Self.sent(["a=1; Path=/", "a=2; Path=/socket.io"]) == "a=2; a=1")
    #expect(try Self.sent(["a=1; Path=/"], ["A=2; Path=/"]) == "a=1; A=2")
  }

  @Test(arguments: [
    // Without a path, the folder of the request. A path matches whole names only.
    ("a=1", nil), ("a=1; Path=", nil), ("a=1; Path=socket.io", nil), ("a=1; Path=/", "a=1"),
    ("a=1; path=/socket.io", "a=1"),
    ("a=1; Path=/socket.io/", "a=1"), ("a=1; Path=/socket", nil), ("a=1; Path=/socket.io/x", nil),
    ("a=1; Path=/x; Path=/", "a=1"),
  ])
  func `a cookie is sent to its path and below`(_ cookie: String, _ sent: String?) throws {
    #expect(try Self.sent([cookie]) == sent)
  }

  @Test func `a cookie without a path is sent to the folder of its request`() throws {
    #expect(try Self.sent(["a=1"], path: "/attestation/response") == "a=1")
    #expect(try Self.sent(["a=1"], path: "/attestation") == "a=1")
    #expect(try Self.sent(["a=1"], path: "/attestations") == nil)
  }

  @Test(arguments: [
    ("a=1; Path=/; Domain=app.example.com", "https://app.example.com", "a=1"),
    ("a=1; Path=/; Domain=.Example.com", "https://app.example.com", "a=1"),
    ("a=1; Path=/; Domain=", "https://app.example.com", "a=1"),
    // Another site, a subdomain, part of an address, part of a label.
    ("a=1; Path=/; Domain=example.org", "https://app.example.com", nil),
    ("a=1; Path=/; Domain=x.app.example.com", "https://app.example.com", nil),
    ("a=1; Path=/; Domain=ample.com", "https://app.example.com", nil),
    ("a=1; Path=/; Domain=0.0.1", "http://127.0.0.1", nil),
    ("a=1; Path=/; Domain=127.0.0.1", "http://127.0.0.1", "a=1"),
  ])
  func `a cookie for another domain is refused`(_ cookie: String, _ origin: String, _ sent: String?) throws {
    #expect(try Self.sent([cookie], origin: origin) == sent)
  }

  @Test(arguments: ["https://app.example.com", "http://localhost:3000"])
  func `a Secure cookie is sent to https and loopback origins`(_ origin: String) throws {
    #expect(try Self.sent(["a=1; Path=/; Secure; SameSite=None"], origin: origin) == "a=1")
  }

  @Test(arguments: [
    "Max-Age=0", "max-age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Expires=Thu, 01-Jan-1970 00:00:00 GMT",
    "Expires=Sat, 21 Nov 2026 12:00:00 GMT", "Expires=Sat Nov 21 11:59:59 2026",
    "Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
  ])
  func `an expired cookie is removed`(_ attribute: String) throws {
    #expect(try Self.sent(["a=1; Path=/", "b=2; Path=/"], ["a=; Path=/; \(attribute)"]) == "b=2")
    #expect(try Self.sent(["a=1; Path=/; \(attribute)"]) == nil)
    #expect(
      try Self.sent(["a=1; Path=/"], ["a=; Path=/socket.io; \(attribute)"]) == "a=1", "another path is another cookie")
  }

  @Test(arguments: [
    "Max-Age=1", "Max-Age=20000", "Max-Age=x", "Expires=Sat, 21 Nov 2026 12:00:01 GMT",
    "Expires=Fri, 01 Jan 2100 00:00:00 GMT",
    "Expires=never", "Expires=Thu, 01 Jan 1970", "Expires=1 2 3:4:5",
    "Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
  ])
  func `a valid cookie is kept`(_ attribute: String) throws {
    #expect(try Self.sent(["a=1; Path=/; \(attribute)"]) == "a=1")
  }

  @Test func `without a Date header, Expires is ignored`() throws {
    var jar = CookieJar(origin: try WebOrigin("https://example.com"))
    let expired = HTTPHeader("Set-Cookie", "a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
    jar.store(HTTPResponse(status: 200, headers: [expired]), forPath: "/")
    #expect(jar.header(forPath: "/") == HTTPHeader("Cookie", "a=1"))
  }

  @Test(arguments: [
    "", ";", "a", "=1", "; Path=/", "a\u{1}=1; Path=/", "a=1\r\nX: y; Path=/", "a=\u{7F}; Path=/",
    "a=" + String(repeating: "x", count: CookieJar.maximumSize),
  ])
  func `an invalid cookie is ignored`(_ cookie: String) throws {
    #expect(try Self.sent([cookie, "b=2; Path=/"]) == "b=2")
  }

  @Test func `a value keeps quotation marks and equals signs; white space around it is dropped`() throws {
    #expect(try Self.sent(["  a  =  \"x y\"=z  ;  Path = / "]) == "a=\"x y\"=z")
  }

  @Test func `a logged jar shows no values`() throws {
    var jar = CookieJar(origin: try WebOrigin("https://example.com"))
    jar.store(HTTPResponse(status: 200, headers: [HTTPHeader("Set-Cookie", "s=secret; Path=/")]), forPath: "/")
    #expect("\(jar) \([jar])".contains("secret") == false && "\(jar)" == "cookies of https://example.com: 1")
  }

  @Test func `a jar keeps at most 50 cookies`() throws {
    let cookies = (0..<60).map { "c\($0)=1; Path=/" }
    let sent = try #require(try Self.sent(cookies, ["c0=2; Path=/"]))
    #expect(sent.split(separator: "; ").count == CookieJar.maximumCount)
    #expect(sent.hasPrefix("c0=2; ") && sent.hasSuffix("; c49=1"))
  }
}
