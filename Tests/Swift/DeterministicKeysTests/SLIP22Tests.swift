import CryptoPrimitives
import Testing

@testable import DeterministicKeys

/// The example of SLIP-0022: the phrase "all", twelve times.
@Suite struct SLIP22Tests {
  static let seed = secret(
    "c76c4ac4f4e4a00d6b274d5c39c700bb4a7ddc04fbc6f78e85ca75007b5b495f"
      + "74a9043eeb77bdd53aa6fc3a0e31462270316fa04b8c19114c8798706cd02ac8")
  static let id = hex(
    "f1d0020013e65c865634ad8abddf7a66df56ae7d8c3afd356f76426801508b2e579bcb3496fe6396a6002e3cd6d80f6359dfa9961e24c544"
      + "bfc2f26acec1b8d878ba56727e1f6a7b5176c607552aea63a5abe5d826d69fab3063edfa0201d9a51013d69eddb2eff37acdd5963f")
  static let publicKey = hex(
    "51f0d4c307bc737c90ac605c6279f7d01e451798aa7b74df550fdb43a7760c7c"
      + "02b5107fef42094d00f52a9b1e90afb90e1b9decbf15a6f13d4f882de857e2f4")

  private var rpIDHash: [UInt8] { SHA256.hash(Array("example.com".utf8)) }

  @Test func `the phrase opens the id, and gives its key and CredRandom`() throws {
    var typed = Array(String(repeating: "all ", count: 12).utf8)
    let keys = try SLIP22Keys(phrase: BIP39Phrase(parsing: SecretBytes(consuming: &typed)))
    #expect(keys == SLIP22Keys(seed: Self.seed))
    let opened = try #require(keys.open(Self.id, rpIDHash: rpIDHash))
    #expect(opened.starts(with: [0xA5, 0x01, 0x6B] + "example.com".utf8))
    #expect(opened.suffix(3) == [0x02, 0x07, 0xF5])
    #expect(try keys.privateKey(of: Self.id).publicKey.raw == Self.publicKey)
    #expect(
      keys.credRandom(of: Self.id) == secret("36a9b5d71c13ed54594474b54073af1fb03ea91cd056588909dae43ae2f35dbf"))
    #expect(keys.bytes.count == SLIP22Keys.size)
    #expect(SLIP22Keys(keys.bytes) == keys)
  }

  @Test func `another site, phrase, version or byte does not open`() throws {
    let keys = SLIP22Keys(seed: Self.seed)
    #expect(keys.open(Self.id, rpIDHash: SHA256.hash(Array("example.org".utf8))) == nil)
    #expect(SLIP22Keys(seed: SecretBytes(count: 64) { _ in }).open(Self.id, rpIDHash: rpIDHash) == nil)
    for index in Self.id.indices {
      var id = Self.id
      id[index] ^= 1
      #expect(keys.open(id, rpIDHash: rpIDHash) == nil, "byte \(index)")
    }
    for count in 0..<Self.id.count { #expect(keys.open(Array(Self.id.prefix(count)), rpIDHash: rpIDHash) == nil) }
    #expect(SLIP22Keys(SecretBytes(count: 127) { _ in }) == nil)
  }
}

private func secret(_ text: String) -> SecretBytes { hex(text).withUnsafeBytes { SecretBytes(copying: $0) } }
