public import CryptoPrimitives
import DeterministicKeys

/// One share of a secret: 20, 23, 27, 30 or 33 words, with a valid checksum (SLIP-39, "Format of the share mnemonic").
///
/// Only the value is secret. Shares of one set have the same first two words, those of one group the same first three.
public struct Share: Sendable {
  /// The numbers of words that a share may have: those for a secret of 16, 20, 24, 28 or 32 bytes.
  ///
  /// The standard allows other lengths, but no phrase has entropy of those sizes.
  public static let wordCounts = Shares.secretSizes.map(wordCount)

  /// The number of words before those of the value.
  public static let headerWordCount = 4

  /// A number of 15 bits that all shares of a set have in common.
  public let identifier: UInt16
  /// Whether the encryption does not depend on the identifier, so that several sets can have one secret and passphrase.
  public let isExtendable: Bool
  /// 0 to 15: the secret is encrypted with 10,000 × 2^e HMACs.
  ///
  /// With 15, ``Shares/combine(_:passphrase:)`` takes minutes.
  public let iterationExponent: Int
  /// 0 to 15.
  public let groupIndex: Int
  /// The number of groups that are needed, 1 to ``groupCount``.
  public let groupThreshold: Int
  /// 1 to 16.
  public let groupCount: Int
  /// The place of the share in its group, 0 to 15.
  public let memberIndex: Int
  /// The number of shares of the group that are needed, 1 to 16.
  public let memberThreshold: Int

  /// The values of the polynomials at ``memberIndex``; as many bytes as the secret.
  let value: SecretBytes

  /// The number of words: 20, 23, 27, 30 or 33.
  public var wordCount: Int { Self.wordCount(of: value.count) }

  /// The words in lower case with single spaces between them, in UTF-8; computed at each access.
  public var utf8: SecretBytes {
    withWipedBytes(count: 2 * wordCount) { scratch in
      let numbers = scratch.bindMemory(to: UInt16.self)
      let (header, padding) = (self.header, Self.padding(of: value.count))
      for place in 0..<Self.headerWordCount { numbers[place] = UInt16(header >> UInt64(30 - 10 * place) & 0x3ff) }
      value.withUnsafeBytes { value in
        for bit in 0..<8 * value.count {
          let (word, place) = (bit + padding).quotientAndRemainder(dividingBy: 10)
          numbers[Self.headerWordCount + word] |=
            UInt16(value[bit / 8] >> UInt8(7 - bit % 8) & 1) << UInt16(9 - place)
        }
      }
      RS1024.complete(numbers, isExtendable: isExtendable)
      return WordList.slip39.text(of: UnsafeBufferPointer(numbers))
    }
  }

  /// Reads what the user typed, or pasted, as UTF-8.
  ///
  /// Any run of Unicode white space counts as one space, and is ignored at the ends; case does not matter. Intermediate
  /// values are wiped before this returns; the caller wipes the typed bytes.
  /// - Throws: ``SLIP39Error``: for the first word that is not in the list, else for the number of words, else for the
  ///   checksum, else for what a valid checksum covers.
  public init(parsing typed: SecretBytes) throws(SLIP39Error) {
    self = try withWipedBytes(count: 2 * (Self.wordCounts.max() ?? 0)) { scratch throws(SLIP39Error) in
      let numbers = scratch.bindMemory(to: UInt16.self)
      let words = try WordList.slip39.read(typed, into: numbers) { position, isASCII in
        isASCII ? SLIP39Error.unknownWord(position: position) : .notASCII(position: position)
      }
      guard let size = Shares.secretSizes.first(where: { Self.wordCount(of: $0) == words }) else {
        throw .wordCount(words)
      }
      return try Share(UnsafeMutableBufferPointer(rebasing: numbers[..<words]), valueSize: size)
    }
  }

  private init(_ numbers: UnsafeMutableBufferPointer<UInt16>, valueSize: Int) throws(SLIP39Error) {
    let header = numbers[..<Self.headerWordCount].reduce(UInt64(0)) { $0 << 10 | UInt64($1) }
    func field(at shift: UInt64) -> Int { Int(header >> shift & 0xf) }
    isExtendable = field(at: 24) & 1 == 1
    guard RS1024.isValid(numbers, isExtendable: isExtendable) else { throw .checksum }

    identifier = UInt16(header >> 25)
    iterationExponent = field(at: 20)
    groupIndex = field(at: 16)
    groupThreshold = field(at: 12) + 1
    groupCount = field(at: 8) + 1
    memberIndex = field(at: 4)
    memberThreshold = field(at: 0) + 1
    guard groupThreshold <= groupCount else { throw .groupThreshold }

    let padding = Self.padding(of: valueSize)
    guard numbers[Self.headerWordCount] >> UInt16(10 - padding) == 0 else { throw .padding }
    value = SecretBytes(count: valueSize) { value in
      for bit in 0..<8 * valueSize {
        let (word, place) = (bit + padding).quotientAndRemainder(dividingBy: 10)
        value[bit / 8] |= UInt8(numbers[Self.headerWordCount + word] >> UInt16(9 - place) & 1) << UInt8(7 - bit % 8)
      }
    }
  }

  init(
    identifier: UInt16, isExtendable: Bool, iterationExponent: Int, groupIndex: Int, groupThreshold: Int,
    groupCount: Int, memberIndex: Int, memberThreshold: Int, value: SecretBytes
  ) {
    self.identifier = identifier
    self.isExtendable = isExtendable
    self.iterationExponent = iterationExponent
    self.groupIndex = groupIndex
    self.groupThreshold = groupThreshold
    self.groupCount = groupCount
    self.memberIndex = memberIndex
    self.memberThreshold = memberThreshold
    self.value = value
  }
}

// The bits of a share, 10 a word: 40 of header, zeros up to a multiple of 10, the value, 30 of checksum.
extension Share {
  private static func wordCount(of valueSize: Int) -> Int {
    headerWordCount + (8 * valueSize + padding(of: valueSize)) / 10 + RS1024.wordCount
  }

  /// The number of zero bits before the value: 0, 2, 4, 6 or 8.
  private static func padding(of valueSize: Int) -> Int { (10 - 8 * valueSize % 10) % 10 }

  private var header: UInt64 {
    let common = UInt64(identifier) << 25 | (isExtendable ? 1 << 24 : 0) | UInt64(iterationExponent) << 20
    let group = UInt64(groupIndex) << 16 | UInt64(groupThreshold - 1) << 12 | UInt64(groupCount - 1) << 8
    return common | group | UInt64(memberIndex) << 4 | UInt64(memberThreshold - 1)
  }
}
