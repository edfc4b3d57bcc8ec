public import CryptoPrimitives

/// A BIP39 phrase of the English list: 12, 15, 18, 21 or 24 words, with a valid checksum.
public struct BIP39Phrase: Sendable {
  /// The numbers of words that a phrase may have.
  public static let wordCounts = [12, 15, 18, 21, 24]

  /// The words in lower case with single spaces between them: the bytes that every key is derived from.
  public let utf8: SecretBytes
  /// The bits of the words without the checksum: 16, 20, 24, 28 or 32 bytes.
  package let entropy: SecretBytes
  /// The number of words.
  public let wordCount: Int

  /// Makes a phrase from the system's generator.
  ///
  /// - Precondition: `words` is one of ``wordCounts``.
  public static func generate(words: Int = 24) -> BIP39Phrase {
    precondition(wordCounts.contains(words), "a BIP39 phrase has 12, 15, 18, 21 or 24 words")
    return BIP39Phrase(entropy: .random(count: words * 4 / 3))
  }

  /// Writes 16, 20, 24, 28 or 32 bytes of entropy as a phrase: the bits, then the first bits of their SHA-256 digest.
  package init(entropy: SecretBytes) {
    let words = entropy.count * 3 / 4
    self.entropy = entropy
    wordCount = words
    utf8 = withWipedBytes(count: Self.packedSize) { packed in
      withWipedBytes(count: 2 * words) { scratch in
        entropy.withUnsafeBytes { packed.copyMemory(from: $0) }
        packed[entropy.count] = Self.checksum(of: UnsafeRawBufferPointer(rebasing: packed[..<entropy.count]))
        let numbers = scratch.bindMemory(to: UInt16.self)
        for index in numbers.indices { numbers[index] = Self.number(at: index, in: packed) }
        return WordList.english.text(of: UnsafeBufferPointer(numbers))
      }
    }
  }

  /// Reads what the user typed, or pasted, as UTF-8.
  ///
  /// Any run of Unicode white space counts as one space, and is ignored at the ends; case does not matter. Intermediate
  /// values are wiped before this returns; the caller wipes the typed bytes. A phrase in the source of a test is
  /// `var typed = Array("abandon …".utf8)`, then `BIP39Phrase(parsing: SecretBytes(consuming: &typed))`.
  /// - Throws: ``DeterministicKeysError``: for the first word that is not in the list, else for the number of words,
  ///   else for the checksum.
  public init(parsing typed: SecretBytes) throws(DeterministicKeysError) {
    let entropy = try withWipedBytes(count: Self.packedSize) { packed throws(DeterministicKeysError) in
      try withWipedBytes(count: 2 * (Self.wordCounts.max() ?? 0)) { scratch throws(DeterministicKeysError) in
        let numbers = scratch.bindMemory(to: UInt16.self)
        let words = try WordList.english.read(typed, into: numbers, unknown: DeterministicKeysError.word)
        guard Self.wordCounts.contains(words) else { throw .wordCount(words, of: .phrase) }

        let entropyCount = words * 4 / 3
        for index in 0..<words { Self.put(numbers[index], at: index, in: packed) }
        let entropy = UnsafeRawBufferPointer(rebasing: packed[..<entropyCount])
        guard packed[entropyCount] == Self.checksum(of: entropy) else { throw .checksum(of: .phrase) }
        return SecretBytes(count: entropyCount) { $0.copyMemory(from: entropy) }
      }
    }
    self.init(entropy: entropy)
  }
}

// The bits of a phrase, 11 a word: the entropy, then the checksum (a bit for each three words).
extension BIP39Phrase {
  /// Bytes for 24 words of 11 bits, and two more so that a word may be read as three bytes from anywhere.
  fileprivate static let packedSize = 35

  /// The first bits of the digest, in their place in the byte after the entropy.
  fileprivate static func checksum(of entropy: UnsafeRawBufferPointer) -> UInt8 {
    withWipedBytes(count: SHA256.size) { digest in
      SHA256.hash(entropy, into: digest)
      return digest[0] & ~(0xff >> UInt8(entropy.count / 4))
    }
  }

  fileprivate static func number(at index: Int, in packed: UnsafeMutableRawBufferPointer) -> UInt16 {
    let (byte, bit) = (11 * index).quotientAndRemainder(dividingBy: 8)
    let window = UInt32(packed[byte]) << 16 | UInt32(packed[byte + 1]) << 8 | UInt32(packed[byte + 2])
    return UInt16(window >> UInt32(13 - bit) & 0x7ff)
  }

  fileprivate static func put(_ number: UInt16, at index: Int, in packed: UnsafeMutableRawBufferPointer) {
    let (byte, bit) = (11 * index).quotientAndRemainder(dividingBy: 8)
    let window = UInt32(number) << UInt32(13 - bit)
    for offset in 0..<3 { packed[byte + offset] |= UInt8(truncatingIfNeeded: window >> UInt32(16 - 8 * offset)) }
  }
}
