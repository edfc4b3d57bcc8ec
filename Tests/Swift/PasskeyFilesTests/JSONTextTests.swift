import TestVectors
import Testing

@testable import PasskeyFiles

/// JSON of other programs: RFC 8259, with limits.
@Suite struct JSONTextTests {
  private func text(_ text: String) throws(PasskeyFileError) -> PasskeyFiles.JSONValue {
    try JSONText(Array(text.utf8)).root
  }

  @Test func `members, elements and values are read`() throws {
    let root = try text(#" {"a" : [1, "x", true, null, {"b":-2.5e+3}, [ ] ], "é\u00e9\ud83d\ude00\n": "" } "#)
    let elements = try #require(try root.member("a")).elements.map { $0 }
    #expect(elements.map(\.kind) == [.number, .string, .bool, .null, .object, .array])
    #expect(elements[0].unsigned == 1 && elements[2].bool == true && elements[5].elements.map { $0.index } == [])
    #expect(try elements[1].string() == "x" && elements[4].member("b")?.unsigned == nil)
    #expect(try root.member("éé😀\n")?.string() == "" && root.member("none") == nil)
    #expect(try elements[0].member("a") == nil && elements[4].elements.map { $0.index } == [])
    #expect(try text("\u{FEFF}0").unsigned == 0 && text("18446744073709551615").unsigned == .max)
    #expect(try text("18446744073709551616").unsigned == nil && text("1.0").unsigned == nil)
    #expect(try text(#""\"\\\/\b\f\r\t""#).unescaped() == [0x22, 0x5C, 0x2F, 8, 12, 13, 9])
  }

  // Holds: IMPORT-3
  @Test(
    arguments: [
      ("", "no value at byte 0"), ("nul", "no value at byte 0"), ("{", "no name of a member at byte 1"),
      ("{}x", "something after its end at byte 2"), ("{\"a\"}", "no : at byte 4"),
      ("{\"a\":1,}", "no name of a member at byte 7"),
      ("[1,]", "no value at byte 3"), ("[1 2]", "no ] at byte 3"), ("01", "something after its end at byte 1"),
      ("-", "no value at byte 1"), ("1.", "no value at byte 2"), ("1e", "no value at byte 2"),
      ("+1", "no value at byte 0"),
      ("\"a", "a string without an end at byte 2"), ("\"\\x\"", "an invalid escape at byte 2"),
      ("\"\\u12g4\"", "an invalid escape at byte 2"), ("\"\\u12", "an invalid escape at byte 2"),
      ("\"\n\"", "a control character in a string at byte 1"), ("{a:1}", "no name of a member at byte 1"),
      ("[1}", "no ] at byte 2"), ("'a'", "no value at byte 0"), ("\"\\", "an invalid escape at byte 2"),
    ] as [(String, String)])
  func `what is not JSON is refused, with its place`(text: String, reason: String) {
    #expect(throws: PasskeyFileError("it is not valid JSON: \(reason)")) { try self.text(text) }
  }

  // Holds: IMPORT-3
  @Test func `a member that is there twice is refused, also if one is written with escapes`() throws {
    for text in [#"{"a":1,"a":1}"#, #"{"a":1,"\u0061":null}"#] {
      #expect(throws: PasskeyFault.self) { try self.text(text).member("a") }
      #expect(try self.text(text).member("b") == nil)
    }
  }

  // Holds: IMPORT-3
  @Test func `half of a surrogate pair, and bytes that are not UTF-8, are not text`() throws {
    for text in [#""\ud83d""#, #""\ud83dx""#, #""\ude00""#, #""\ud83d\u0041""#] {
      #expect(throws: PasskeyFault.self, "\(text)") { try self.text(text).string() }
    }
    #expect(throws: PasskeyFault.self) { try JSONText([0x22, 0xFF, 0x22]).root.string() }
    #expect(try JSONText([0x22, 0xFF, 0x22]).root.unescaped() == [0xFF])
  }

  // Holds: IMPORT-3
  @Test func `64 levels are read, and 65 are refused`() throws {
    let levels = { (count: Int) in String(repeating: "[", count: count) + "0" + String(repeating: "]", count: count) }
    #expect(try text(levels(64)).kind == .array)
    #expect(throws: PasskeyFileError("its arrays and objects are nested more than 64 levels deep")) {
      try text(levels(65))
    }
    #expect(throws: PasskeyFileError.self) { try text(String(repeating: "[{\"\":", count: 500_000)) }
  }

  // Holds: IMPORT-3
  @Test(.whole("two million values take long"))
  func `two million values are read, and one more is refused`() throws {
    var text = [UInt8](repeating: 0x30, count: 2 * 1_999_999 + 1)
    for index in stride(from: 0, to: text.count, by: 2) { text[index] = 0x2C }
    (text[0], text[text.count - 1]) = (UInt8(ascii: "["), UInt8(ascii: "]"))
    let read = try JSONText(text)
    #expect(read.nodes.count == 2_000_000 && read.nodes[0].next == 2_000_000)

    var members: [UInt8] = [UInt8(ascii: "{")]
    for _ in 0..<1_000_000 { members += [0x22, 0x22, 0x3A, 0x30, 0x2C] }
    #expect(throws: PasskeyFileError("it has more than 2000000 values, too many for an export of passkeys")) {
      try JSONText(members)
    }
  }
}
