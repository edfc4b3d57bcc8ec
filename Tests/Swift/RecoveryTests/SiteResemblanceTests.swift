import Testing

@testable import Recovery

@Suite struct SiteResemblanceTests {
  private static let known = [
    "ssh:", "github.com", "paypal.com", "example.co.uk", "modern.example", "x.com", "abcd.com",
  ]

  static let alike: [(String, String, SiteResemblance.Kind)] = [
    ("xn--ithub-qmc.com", "github.com", .looksAlike), ("paypa1.com", "paypal.com", .looksAlike),
    ("xn--pypal-4ve.com", "paypal.com", .looksAlike), ("rnodern.example", "modern.example", .looksAlike),
    ("modem.example", "modern.example", .looksAlike), ("PAYPA1.COM", "paypal.com", .looksAlike),
    ("login.paypa1.com", "paypal.com", .looksAlike), ("xn--pypal-4ve.net", "paypal.com", .looksAlike),
    ("githup.com", "github.com", .oneLetter), ("gihtub.com", "github.com", .oneLetter),
    ("githubb.com", "github.com", .oneLetter), ("gthub.com", "github.com", .oneLetter),
    ("xn--githu-w90b.com", "github.com", .oneLetter), ("exampel.co.uk", "example.co.uk", .oneLetter),
    ("github.co", "github.com", .otherSuffix), ("github.co.uk", "github.com", .otherSuffix),
    ("login.github.io", "github.com", .otherSuffix), ("example.com", "example.co.uk", .otherSuffix),
  ]

  // Holds: WORDS-1
  @Test(arguments: alike) func `a new site that resembles a known site is recognised`(
    site: String, known: String, kind: SiteResemblance.Kind
  ) {
    let found = SiteResemblance(of: site, to: Self.known)
    #expect(found?.known == known && found?.kind == kind)
  }

  // Holds: WORDS-1
  @Test(arguments: [
    "github.com", "www.github.com", "GitHub.com", "gist.github.com", "other.example", "y.com", "x.org", "abce.com",
    "giithubb.com", "ssh:", "ssh", "com", "", ".", "..", ".com", "github..com", "github.com.", "a b.com",
    "https://githup.com", "githup.com:443", "xn--.com", "xn--\u{E9}.com", "xn--99999999.com", "xn--a-.com",
  ]) func `a known site, its subdomains, and names that are no domains resemble none`(_ site: String) {
    #expect(SiteResemblance(of: site, to: Self.known) == nil)
  }

  @Test func `a site above or beside a known one resembles none, whatever else is known`() {
    #expect(SiteResemblance(of: "github.com", to: ["githup.com", "gist.github.com"]) == nil)
    #expect(SiteResemblance(of: "api.github.com", to: ["githup.com", "gist.github.com"]) == nil)
  }

  // Holds: WORDS-1
  @Test(arguments: [
    // A name that looks alike is the nearest, unless its end differs too.
    ("paypa1.com", ["paypal.net", "paypa2.com", "paypal.com"], "paypal.com"),
    ("example.net", ["examp1e.com", "example.com"], "example.com"),
    ("example.net", ["example.com", "examp1e.com"], "example.com"),
    ("example.net", ["examp1e.com", "exomple.net"], "exomple.net"),
    ("example.net", ["example.com", "exomple.net"], "exomple.net"),
    // Of equally near sites, the first counts.
    ("example.net", ["example.org", "example.com"], "example.org"),
    ("example.net", ["examp1e.org", "examp1e.com"], "examp1e.org"),
  ]) func `of several known sites, the nearest counts`(_ site: String, _ known: [String], _ nearest: String) {
    #expect(SiteResemblance(of: site, to: known)?.known == nearest)
  }

  @Test func `an encoded name is decoded`() {
    let found = SiteResemblance(of: "xn--pypal-4ve.com", to: ["paypal.com"])
    #expect(found == SiteResemblance(known: "paypal.com", kind: .looksAlike))
    #expect(SiteResemblance.letters(of: "xn--pypal-4ve.com") == "p\u{430}ypal.com")
    for site in ["paypal.com", "xn--pypal-4ve", "xn--99999999.com", "ssh:", ""] {
      #expect(SiteResemblance.letters(of: site) == nil)
    }
  }

  // Holds: WORDS-6
  @Test(arguments: [
    ("e\u{301}xample.com", "\u{E9}xample.com"), ("\u{E9}xample.com", "e\u{301}xample.com"),
    ("\u{450}xample.com", "\u{E8}xample.com"), ("\u{435}\u{300}xample.com", "\u{E8}xample.com"),
    ("e\u{301}xample.com", "xn--xample-9ua.com"), ("\u{3AC}bc.com", "\u{E1}bc.com"),
  ]) func `letters with marks look alike, composed and decomposed, of one script and another`(
    _ site: String, _ known: String
  ) {
    #expect(SiteResemblance(of: site, to: [known])?.kind == .looksAlike)
  }

  // Holds: WORDS-6
  @Test(arguments: [("\u{E9}xample.com", "example.com"), ("\u{E9}xample.com", "\u{E8}xample.com")])
  func `a letter with a mark is another letter than one without, or with another`(_ site: String, _ known: String) {
    #expect(SiteResemblance(of: site, to: [known])?.kind == .oneLetter)
  }

  // Holds: WORDS-2
  @Test(arguments: [
    ("bcher-kva", "bücher"), ("mnchen-3ya", "münchen"), ("ihqwcrb4cv8a8dqg056pqjye", "他们为什么不说中文"),
    ("80akhbyknj4f", "испытание"), ("egbpdaj6bu4bxfgehfvwxn", "ليهمابتكلموشعربي؟"), ("1lq90ic7fzpc", "北京大学"),
  ]) func `punycode is decoded as in RFC 3492`(_ encoded: String, _ decoded: String) {
    #expect(Punycode.decode(Array(encoded.unicodeScalars)) == Array(decoded.unicodeScalars))
  }

  // Holds: WORDS-2
  @Test(arguments: [
    "", "-", "a-", "kva-", "bcher-kv", "bcher-kva!", "\u{E9}-kva", "99999999",
    "9999999999999999999999999999999999999999",
    "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "a-b\u{0}",
  ]) func `malformed punycode and overflows are refused`(_ encoded: String) {
    #expect(Punycode.decode(Array(encoded.unicodeScalars)) == nil)
  }

  // Holds: WORDS-2
  @Test func `long labels and thousands of known sites are compared`() {
    let label = String(repeating: "a", count: 63)
    let known = (0..<5_000).map { "\(String(repeating: "b", count: 58))\(10_000 + $0).example" } + ["\(label).example"]
    #expect(SiteResemblance(of: "\(label.dropLast())b.example", to: known)?.kind == .oneLetter)
    #expect(SiteResemblance(of: "\(label)a.example", to: known) == nil, "a label has at most 63")
    let longest = Array(repeating: label, count: 4).joined(separator: ".")
    #expect(SiteResemblance(of: "\(longest)", to: known) == nil, "255 bytes")
  }
}
