import CryptoPrimitives
import TestVectors
import Testing

@testable import Vault

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a vault, sealed or open, prints nothing of its secrets`() throws {
    let content: VaultContent = try VaultVector.content()
    let roots = [content.mainKey, content.ed25519Root].map { $0.withUnsafeBytes { Hex($0) } }
    var generator = SystemRandomNumberGenerator()
    let vault = try VaultFile(
      sealing: content, passphrase: secret("correct horse battery staple"), cost: cheap.get(), using: &generator)
    let unlocked: UnlockedVault = try vault.open(passphrase: secret("correct horse battery staple"))
    let key = unlocked.key.withUnsafeBytes { Hex($0) }
    for value in [content, vault, unlocked] as [Any] {
      #expect(PrintedForms.leaks(of: value, roots[0], roots[1], key) == [])
    }
  }
}
