import CryptoPrimitives
import TestVectors
import Testing

@testable import DeterministicKeysTests
@testable import SLIP39

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  private static let secret = Hex(PrintedForms.secret.bytes.prefix(32))

  @Test func `a share prints neither its words nor its value`() {
    let share = Share.made(value: Self.secret.bytes)
    #expect(PrintedForms.leaks(of: share, Self.secret, share.utf8.revealed) == [])
  }

  @Test func `parts of the scheme print nothing of secrets`() {
    let secret = SecretBytes(Self.secret.bytes)
    #expect(PrintedForms.leaks(of: SecretSharing.Point(index: 1, value: secret), Self.secret) == [])
    let cipher = MasterSecretCipher(identifier: 1, isExtendable: false, iterationExponent: 0, passphrase: secret)
    #expect(PrintedForms.leaks(of: cipher, Self.secret) == [])
  }
}
