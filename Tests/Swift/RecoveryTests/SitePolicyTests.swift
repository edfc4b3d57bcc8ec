import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import Recovery

@Suite struct SitePolicyTests {
  private static func policies(
    _ sites: KeyValuePairs<String, SitePolicy>, standard: SitePolicy = .allow
  ) throws -> SitePolicies {
    var policies = SitePolicies()
    policies.standard = standard
    for (site, policy) in sites { try policies.set(policy, of: site) }
    return policies
  }

  private static func state(_ policies: SitePolicies) -> StoreState {
    StoreState(storeID: Array(0xA0...0xAF), policies: policies)
  }

  // MARK: - Looking up

  // Holds: POLICY-1
  @Test(arguments: SitePolicy.allCases) func `a site without a policy has that of all others`(
    standard: SitePolicy
  ) throws {
    let policies = try Self.policies(["github.com": .deny, "ssh:": .allow], standard: standard)
    #expect(policies.policy(of: "github.com") == .deny)
    #expect(policies.policy(of: "ssh:") == .allow)
    for rpID in ["", "www.github.com", "com", "github.com.", "GitHub.com", "ssh", "github.co\u{6D}\u{301}"] {
      #expect(policies.policy(of: rpID) == standard, "\(rpID)")
    }
  }

  @Test func `a character that is canonically equal to an ASCII one is another site`() throws {
    let policies = try Self.policies(["pam://K": .allow, "a;b": .allow], standard: .deny)
    #expect(policies.policy(of: "pam://K") == .allow)
    #expect("pam://\u{212A}" == "pam://K", "as texts")
    #expect(policies.policy(of: "pam://\u{212A}") == .deny)
    #expect(policies.policy(of: "a\u{37E}b") == .deny)
    #expect(policies.policy(ofOrigin: "pam://\u{212A}") == .deny)
  }

  // Holds: POLICY-1
  @Test func `a site is found by its id or its hash, with and without https`() throws {
    let policies = try Self.policies(
      ["github.com": .deny, "https://example.com/app-id.json": .alwaysVerify, "ssh:": .deny], standard: .allow)
    func policy(_ application: String) -> SitePolicy? {
      let policy = policies.policy(of: application)
      return policies.policy(of: RPIDHash(rpID: application)) == policy ? policy : nil
    }
    #expect(policy("github.com") == .deny)
    #expect(policy("https://github.com") == .deny)
    #expect(policy("http://github.com") == .allow)
    #expect(policy("https://github.com/") == .allow)
    #expect(policy("https://example.com/app-id.json") == .alwaysVerify)
    #expect(policy("example.com") == .allow)
    #expect(policy("ssh:") == .deny)
    let both = try Self.policies(["a.example": .allow, "https://a.example": .deny], standard: .alwaysVerify)
    #expect(both.policy(of: RPIDHash(rpID: "https://a.example")) == .deny, "the strictest")
    #expect(both.policy(of: "https://a.example") == .deny)
    #expect(both.policy(of: "a.example") == .allow)
    #expect(both.policy(of: RPIDHash(rpID: "a.example")) == .allow)
  }

  static let origins: [(String, SitePolicy)] = [
    ("https://dapp.example", .deny), ("https://dapp.example:8443", .deny), ("dapp.example", .deny),
    ("https://www.dapp.example/path", .deny), ("https://a.b.dapp.example", .deny),
    ("https://safe.dapp.example", .allow), ("https://x.safe.dapp.example", .allow),
    ("https://notdapp.example", .alwaysVerify), ("https://dapp.example.com", .alwaysVerify), ("", .alwaysVerify),
    ("https://", .alwaysVerify), ("https:///", .alwaysVerify), ("...", .alwaysVerify), ("/", .alwaysVerify),
    ("https://dapp.example@evil.example", .alwaysVerify), ("https://evil.example@dapp.example", .deny),
    ("https://evil.example?@dapp.example", .alwaysVerify), ("https://evil.example#@dapp.example", .alwaysVerify),
    ("https://evil.example\\@dapp.example", .alwaysVerify), ("https://dapp.example?a=@evil.example", .deny),
    ("https://a@b@dapp.example:1", .deny), ("https://DApp.Example", .deny), ("DAPP.EXAMPLE", .deny),
    ("https://dapp.example.", .deny), ("https://dapp.example.:8443/", .deny), ("https://dapp.example..", .alwaysVerify),
    ("https://@", .alwaysVerify), ("https://dapp.example@", .alwaysVerify), ("https://.", .alwaysVerify),
    ("https://\u{0}", .alwaysVerify),
  ]

