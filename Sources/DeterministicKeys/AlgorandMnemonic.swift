public import CryptoPrimitives

/// Algorand's 25 words: the seed (32 bytes) of one account.
///
/// It is no BIP39 phrase, though the list is the same:
/// 24 words hold the seed as groups of 11 bits, little-endian; the 25th the first 11 bits of its SHA-512/256.
public enum AlgorandMnemonic {
  /// Words in a mnemonic.
  public static let wordCount = 25
  /// Bytes in a seed.
  public static let seedSize = 32

  /// Writes a seed as words in lower case with single spaces between them, in UTF-8.
  ///
  /// - Throws: ``CryptoError/invalidLength`` when the seed has not 32 bytes.
  public static func text(of seed: SecretBytes) throws(CryptoError) -> SecretBytes {
    guard seed.count == seedSize else { throw .invalidLength }
    return seed.withUnsafeBytes { seed in
      withWipedBytes(count: 2 * wordCount) { scratch in
        let numbers = scratch.bindMemory(to: UInt16.self)
        for index in 0..<(8 * seedSize) where seed[index / 8] >> UInt8(index % 8) & 1 == 1 {
          numbers[index / 11] |= 1 << UInt16(index % 11)
        }
        numbers[wordCount - 1] = checksum(of: seed)
        return BIP39Phrase.text(of: UnsafeBufferPointer(numbers))
      }
    }
  }

  /// Reads what a person typed, with the freedom in white space and capitals that ``BIP39Phrase/init(parsing:)`` has.
  ///
  /// - Throws: ``AlgorandMnemonicError``: the first word that is none of the list, else the number of words, else the
  ///   checksum.
  public static func seed(parsing typed: SecretBytes) throws(AlgorandMnemonicError) -> SecretBytes {
    try withWipedBytes(count: 2 * wordCount) { scratch throws(AlgorandMnemonicError) in
      let numbers = scratch.bindMemory(to: UInt16.self)
      let words: Int
      do throws(WordFault) { words = try TypedWords.read(typed, into: numbers) } catch {
        throw AlgorandMnemonicError(error)
      }
      guard words == wordCount else { throw .wordCount(words) }
      // 24 words have 264 bits; the 8 after the seed are zero.
      guard numbers[wordCount - 2] >> 3 == 0 else { throw .checksum }
      return try SecretBytes(count: seedSize) { seed throws(AlgorandMnemonicError) in
        for index in 0..<(8 * seedSize) {
          seed[index / 8] |= UInt8(numbers[index / 11] >> UInt16(index % 11) & 1) << UInt8(index % 8)
        }
        guard numbers[wordCount - 1] == checksum(of: UnsafeRawBufferPointer(seed)) else { throw .checksum }
      }
    }
  }

  /// The low 11 bits of the first two bytes, little-endian, of SHA-512/256.
  private static func checksum(of seed: UnsafeRawBufferPointer) -> UInt16 {
    withWipedBytes(count: SHA512_256.size) { digest in
      SHA512_256.hash(seed, into: digest)
      return (UInt16(digest[0]) | UInt16(digest[1]) << 8) & 0x7ff
    }
  }
}

/// Why a text is no Algorand mnemonic; positions count from 1.
public enum AlgorandMnemonicError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Another number of words than 25.
  case wordCount(Int)
  /// A word that is not in the list.
  case unknownWord(String, position: Int)
  /// A word with a character that no word of the list has.
  case notASCII(String, position: Int)
  /// Words of the list whose checksum is wrong.
  case checksum

  init(_ fault: WordFault) {
    self =
      fault.isASCII
      ? .unknownWord(fault.word, position: fault.position) : .notASCII(fault.word, position: fault.position)
  }

  /// What is wrong, and what to do.
  public var description: String {
    switch self {
    case .wordCount(let count):
      "the mnemonic has \(count) \(count == 1 ? "word" : "words"); give the 25 words of an Algorand account"
    case .unknownWord(let word, let position):
      "word \(position), \(String(reflecting: word)), is not in the English BIP39 list; check how it is spelled"
    case .notASCII(let word, let position):
      "word \(position), \(String(reflecting: word)), has a character that no English BIP39 word has; type it anew"
    case .checksum:
      "the checksum of the mnemonic is wrong: all words are in the list, but one of them is not the right one; compare "
        + "them with what was written down"
    }
  }
}
