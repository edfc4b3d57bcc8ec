import Testing

@testable import LiquidAuth

@Suite struct LiquidURITests {
  private static let id = "019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f"
  private static let letters129 = String(repeating: "a", count: 129)
  private static let letters255 = String(repeating: "a", count: 255)

  // Holds: DAPPSERVER-2, PEERSIGNIN-8
  @Test(arguments: [
    // With and without the slash; the scheme in either case; a port that is kept.
    ("liquid://example.com/?requestId=\(id)", "https://example.com", id),
    ("liquid://example.com?requestId=test-123", "https://example.com", "test-123"),
    ("LIQUID://Example.com:8443/?requestId=\(id)", "https://example.com:8443", id),
    ("liquid://example.com:443/?requestId=1", "https://example.com", "1"),
    // Loopback without TLS, as dApps write it.
    ("liquid://http://localhost:3000/?requestId=\(id)", "http://localhost:3000", id),
    ("Liquid://HTTP://127.0.0.1?requestId=1", "http://127.0.0.1", "1"),
    ("liquid://http://127.0.0.1:3000/?requestId=1", "http://127.0.0.1:3000", "1"),
    ("liquid://http://[::1]:3000/?requestId=1", "http://[::1]:3000", "1"),
    // An explicit https scheme.
    ("liquid://https://example.com/?requestId=1", "https://example.com", "1"),
    ("Liquid://HTTPS://Example.com:8443?requestId=1", "https://example.com:8443", "1"),
    ("liquid://https://localhost/?requestId=1", "https://localhost", "1"),
    // A host without a scheme, and one named http.
    ("liquid://localhost:3000/?requestId=1", "https://localhost:3000", "1"),
    ("liquid://http/?requestId=1", "https://http", "1"),
    // Other parameters, percent-encoding, and a number as a request id.
    ("liquid://example.com/?a=b&requestId=0.6050027432326752&c", "https://example.com", "0.6050027432326752"),
    ("liquid://example.com/?requestId=a%2Fb%3d%25%C3%A9", "https://example.com", "a/b=%é"),
    ("liquid://example.com/?request%49d=x+y", "https://example.com", "x+y"),
    ("liquid://example.com/?requestId=a=b", "https://example.com", "a=b"),
    ("liquid://example.com/?requestid=1&requestId=2", "https://example.com", "2"),
    ("liquid://example.com/?requestId=a?b/c", "https://example.com", "a?b/c"),
  ])
  func `a link names a server and a request`(_ text: String, _ origin: String, _ requestID: String) throws {
    let link = try LiquidURI(text)
    #expect(link.origin.serialized == origin)
    #expect(link.requestID.text == requestID)
  }

  @Test(arguments: [
    ("liquid:example.com?requestId=1", "https://example.com", "", "1"),
    ("Liquid:example.com:8443/?requestId=1", "https://example.com:8443", "", "1"),
    ("liquid:http://localhost:3000/?requestId=1", "http://localhost:3000", "", "1"),
    ("liquid://example.com/\(id)", "https://example.com", "", id),
    ("liquid:example.com/a%2Fb", "https://example.com", "", "a/b"),
    ("liquid://example.com/auth/?requestId=1", "https://example.com", "/auth", "1"),
    ("liquid://example.com/auth?requestId=1", "https://example.com", "/auth", "1"),
    ("liquid://https://example.com/a/B-2_~.x/?requestId=1", "https://example.com", "/a/B-2_~.x", "1"),
  ])
  func `other forms of links are read`(_ text: String, _ origin: String, _ path: String, _ requestID: String) throws {
    let link = try LiquidURI(text)
    #expect((link.origin.serialized, link.path, link.requestID.text) == (origin, path, requestID))
    #expect(LiquidURI.isPath(path))
  }