  // Holds: POLICY-1
  @Test(arguments: origins) func `an origin has the policy of its host, or of the nearest domain above it`(
    origin: String, policy: SitePolicy
  ) throws {
    let policies = try Self.policies(
      ["dapp.example": .deny, "safe.dapp.example": .allow], standard: .alwaysVerify)
    #expect(policies.policy(ofOrigin: origin) == policy)
  }

  // Holds: POLICY-8
  @Test func `a request has the strictest policy of all its names`() throws {
    let policies = try Self.policies(["a.example": .allow, "login.a.example": .deny], standard: .alwaysVerify)
    for (rpID, origin, policy) in [
      ("a.example", nil, .allow), ("a.example", "https://a.example", .allow),
      ("a.example", "https://login.a.example", .deny), ("a.example", "https://www.a.example", .allow),
      ("login.a.example", "https://a.example", .deny), (nil, "https://login.a.example:8443", .deny),
      ("b.example", "https://a.example", .alwaysVerify), ("a.example", "https://b.example", .alwaysVerify),
      (nil, nil, .alwaysVerify),
    ] as [(String?, String?, SitePolicy)] {
      #expect(policies.policy(rpID: rpID, origin: origin) == policy, "\(rpID ?? "-") \(origin ?? "-")")
    }
  }

  // MARK: - Changing

  @Test func `only visible ASCII of 1 to 253 bytes is a site`() throws {
    var policies = SitePolicies()
    let longest = String(repeating: "x", count: 253)
    for site in ["", "a b", "a\n", "é.example", "\u{7F}", longest + "x", "a\u{0}"] {
      #expect(throws: RecoveryError(.policy, "")) { try policies.set(.deny, of: site) }
      #expect(throws: RecoveryError(.policy, "")) { try policies.set(nil, of: site) }
    }
    #expect(policies == SitePolicies())
    for site in [longest, "!~", "z["] {
      try policies.set(.deny, of: site)
      #expect(policies.policy(of: site) == .deny)
    }
    #expect(policies.policy(ofOrigin: "https://Z[") == .deny, "only letters have a lower case")
    for site in [longest, "!~", "z["] { try policies.set(nil, of: site) }
    #expect(policies == SitePolicies())
  }

  @Test func `at most 500 sites have a policy`() throws {
    var policies = SitePolicies()
    for number in 0..<500 { try policies.set(.deny, of: "\(number).example") }
    #expect(throws: RecoveryError(.policy, "")) { try policies.set(.deny, of: "one-more.example") }
    try policies.set(.allow, of: "499.example")
    try policies.set(nil, of: "one-more.example")
    try policies.set(nil, of: "0.example")
    try policies.set(.deny, of: "one-more.example")
    #expect(policies.sites.count == 500 && policies.policy(of: "0.example") == .allow)
    #expect(try StoreState(plaintext: Self.state(policies).plaintext).policies == policies)
  }

  // MARK: - The state row

  // Holds: POLICY-2
  @Test func `policies are members 13 and 14 of the state`() throws {
    let policies = try Self.policies(["b.example": .deny, "ssh:": .alwaysVerify, "a": .allow], standard: .deny)
    let plaintext = Self.state(policies).plaintext(version: 4)
    let sites = "0da3" + "616100" + "647373683a01" + "69622e6578616d706c6502"
    #expect(
      Hex(plaintext) == Hex("a70150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf02000300" + sites + "0e02" + "14f515f5"))
    #expect(try StoreState(plaintext: plaintext) == Self.state(policies))
    #expect(
      try CBORDecoder.decode(Self.state(SitePolicies()).plaintext).map?.pairs.map(\.key) == [1, 2, 3], "no policies")
  }

  static let malformed: [[(CBORValue, CBORValue)]] = [
    [(13, 1)], [(13, "x")], [(13, [1])], [(13, ["a": 3])], [(13, ["a": 256])], [(13, ["a": "deny"])],
    [(13, [1: 1])], [(13, ["": 1])], [(13, ["a b": 1])], [(13, ["é": 1])], [(14, 3)], [(14, 256)], [(14, "x")],
    [(13, .map(CBORMap((0...500).map { (.text("\($0)"), 2) })))],
  ]

  @Test(arguments: malformed) func `malformed policies are refused`(changes: [(CBORValue, CBORValue)]) throws {
    var map = try #require(CBORDecoder.decode(Self.state(SitePolicies()).plaintext).map)
    for (key, value) in changes { map[key] = value }
    #expect(throws: RecoveryError.self) { try StoreState(plaintext: CBOREncoder.encode(.map(map))) }
  }

  // Holds: POLICY-2
  @Test func `a reset keeps the policies`() throws {
    let policies = try Self.policies(["b.example": .deny], standard: .alwaysVerify)
    var state = Self.state(policies)
    try state.reset()
    #expect(state.policies == policies && state.epoch == 1)
  }
}
