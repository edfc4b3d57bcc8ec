public import CryptoPrimitives

/// Algorand's 25 words: the seed (32 bytes) of one account.
///
/// It is not a BIP39 phrase, though the word list is the same: 24 words hold the seed as groups of 11 bits,
/// little-endian, and the 25th holds the first 11 bits of the seed's SHA-512/256.
public enum AlgorandMnemonic {
  /// Words in a mnemonic.
  public static let wordCount = 25
  /// Bytes in a seed.
  public static let seedSize = 32

  /// Writes a seed as words in lower case with single spaces between them, in UTF-8.
  ///
  /// - Throws: ``/CryptoPrimitives/CryptoError/invalidLength`` unless the seed has 32 bytes.
  public static func text(of seed: SecretBytes) throws(CryptoError) -> SecretBytes {
    guard seed.count == seedSize else { throw .invalidLength }
    return seed.withUnsafeBytes { seed in
      withWipedBytes(count: 2 * wordCount) { scratch in
        let numbers = scratch.bindMemory(to: UInt16.self)
        for index in 0..<(8 * seedSize) where seed[index / 8] >> UInt8(index % 8) & 1 == 1 {
          numbers[index / 11] |= 1 << UInt16(index % 11)
        }
        numbers[wordCount - 1] = checksum(of: seed)
        return WordList.english.text(of: UnsafeBufferPointer(numbers))
      }
    }
  }

  /// Reads what the user typed, with the rules of ``BIP39Phrase/init(parsing:)`` for white space and capitals.
  ///
  /// - Throws: ``DeterministicKeysError``: for the first word that is not in the list, else for the number of words,
  ///   else for the checksum.
  public static func seed(parsing typed: SecretBytes) throws(DeterministicKeysError) -> SecretBytes {
    try withWipedBytes(count: 2 * wordCount) { scratch throws(DeterministicKeysError) in
      let numbers = scratch.bindMemory(to: UInt16.self)
      let words = try WordList.english.read(typed, into: numbers, unknown: DeterministicKeysError.word)
      guard words == wordCount else { throw .wordCount(words, of: .mnemonic) }
      // 24 words have 264 bits; the 8 after the seed are zero.
      guard numbers[wordCount - 2] >> 3 == 0 else { throw .checksum(of: .mnemonic) }
      return try SecretBytes(count: seedSize) { seed throws(DeterministicKeysError) in
        for index in 0..<(8 * seedSize) {
          seed[index / 8] |= UInt8(numbers[index / 11] >> UInt16(index % 11) & 1) << UInt8(index % 8)
        }
        let checksum = Self.checksum(of: UnsafeRawBufferPointer(seed))
        guard numbers[wordCount - 1] == checksum else { throw .checksum(of: .mnemonic) }
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
