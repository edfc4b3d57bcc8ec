import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

@Suite struct ShareWordsTests {
  private let words = (0..<1024).map { String(decoding: WordList.slip39.word(UInt16($0)), as: UTF8.self) }

  @Test func `the list is the official one, byte for byte`() {
    // SHA-256 of wordlist.txt in the reference implementation, one word per line.
    let file = Array(words.map { $0 + "\n" }.joined().utf8)
    #expect(SHA256.hash(file) == hex("bcc4555340332d169718aed8bf31dd9d5248cb7da6e5d355140ef4f1e601eec3"))
  }

  @Test func `every word is found by its bytes, in either case`() {
    for (number, word) in words.enumerated() {
      for typed in [word, word.uppercased()] {
        #expect(Array(typed.utf8).withUnsafeBytes { WordList.slip39.number(of: $0) } == UInt16(number))
      }
    }
  }
}
