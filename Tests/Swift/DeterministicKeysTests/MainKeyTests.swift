import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@Suite struct MainKeyTests {
  private let vectors: Vector
  init() throws { vectors = try Vector("keys-and-recovery") }

  @Test func `the phrase of the recovery contract gives its main key and its Ed25519 root`() throws {
    let phrase = try BIP39Phrase(vectors.input.phraseText.text)
    #expect(try MainKey.derive(from: phrase).revealed == vectors.input.mainKey.hex)
    #expect(try BIP32Ed25519.root(from: phrase).revealed == vectors.input.ed25519Root.hex)
  }

  @Test func `every subkey is derived as in the recovery contract`() throws {
    let mainKey = SecretBytes(vectors.input.mainKey.bytes)
    var subkeys = vectors.subkeys.members
    // `keys-and-recovery.json` has no cases for these subkeys.
    subkeys["row-set"] = try Vector("store-rows").subkey
    subkeys["history"] = try Vector("history").subkey
    #expect(Set(Subkey.allCases.map(\.rawValue)) == Set(subkeys.keys))
    for subkey in Subkey.allCases {
      #expect(subkey.derive(from: mainKey).revealed == subkeys[subkey.rawValue]?.hex)
    }
  }

  @Test func `the fingerprint is that of the vectors`() {
    #expect(Hex(Subkey.fingerprint(of: SecretBytes(vectors.input.mainKey.bytes))) == vectors.fingerprint.hex)
  }
}
