import CBOR
import ControlProtocol
import CryptoPrimitives
import TestVectors
import Testing

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `requests and answers with secrets print nothing of them`() throws {
    let bytes = Hex(PrintedForms.secret.bytes.prefix(32))
    let secret = bytes.bytes.withUnsafeBytes(SecretBytes.init(copying:))
    let change = ChangeCounter.Change.on(index: 1, auth: secret, value: 2)
    let values: [Any] = [
      SetPIN(secret), Unlock(secret), NewStore(secret), AcceptStore(secret), BeginRotation(secret),
      SealSlot(key: secret, protector: [1: 2]), ImportPasskeys(offset: 0, size: 32, fragment: secret),
      ExportPasskeys.Answer(secrets: secret, passkeys: [], total: 0, next: nil), change, KeepTrezorKeys(secret),
      KeepPairing(origin: "o", rpID: "r", pairingID: "p", credential: secret),
      GetPairing.Answer(origin: "o", pairingID: "p", credential: secret),
    ]
    for value in values { #expect(PrintedForms.leaks(of: value, bytes) == [], "\(type(of: value))") }
  }
}
