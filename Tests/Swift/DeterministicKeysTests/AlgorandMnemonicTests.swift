import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@Suite struct AlgorandMnemonicTests {
  private let vectors: Vector
  init() throws { vectors = try Vector("algorand") }

  @Test func `seeds and words are converted both ways`() throws {
    #expect(vectors.mnemonics.array.count == 2)
    for vector in vectors.mnemonics.array {
      let seed = try AlgorandMnemonic.seed(parsing: SecretBytes(typed: vector.mnemonic.text))
      #expect(seed.revealed == vector.seed.hex)
      #expect(try AlgorandMnemonic.text(of: seed).revealedText == vector.mnemonic.text)
      #expect(
        AlgorandAddress(publicKey: try Ed25519.PrivateKey(seed: seed).publicKey).text == vector.address_computed.text)
      let typed = " " + vector.mnemonic.text.uppercased().replacing(" ", with: "\u{a0}\n")
      #expect(try AlgorandMnemonic.seed(parsing: SecretBytes(typed: typed)).revealed == vector.seed.hex)
    }
  }

  @Test func `every bit of a seed is read back`() throws {
    for bit in 0..<256 {
      var bytes = [UInt8](repeating: 0, count: 32)
      bytes[bit / 8] = 1 << (bit % 8)
      let text = try AlgorandMnemonic.text(of: SecretBytes(bytes))
      #expect(try AlgorandMnemonic.seed(parsing: text).revealed == Hex(bytes))
    }
  }

  @Test func `the key of a mnemonic signs as Algorand's libraries do`() throws {
    let payment = vectors.payment
    var key = try Ed25519.PrivateKey(seed: AlgorandMnemonic.seed(parsing: SecretBytes(typed: payment.mnemonic.text)))
    #expect(Hex(try key.signature(for: Array("TX".utf8) + payment.txnBase64.base64)) == payment.signature.hex)
    let message = vectors.bytesSign_computed
    key = try Ed25519.PrivateKey(seed: AlgorandMnemonic.seed(parsing: SecretBytes(typed: message.mnemonic.text)))
    #expect(Hex(try key.signature(for: Array(("MX" + message.messageUtf8.text).utf8))) == message.signature.hex)
  }

  @Test func `an invalid mnemonic is refused by checksum, word or word count`() throws {
    let errors: [String: DeterministicKeysError] = [
      "checksum": .checksum(of: .mnemonic), "word not in list": .unknownWord(position: 25),
      "length": .wordCount(3, of: .mnemonic),
    ]
    #expect(vectors.badMnemonics.array.count == 3)
    for bad in vectors.badMnemonics.array {
      let error = try #require(errors[bad.why.text])
      #expect(throws: error) { try AlgorandMnemonic.seed(parsing: SecretBytes(typed: bad.mnemonic.text)) }
    }
  }

  @Test func `set bits after the seed are refused`() {
    // Word 24 has 3 bits of the seed. Word number 8, "absurd", is the first with a bit beyond them. "invest" is the
    // valid checksum of the zero seed.
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
    #expect(throws: DeterministicKeysError.notASCII(position: 1)) {
      try AlgorandMnemonic.seed(parsing: SecretBytes(typed: "ábandon abandon"))
    }
  }

  @Test(arguments: [0, 31, 33]) func `a seed of invalid length is refused`(_ count: Int) {
    #expect(throws: CryptoError.invalidLength) { try AlgorandMnemonic.text(of: .random(count: count)) }
  }

  @Test(arguments: [
    (
      DeterministicKeysError.wordCount(24, of: .mnemonic),
      "the mnemonic has 24 words; give the 25 words of an Algorand account"
    ),
    (
      .unknownWord(position: 25),
      "word 25 is not in the English BIP39 list; check how it is spelled"
    ),
    (
      .notASCII(position: 1), "word 1 has a character that no English BIP39 word has; type it again"
    ),
    (
      .checksum(of: .mnemonic),
      "the checksum of the mnemonic is wrong: all words are in the list, but one of them is wrong; compare "
        + "them with what was written down"
    ),
  ]) func `an error gives the reason and the remedy`(_ error: DeterministicKeysError, _ text: String) {
    #expect(error.description == text)
  }
}
