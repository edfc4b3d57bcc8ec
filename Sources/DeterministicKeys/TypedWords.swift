import CryptoPrimitives

/// Splits typed text into words at white space.
enum TypedWords {
  /// Reads the words' numbers, as far as there is room for them, and returns the number of words.
  ///
  /// Any run of Unicode white space separates words, leading and trailing white space is ignored, and the case of
  /// letters does not matter. The typed bytes are read where they are and never copied.
  /// - Throws: `unknownWord` or `notASCII` for the first word that is not in the list.
  static func read(
    _ typed: SecretBytes, into numbers: UnsafeMutableBufferPointer<UInt16>
  ) throws(DeterministicKeysError) -> Int {
    try typed.withUnsafeBytes { text throws(DeterministicKeysError) in
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
        guard let number = EnglishWords.number(of: word) else {
          throw word.allSatisfy { $0 < 0x80 } ? .unknownWord(position: count) : .notASCII(position: count)
        }
        if count <= numbers.count { numbers[count - 1] = number }
      }
      return count
    }
  }

  /// The UTF-8 length of the white-space character that `text` begins with, or 0.
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
