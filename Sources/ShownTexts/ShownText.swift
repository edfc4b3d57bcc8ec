/// How texts that others chose are shown to a person: what cannot be seen is spelled out, and nothing in them can look
/// like a line of ours.
public enum ShownText {
  /// The most characters of a host or origin; its end is kept, because that is who it belongs to.
  public static let hostLimit = 80
  /// The most characters of a name; its beginning is kept.
  public static let nameLimit = 48

  /// A relying party's id, an origin or an address: printable ASCII as it is, everything else as `\u{…}`.
  public static func host(_ text: String) -> String {
    var shown = ""
    // Only as many scalars as can be shown are looked at, however long the text is.
    for scalar in text.unicodeScalars.suffix(hostLimit + 1).reversed() {
      let piece = (0x21...0x7E).contains(scalar.value) && scalar != "\\" ? String(scalar) : escape(scalar)
      guard shown.unicodeScalars.count + piece.unicodeScalars.count <= hostLimit else { return "..." + shown }
      shown = piece + shown
    }
    return shown
  }

  /// A name that a person or a site chose, in quotation marks: at most ``nameLimit`` characters of it.
  public static func name(_ text: String) -> String { quoted(text, limit: nameLimit) }

  /// A text in quotation marks, at most `limit` characters of it.
  ///
  /// Letters of every script are shown. Control characters, line ends, the invisible and the bidirectional ones, and
  /// marks that pile up on one letter are spelled out as `\u{…}`; every space is the plain one.
  public static func quoted(_ text: String, limit: Int = .max) -> String {
    var shown = ""
    var length = 0
    var marks = 0
    for scalar in text.unicodeScalars {
      marks = isMark(scalar) ? marks + 1 : 0
      let piece = marks > 3 ? escape(scalar) : nameForm(of: scalar)
      length += piece.unicodeScalars.count
      guard length <= limit else { return "\"\(shown)\"..." }
      shown += piece
    }
    return "\"\(shown)\""
  }

  /// One character of a text that is signed as it stands: no two are shown alike, but for letters that look so.
  ///
  /// A backslash is doubled; every mark, and every space but the plain one, is spelled out.
  public static func exact(_ scalar: Unicode.Scalar) -> String {
    if scalar == "\"" { return "\"" }
    let isOther = scalar != " " && scalar.properties.generalCategory == .spaceSeparator || isMark(scalar)
    return isOther ? escape(scalar) : nameForm(of: scalar)
  }

  /// One character of a line that was made to be shown: only what cannot be seen, or changes what stands beside it, is
  /// spelled out.
  public static func visible(_ scalar: Unicode.Scalar) -> String {
    let properties = scalar.properties
    if properties.isDefaultIgnorableCodePoint || properties.isBidiControl { return escape(scalar) }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      return escape(scalar)
    case .spaceSeparator:
      return " "
    default:
      // It looks like a space and is a symbol.
      return scalar == "\u{2800}" ? escape(scalar) : String(scalar)
    }
  }

  private static func nameForm(of scalar: Unicode.Scalar) -> String {
    scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : visible(scalar)
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
  }
}
