import DisplayText
import TestVectors
import Testing

@testable import LiquidAuth

struct TerminalTextTests {
  // Holds: KEYRI-9
  @Test(arguments: [
    ("", ""), ("example.com; ~", "example.com; ~"), ("用户 é ß שלום مرحبا", "用户 é ß שלום مرحبا"), ("🎉", "🎉"),
    ("a\nb\r\u{85}\u{2028}\u{2029}c", #"a\u{A}b\u{D}\u{85}\u{2028}\u{2029}c"#),
    ("\u{1B}[2J\u{7}\u{9B}K\u{7F}\0", #"\u{1B}[2J\u{7}\u{9B}K\u{7F}\u{0}"#),
    ("\u{1B}]8;;https://evil.example\u{7}", #"\u{1B}]8;;https://evil.example\u{7}"#),
    ("moc.\u{202E}evil\u{2066}\u{200F}\u{61C}", #"moc.\u{202E}evil\u{2066}\u{200F}\u{61C}"#),
    ("a\u{200B}b\u{200D}\u{FEFF}\u{AD}\u{2060}", #"a\u{200B}b\u{200D}\u{FEFF}\u{AD}\u{2060}"#),
    // Invisible letters and marks that are neither controls nor formats.
    ("a\u{3164}\u{115F}\u{FFA0}\u{34F}\u{FE0F}\u{17B4}", #"a\u{3164}\u{115F}\u{FFA0}\u{34F}\u{FE0F}\u{17B4}"#),
    ("a\u{E0061}\u{E000}\u{378}\u{2800}", #"a\u{E0061}\u{E000}\u{378}\u{2800}"#),
    ("a\u{A0}b\u{3000}c\u{2003}d", "a b c d"),
    ("e\u{301}\u{302}\u{303}\u{304}\u{305}x\u{301}", "e\u{301}\u{302}\u{303}" + #"\u{304}\u{305}"# + "x\u{301}"),
    ("\u{336}a", #"\u{336}a"#),
  ])
  func `control and invisible characters of foreign text are escaped`(_ text: String, _ shown: String) {
    #expect(Array(DisplayText.line(text).unicodeScalars) == Array(shown.unicodeScalars))
    #expect(DisplayText.words(text) == DisplayText.line(text))
  }

  // Holds: KEYRI-9
  @Test(.whole("there are a million scalars"))
  func `every Unicode scalar is shown on one line or escaped`() {
    let hidden: Set<Unicode.GeneralCategory> = [
      .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
    ]
    for scalar in (0...0x10FFFF).lazy.compactMap(Unicode.Scalar.init) {
      for shown in DisplayText.line("a\(scalar)").unicodeScalars {
        #expect(!hidden.contains(shown.properties.generalCategory) && !shown.properties.isDefaultIgnorableCodePoint)
      }
    }
  }

  // Holds: KEYRI-9
  @Test func `words are cut after 200 characters; a line is not cut`() {
    let long = String(repeating: "é", count: 200)
    #expect(DisplayText.words(long) == long)
    #expect(DisplayText.words(long + "!") == long + "…")
    #expect(DisplayText.words(String(repeating: "\u{1B}", count: 100_000)).count == 200 * 6 + 1)
    #expect(DisplayText.line(long + long) == long + long)
  }

  // Holds: INPUT-21
  @Test func `a JSON string decodes to itself and is escaped for the terminal`() throws {
    #expect(DisplayText.json("\"\\\n\r\t\u{1B}ü\u{202E}🎉\u{E0061}") == #""\"\\\n\r\t\u001bü\u202e🎉\udb40\udc61""#)
    for text in ["", "a\u{0}b", "\u{1B}[2J\u{9B}\u{7F}", "\u{200D}\u{FFFF}\u{10FFFF}", "é/\"\\"] {
      #expect(try JSONCoding.decode(String.self, from: DisplayText.json(text).utf8) == text)
    }
  }
}
