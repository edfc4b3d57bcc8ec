import CryptoPrimitives
import TestVectors
import Testing

@testable import Prompts

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `an answer with a passphrase, and what remembers the passphrase, print nothing of it`() {
    let bytes = Hex(PrintedForms.secret.bytes.prefix(32))
    let secret = bytes.bytes.withUnsafeBytes(SecretBytes.init(copying:))
    let verifier = PassphraseVerifier()
    verifier.remember(secret)
    let values: [Any] = [PromptAnswer.typed(secret), verifier]
    for value in values { #expect(PrintedForms.leaks(of: value, bytes) == [], "\(type(of: value))") }
  }
}
