// tutorial: begin
import CryptoPrimitives
import DeterministicKeys
// tutorial: end
import Testing

@Test func `the tutorial of DeterministicKeys derives keys from a phrase`() throws {
  // tutorial: begin
  var typed = Array((String(repeating: "abandon ", count: 23) + "art").utf8)
  let phrase = try BIP39Phrase(parsing: SecretBytes(consuming: &typed))
  // tutorial: end
  #expect(phrase.wordCount == 24 && typed.isEmpty)

  // tutorial: begin
  var mistyped = Array((String(repeating: "abandon ", count: 23) + "abandon").utf8)
  do throws(DeterministicKeysError) {
    _ = try BIP39Phrase(parsing: SecretBytes(consuming: &mistyped))
    Issue.record("accepted")
  } catch {
    print(error)
    #expect(error == .checksum(of: .phrase))
  }
  // tutorial: end

  // tutorial: begin
  let mainKey = try MainKey.derive(from: phrase)
  let passkey = try DeterministicP256.privateKey(
    mainKey: mainKey, origin: Array("example.com".utf8), userHandle: Array("alice".utf8), counter: 0)
  let x = passkey.publicKey.x
  // tutorial: end
  // This value and the next two were computed by Tests/EndToEnd/judges/derivation.py.
  #expect(x.prefix(4) == [0x32, 0x96, 0xAE, 0x44])

  // tutorial: begin
  let tree = try BIP32Ed25519(root: BIP32Ed25519.root(from: phrase))
  let key = try tree.key()
  let address = AlgorandAddress(publicKey: key.publicKey)
  // tutorial: end
  #expect(address.text == "IYRGHE7NYTZRYPGFFNVPH7TVCZVQLQFK2IJ57W5JONTHT4BZEYHXL3MY3E")

  // tutorial: begin
  let message = Array("a message".utf8)
  let signature = try key.signature(for: message)
  let isValid = Ed25519.isValidSignature(signature, for: message, publicKey: address.publicKey)
  // tutorial: end
  #expect(isValid)

  // tutorial: begin
  let fingerprint = Subkey.fingerprint(of: mainKey)
  // tutorial: end
  #expect(fingerprint == [0x7E, 0xEA, 0x19, 0x76])
}
