// tutorial: begin
import CryptoPrimitives
import DeterministicKeys
import Recovery
// tutorial: end
import Testing

// tutorial: begin
func openVault(_ phrase: BIP39Phrase) throws -> OpenVault {
  let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
  return OpenVault(
    keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
}
// tutorial: end

@Test func `the tutorial of Recovery recovers a passkey`() throws {
  // tutorial: begin
  var typed = Array((String(repeating: "abandon ", count: 23) + "art").utf8)
  let phrase = try BIP39Phrase(parsing: SecretBytes(consuming: &typed))
  let first = try openVault(phrase)
  let second = try openVault(phrase)
  // tutorial: end
  #expect(typed.isEmpty && first.keys.fingerprint == second.keys.fingerprint)

  // tutorial: begin
  let registration = CredentialRegistration(
    rpID: "example.com", user: PublicKeyCredentialUserEntity(id: Array("alice".utf8), name: "Alice"),
    algorithm: .es256)
  let passkey = try first.makeDiscoverableCredential(registration, known: nil, now: 1_790_000_000_000)
  try first.save(passkey)
  // tutorial: end
  #expect(try first.store.credentialCount() == 1 && second.store.credentialCount() == 0)

  // tutorial: begin
  let recognised = try second.credentials(allowList: [passkey.id], rpID: "example.com", userVerified: false)
  let publicKey = try first.keys.privateKey(of: passkey).publicKey
  let isSameKey = try second.keys.privateKey(of: recognised[0]).publicKey == publicKey
  // tutorial: end
  #expect(recognised.count == 1 && recognised[0].provenance == .sealedID && isSameKey)
  #expect(try second.credentials(allowList: [passkey.id], rpID: "example.org", userVerified: false).isEmpty)

  // tutorial: begin
  try second.rememberUse(of: recognised[0], userPresent: true, userVerified: false, now: 1_790_000_060_000)
  let record = try second.store.credential(id: passkey.id, rpIDHash: RPIDHash(rpID: "example.com"))
  // tutorial: end
  #expect(record?.origin == .recovered && record?.userID == Array("alice".utf8) && record?.name == nil)

  // tutorial: begin
  let third = try openVault(phrase)
  let recovered = try third.recover(rpID: "example.com", userID: Array("alice".utf8), now: 1_790_000_120_000)
  // tutorial: end
  #expect(try third.keys.privateKey(of: recovered).publicKey == publicKey && recovered.id == publicKey.hashID)
}
