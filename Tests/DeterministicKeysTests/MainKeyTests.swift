import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@Suite struct MainKeyTests {
  struct Vectors: Decodable {
    struct Input: Decodable {
      let phraseText: String
      let mainKey: Hex
      let ed25519Root: Hex
    }
    let input: Input
    let subkeys: [String: Hex]
    let fingerprint: Hex
  }

  private let vectors: Vectors
  init() throws { vectors = try VectorFile("keys-and-recovery").decode(Vectors.self) }

  @Test func `the phrase of the recovery contract gives its main key and its Ed25519 root`() throws {
    let phrase = try BIP39Phrase(vectors.input.phraseText)
    #expect(try MainKey.derive(from: phrase).revealed == vectors.input.mainKey)
    #expect(try BIP32Ed25519.root(from: phrase).revealed == vectors.input.ed25519Root)
  }

  @Test func `every subkey of the recovery contract has its case`() throws {
    let mainKey = SecretBytes(vectors.input.mainKey.bytes)
    var subkeys = vectors.subkeys
    // The one that the contract does not have yet.
    subkeys["row-set"] = try VectorFile("store-rows").decode(StoreRows.self).subkey
    #expect(Set(Subkey.allCases.map(\.rawValue)) == Set(subkeys.keys))
    for subkey in Subkey.allCases {
      #expect(subkey.derive(from: mainKey).revealed == subkeys[subkey.rawValue])
    }
  }

  private struct StoreRows: Decodable {
    let subkey: Hex
  }

  @Test func `the fingerprint is four bytes of its subkey`() {
    #expect(Hex(Subkey.fingerprint(of: SecretBytes(vectors.input.mainKey.bytes))) == vectors.fingerprint)
  }
}
