import Testing

@testable import liquid_authenticator

struct LogTests {
  @Test(arguments: [
    ("example.com", "example.com"), ("a\nb\u{1B}[2J", "a\\u{a}b\\u{1b}[2J"), ("\u{202E}gpj", "\\u{202e}gpj"),
    ("müller", "müller"),
  ])
  func `a line of the log stays one line and moves no cursor`(text: String, shown: String) {
    #expect(Log.printable(text) == shown)
  }

  @Test func `a line of the log has an end`() {
    #expect(Log.printable(String(repeating: "x", count: 100_000)).count == 1000)
  }
}
