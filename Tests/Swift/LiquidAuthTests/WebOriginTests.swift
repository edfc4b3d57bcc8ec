import Testing

@testable import LiquidAuth

@Suite struct WebOriginTests {
  // Holds: PEERSIGNIN-8
  @Test(arguments: [
    ("https://example.com", "https://example.com"), ("HTTPS://Example.COM", "https://example.com"),
    ("https://example.com:443", "https://example.com"), ("https://example.com:8443", "https://example.com:8443"),
    ("https://example.com:80", "https://example.com:80"), ("https://example.com:65535", "https://example.com:65535"),
    ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"), ("https://a-1.b", "https://a-1.b"),
    ("https://localhost", "https://localhost"), ("http://localhost", "http://localhost"),
    ("http://localhost:80", "http://localhost"), ("http://LOCALHOST:3000", "http://localhost:3000"),
    ("https://app.localhost", "https://app.localhost"), ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
    ("http://127.255.1.2", "http://127.255.1.2"), ("https://127.0.0.1", "https://127.0.0.1"),
    ("http://[::1]:3000", "http://[::1]:3000"), ("https://[::1]", "https://[::1]"),
    (
      "https://" + String(repeating: "a", count: 63) + ".example",
      "https://" + String(repeating: "a", count: 63) + ".example"
    ),
    ("https://1.example", "https://1.example"), ("https://0x.example", "https://0x.example"),
  ])
  func `an origin is normalized`(_ text: String, _ serialized: String) throws {
    let origin = try WebOrigin(text)
    #expect(origin.serialized == serialized)
    #expect(try WebOrigin(serialized) == origin)
  }

  // Holds: SERVER-7, PEERSIGNIN-8
  @Test(arguments: [
    ("", WebOrigin.Fault.scheme), ("example.com", .scheme), ("ftp://example.com", .scheme),
    ("https:example.com", .scheme),
    ("wss://example.com", .scheme), ("https:/example.com", .scheme), (" https://example.com", .scheme),
    ("https://user@example.com", .userInformation), ("https://example.com:443@evil.example", .userInformation),
    ("https://@example.com", .userInformation), ("https://bücher.example", .notASCII),
    ("https://еxample.com", .notASCII),
    ("https://example。com", .notASCII), ("https://", .noHost), ("https://:443", .noHost),
    ("https://example..com", .host), ("https://.example.com", .host), ("https://example.com.", .host),
    ("https://-a.example", .host), ("https://a-.example", .host), ("https://a_b.example", .host),
    ("https://a b.example", .host), ("https://example.com/", .path), ("https://example.com:8443/a", .path),
    ("https://example.com?a", .path),
    ("https://example.com#a", .path), ("https://me@example.com/", .userInformation), ("https://exa%6dple.com", .host),
    ("https://" + String(repeating: "a", count: 64) + ".example", .host),
    ("https://" + String(repeating: "a.", count: 126) + "aa", .host), ("https://a\u{0}.example", .host),
    ("https://192.0.2.1", .address), ("https://1.1", .address), ("https://2130706433", .address),
    ("https://0x7f000001", .address), ("https://0x7f.1", .address), ("http://127.1", .address),
    ("http://127.0.0.01", .address), ("http://127.0.0.256", .address), ("http://127.0.0.1.", .address),
    ("http://127.0.0.+1", .host), ("http://0.0.0.0", .address), ("https://[::]", .address), ("https://[::2]", .address),
    ("https://[0:0:0:0:0:0:0:1]", .address), ("https://[::ffff:127.0.0.1]", .address), ("https://[::1", .address),
    ("https://[::1]x", .port), ("https://example.com:", .port), ("https://example.com:0", .port),
    ("https://example.com:0443", .port), ("https://example.com:65536", .port), ("https://example.com:+443", .port),
    ("https://example.com:4 43", .port), ("https://example.com:443:443", .port), ("https://::1", .noHost),
    ("https://example.com:99999999999999999999", .port), ("https://example.com:-1", .port),
    ("http://example.com", .insecure("example.com")), ("http://localhost.example", .insecure("localhost.example")),
    ("http://notlocalhost", .insecure("notlocalhost")),
    ("http://app.localhost:3000", .insecure("app.localhost")), ("http://127.example", .insecure("127.example")),
  ])
  func `an insecure origin is refused with the reason`(_ text: String, _ fault: WebOrigin.Fault) {
    #expect(throws: LiquidAuthError.origin(fault)) { try WebOrigin(text) }
  }

  @Test(arguments: [
    ("https://example.com", "example.com"), ("https://app.example.com:8443", "example.com"),
    ("https://a.b.example.co.uk", "example.co.uk"), ("https://a.b.example.co.uk", "b.example.co.uk"),
    ("https://github.io", "github.io"), ("http://localhost:3000", "localhost"),
    ("https://app.localhost", "app.localhost"),
    ("http://127.0.0.1:3000", "127.0.0.1"), ("http://[::1]:3000", "[::1]"),
  ])
  func `an origin may claim its host and the domains above it`(_ origin: String, _ rpID: String) throws {
    try WebOrigin(origin).check(rpID: rpID, TestSuffixes())
  }

  @Test(arguments: [
    ("https://example.com", "example.org"), ("https://example.com", "app.example.com"),
    ("https://notexample.com", "example.com"), ("https://app.example.com", ".example.com"),
    ("https://app.example.com", "EXAMPLE.com"), ("https://app.example.com", "example.com."),
    ("https://app.example.com", ""), ("https://app.example.com", "."), ("https://example.com", "com"),
    ("https://app.example.com", "éxample.com"), ("https://app.localhost", "localhost"),
    ("http://127.0.0.1", "0.0.1"), ("http://127.0.0.1", "0.1"),
    ("http://[::1]", "::1"), ("https://example.com:8443", "example.com:8443"),
    ("https://example.com", "https://example.com"),
  ])
  func `an rp.id that the origin may not claim is refused`(_ text: String, _ rpID: String) throws {
    let origin = try WebOrigin(text)
    #expect(throws: LiquidAuthError.otherSite(rpID, host: origin.host)) {
      try origin.check(rpID: rpID, TestSuffixes())
    }
  }

  @Test(arguments: [("https://alice.github.io", "github.io"), ("https://example.co.uk", "co.uk")])
  func `a public suffix is refused`(_ origin: String, _ rpID: String) throws {
    #expect(throws: LiquidAuthError.publicSuffix(rpID)) {
      try WebOrigin(origin).check(rpID: rpID, TestSuffixes())
    }
  }

  // Holds: SERVER-7
  @Test(arguments: [
    ("https://example.com", []), ("https://a.b.example.co.uk", ["b.example.co.uk", "example.co.uk"]),
    ("https://a.b.c.d.e.f.example", ["b.c.d.e.f.example", "c.d.e.f.example", "d.e.f.example", "e.f.example"]),
    ("https://alice.github.io", []), ("https://a.localhost", []), ("http://127.0.0.1", []), ("https://intranet", []),
  ])
  func `claimable parent domains are computed from the origin alone`(_ text: String, _ parents: [String]) throws {
    let origin = try WebOrigin(text)
    #expect(origin.claimableParents(TestSuffixes()) == parents)
    for parent in parents { try origin.check(rpID: parent, TestSuffixes()) }
  }
}
