import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a phrase prints neither its words nor its entropy`() {
    let phrase = BIP39Phrase(entropy: SecretBytes(Array(PrintedForms.secret.bytes.prefix(32))))
    #expect(PrintedForms.leaks(of: phrase, phrase.entropy.revealed, phrase.utf8.revealed) == [])
  }

  @Test func `keys of the Algorand tree print nothing of their nodes`() throws {
    let root = try BIP32Ed25519.root(from: .generate())
    let tree = try BIP32Ed25519(root: root)
    let key: ExtendedKey = try tree.key()
    #expect(PrintedForms.leaks(of: tree, root.revealed) == [])
    #expect(PrintedForms.leaks(of: key, key.node.revealed, root.revealed) == [])
  }

  @Test func `the keys for the passkeys of a Trezor print nothing of their nodes`() throws {
    let nodes = PrintedForms.secret.bytes + PrintedForms.secret.bytes.prefix(34)
    let keys = try #require(SLIP22Keys(SecretBytes(nodes)))
    #expect(PrintedForms.leaks(of: keys, Hex(nodes)) == [])
  }
}
