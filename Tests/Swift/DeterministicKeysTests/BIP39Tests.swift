import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import DeterministicKeys

// Holds: INPUT-6
@Suite struct BIP39Tests {
  struct Sample: Sendable, CustomTestStringConvertible {
    let entropy: UInt8
    let words: Int
    let text: String
    var testDescription: String { "\(words) words from \(entropy)" }

    init(_ entropy: UInt8, _ words: Int, _ text: String) {
      (self.entropy, self.words, self.text) = (entropy, words, text)
    }

    /// `words` − 1 words that repeat `cycle`, then `last`.
    init(_ entropy: UInt8, _ words: Int, repeating cycle: String, last: String) {
      let cycle = cycle.split(separator: " ")
      self.init(
        entropy, words, ((0..<words - 1).map { String(cycle[$0 % cycle.count]) } + [last]).joined(separator: " "))
    }
  }

  /// One repeated byte as entropy: the samples of BIP39's reference implementation, and its output for 15 and 21
  /// words.
  static let samples = [
    Sample(0x00, 12, repeating: "abandon", last: "about"),
    Sample(0x00, 15, repeating: "abandon", last: "address"),
    Sample(0x00, 18, repeating: "abandon", last: "agent"),
    Sample(0x00, 21, repeating: "abandon", last: "admit"),
    Sample(0x00, 24, repeating: "abandon", last: "art"),
    Sample(0x7f, 12, repeating: "legal winner thank year wave sausage worth useful", last: "yellow"),
    Sample(0x7f, 15, repeating: "legal winner thank year wave sausage worth useful", last: "wise"),
    Sample(0x7f, 18, repeating: "legal winner thank year wave sausage worth useful", last: "will"),
    Sample(0x7f, 21, repeating: "legal winner thank year wave sausage worth useful", last: "viable"),
    Sample(0x7f, 24, repeating: "legal winner thank year wave sausage worth useful", last: "title"),
    Sample(0x80, 12, repeating: "letter advice cage absurd amount doctor acoustic avoid", last: "above"),
    Sample(0x80, 15, repeating: "letter advice cage absurd amount doctor acoustic avoid", last: "accident"),
    Sample(0x80, 18, repeating: "letter advice cage absurd amount doctor acoustic avoid", last: "always"),
    Sample(0x80, 21, repeating: "letter advice cage absurd amount doctor acoustic avoid", last: "apart"),
    Sample(0x80, 24, repeating: "letter advice cage absurd amount doctor acoustic avoid", last: "bless"),
    Sample(0xff, 12, repeating: "zoo", last: "wrong"),
    Sample(0xff, 15, repeating: "zoo", last: "wrist"),
    Sample(0xff, 18, repeating: "zoo", last: "when"),
    Sample(0xff, 21, repeating: "zoo", last: "veteran"),
    Sample(0xff, 24, repeating: "zoo", last: "vote"),
  ]

  static let valid = "legal winner thank year wave sausage worth useful legal winner thank yellow"

  @Test(arguments: samples) func `entropy is encoded and decoded as in the reference implementation`(
    _ sample: Sample
  ) throws {
    let phrase = BIP39Phrase(
      entropy: SecretBytes(Array(repeating: sample.entropy, count: sample.words * 4 / 3)))
    #expect(phrase.utf8.revealedText == sample.text)
    #expect(phrase.wordCount == sample.words)
    let parsed = try BIP39Phrase(sample.text)
    #expect(parsed.utf8.revealedText == sample.text)
    #expect(parsed.wordCount == sample.words)
    #expect(parsed.entropy.isEqual(to: phrase.entropy))
  }

  @Test(arguments: BIP39Phrase.wordCounts) func `a generated phrase is valid and different each time`(
    _ words: Int
  ) throws {
    let phrase = BIP39Phrase.generate(words: words)
    #expect(phrase.wordCount == words)
    #expect(try BIP39Phrase(parsing: phrase.utf8).utf8.isEqual(to: phrase.utf8))
    #expect(!BIP39Phrase.generate(words: words).utf8.isEqual(to: phrase.utf8))
  }

  @Test func `a phrase has 24 words by default`() {
    #expect(BIP39Phrase.generate().wordCount == 24)
  }

  @Test(arguments: [
    valid.uppercased(), "  \(valid)\n", valid.split(separator: " ").joined(separator: " \t\r\n "),
    valid.split(separator: " ").joined(separator: "\u{3000}"),  // the ideographic space of Japanese phrases
    valid.split(separator: " ").joined(separator: "\u{a0}"), valid.split(separator: " ").joined(separator: "\u{2028}"),
    "Legal Winner thank YEAR wave\u{85}sausage\u{b}worth\u{c}useful\u{1680}legal\u{2003}winner\u{202f}thank yellow",
  ]) func `white space and letter case are ignored`(_ typed: String) throws {
    #expect(try BIP39Phrase(typed).utf8.revealedText == Self.valid)
  }

  // Holds: PEERKEY-5
  @Test func `exactly the white space of Unicode separates words`() throws {
    let words = Self.valid.split(separator: " ").map(String.init)
    let others: [Unicode.Scalar] = [
      "\u{0}", "-", ",", "_", "\u{180e}", "\u{200b}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{301}",
    ]
    let spaces = (0...0x10ffff).compactMap(Unicode.Scalar.init).filter(\.properties.isWhitespace)
    #expect(spaces.count == 25)
    for space in spaces {
      #expect(try BIP39Phrase(words.joined(separator: String(space))).wordCount == 12, "\(space.value)")
    }
    for other in others {
      let typed = words[0] + String(other) + words[1...].joined(separator: " ")
      #expect(throws: DeterministicKeysError.self, "\(other.value)") { try BIP39Phrase(typed) }
    }
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let typed: [UInt8]
    let error: DeterministicKeysError
    var testDescription: String { String(decoding: typed.prefix(40), as: UTF8.self) }

    init(_ typed: String, _ error: DeterministicKeysError) { (self.typed, self.error) = (Array(typed.utf8), error) }
    init(bytes: [UInt8], _ error: DeterministicKeysError) { (typed, self.error) = (bytes, error) }
  }

