import CryptoPrimitives
import DeterministicKeys
import Foundation
import TestVectors
import Testing

@Suite struct AlgorandMnemonicTests {
  struct Vectors: Decodable {
    struct Mnemonic: Decodable {
      let mnemonic: String
      let seed: Hex
      let address_computed: String
    }
    struct Bad: Decodable {
      let mnemonic: String
      let why: String
    }
    struct Payment: Decodable {
      let mnemonic: String
      let txnBase64: Data
      let signature: Hex
    }
    struct BytesSign: Decodable {
      let mnemonic: String
      let messageUtf8: String
      let signature: Hex
    }
    let mnemonics: [Mnemonic]
    let badMnemonics: [Bad]
    let payment: Payment
    let bytesSign_computed: BytesSign
  }

  private let vectors: Vectors
  init() throws { vectors = try VectorFile("algorand").decode(Vectors.self) }

  @Test func `seeds and words go both ways`() throws {
    #expect(vectors.mnemonics.count == 2)
    for vector in vectors.mnemonics {
      let seed = try AlgorandMnemonic.seed(parsing: SecretBytes(typed: vector.mnemonic))
      #expect(seed.revealed == vector.seed)
      #expect(try AlgorandMnemonic.text(of: seed).revealedText == vector.mnemonic)
      #expect(
        AlgorandAddress(publicKey: try Ed25519.PrivateKey(seed: seed).publicKey).text == vector.address_computed)
      let typed = " " + vector.mnemonic.uppercased().replacing(" ", with: "\u{a0}\n")
      #expect(try AlgorandMnemonic.seed(parsing: SecretBytes(typed: typed)).revealed == vector.seed)
    }
  }

  @Test func `every bit of a seed survives`() throws {
    for bit in 0..<256 {
      var bytes = [UInt8](repeating: 0, count: 32)
      bytes[bit / 8] = 1 << (bit % 8)
      let text = try AlgorandMnemonic.text(of: SecretBytes(bytes))
      #expect(try AlgorandMnemonic.seed(parsing: text).revealed == Hex(bytes))
    }
  }

  @Test func `the words' key signs as Algorand's libraries do`() throws {
    let payment = try Ed25519.PrivateKey(
      seed: AlgorandMnemonic.seed(parsing: SecretBytes(typed: vectors.payment.mnemonic)))
    #expect(Hex(try payment.signature(for: Array("TX".utf8) + vectors.payment.txnBase64)) == vectors.payment.signature)
    let message = vectors.bytesSign_computed
    let key = try Ed25519.PrivateKey(seed: AlgorandMnemonic.seed(parsing: SecretBytes(typed: message.mnemonic)))
    #expect(Hex(try key.signature(for: Array(("MX" + message.messageUtf8).utf8))) == message.signature)
  }

  @Test func `bad mnemonics are refused by checksum, word or number`() throws {
    let errors: [String: DeterministicKeysError] = [
      "checksum": .checksum(of: .mnemonic), "word not in list": .unknownWord("x-ray", position: 25),
      "length": .wordCount(3, of: .mnemonic),
    ]
    #expect(vectors.badMnemonics.count == 3)
    for bad in vectors.badMnemonics {
      let error = try #require(errors[bad.why])
      #expect(throws: error) { try AlgorandMnemonic.seed(parsing: SecretBytes(typed: bad.mnemonic)) }
    }
  }

  @Test func `bits after the seed are refused`() {
    // Word 24 has 3 bits of the seed; number 8 is "absurd", the first with a bit beyond them. The checksum of the zero
    // seed, "invest", is right.
    let zeros = Array(repeating: "abandon", count: 23)
    for last in ["absurd", "zoo"] {
      let typed = (zeros + [last, "invest"]).joined(separator: " ")
      #expect(throws: DeterministicKeysError.checksum(of: .mnemonic)) {
        try AlgorandMnemonic.seed(parsing: SecretBytes(typed: typed))
      }
    }
  }

  @Test func `a BIP39 phrase and a word that is not ASCII are refused`() {
    let phrase = BIP39Phrase.generate()
    #expect(throws: DeterministicKeysError.wordCount(24, of: .mnemonic)) {
      try AlgorandMnemonic.seed(parsing: phrase.utf8)
    }
    #expect(throws: DeterministicKeysError.notASCII("ábandon", position: 1)) {
      try AlgorandMnemonic.seed(parsing: SecretBytes(typed: "ábandon abandon"))
    }
  }

  @Test(arguments: [0, 31, 33]) func `a seed of another length is refused`(_ count: Int) {
    #expect(throws: CryptoError.invalidLength) { try AlgorandMnemonic.text(of: .random(count: count)) }
  }

  @Test(arguments: [
    (
      DeterministicKeysError.wordCount(24, of: .mnemonic),
      "the mnemonic has 24 words; give the 25 words of an Algorand account"
    ),
    (
      .unknownWord("x-ray", position: 25),
      #"word 25, "x-ray", is not in the English BIP39 list; check how it is spelled"#
    ),
    (
      .notASCII("é", position: 1), #"word 1, "é", has a character that no English BIP39 word has; type it anew"#
    ),
    (
      .checksum(of: .mnemonic),
      "the checksum of the mnemonic is wrong: all words are in the list, but one of them is not the right one; compare "
        + "them with what was written down"
    ),
  ]) func `an error tells what is wrong and what to do`(_ error: DeterministicKeysError, _ text: String) {
    #expect(error.description == text)
  }
}
