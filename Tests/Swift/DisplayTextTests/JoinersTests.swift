import DisplayText
import Testing

// Holds: PERSON-14
@Suite struct JoinersTests {
  /// RFC 5892, A.1 and A.2, and UTS #51, ED-9a and ED-16.
  @Test(arguments: [
    // Persian "I want": two letters that join; the same with a vowel mark on each side; Kurdish.
    "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}", "\u{628}\u{64E}\u{200C}\u{64E}\u{628}",
    "\u{647}\u{200C}\u{648}",
    // Three marks, the most that a letter may have.
    "\u{628}\u{64E}\u{651}\u{670}\u{200C}\u{628}",
    // After a virama: Sinhala "Sri", Malayalam "he", Hindi.
    "\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}", "\u{D05}\u{D35}\u{D28}\u{D4D}\u{200D}", "\u{915}\u{94D}\u{200C}\u{937}",
    // A family, a burning heart, a health worker with a skin tone, a rainbow flag.
    "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{2764}\u{FE0F}\u{200D}\u{1F525}",
    "\u{1F9D1}\u{1F3FD}\u{200D}\u{2695}\u{FE0F}", "\u{1F3F3}\u{FE0F}\u{200D}\u{1F308}",
  ])
  func `a joiner is shown where it changes the characters beside it`(text: String) {
    #expect(Array(DisplayText.name(text).unicodeScalars) == Array("\"\(text)\"".unicodeScalars))
    #expect(Array(DisplayText.line(text).unicodeScalars) == Array(text.unicodeScalars))
  }

  @Test(arguments: [
    "a\u{200D}b", "a\u{200C}b", "\u{200D}", "\u{5D0}\u{200C}\u{5D1}",
    // At the beginning, and at the end.
    "\u{200C}\u{628}", "\u{628}\u{200C}", "\u{628}\u{200C} \u{628}",
    // Alef does not join the next letter, hamza not the previous one; a zero-width joiner needs a virama.
    "\u{627}\u{200C}\u{628}", "\u{628}\u{200C}\u{621}", "\u{628}\u{200D}\u{628}",
    // Two in a row.
    "\u{628}\u{200C}\u{200C}\u{628}", "\u{915}\u{93C}\u{200D}",
    // Emoji beside letters and digits, or nothing.
    "\u{1F468}\u{200D}a", "a\u{200D}\u{1F468}", "\u{1F468}\u{200D}", "\u{1F468}\u{200D}\u{200D}\u{1F469}",
    "1\u{FE0F}", "1\u{200D}\u{1F468}", "a\u{FE0F}\u{200D}\u{1F525}",
  ])
  func `a joiner is spelled out elsewhere`(text: String) {
    let shown = text.unicodeScalars.map { scalar in
      scalar.properties.isDefaultIgnorableCodePoint
        ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(scalar)
    }.joined()
    #expect(Array(DisplayText.name(text).unicodeScalars) == Array("\"\(shown)\"".unicodeScalars))
    #expect(Array(DisplayText.line(text).unicodeScalars) == Array(shown.unicodeScalars))
  }

  /// Marks behind a joiner stand on the letter before it: on a Latin, a Hindi and an Arabic one.
  @Test(arguments: [
    (
      "a\u{301}\u{301}\u{94D}\u{200C}\u{301}\u{301}\u{94D}\u{200C}b",
      "a\u{301}\u{301}\u{94D}\u{200C}" + #"\u{301}\u{301}\u{94D}\u{200C}b"#
    ),
    (
      "\u{915}\u{94D}\u{200D}\u{94D}\u{200D}\u{94D}\u{200D}\u{94D}\u{200D}\u{301}",
      "\u{915}\u{94D}\u{200D}\u{94D}\u{200D}\u{94D}\u{200D}" + #"\u{94D}\u{200D}\u{301}"#
    ),
    (
      "\u{628}\u{64E}\u{651}\u{670}\u{200C}\u{64E}\u{651}\u{670}\u{628}",
      "\u{628}\u{64E}\u{651}\u{670}" + #"\u{200C}"# + "\u{64E}\u{651}\u{670}\u{628}"
    ),
  ])
  func `joiners do not let marks pile up on one letter`(text: String, shown: String) {
    #expect(Array(DisplayText.line(text).unicodeScalars) == Array(shown.unicodeScalars))
    #expect(Array(DisplayText.quoted(text).unicodeScalars) == Array("\"\(shown)\"".unicodeScalars))
  }

  @Test func `a text that is signed shows every joiner`() {
    for scalar: Unicode.Scalar in ["\u{200C}", "\u{200D}", "\u{FE0F}"] {
      #expect(DisplayText.exact(scalar) == "\\u{\(String(scalar.value, radix: 16, uppercase: true))}")
    }
  }
}
