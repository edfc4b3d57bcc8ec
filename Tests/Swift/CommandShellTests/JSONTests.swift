import Foundation
import Testing

@testable import liquid_auth

@Suite struct JSONTests {
  static let texts: [(JSON, String)] = [
    (.null, "null"),
    (.bool(true), "true"),
    (.bool(false), "false"),
    (.number(-7), "-7"),
    (.number(.max), "9223372036854775807"),
    (.string(""), #""""#),
    (.string("a\"b\\c/d"), #""a\"b\\c/d""#),
    (.string("\n\r\t\u{8}\u{C}\0"), #""\n\r\t\u0008\u000c\u0000""#),
    (.string("é 用户 🔑"), "\"é 用户 🔑\""),
    (.string("\u{7F}\u{9B}31m"), #""\u007f\u009b31m""#),
    (.string("\u{1B}[2J"), #""\u001b[2J""#),
    (.string("\u{202E}evil\u{2066}\u{2028}\u{FEFF}"), #""\u202eevil\u2066\u2028\ufeff""#),
    (.string("\u{E0001}"), #""\udb40\udc01""#),
    (.hex([0x00, 0x7F, 0xFF]), #""007fff""#),
    (JSON(nil), "null"),
    (JSON("x"), #""x""#),
    ([], "[]"),
    ([:], "{}"),
    ([1.json, .null], "[\n  1,\n  null\n]"),
    (["b": 1.json, "a": ["c": []]], "{\n  \"b\": 1,\n  \"a\": {\n    \"c\": []\n  }\n}"),
    (["a\"": .null], "{\n  \"a\\\"\": null\n}"),
  ]

  // Holds: INPUT-21
  @Test(arguments: texts)
  func `a value has exactly one text`(_ value: JSON, _ text: String) {
    #expect(value.description.utf8.elementsEqual(text.utf8))
  }

  @Test func `a value has a one-line form`() {
    let value: JSON = ["a\n": [1.json, ["b": .null], [:]], "c": []]
    #expect(value.line == #"{"a\n": [1, {"b": null}, {}], "c": []}"#)
  }

  @Test func `another JSON reader decodes scalars of all planes`() throws {
    var text = ""
    for value in Array(0..<0x300) + Array(stride(from: 0x300, through: 0x10FFFF, by: 61)) {
      Unicode.Scalar(UInt32(value)).map { text.unicodeScalars.append($0) }
    }
    let read = try JSONDecoder().decode([String].self, from: Data(JSON.array([.string(text)]).description.utf8))
    #expect(read.first.map { Array($0.utf8) } == Array(text.utf8))
  }
}

extension Int {
  fileprivate var json: JSON { .number(Int64(self)) }
}