  @Test(arguments: [
    Refusal("", .wordCount(0, of: .phrase)),
    Refusal(" \u{3000}\n", .wordCount(0, of: .phrase)),
    Refusal("legal", .wordCount(1, of: .phrase)),
    Refusal("legal winner thank year wave sausage worth useful legal winner thank", .wordCount(11, of: .phrase)),
    Refusal(valid + " legal", .wordCount(13, of: .phrase)),
    Refusal(Array(repeating: "abandon", count: 25).joined(separator: " "), .wordCount(25, of: .phrase)),
    Refusal(Array(repeating: "abandon", count: 1000).joined(separator: " "), .wordCount(1000, of: .phrase)),
    Refusal("legal winer thank", .unknownWord(position: 2)),
    Refusal("Legal Winner Thankk", .unknownWord(position: 3)),
    Refusal("lega winner", .unknownWord(position: 1)),
    Refusal("abandonability abandon", .unknownWord(position: 1)),
    Refusal("aaaaaaaaaaaa", .unknownWord(position: 1)),
    Refusal("zzz", .unknownWord(position: 1)),
    Refusal("aaa", .unknownWord(position: 1)),
    Refusal("legal,winner,thank", .unknownWord(position: 1)),
    Refusal("legal winner\u{0} thank", .unknownWord(position: 2)),
    Refusal("legal wïnner thank", .notASCII(position: 2)),
    Refusal("ｌｅｇａｌ winner thank", .notASCII(position: 1)),  // full-width, which NFKD would fold
    Refusal("あいこくしん", .notASCII(position: 1)),
    Refusal("legal\u{200b}winner thank", .notASCII(position: 1)),
    Refusal("\u{feff}legal winner", .notASCII(position: 1)),
    Refusal(bytes: [0x6c, 0xff], .notASCII(position: 1)),
    Refusal(bytes: [0xe3, 0x80], .notASCII(position: 1)),
    Refusal("legal winner thank year wave sausage worth useful legal winner thank year", .checksum(of: .phrase)),
    Refusal("winner legal thank year wave sausage worth useful legal winner thank yellow", .checksum(of: .phrase)),
  ]) func `an invalid phrase is refused by word, word count or checksum`(_ refusal: Refusal) {
    #expect(throws: refusal.error) { try BIP39Phrase(parsing: SecretBytes(refusal.typed)) }
  }

  @Test(arguments: [12, 18]) func `one in 2^(checksum bits) last words is accepted`(
    _ words: Int
  ) throws {
    let beginning = Array(repeating: "useful", count: words - 1).joined(separator: " ") + " "
    var accepted = 0
    for number in 0..<UInt16(WordList.english.count) {
      let typed = beginning + String(decoding: WordList.english.word(number), as: UTF8.self)
      do throws(DeterministicKeysError) {
        let phrase = try BIP39Phrase(parsing: SecretBytes(typed: typed))
        #expect(phrase.utf8.revealedText == typed)
        accepted += 1
      } catch {
        #expect(error == .checksum(of: .phrase))
      }
    }
    #expect(accepted == WordList.english.count >> (words / 3))
  }

  @Test func `random bytes are refused`() {
    var generator = SplitMix64(state: 39)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0..<80, using: &generator)).map { _ in
        // Half of them are spaces, so there are words.
        Bool.random(using: &generator) ? UInt8.random(in: .min ... .max, using: &generator) : 0x20
      }
      #expect(throws: DeterministicKeysError.self) { try BIP39Phrase(parsing: SecretBytes(bytes)) }
    }
  }

  @Test func `the invalid phrases of deterministic-P256 are refused`() throws {
    let upstream = try Vector("deterministic-p256").upstream
    #expect(upstream.invalidPhrases.array.count == 2)
    #expect(throws: DeterministicKeysError.checksum(of: .phrase)) {
      try BIP39Phrase(upstream.invalidPhrases[0].phrase.text)
    }
    #expect(throws: DeterministicKeysError.unknownWord(position: 1)) {
      try BIP39Phrase(upstream.invalidPhrases[1].phrase.text)
    }
    #expect(try BIP39Phrase(upstream.phrase.text).wordCount == 24)
  }

  @Test(arguments: [
    (
      DeterministicKeysError.wordCount(1, of: .phrase),
      "the phrase has 1 word; give all 12, 15, 18, 21 or 24, with spaces between them"
    ),
    (
      .wordCount(25, of: .phrase),
      "the phrase has 25 words, like an Algorand mnemonic; give a BIP39 phrase of 12, 15, 18, 21 or 24"
    ),
    (
      .unknownWord(position: 3),
      "word 3 is not in the English BIP39 list; check how it is spelled"
    ),
    (
      .notASCII(position: 2),
      "word 2 has a character that no English BIP39 word has; type it again"
    ),
    (
      .checksum(of: .phrase),
      "the checksum of the phrase is wrong: all words are in the list, but one of them is wrong, or two are "
        + "swapped; compare them with what was written down"
    ),
  ]) func `an error gives the reason and the remedy`(_ error: DeterministicKeysError, _ text: String) {
    #expect(error.description == text)
  }
}
