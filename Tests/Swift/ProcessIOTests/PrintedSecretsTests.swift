import CryptoPrimitives
import ProcessIO
import TestVectors
import Testing

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a line that was read prints nothing`() {
    let secret = PrintedForms.secret.bytes.withUnsafeBytes(SecretBytes.init(copying:))
    #expect(PrintedForms.leaks(of: SecretLine.Outcome.line(secret), PrintedForms.secret) == [])
  }
}