  @Test(arguments: ["auth", "/", "/auth/", "//auth", "/a b", "/../a", "/a?b", ".evil.example", ":1", "/\u{E9}"])
  func `a path of another form is none`(_ text: String) { #expect(!LiquidURI.isPath(text)) }

  @Test(arguments: [
    ("", LiquidAuthError.noLiquidLink), ("liquid:", .noLiquidLink), ("liquid:/example.com?requestId=1", .noLiquidLink),
    ("https://example.com/?requestId=1", .webPage), ("HTTP://localhost:3000/?requestId=1", .webPage),
    ("https:/example.com", .noLiquidLink), ("FIDO:/123", .noLiquidLink),
    (" liquid://example.com?requestId=1", .noLiquidLink),
    ("ｌiquid://example.com?requestId=1", .noLiquidLink), ("liquidx://example.com?requestId=1", .noLiquidLink),
    ("liquid://example.com/a%62?requestId=1", .linkPath), ("liquid://example.com//?requestId=1", .linkPath),
    ("liquid://example.com/a//b/?requestId=1", .linkPath), ("liquid://example.com/../?requestId=1", .linkPath),
    ("liquid://example.com/a b/?requestId=1", .linkPath), ("liquid://example.com/a/b", .linkPath),
    ("liquid://example.com/\(letters255)?requestId=1", .linkPath),
    ("liquid://example.com/\(letters129)", .longRequestID),
    ("liquid://example.com/%zz", .requestIDEncoding), ("liquid://example.com/auth/?", .noRequestID),
    ("liquid://example.com/?requestId=1#", .linkFragment), ("liquid://example.com#?requestId=1", .linkFragment),
    ("liquid://example.com", .noRequestID), ("liquid://example.com/", .noRequestID),
    ("liquid://example.com/?", .noRequestID),
    ("liquid://example.com/?requestId", .noRequestID), ("liquid://example.com/?requestId=", .noRequestID),
    ("liquid://example.com/?RequestId=1", .noRequestID), ("liquid://example.com/?id=1", .noRequestID),
    ("liquid://example.com/?requestId=1&requestId=1", .repeatedRequestID),
    ("liquid://example.com/?requestId=1&request%49d=2", .repeatedRequestID),
    ("liquid://example.com/?requestId=\(letters129)", .longRequestID),
    ("liquid://example.com/?requestId=%", .requestIDEncoding),
    ("liquid://example.com/?requestId=%4", .requestIDEncoding),
    ("liquid://example.com/?requestId=%4g", .requestIDEncoding),
    ("liquid://example.com/?requestId=%ff", .requestIDEncoding),
    ("liquid://example.com/?requestId=%00", .requestIDEncoding),
    ("liquid://example.com/?requestId=1&a=%zz", .requestIDEncoding),
    ("liquid://example.com/?requestId=a%0ab", .requestIDEncoding),
    // A combining mark after a separator hides nothing.
    ("liquid://example.com/?requestId=1&\u{301}&requestId=2", .repeatedRequestID),
    ("liquid://example.com/\u{301}?requestId=1", .linkPath),
    ("liquid://?requestId=1", .link(.origin(.noHost))), ("liquid:///?requestId=1", .link(.origin(.noHost))),
    ("liquid://me@example.com/?requestId=1", .link(.origin(.userInformation))),
    ("liquid://example.com:1@evil.example/?requestId=1", .link(.origin(.userInformation))),
    ("liquid://bücher.example/?requestId=1", .link(.origin(.notASCII))),
    ("liquid://a b/?requestId=1", .link(.origin(.host))),
    ("liquid://192.0.2.1/?requestId=1", .link(.origin(.address))),
    ("liquid://[2001:db8::1]/?requestId=1", .link(.origin(.address))),
    ("liquid://example.com:0/?requestId=1", .link(.origin(.port))),
    ("liquid://example.com:01/?requestId=1", .link(.origin(.port))),
    ("liquid://example.com:65536/?requestId=1", .link(.origin(.port))),
    ("liquid://https://https://example.com/?requestId=1", .link(.origin(.port))),
    ("liquid://https://http://localhost/?requestId=1", .link(.origin(.port))),
    ("liquid://http://https://localhost/?requestId=1", .link(.origin(.port))),
    ("liquid://https://?requestId=1", .link(.origin(.noHost))),
    ("liquid://https:/example.com?requestId=1", .link(.origin(.port))),
    ("liquid://https://me@example.com/?requestId=1", .link(.origin(.userInformation))),
    ("liquid://https://192.168.1.2/?requestId=1", .link(.origin(.address))),
    ("liquid:?requestId=1", .link(.origin(.noHost))),
    ("liquid:me@example.com?requestId=1", .link(.origin(.userInformation))),
    ("liquid://http://example.com/?requestId=1", .link(.origin(.insecure("example.com")))),
    ("liquid://http://192.168.1.2/?requestId=1", .link(.origin(.address))),
    ("liquid://example.com\\@evil.example/?requestId=1", .link(.origin(.userInformation))),
    ("liquid://example.com\\/?requestId=1", .link(.origin(.host))),
  ])
  func `each fault has its error`(_ text: String, _ error: LiquidAuthError) {
    #expect(throws: error) { try LiquidURI(text) }
  }

  @Test(arguments: [
    (
      "liquid://http://example.com:3000/?requestId=1",
      "the link is not followed: links without TLS are only for this machine (liquid://http://localhost:PORT/), not for "
        + "example.com; ask the dApp for a link with https"
    ),
    (
      "http://localhost:3000/?requestId=1",
      "this is the address of a web page; open it in a browser, and copy the liquid:// link that it shows: for a server "
        + "on this machine without TLS, liquid://http://localhost:PORT/?requestId=…"
    ),
    (
      "liquid://example.com:x/?requestId=1",
      "the link is not followed: the port is not a number from 1 to 65535; ask the dApp for a new link"
    ),
    (
      "liquid://192.0.2.1/?requestId=1",
      "the link is not followed: the host is an IP address; a name is required; ask the dApp for a link with its name"
    ),
  ])
  func `an error gives the reason and the remedy`(_ text: String, _ sentence: String) {
    let error = #expect(throws: LiquidAuthError.self) { try LiquidURI(text) }
    #expect(error?.description == sentence)
  }
}
