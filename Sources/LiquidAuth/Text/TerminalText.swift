/// Texts of strangers on a person's terminal: nothing in them is obeyed, and nothing is hidden.
///
/// Letters of every script are shown. Spelled out as `\u{…}` are control characters and ends of lines, the invisible and
/// the bidirectional ones, and marks that pile up on one letter; every space is the plain one.
public enum TerminalText {
  /// Characters of a stranger's words in a sentence of ours, at most.
  public static let maximumWords = 200
  /// Marks on one letter that are shown as they are.
  private static let maximumMarks = 3

  /// A stranger's words within a sentence of ours: on one line, at most ``maximumWords`` characters of them.
  public static func words(_ text: String) -> String {
    let rest = text.unicodeScalars.dropFirst(maximumWords)
    return line(text.unicodeScalars.prefix(maximumWords)) + (rest.isEmpty ? "" : "…")
  }

  /// The whole text on one line.
  public static func line(_ text: String) -> String { line(text.unicodeScalars[...]) }

  /// A string of JSON with its quotation marks: RFC 8259 §7, and what acts on a terminal is escaped as well.
  public static func json(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where acts(scalar): result += scalar.utf16.map(escaped).joined()
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func line(_ text: Substring.UnicodeScalarView) -> String {
    var shown = ""
    // A mark at the beginning would sit on a letter of ours.
    var marks = maximumMarks
    for scalar in text {
      marks = isMark(scalar) ? marks + 1 : 0
      if marks > maximumMarks || acts(scalar) {
        shown += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        shown.unicodeScalars.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
      }
    }
    return shown
  }

  /// Whether a terminal would obey this instead of showing it, show nothing for it, or show its neighbours in another
  /// order.
  private static func acts(_ scalar: Unicode.Scalar) -> Bool {
    if (" "..."~").contains(scalar) { return false }
    let properties = scalar.properties
    if properties.isDefaultIgnorableCodePoint || properties.isBidiControl { return true }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
    // The blank pattern of Braille looks like a space and is a symbol.
    default: return scalar == "\u{2800}"
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
  }

  /// `\uXXXX`: one unit of UTF-16.
  private static func escaped(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

extension String {
  /// ``TerminalText/words(_:)`` of this text.
  var onOneLine: String { TerminalText.words(self) }
}
