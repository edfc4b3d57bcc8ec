import CryptoPrimitives
import ProtectorProtocol
import TestVectors
import Testing

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `requests with a PIN and answers with a key print nothing of them`() {
    let bytes = Hex(PrintedForms.secret.bytes.prefix(32))
    let secret = bytes.bytes.withUnsafeBytes(SecretBytes.init(copying:))
    let values: [Any] = [
      ProtectorRequest(.get, type: 2, data: [1, 2, 3], pin: secret), ProtectorAnswer(key: secret, data: [1, 2, 3]),
    ]
    for value in values { #expect(PrintedForms.leaks(of: value, bytes) == [], "\(type(of: value))") }
  }
}
