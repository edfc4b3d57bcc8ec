import CryptoPrimitives
import TestVectors
import Testing

@testable import DeterministicKeys

@Suite struct EnglishWordsTests {
  private let words = (0..<2048).map { String(decoding: WordList.english.word(UInt16($0)), as: UTF8.self) }

  @Test func `the list is the official one, byte for byte`() {
    // SHA-256 of bip-0039/english.txt in the repository bitcoin/bips, one word per line.
    let file = Array(words.map { $0 + "\n" }.joined().utf8)
    #expect(SHA256.hash(file) == hex("2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"))
  }

  @Test func `every word is found by its bytes, in either case`() {
    for (number, word) in words.enumerated() {
      for typed in [word, word.uppercased()] {
        #expect(Array(typed.utf8).withUnsafeBytes { WordList.english.number(of: $0) } == UInt16(number))
      }
    }
  }

  @Test func `a prefix or extension of a word is not found unless it is a word`() {
    let known = Set(words)
    for word in words {
      for typed in [String(word.dropLast()), word + "s", word + " ", "a" + word] {
        #expect(
          (Array(typed.utf8).withUnsafeBytes { WordList.english.number(of: $0) } != nil) == known.contains(typed),
          "\(typed)")
      }
    }
  }
}
