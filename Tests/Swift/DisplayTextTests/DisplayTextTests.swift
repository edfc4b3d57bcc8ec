import DisplayText
import Testing

@Suite struct DisplayTextTests {
  @Test(arguments: [
    ("example.com", "example.com"), ("https://example.com:8443", "https://example.com:8443"),
    ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("<b>&amp;", "<b>&amp;"),
    ("b\u{FC}cher.example", #"b\u{FC}cher.example"#), ("\u{430}pple.com", #"\u{430}pple.com"#),
    ("a b", #"a\u{20}b"#), ("a\\u{41}", #"a\u{5C}u{41}"#), ("a\0b\u{7F}", #"a\u{0}b\u{7F}"#), ("", ""),
    (String(repeating: "a", count: 69) + ".example.co", String(repeating: "a", count: 69) + ".example.co"),
    (String(repeating: "a", count: 70) + ".example.co", "..." + String(repeating: "a", count: 69) + ".example.co"),
    (String(repeating: "\u{430}", count: 9000), "..." + String(repeating: #"\u{430}"#, count: 11)),
  ])
  func `a host is printable ASCII, cut at its start`(text: String, shown: String) {
    #expect(DisplayText.host(text) == shown)
  }

  // Holds: PERSON-11
  @Test(arguments: [
    ("alice@example.com", #""alice@example.com""#), ("Jos\u{E9} \u{5C71}\u{7530}", "\"Jos\u{E9} \u{5C71}\u{7530}\""),
    ("\u{5C71}\u{3000}\u{7530}\u{A0}x", "\"\u{5C71} \u{7530} x\""), ("a\"b\\c", #""a\"b\\c""#),
    ("a\nb\tc\u{85}d", #""a\u{A}b\u{9}c\u{85}d""#),
    // Directional marks, embeddings, overrides, isolates.
    ("\u{200E}\u{200F}\u{61C}\u{202A}\u{202E}\u{2066}", #""\u{200E}\u{200F}\u{61C}\u{202A}\u{202E}\u{2066}""#),
    // Soft hyphen, zero-width space and joiner, word joiner, byte order mark, Hangul filler, Braille blank.
    ("\u{AD}\u{200B}\u{200D}\u{2060}\u{FEFF}", #""\u{AD}\u{200B}\u{200D}\u{2060}\u{FEFF}""#),
    ("\u{3164}\u{2800}", #""\u{3164}\u{2800}""#),
    // Line and paragraph separators, private use, unassigned, tag characters.
    ("\u{2028}\u{2029}\u{E000}", #""\u{2028}\u{2029}\u{E000}""#), ("\u{378}\u{E0041}", #""\u{378}\u{E0041}""#),
    // Vietnamese has up to two marks on a letter; no language has more than three.
    ("e\u{302}\u{301}", "\"e\u{302}\u{301}\""),
    ("a\u{301}\u{301}\u{301}\u{301}\u{301}", "\"a\u{301}\u{301}\u{301}" + #"\u{301}\u{301}""#),
    (String(repeating: "x", count: 48), "\"" + String(repeating: "x", count: 48) + "\""),
    (String(repeating: "x", count: 49), "\"" + String(repeating: "x", count: 48) + "\"..."),
    (String(repeating: "\u{1F600}", count: 49), "\"" + String(repeating: "\u{1F600}", count: 48) + "\"..."),
    (String(repeating: "x", count: 45) + "\n", "\"" + String(repeating: "x", count: 45) + "\"..."),
  ])
  func `a name is shown in its own script, without invisible characters`(text: String, shown: String) {
    #expect(Array(DisplayText.name(text).unicodeScalars) == Array(shown.unicodeScalars))
  }

  @Test func `a quotation without a limit is not cut`() {
    let text = String(repeating: "\u{4E2D}\n", count: 1000)
    #expect(DisplayText.quoted(text) == "\"" + String(repeating: "\u{4E2D}\\u{A}", count: 1000) + "\"")
    #expect(DisplayText.quoted("ab", limit: 1) == "\"a\"...")
  }
}
