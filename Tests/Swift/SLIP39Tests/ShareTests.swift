import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

// Holds: SLIP39-1
@Suite struct ShareTests {
  /// The first of the standard's vectors.
  static let valid =
    "duckling enlarge academic academic agency result length solution fridge kidney coal piece deal husband erode duke "
    + "ajar critical decision keyboard"

  @Test func `a share has as many words as the entropy of a phrase needs`() {
    #expect(Share.wordCounts == [20, 23, 27, 30, 33])
    #expect(Shares.secretSizes == BIP39Phrase.wordCounts.map { $0 * 4 / 3 })
  }

  struct Sample: Sendable {
    let vector: Int
    let share: Int
    let identifier: UInt16
    let isExtendable: Bool
    let exponent: Int
    /// Index, threshold and count of the groups.
    let groups: [Int]
    /// Index and threshold of the share.
    let member: [Int]
    let value: String
  }

  static let samples = [
    Sample(
      vector: 1, share: 0, identifier: 7945, isExtendable: false, exponent: 0, groups: [0, 1, 1], member: [0, 1],
      value: "11bc609d21747c49ba78c0701293e417"),
    Sample(
      vector: 4, share: 0, identifier: 25653, isExtendable: false, exponent: 2, groups: [0, 1, 1], member: [2, 2],
      value: "08fb14b66e692e25dfe2edf53289ed62"),
    Sample(
      vector: 8, share: 1, identifier: 16740, isExtendable: false, exponent: 0, groups: [1, 2, 2], member: [1, 2],
      value: "4eca54bc016e3fea06dda4c021d8dbd2"),
    Sample(
      vector: 16, share: 0, identifier: 9497, isExtendable: false, exponent: 0, groups: [3, 2, 4], member: [2, 2],
      value: "36fd6514ad96a86a5e66965a9b958584"),
    Sample(
      vector: 42, share: 0, identifier: 29019, isExtendable: true, exponent: 3, groups: [0, 1, 1], member: [0, 1],
      value: "9e8773c7313b11d3bfe219291976433b"),
    Sample(
      vector: 45, share: 1, identifier: 32065, isExtendable: true, exponent: 0, groups: [0, 1, 1], member: [0, 2],
      value: "b4290e56271e919a44596794aef75071b07536ee113e1529299a08b19190ed81"),
  ]

  @Test(arguments: samples) func `the fields are those that the reference implementation reads`(
    _ sample: Sample
  ) throws {
    let share = try Share(Vector("slip39").official[sample.vector - 1][1][sample.share].text)
    #expect(share.identifier == sample.identifier)
    #expect(share.isExtendable == sample.isExtendable)
    #expect(share.iterationExponent == sample.exponent)
    #expect([share.groupIndex, share.groupThreshold, share.groupCount] == sample.groups)
    #expect([share.memberIndex, share.memberThreshold] == sample.member)
    #expect(share.value.revealed.description == sample.value)
  }

  @Test func `every field is written and read at its limits`() throws {
    for size in Shares.secretSizes {
      for byte: UInt8 in [0, 0xff, 0x5a] {
        for share in [
          Share.made(
            identifier: 0x7fff, isExtendable: true, iterationExponent: 15, groupIndex: 15, groupThreshold: 16,
            groupCount: 16, memberIndex: 15, memberThreshold: 16, value: Array(repeating: byte, count: size)),
          Share.made(
            identifier: 0, isExtendable: false, memberThreshold: 1, value: Array(repeating: byte, count: size)),
        ] {
          let read = try Share(parsing: share.utf8)
          #expect(read.text == share.text)
          #expect(read.value.isEqual(to: share.value))
          #expect(read.identifier == share.identifier)
          #expect(read.isExtendable == share.isExtendable)
          #expect(read.iterationExponent == share.iterationExponent)
          #expect(read.groupIndex == share.groupIndex)
          #expect(read.groupThreshold == share.groupThreshold)
          #expect(read.groupCount == share.groupCount)
          #expect(read.memberIndex == share.memberIndex)
          #expect(read.memberThreshold == share.memberThreshold)
        }
      }
    }
  }

  @Test(arguments: [
    valid.uppercased(), "  \(valid)\n", valid.split(separator: " ").joined(separator: " \t\r\n "),
    valid.split(separator: " ").joined(separator: "\u{3000}"), valid.split(separator: " ").joined(separator: "\u{a0}"),
  ]) func `white space and letter case are ignored`(_ typed: String) throws {
    #expect(try Share(typed).text == Self.valid)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let typed: [UInt8]
    let error: SLIP39Error
    var testDescription: String { String(decoding: typed.prefix(40), as: UTF8.self) }

    init(_ typed: String, _ error: SLIP39Error) { (self.typed, self.error) = (Array(typed.utf8), error) }
    init(bytes: [UInt8], _ error: SLIP39Error) { (typed, self.error) = (bytes, error) }
  }

