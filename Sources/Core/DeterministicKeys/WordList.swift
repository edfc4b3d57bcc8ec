package import CryptoPrimitives

/// A list of words of lower-case ASCII letters, in the order of their bytes.
///
/// A word's number is its place in the list. Look-up compares bytes, so that no word of a phrase becomes a `String`.
package struct WordList: Sendable {
  private let list: StaticString
  /// The offset of each word in the list, and the end of the last.
  private let starts: [UInt16]

  /// - Parameter list: the words with single spaces or line feeds between them, at most 65,534 bytes.
  package init(_ list: StaticString) {
    self.list = list
    let bytes = UnsafeBufferPointer(start: list.utf8Start, count: list.utf8CodeUnitCount)
    let separators = bytes.indices.lazy.filter { bytes[$0] == UInt8(ascii: " ") || bytes[$0] == UInt8(ascii: "\n") }
    starts = [0] + separators.map { UInt16($0 + 1) } + [UInt16(bytes.count + 1)]
  }

  /// The number of words.
  package var count: Int { starts.count - 1 }

  /// The bytes of the word with that number.
  package func word(_ number: UInt16) -> UnsafeRawBufferPointer {
    let start = Int(starts[Int(number)])
    let end = Int(starts[Int(number) + 1]) - 1
    return UnsafeRawBufferPointer(start: list.utf8Start + start, count: end - start)
  }

  /// The number of a word, whose letters may be upper-case; `nil` if it is not in the list.
  package func number(of typed: UnsafeRawBufferPointer) -> UInt16? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if word(UInt16(middle)).lexicographicallyPrecedes(typed.lazy.map(Self.lowerCased)) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    guard low < count, word(UInt16(low)).elementsEqual(typed.lazy.map(Self.lowerCased)) else { return nil }
    return UInt16(low)
  }

  private static func lowerCased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// The words with single spaces between them.
  package func text(of numbers: UnsafeBufferPointer<UInt16>) -> SecretBytes {
    let letters = numbers.reduce(0) { $0 + word($1).count }
    return SecretBytes(count: letters + max(numbers.count - 1, 0)) { text in
      var offset = 0
      for number in numbers {
        if offset > 0 {
          text[offset] = UInt8(ascii: " ")
          offset += 1
        }
        let word = word(number)
        UnsafeMutableRawBufferPointer(rebasing: text[offset..<(offset + word.count)]).copyMemory(from: word)
        offset += word.count
      }
    }
  }

  /// Reads the words' numbers, as far as there is room for them, and returns the number of words.
  ///
  /// Any run of Unicode white space separates words, leading and trailing white space is ignored, and the case of
  /// letters does not matter. The typed bytes are read where they are and never copied.
  /// - Parameter unknown: makes the error to throw for the first word that is not in the list, from its position, which
  ///   starts at 1, and whether it is ASCII.
  package func read<Failure: Error>(
    _ typed: SecretBytes, into numbers: UnsafeMutableBufferPointer<UInt16>,
    unknown: (_ position: Int, _ isASCII: Bool) -> Failure
  ) throws(Failure) -> Int {
    try typed.withUnsafeBytes { text throws(Failure) in
      var (offset, count) = (0, 0)
      while offset < text.count {
        let separator = Self.separatorLength(text[offset...])
        guard separator == 0 else {
          offset += separator
          continue
        }
        let start = offset
        while offset < text.count, Self.separatorLength(text[offset...]) == 0 { offset += 1 }
        let word = UnsafeRawBufferPointer(rebasing: text[start..<offset])
        count += 1
        guard let number = number(of: word) else { throw unknown(count, word.allSatisfy { $0 < 0x80 }) }
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
