import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import PasskeyFiles

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a passkey of an export prints nothing of its secrets`() throws {
    let secret = Hex(PrintedForms.secret.bytes.prefix(32))
    let record = try CredentialSource.imported(
      rpID: "example.com", userID: [1], name: nil, displayName: nil, id: [UInt8](repeating: 2, count: 16),
      algorithm: .edDSA, created: 1, key: secret.secret)
    let passkey = PasskeyExportFile.Passkey(record: record, credRandoms: (secret.secret, secret.secret))
    #expect(PrintedForms.leaks(of: passkey, secret) == [])
  }

  @Test func `a passkey of a file prints neither its private key nor its CredRandoms`() {
    let (secret, both) = (Hex(PrintedForms.secret.bytes.prefix(32)), Hex(PrintedForms.secret.bytes.prefix(64)))
    let passkey = FoundPasskey(
      rpID: "example.com", userID: [1], id: [2], created: 1, key: (.edDSA, secret.secret), credRandoms: both.secret)
    #expect(PrintedForms.leaks(of: passkey, secret, both) == [])
  }
}
