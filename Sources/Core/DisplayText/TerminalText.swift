extension DisplayText {
  /// The most characters of a foreign text within a sentence.
  public static let maximumWords = 200

  /// A foreign text within a sentence: on one line, at most ``maximumWords`` characters.
  public static func words(_ text: String) -> String {
    let rest = text.unicodeScalars.dropFirst(maximumWords)
    return line(Array(text.unicodeScalars.prefix(maximumWords))) + (rest.isEmpty ? "" : "…")
  }

  /// The whole text on one line.
  public static func line(_ text: String) -> String { line(Array(text.unicodeScalars)) }

  /// A JSON string with its quotation marks, RFC 8259 §7; characters that a terminal does not show are escaped as well.
  public static func json(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where !isVisible(scalar): result += scalar.utf16.map(escaped).joined()
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func line(_ text: [Unicode.Scalar]) -> String {
    var shown = ""
    // A mark at the beginning would combine with the letter before the text.
    var marks = maximumMarks
    for (index, scalar) in text.enumerated() {
      marks = self.marks(after: marks, at: index, in: text)
      shown += marks > maximumMarks ? escape(scalar) : visible(at: index, in: text)
    }
    return shown
  }

  /// `\uXXXX`: one unit of UTF-16.
  private static func escaped(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