  static let refusals = [
    Refusal("", .wordCount(0)),
    Refusal(" \u{3000}\n", .wordCount(0)),
    Refusal("academic", .wordCount(1)),
    Refusal(valid + " academic", .wordCount(21)),
    Refusal(Array(repeating: "academic", count: 59).joined(separator: " "), .wordCount(59)),
    Refusal(Array(repeating: "academic", count: 1000).joined(separator: " "), .wordCount(1000)),
    Refusal("duckling enlarg academic", .unknownWord(position: 2)),
    Refusal("duck", .unknownWord(position: 1)),
    Refusal("zero zeroes", .unknownWord(position: 2)),
    Refusal("aaaa", .unknownWord(position: 1)),
    Refusal("zzzz", .unknownWord(position: 1)),
    Refusal("duckling,enlarge", .unknownWord(position: 1)),
    Refusal("duckling enlarge\u{0} academic", .unknownWord(position: 2)),
    Refusal("abandon abandon abandon", .unknownWord(position: 1)),  // a word of BIP39
    Refusal("duckling enlärge academic", .notASCII(position: 2)),
    Refusal("duckling\u{200b}enlarge", .notASCII(position: 1)),
    Refusal("\u{feff}duckling", .notASCII(position: 1)),
    Refusal(bytes: [0x64, 0xff], .notASCII(position: 1)),
    Refusal(bytes: [0xe3, 0x80], .notASCII(position: 1)),
    Refusal(Array(repeating: "academic", count: 20).joined(separator: " "), .checksum),
    Refusal(Array(repeating: "zero", count: 33).joined(separator: " "), .checksum),
    Refusal(valid.split(separator: " ").reversed().joined(separator: " "), .checksum),
  ]

  @Test(arguments: refusals) func `an invalid share is refused by word, number of words or checksum`(
    _ refusal: Refusal
  ) {
    #expect(throws: refusal.error) { try Share(parsing: SecretBytes(refusal.typed)) }
  }

  @Test func `up to three wrong words never have a right checksum`() throws {
    var generator = SplitMix64(state: 39)
    let right = try numbers(of: Self.valid)
    for wrong in 1...3 {
      for _ in 0..<200 {
        var changed = right
        for place in right.indices.shuffled(using: &generator).prefix(wrong) {
          changed[place] ^= UInt16.random(in: 1..<1024, using: &generator)
        }
        #expect(throws: SLIP39Error.checksum) { try Share(text(of: changed)) }
      }
    }
    for place in right.indices.dropLast() where right[place] != right[place + 1] {
      var swapped = right
      swapped.swapAt(place, place + 1)
      #expect(throws: SLIP39Error.checksum) { try Share(text(of: swapped)) }
    }
  }

  @Test func `the checksum of extendable shares is another one`() throws {
    let right = try numbers(of: Self.valid)
    #expect(completed(right, isExtendable: false) == right)
    #expect(throws: SLIP39Error.checksum) { try Share(text(of: completed(right, isExtendable: true))) }
    // The flag alone, with the checksum of the other kind.
    var flagged = right
    flagged[1] |= 0x10
    #expect(throws: SLIP39Error.checksum) { try Share(text(of: completed(flagged, isExtendable: false))) }
    #expect(try Share(text(of: completed(flagged, isExtendable: true))).isExtendable)
  }

  @Test func `each bit before the value must be 0`() throws {
    // 16, 24, 28 and 32 bytes have 2, 8, 6 and 4 bits before them; 20 have none.
    for (size, padding) in zip(Shares.secretSizes, [2, 0, 8, 6, 4]) {
      let right = try numbers(of: Share.made(value: Array(repeating: 0xff, count: size)).text)
      #expect(right[4] == 0x3ff >> UInt16(padding))
      for bit in 0..<padding {
        var padded = right
        padded[4] |= 1 << UInt16(9 - bit)
        #expect(throws: SLIP39Error.padding) { try Share(text(of: completed(padded, isExtendable: true))) }
      }
    }
  }

  @Test func `a group threshold above the number of groups is refused`() {
    for (threshold, count) in [(2, 1), (16, 15), (16, 1)] {
      let share = Share.made(groupThreshold: threshold, groupCount: count)
      #expect(throws: SLIP39Error.groupThreshold) { try Share(parsing: share.utf8) }
    }
  }

  @Test func `random bytes are refused`() {
    var generator = SplitMix64(state: 39)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0..<80, using: &generator)).map { _ in
        // Half of them are spaces, so there are words.
        Bool.random(using: &generator) ? UInt8.random(in: .min ... .max, using: &generator) : 0x20
      }
      #expect(throws: SLIP39Error.self) { try Share(parsing: SecretBytes(bytes)) }
    }
  }

  @Test func `a printed share shows no byte of its value`() throws {
    let share = try Share(Self.valid)
    #expect(
      "\(share)"
        == "Share(identifier: 7945, isExtendable: false, iterationExponent: 0, groupIndex: 0, groupThreshold: 1, "
        + "groupCount: 1, memberIndex: 0, memberThreshold: 1, value: SecretBytes(16))")
  }
}
