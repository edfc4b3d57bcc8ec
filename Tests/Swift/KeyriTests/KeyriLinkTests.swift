import LiquidAuth
import Testing

@testable import Keyri

@Suite struct KeyriLinkTests {
  @Test(arguments: [
    ("https://acme.onekey.to?sessionId=abc", "https://acme.onekey.to", "abc"),
    ("https://acme.onekey.to/?sessionId=a-Z.0_9~", "https://acme.onekey.to", "a-Z.0_9~"),
    ("HTTPS://ACME.OneKey.to?sessionId=ABC", "https://acme.onekey.to", "ABC"),
    ("https://a-1.onekey.to:443?sessionId=abc", "https://a-1.onekey.to", "abc"),
    ("https://acme.onekey.to?utm=1&sessionId=abc&x", "https://acme.onekey.to", "abc"),
    (
      "https://acme.onekey.to?sessionId=" + String(repeating: "a", count: 128), "https://acme.onekey.to",
      String(repeating: "a", count: 128)
    ),
  ])
  func `a link names a company and a session`(_ text: String, _ origin: String, _ sessionID: String) throws {
    let link = try KeyriLink(text, otherOrigins: [])
    #expect(link.origin.description == origin)
    #expect(link.sessionID == sessionID)
  }

  // Holds: KEYRI-1
  @Test(arguments: [
    "", "acme", "acme.onekey.to?sessionId=abc", "http://acme.onekey.to?sessionId=abc",
    "liquid://acme.onekey.to?sessionId=abc",
    "https://acme.onekey.to", "https://acme.onekey.to?", "https://acme.onekey.to?sessionid=abc",
    "https://acme.onekey.to?sessionId=", "https://acme.onekey.to?sessionId", "https://acme.onekey.to?session=abc",
    "https://acme.onekey.to?sessionId=abc&sessionId=abc", "https://acme.onekey.to?sessionId=a&sessionId=b",
    "https://acme.onekey.to?sessionId=a%62c", "https://acme.onekey.to?sessionId=a/b",
    "https://acme.onekey.to?sessionId=a?b",
    "https://acme.onekey.to?sessionId=../x", "https://acme.onekey.to?sessionId=a#b",
    "https://acme.onekey.to#?sessionId=a",
    "https://acme.onekey.to?sessionId=" + String(repeating: "a", count: 129), "https://acme.onekey.to?sessionId=ä",
    "https://acme.onekey.to/login?sessionId=abc", "https://acme.onekey.to//?sessionId=abc",
    "https://me@acme.onekey.to?sessionId=abc", "https://evil.example\\@acme.onekey.to?sessionId=abc",
    "https://acme.onekey.to ?sessionId=abc", " https://acme.onekey.to?sessionId=abc",
    "https://acme.onekey.to?sessionId=abc\n",
    "https://acmé.onekey.to?sessionId=abc", "https://.onekey.to?sessionId=abc", "https://-a.onekey.to?sessionId=abc",
    "https:///acme.onekey.to?sessionId=abc", "https://[::2]?sessionId=abc",
    "https://acme.onekey.to?x=" + String(repeating: "a", count: 2048) + "&sessionId=abc",
  ])
  func `an invalid link is refused`(_ text: String) {
    #expect(throws: LiquidAuthError.noKeyriLink) { try KeyriLink(text, otherOrigins: []) }
  }

  // Holds: KEYRI-1
  @Test(arguments: [
    "https://onekey.to?sessionId=abc", "https://a.b.onekey.to?sessionId=abc",
    "https://acme.onekey.to:8443?sessionId=abc",
    "https://acmeonekey.to?sessionId=abc", "https://acme.onekey.to.evil.example?sessionId=abc",
    "https://evil.example?sessionId=abc", "https://evil.example/?acme.onekey.to&sessionId=abc",
    "https://localhost:8443?sessionId=abc",
  ])
  func `an unknown host is refused unless it is configured`(_ text: String) throws {
    #expect(throws: LiquidAuthError.foreignKeyriLink) { try KeyriLink(text, otherOrigins: []) }
    let origin = try WebOrigin(text.prefix { $0 != "?" }.trimmingSuffix("/"))
    #expect(try KeyriLink(text, otherOrigins: [origin]).origin == origin)
  }

  @Test func `a configured host includes its port`() throws {
    let configured: Set = [try WebOrigin("https://localhost:8443")]
    #expect(throws: LiquidAuthError.foreignKeyriLink) {
      try KeyriLink("https://localhost?sessionId=abc", otherOrigins: configured)
    }
    #expect(throws: LiquidAuthError.foreignKeyriLink) {
      try KeyriLink("http://localhost:8443?sessionId=abc", otherOrigins: configured)
    }
  }
}

extension Substring {
  fileprivate func trimmingSuffix(_ suffix: Character) -> Substring { last == suffix ? dropLast() : self }
}
