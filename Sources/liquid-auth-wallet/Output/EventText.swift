/// Lines of text and of JSON, of which some parts are other people's words.
enum EventText {
  /// `   123 ms  sentence`, with continuation lines below the sentence.
  static func line(_ text: String, milliseconds: Int64) -> String {
    let digits = String(milliseconds)
    let head = String(repeating: " ", count: max(0, 7 - digits.count)) + digits + " ms  "
    let indentation = String(repeating: " ", count: head.count)
    return head + text.split(separator: "\n").joined(separator: "\n" + indentation)
  }

  /// Other people's words on one line, where a terminal obeys nothing in them.
  static func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if actsOnTerminal(scalar) {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A JSON string with its quotes: RFC 8259 §7, and what acts on a terminal is escaped as well.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where actsOnTerminal(scalar): result += scalar.utf16.map(escaped).joined()
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func escaped(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  private static func actsOnTerminal(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
    default: false
    }
  }
}
