import CryptoPrimitives
import StateDirectory
import TestVectors
import Testing

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a new phrase prints nothing of its secrets`() {
    let bytes = PrintedForms.secret.bytes
    let (mainKey, root) = (Array(bytes.prefix(64)), Array((bytes.suffix(32) + bytes).prefix(96)))
    let phrase = StateDirectory.NewPhrase(
      mainKey: mainKey.withUnsafeBytes(SecretBytes.init(copying:)),
      ed25519Root: root.withUnsafeBytes(SecretBytes.init(copying:)))
    #expect(PrintedForms.leaks(of: phrase, Hex(mainKey), Hex(root)) == [])
  }
}
