import TestVectors
import Testing

@testable import LiquidAuth

struct JSONCodingTests {
  private struct Value: Codable, Equatable {
    struct Inner: Codable, Equatable {
      var id: Int
    }

    var b: String
    var a: [Inner]?
  }

  private static func decode(_ text: String) throws(JSONError) -> Value {
    try JSONCoding.decode(Value.self, from: text.utf8)
  }

  private static func nested(_ depth: Int) -> String {
    String(repeating: #"{"c":["#, count: depth / 2) + String(repeating: "]}", count: depth / 2)
  }

  @Test func `a value is encoded with sorted names, unescaped slashes and no white space`() throws {
    let value = Value(b: "/é\"\\\n\u{1B}\u{2028}", a: [.init(id: -1), .init(id: 0)])
    let json = #"{"a":[{"id":-1},{"id":0}],"b":"/é\"\\\n\u001b"# + "\u{2028}\"}"
    #expect(String(decoding: try JSONCoding.encode(value), as: UTF8.self) == json)
    #expect(try JSONCoding.decode(Value.self, from: json.utf8) == value)
    #expect(String(decoding: try JSONCoding.encode(Value(b: "", a: nil)), as: UTF8.self) == #"{"b":""}"#)
    #expect(try JSONCoding.encode("é") == [0x22, 0xC3, 0xA9, 0x22])
  }

  @Test(arguments: [Double.infinity, -.infinity, .nan])
  func `a number that JSON cannot represent is not encoded`(_ number: Double) {
    #expect(throws: JSONError.unwritable) { try JSONCoding.encode(number) }
  }

  @Test(arguments: [
    #"{"b":"x"}"#, " {\n\t\"b\" : \"x\" }\r\n", #"{"\u0062":"\u0078"}"#, #"{"b":"x","a":null}"#,
    // The same name in two objects and as a value; braces, commas and quotation marks inside texts.
    #"{"c":{"b":1},"d":[{"b":2},{"b":3}],"e":"b","b":"x"}"#, #"{"c":"\"{[,:","d,\"":"\\","b":"x"}"#,
    #"{"c":[",","{,}",",]"],",}":[],"b":"x"}"#,
  ])
  func `valid JSON is read`(_ text: String) throws {
    #expect(try Self.decode(text) == Value(b: "x", a: nil))
  }

  @Test func `names are compared by their bytes`() throws {
    #expect(try Self.decode(#"{"b":"x","é":1,"\u0065\u0301":1}"#) == Value(b: "x", a: nil))
    struct Key: Decodable { let publicKey: Int }
    for name in ["public\u{212A}ey", #"public\u212Aey"#, #"public\u212aey"#, "\u{37E}", "\u{1FEF}"] {
      #expect(throws: JSONError.ambiguousName) {
        try JSONCoding.decode(Key.self, from: #"{"publicKey":1,"\#(name)":2}"#.utf8)
      }
    }
  }

  // Holds: SERVER-8
  @Test func `a name of 64 bytes is read; a longer one is refused`() throws {
    let longest = String(repeating: "\u{300}\u{316}", count: 16)
    let escaped = String(repeating: #"\u0061"#, count: 64)
    for name in [longest, escaped] { #expect(try Self.decode(#"{"b":"x","\#(name)":1}"#) == Value(b: "x", a: nil)) }
    for name in [longest + "a", escaped + "a"] { refuses(name) }
  }

  // Holds: SERVER-8
  @Test(.whole("it measures a time"), .timeLimit(.minutes(1)))
  func `a long name is refused before it is hashed`() {
    // Its normal form takes minutes.
    refuses(String(repeating: "\u{300}\u{316}", count: 500_000))
  }

  private func refuses(_ name: String) {
    #expect(throws: JSONError.longName) { try Self.decode(#"{"b":"x","c":[{"\#(name)":1}]}"#) }
  }

  // Holds: SERVER-8
  @Test(arguments: [
    #""\x""#, #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\u00g0""#, #""\u+041""#, "\"\u{1F}\"", "01", "1.",
    ".5", "+1", "-", "1e",
    "1e+", "0x1", "NaN", "Infinity", "tru", "nulL", "'a'", "{a:1}", "{1:1}", #"{"a"}"#, #"{"a":}"#, #"{"a" 1}"#,
    "[1 2]", "/**/1",
    "\u{FEFF}1", "1\u{A0}",
  ])
  func `JSON that no type reads is checked as the rest is`(_ value: String) {
    #expect(throws: JSONError.noJSON) { try Self.decode(#"{"b":"x","c":\#(value)}"#) }
    #expect(throws: JSONError.noJSON) { try Self.decode(#"{"c":[\#(value)],"b":"x"}"#) }
  }

  @Test(arguments: [
    "0", "-0", "10", "0.5", "-1.50", "1e5", "1E+05", "1e-5", "1e999", "true", "false", "null", #""\b\f\n\r\t\/\\\"""#,
    #""\ud83d\uDE00""#, "[ ]", "{ }", "[1 , 2]", "\"\u{FEFF}\u{7F}\"",
  ])
  func `every form of a value may be in a member that no type reads`(_ value: String) throws {
    #expect(try Self.decode(#"{"b":"x","c":\#(value)}"#) == Value(b: "x", a: nil))
    #expect(try JSONCoding.decode(Value.self, from: Array("\u{FEFF}{\"b\":\"x\"}".utf8)) == Value(b: "x", a: nil))
  }

  // Holds: SERVER-3
  @Test(arguments: [
    "", " ", "{", "}", "]", "\"", "\"b", #"{"b":"x"}}"#, #"{"b":"x"} {}"#, #"{"b":"x"]"#, #"{b:"x"}"#,
    #"{'b':'x'}"#, #"{"b":"x"}//"#, "{\"b\":\"\n\"}", #"{"b":"\x"}"#, #"{"b":"\ud800"}"#, #"{"\ud800":1,"b":"x"}"#,
    #"{"b":"x","a":[{"id":01}]}"#, #"{"b":"x","a":[{"id":+1}]}"#, #"{"b":"x","c":NaN}"#, #"{"b":"x","#,
    "{\"b\":\"x\u{0}\"}", "\u{0}",
  ])
  func `invalid JSON is refused`(_ text: String) {
    #expect(throws: JSONError.noJSON) { try Self.decode(text) }
  }

  // Holds: SERVER-3
  @Test(arguments: [
    #"{"b":"x",}"#, "{\"b\":\"x\" ,\n\t}\r\n", #"{"b":"x","a":[],}"#, #"{"b":"x","a":[{"id":1},]}"#,
    #"{"b":"x","a":[{"id":1,}]}"#, #"{"b":"x","c":[[1],[2,]]}"#, #"{"b":"x","c":{"d":{},}}"#, #"{"b":"x","c":","#,
    "{,}",
    #"{,"b":"x"}"#, #"{"b":"x","c":[,]}"#, #"{"b":"x","c":[,1]}"#, #"{"b":"x",,"c":1}"#, #"{"b":"x","c":[1,,2]}"#,
    #"{"b":"x"},"#, #"{"b":"x","c":["",]}"#, #"{"b":"x","c":"d",}"#,
  ])
  func `a misplaced comma is refused`(_ text: String) {
    #expect(throws: JSONError.noJSON) { try Self.decode(text) }
  }

  // Holds: SERVER-3
  @Test func `invalid UTF-8 is refused, also in ignored members`() {
    let text = #"{"b":"x"}"#
    let utf16 = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    for json in [utf16, [0xFF, 0xFE] + utf16, Array(#"{"b":"x","c":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)] {
      #expect(throws: JSONError.noJSON) { try JSONCoding.decode(Value.self, from: json) }
    }
  }

  // Holds: SERVER-3
  @Test(arguments: [
    #"{"b":"x","b":"x"}"#, #"{"b":"x","\u0062":"y"}"#, #"{"b":"x","c":[1,{"d":1,"e":{"d":2},"d":3}]}"#,
    #"{"b":"x","":1,"":1}"#, #"{"b":"x","\ud83d\ude00":1,"😀":1}"#,
  ])
  func `a duplicate name is refused`(_ text: String) {
    #expect(throws: JSONError.repeatedName) { try Self.decode(text) }
  }

  // Holds: SERVER-3
  @Test func `32 levels of arrays and objects are read; one more is refused`() throws {
    #expect(try Self.decode(#"{"b":"x","c":["# + Self.nested(30) + "]}") == Value(b: "x", a: nil))
    #expect(throws: JSONError.tooDeep) { try Self.decode(#"{"b":"x","c":[["# + Self.nested(30) + "]]}") }
    for bomb in ["[", "{\"c\":", "[{\"c\":"] {
      #expect(throws: JSONError.tooDeep) { try Self.decode(String(repeating: bomb, count: 100_000)) }
    }
  }

  @Test func `20,000 names in one object are read`() throws {
    let names = (0..<20_000).map { "\"\($0)\":0" }.joined(separator: ",")
    #expect(try Self.decode(#"{"b":"x",\#(names)}"#) == Value(b: "x", a: nil))
  }

  @Test(arguments: [
    ("{}", JSONError.missing("b")), (#"{"b":"x","a":[{"id":1},{}]}"#, .missing("a.Index 1.id")),
    (#"{"b":1}"#, .otherKind("b")), (#"{"b":null}"#, .otherKind("b")), ("[]", .otherKind("the answer")),
    (#"{"b":"x","a":[{"id":"1"}]}"#, .otherKind("a.Index 0.id")),
    (#"{"b":"x","a":[{"id":1.5}]}"#, .noJSON), (#"{"b":"x","a":[{"id":1e99}]}"#, .noJSON),
  ])
  func `an error names a missing or mistyped member, but not a number out of range`(
    _ text: String, _ error: JSONError
  ) {
    #expect(throws: error) { try Self.decode(text) }
  }

  @Test func `each fault has its text`() {
    let all: [JSONError] = [
      .noJSON, .tooDeep, .repeatedName, .longName, .ambiguousName, .missing("b"), .otherKind("b"), .invalid("b"),
      .unwritable,
    ]
    #expect(
      all.map(\.description) == [
        "it is not JSON", "it is nested more than 32 deep", "it has a duplicate name",
        "it has a name of more than 64 bytes", "it has a name that can be read as another one", "b is missing",
        "b has a wrong type", "b is malformed", "it cannot be written as JSON",
      ])
  }
}
