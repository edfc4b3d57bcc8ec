import FoundationEssentials
import Testing

@testable import LiquidAuth

@Suite struct RequestIDTests {
  // Holds: PEERSIGNIN-9
  @Test(arguments: [
    // The output of ECMAScript, at the limits where its form changes.
    (0.0, "0"), (-0.0, "0"), (1, "1"), (-1, "-1"), (0.5, "0.5"), (-12.75, "-12.75"), (100, "100"),
    (0.1 + 0.2, "0.30000000000000004"), (9_007_199_254_740_992, "9007199254740992"),
    (123_456_789_012_345_683_968, "123456789012345680000"), (1e20, "100000000000000000000"), (1e21, "1e+21"),
    (1.5e300, "1.5e+300"), (1e-6, "0.000001"), (1.5e-6, "0.0000015"), (1e-7, "1e-7"), (1.25e-7, "1.25e-7"),
    (.leastNonzeroMagnitude, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
    (0.05638003353723975, "0.05638003353723975"),
  ])
  func `a number is formatted as in ECMAScript`(_ number: Double, _ text: String) {
    #expect(number.ecmaScriptText == text)
  }

  // Holds: PEERSIGNIN-9
  @Test(arguments: [
    // A number in canonical form is sent as a number, all else as text.
    ("0.6050027432326752", "0.6050027432326752"), ("7", "7"), ("0", "0"), ("1e+21", "1e+21"), ("-3.5", "-3.5"),
    ("01909 7ff", "\"01909 7ff\""), ("01", "\"01\""), ("1.0", "\"1.0\""), ("1e5", "\"1e5\""), ("-0", "\"-0\""),
    ("+1", "\"+1\""), ("0x10", "\"0x10\""), ("1e999", "\"1e999\""), ("NaN", "\"NaN\""), ("Infinity", "\"Infinity\""),
    ("inf", "\"inf\""), ("9007199254740993", "\"9007199254740993\""), (".5", "\".5\""), ("5.", "\"5.\""),
    ("٣", "\"٣\""), ("019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f", "\"019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f\""),
    ("a\"b\\c/d", #""a\"b\\c/d""#),
  ])
  func `only the canonical text of a number is sent as a number`(_ text: String, _ json: String) throws {
    let requestID = try #require(RequestID(text))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    let encoded = String(decoding: try encoder.encode(requestID), as: UTF8.self)
    #expect(encoded == json)
    #expect(try JSONDecoder().decode(RequestID.self, from: encoder.encode(requestID)) == requestID)
  }

  @Test(arguments: [
    "", String(repeating: "a", count: 129), "a\nb", "a\u{0}", "\u{7F}", String(repeating: "é", count: 65),
  ])
  func `a request id without 1 to 128 printable bytes is refused`(_ text: String) {
    #expect(RequestID(text) == nil)
  }

  @Test(arguments: ["true", "null", "[]", "{}", "\"\"", "\"a\\nb\""])
  func `a request id in JSON that is neither a number nor a valid text is refused`(_ json: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(RequestID.self, from: Data(json.utf8)) }
  }

  @Test func `a request id of 128 bytes is accepted`() {
    #expect(RequestID(String(repeating: "a", count: 128))?.description.count == 128)
  }
}
