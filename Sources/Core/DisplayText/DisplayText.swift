/// Makes foreign text safe to show: nothing in it is hidden, controls a terminal, or looks like a line of this program.
public enum DisplayText {
  /// The most characters of a host or origin; its end is kept, because the end says whose it is.
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
  /// Letters of every script are shown. Control characters, line ends, invisible and bidirectional characters, and
  /// marks that pile up on one letter are spelled out as `\u{…}`; every space becomes the plain one. Joiners are shown
  /// where they change the letters beside them.
  public static func quoted(_ text: String, limit: Int = .max) -> String {
    var shown = ""
    var length = 0
    var marks = 0
    // Only as many scalars as can be shown are looked at, however long the text is.
    let scalars = Array(text.unicodeScalars.prefix(limit == .max ? limit : limit + 1))
    for (index, scalar) in scalars.enumerated() {
      marks = self.marks(after: marks, at: index, in: scalars)
      let piece = marks > maximumMarks ? escape(scalar) : nameForm(at: index, in: scalars)
      length += piece.unicodeScalars.count
      guard length <= limit else { return "\"\(shown)\"..." }
      shown += piece
    }
    return "\"\(shown)\""
  }

  /// One character of a text that is signed unchanged: no two are shown alike, except letters that look alike.
  ///
  /// A backslash is doubled; every mark, and every space except the plain one, is spelled out.
  public static func exact(_ scalar: Unicode.Scalar) -> String {
    if scalar == "\"" { return "\"" }
    let isOther = scalar != " " && scalar.properties.generalCategory == .spaceSeparator || isMark(scalar)
    return isOther ? escape(scalar) : nameForm(at: 0, in: [scalar])
  }

  /// One character of a line.
  ///
  /// Invisible characters, and those that change the text beside them, are spelled out; each space becomes the plain
  /// one. Joiners are shown where they change the letters beside them.
  public static func visible(at index: Int, in text: [Unicode.Scalar]) -> String {
    let scalar = text[index]
    guard isVisible(scalar) else { return joins(at: index, in: text) ? String(scalar) : escape(scalar) }
    return scalar.properties.generalCategory == .spaceSeparator ? " " : String(scalar)
  }

  /// Whether a terminal only shows this character, which neither controls it nor reorders the characters beside it.
  static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    if (" "..."~").contains(scalar) { return true }
    let properties = scalar.properties
    if properties.isDefaultIgnorableCodePoint || properties.isBidiControl { return false }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return false
    // The blank pattern of Braille is a symbol that looks like a space.
    default: return scalar != "\u{2800}"
    }
  }

  private static func nameForm(at index: Int, in text: [Unicode.Scalar]) -> String {
    ["\"", "\\"].contains(text[index]) ? "\\\(text[index])" : visible(at: index, in: text)
  }

  /// The most marks on one letter that are shown.
  static let maximumMarks = 3

  /// The number of marks on one letter, up to and including the character at the index.
  ///
  /// - Parameter marks: the number before this character. A joiner that is shown has no width, so marks after it are on
  ///   the letter before it.
  static func marks(after marks: Int, at index: Int, in text: [Unicode.Scalar]) -> Int {
    if isMark(text[index]) { return marks + 1 }
    return joins(at: index, in: text) ? marks : 0
  }

  static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
  }

  static func escape(_ scalar: Unicode.Scalar) -> String { "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" }
}
