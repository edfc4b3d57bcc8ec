import Testing

@testable import LiquidAuth

@Suite struct LiquidAuthErrorTests {
  /// One of each.
  static let all: [LiquidAuthError] = [
    .invalidURL(.scheme), .invalidURL(.webPage), .invalidURL(.origin(.insecure("example.com"))),
    .invalidURL(.origin(.port)),
    .invalidJSON("challenge is no text"),
    .networkError(host: "example.com", .unreachable("connection refused")),
    .networkError(host: "example.com", .untrusted("expired")), .networkError(host: "example.com", .timedOut),
    .networkError(host: "example.com", .bodyTooLarge), .networkError(host: "example.com", .broken("reset")),
    .authenticationFailed("User verification failed"), .signingFailed("status 7f"), .invalidChallenge(.form),
    .invalidChallenge(.reserved), .missingRequiredField("challenge"), .serverError(status: 500, "oops"), .userCanceled,
    .invalidServerResponse(.redirect(to: "https://evil.example/")), .invalidServerResponse(.contentType("text/html")),
    .invalidServerResponse(.status(204)), .invalidServerResponse(.otherCredentials), .missingRpID,
    .clientDataCreationFailed(origin: "http://127.0.0.1"), .assertionSerializationFailed,
    .authenticationNotAvailable(.verification), .authenticationNotAvailable(.liquid),
    .invalidRpID("example.org", .otherSite(host: "example.com")), .invalidRpID("co.uk", .publicSuffix),
    .otherHost("User verification failed", rpID: "example.com"), .wrongUser(told: "A", ours: "B"), .unknownCredential,
    .noCredential(rpID: "example.com"), .alreadyRegistered(rpID: "example.com"), .unsupportedAlgorithm, .timedOut,
    .notVerified, .authenticatorFailed("the authenticator is not running; start it with: liquid-authenticator"),
  ]

  @Test(arguments: all)
  func `a sentence says what happened, then what to do`(_ error: LiquidAuthError) throws {
    let sentence = error.description
    #expect(sentence.first?.isLowercase == true && sentence.last != ".")
    #expect(sentence.contains("; ") || sentence.contains(", and nothing was signed"))
  }

  @Test func `no two of them say the same`() {
    #expect(Set(Self.all.map(\.description)).count == Self.all.count)
  }

  @Test(arguments: [
    LiquidAuthError.authenticationFailed("a\n\u{1B}[2Jb\u{202E}"), .serverError(status: 500, "a\n\u{1B}[2Jb\u{202E}"),
    .invalidServerResponse(.redirect(to: "a\n\u{1B}[2Jb\u{202E}")),
    .invalidRpID("a\n\u{1B}[2Jb\u{202E}", .publicSuffix),
    .invalidServerResponse(.contentType("a\n\u{1B}[2Jb\u{202E}")), .wrongUser(told: "a\n\u{1B}[2Jb\u{202E}", ours: "B"),
    .otherHost("a\n\u{1B}[2Jb\u{202E}", rpID: "example.com"), .otherHost("no", rpID: "a\n\u{1B}[2Jb\u{202E}"),
    .noCredential(rpID: "a\n\u{1B}[2Jb\u{202E}"), .alreadyRegistered(rpID: "a\n\u{1B}[2Jb\u{202E}"),
  ])
  func `a terminal obeys nothing that a server says`(_ error: LiquidAuthError) {
    #expect(error.description.contains(#"a\u{a}\u{1b}[2Jb\u{202e}"#))
    #expect(error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E })
  }

  @Test func `a server's words are cut to length`() {
    let sentence = LiquidAuthError.authenticationFailed(String(repeating: "é", count: 10_000)).description
    #expect(sentence.contains(String(repeating: "é", count: 200) + "…; "))
  }
}
