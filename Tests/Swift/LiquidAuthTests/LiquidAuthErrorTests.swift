import Testing

@testable import LiquidAuth

@Suite struct LiquidAuthErrorTests {
  /// One error of each kind.
  static let all: [LiquidAuthError] = [
    .noLiquidLink, .webPage, .link(.origin(.insecure("example.com"))), .link(.origin(.port)),
    .invalidJSON("challenge is no text"),
    .network(host: "example.com", .unreachable("connection refused")),
    .network(host: "example.com", .untrusted("expired")), .network(host: "example.com", .timedOut),
    .network(host: "example.com", .tooLarge), .network(host: "example.com", .broken("reset")),
    .authenticationFailed("User verification failed"), .signingFailed("status 7f"), .challengeForm,
    .reservedChallenge, .missingRequiredField("challenge"), .serverError(status: 500, "oops"), .userCanceled,
    .redirected(to: "https://evil.example/"), .contentType("text/html"),
    .unknownStatus(204), .otherCredentials, .missingRpID,
    .unsignedOrigin("http://127.0.0.1"), .unwritable,
    .noVerification, .noLiquid,
    .otherSite("example.org", host: "example.com"), .publicSuffix("co.uk"),
    .otherHost("User verification failed", rpID: "example.com"), .wrongUser(named: "A", ours: "B"), .unknownCredential,
    .noCredential(rpID: "example.com"), .alreadyRegistered(rpID: "example.com"), .unsupportedAlgorithm, .timedOut,
    .notVerified, .authenticator(.refused("the authenticator is not running; start it with: liquid-authenticator")),
  ]

  @Test(arguments: all)
  func `an error gives the reason, then the remedy`(_ error: LiquidAuthError) throws {
    let sentence = error.description
    #expect(sentence.first?.isLowercase == true && sentence.last != ".")
    #expect(sentence.contains("; ") || sentence.contains(", and nothing was signed"))
  }

  @Test func `an option that is missing is named without a command, which can need other options`() {
    #expect(
      LiquidAuthError.noVerification.description
        == "the authenticator cannot verify you; start it with --verification passphrase")
  }

  @Test func `all error texts differ`() {
    #expect(Set(Self.all.map(\.description)).count == Self.all.count)
  }

  @Test(arguments: [
    LiquidAuthError.authenticationFailed("a\n\u{1B}[2Jb\u{202E}"), .serverError(status: 500, "a\n\u{1B}[2Jb\u{202E}"),
    .redirected(to: "a\n\u{1B}[2Jb\u{202E}"),
    .publicSuffix("a\n\u{1B}[2Jb\u{202E}"),
    .contentType("a\n\u{1B}[2Jb\u{202E}"), .wrongUser(named: "a\n\u{1B}[2Jb\u{202E}", ours: "B"),
    .otherHost("a\n\u{1B}[2Jb\u{202E}", rpID: "example.com"), .otherHost("no", rpID: "a\n\u{1B}[2Jb\u{202E}"),
    .noCredential(rpID: "a\n\u{1B}[2Jb\u{202E}"), .alreadyRegistered(rpID: "a\n\u{1B}[2Jb\u{202E}"),
  ])
  func `a server's text is escaped for the terminal`(_ error: LiquidAuthError) {
    #expect(error.description.contains(#"a\u{A}\u{1B}[2Jb\u{202E}"#))
    #expect(error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E })
  }

  @Test func `a server's text is cut after 200 characters`() {
    let sentence = LiquidAuthError.authenticationFailed(String(repeating: "é", count: 10_000)).description
    #expect(sentence.contains(String(repeating: "é", count: 200) + "…; "))
  }
}
