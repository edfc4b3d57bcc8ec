extension DisplayText {
  /// Whether an invisible character is shown, because it changes how the characters beside it look.
  ///
  /// A joiner where domain names may have it (RFC 5892, A.1 and A.2): Persian, Sinhala and Malayalam words need it. A
  /// joiner and the style U+FE0F in a sequence of emoji (UTS #51, ED-9a and ED-16).
  static func joins(at index: Int, in text: [Unicode.Scalar]) -> Bool {
    guard index > 0 else { return false }
    let previous = text[index - 1]
    switch text[index] {
    case "\u{200C}": return isVirama(previous) || isBetweenJoiningLetters(index, in: text)
    case "\u{200D}":
      let isAfterEmoji = isEmoji(previous) || previous == "\u{FE0F}" && joins(at: index - 1, in: text)
      return isVirama(previous) || isAfterEmoji && index + 1 < text.count && isEmoji(text[index + 1])
    case "\u{FE0F}": return isEmoji(previous)
    default: return false
    }
  }

  /// The marks between are of the type T, and no more than a letter may have.
  private static func isBetweenJoiningLetters(_ index: Int, in text: [Unicode.Scalar]) -> Bool {
    func isLetter(_ scalar: Unicode.Scalar) -> Bool { !(isMark(scalar) && isVisible(scalar)) }
    guard
      let previous = text[..<index].suffix(maximumMarks + 1).lastIndex(where: isLetter),
      let next = text[(index + 1)...].prefix(maximumMarks + 1).firstIndex(where: isLetter),
      next - previous - 2 <= maximumMarks
    else { return false }
    return JoiningType.joinsNext.contains { $0.contains(text[previous].value) }
      && JoiningType.joinsPrevious.contains { $0.contains(text[next].value) }
  }

  private static func isVirama(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.canonicalCombiningClass == .virama
  }

  /// No digit counts, although some sequences of emoji begin with one.
  private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
    !scalar.isASCII && scalar.properties.isEmoji
  }
}
