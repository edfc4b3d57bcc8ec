import CryptoPrimitives

/// A word of a typed phrase that is none of the list.
struct WordFault: Error {
  /// The word, or its beginning: what has no spaces may be the whole phrase, which must not become a `String`.
  let word: String
  /// Which word it is, from 1.
  let position: Int
  /// Whether its fault is the spelling, and not a character that no word of the list has.
  let isASCII: Bool

  private static let shownCharacters = 12
  private static let shownBytes = 48

  init(_ word: UnsafeRawBufferPointer, position: Int) {
    let beginning = String(decoding: word.prefix(Self.shownBytes), as: UTF8.self)
    let isWhole = word.count <= Self.shownBytes && beginning.count <= Self.shownCharacters
    self.word = isWhole ? beginning : beginning.prefix(Self.shownCharacters) + "…"
    self.position = position
    isASCII = word.allSatisfy { $0 < 0x80 }
  }
}

/// What a person typed, taken apart at its white space.
enum TypedWords {
  /// Reads the words' numbers, as far as there is room for them, and tells how many words there are.
  ///
  /// Any run of Unicode white space separates words, leading and trailing white space is nothing, and the case of
  /// letters does not matter. The typed bytes are read where they are and never copied.
  /// - Throws: the first word that is none of the list.
  static func read(
    _ typed: SecretBytes, into numbers: UnsafeMutableBufferPointer<UInt16>
  ) throws(WordFault) -> Int {
    try typed.withUnsafeBytes { text throws(WordFault) in
      var (offset, count) = (0, 0)
      while offset < text.count {
        let separator = separatorLength(text[offset...])
        guard separator == 0 else {
          offset += separator
          continue
        }
        let start = offset
        while offset < text.count, separatorLength(text[offset...]) == 0 { offset += 1 }
        let word = UnsafeRawBufferPointer(rebasing: text[start..<offset])
        count += 1
        guard let number = EnglishWords.number(of: word) else { throw WordFault(word, position: count) }
        if count <= numbers.count { numbers[count - 1] = number }
      }
      return count
    }
  }

  /// How many bytes of UTF-8 the white space takes with which `text` begins, or 0.
  private static func separatorLength(_ text: Slice<UnsafeRawBufferPointer>) -> Int {
    guard let first = text.first else { return 0 }
    if first < 0x80 { return first == 0x20 || (0x09...0x0d).contains(first) ? 1 : 0 }
    return wideSpaces.first { text.starts(with: $0) }?.count ?? 0
  }

  /// The characters beyond ASCII that Unicode calls `White_Space`, in UTF-8: the last is U+3000, the ideographic space.
  private static let wideSpaces: [[UInt8]] = (0x80...0x3000)
    .compactMap(Unicode.Scalar.init)
    .filter(\.properties.isWhitespace)
    .map { Array(String($0).utf8) }
}
