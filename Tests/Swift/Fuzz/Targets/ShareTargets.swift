import CryptoPrimitives
import TestVectors

@testable import DeterministicKeys
@testable import SLIP39

/// What a person types: phrases, shares of a phrase, and addresses.
enum ShareTargets {
  static let all: [Target] = [
    Target(
      "share", of: "the words of a share (SLIP-39)", atMost: 400, words: words(of: .slip39),
      seeds: { try officialSets().prefix(12).flatMap { $0.prefix(1).map { Array($0.utf8) } } }, read: readShare),
    Target(
      "shares", of: "several shares, whose checksums are valid", atMost: 400,
      seeds: { try officialSets().prefix(25).map { $0.flatMap(bytes(ofShare:)) } }, read: readShares),
    Target(
      "phrase", of: "the words of a phrase, or Algorand's 25 words", atMost: 400, words: words(of: .english),
      seeds: {
        let phrase = try Vector("keys-and-recovery").input.phraseText.text
        return [phrase, try Vector("algorand").mnemonics[0].mnemonic.text].map { Array($0.utf8) }
      }, read: readPhrase),
    Target(
      "address", of: "the text of an Algorand address", atMost: 80,
      seeds: { try Vector("algorand").addresses.array.prefix(3).map { Array($0.address.text.utf8) } },
      read: readAddress),
  ]

  // MARK: - Reading

  private static func readShare(_ input: [UInt8]) throws {
    guard let share = try? Share(parsing: secret(input)) else { return }
    expectWords(share.utf8, of: input)
    expect(try Share(parsing: share.utf8).utf8.isEqual(to: share.utf8), "another share")
  }

  /// Reads shares of five bytes of header, one for the size of the value, and the value.
  private static func readShares(_ input: [UInt8]) throws {
    var choices = Choices(input)
    var shares: [Share] = []
    while !choices.isEmpty, shares.count <= Shares.maximumCount {
      let share = share(&choices)
      do throws(SLIP39Error) {
        let parsed = try Share(parsing: share.utf8)
        expect(parsed.utf8.isEqual(to: share.utf8), "another share")
        shares.append(parsed)
      } catch {
        expect(error == .groupThreshold && share.groupThreshold > share.groupCount, "\(error) for a valid share")
      }
    }
    // Each step of the exponent doubles the time.
    guard shares.allSatisfy({ $0.iterationExponent == 0 }), let entropy = try? Shares.combine(shares) else { return }
    expect(Shares.secretSizes.contains(entropy.count), "a secret of \(entropy.count) bytes")
    expect(try Shares.combine(shares.reversed()).isEqual(to: entropy), "the order of the shares matters")
  }

  private static func readPhrase(_ input: [UInt8]) throws {
    let typed = secret(input)
    if let phrase = try? BIP39Phrase(parsing: typed) {
      expectWords(phrase.utf8, of: input)
      expect(BIP39Phrase(entropy: phrase.entropy).utf8.isEqual(to: phrase.utf8), "another phrase")
    }
    if let seed = try? AlgorandMnemonic.seed(parsing: typed) {
      expectWords(try AlgorandMnemonic.text(of: seed), of: input)
    }
  }

  private static func readAddress(_ input: [UInt8]) {
    guard let address = AlgorandAddress(text: input) else { return }
    expect(address.text.utf8.elementsEqual(input), "another text: \(address.text)")
    expect(AlgorandAddress(publicKey: address.publicKey) == address, "another address")
  }

  /// Checks that words that were read are those of the input, apart from case and white space.
  private static func expectWords(_ text: SecretBytes, of input: [UInt8]) {
    let scalars = String(decoding: input, as: UTF8.self).lowercased().unicodeScalars
    let words = scalars.split { $0.properties.isWhitespace }.map { String($0) }.joined(separator: " ")
    let isSame = text.withUnsafeBytes { $0.elementsEqual(words.utf8) }
    expect(isSame, "other words than in the input")
  }

  // MARK: - Seeds

  private static func share(_ choices: inout Choices) -> Share {
    let header = choices.bytes(5).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    func field(_ shift: UInt64) -> Int { Int(header >> shift & 0xF) }
    let value = choices.bytes(choices.one(of: Shares.secretSizes))
    return Share(
      identifier: UInt16(header >> 25), isExtendable: header >> 24 & 1 == 1, iterationExponent: field(20),
      groupIndex: field(16), groupThreshold: field(12) + 1, groupCount: field(8) + 1, memberIndex: field(4),
      memberThreshold: field(0) + 1, value: secret(value))
  }

  /// The bytes from which ``share(_:)`` makes a share; none if its words are invalid.
  private static func bytes(ofShare words: String) -> [UInt8] {
    guard let share = try? Share(parsing: secret(Array(words.utf8))),
      let size = Shares.secretSizes.firstIndex(of: share.value.count)
    else { return [] }
    let set =
      UInt64(share.identifier) << 25 | (share.isExtendable ? 1 << 24 : 0) | UInt64(share.iterationExponent) << 20
    let group = share.groupIndex << 16 | (share.groupThreshold - 1) << 12 | (share.groupCount - 1) << 8
    let header = set | UInt64(group | share.memberIndex << 4 | (share.memberThreshold - 1))
    let value = share.value.withUnsafeBytes { Array($0) }
    return (0..<5).map { UInt8(truncatingIfNeeded: header >> (32 - 8 * UInt64($0))) } + [UInt8(size)] + value
  }

  /// The sets of SLIP-39's own vectors, some of them invalid.
  private static func officialSets() throws -> [[String]] {
    try Vector("slip39").official.array.map { $0[1].array.map(\.text) }
  }

  private static func words(of list: WordList) -> [String] {
    (0..<list.count).map { String(decoding: list.word(UInt16($0)), as: UTF8.self) }
  }
}
