// tutorial: begin
import CryptoPrimitives
// tutorial: end
import Testing

@Test func `the tutorial of CryptoPrimitives signs, verifies and seals`() throws {
  // tutorial: begin
  let key = try P256.PrivateKey.random()
  let message = Array("sign me".utf8)
  let signature = try key.signature(for: message)
  // tutorial: end

  // tutorial: begin
  let publicKey = try P256.PublicKey(x: key.publicKey.x, y: key.publicKey.y)
  let isValid = publicKey.isValidSignature(signature, for: message)
  let isForged = publicKey.isValidSignature(signature, for: Array("sign you".utf8))
  // tutorial: end
  #expect(isValid && !isForged)

  // tutorial: begin
  var typed = Array("correct horse battery staple".utf8)
  let passphrase = SecretBytes(consuming: &typed)
  print(passphrase)
  // tutorial: end
  #expect(typed.isEmpty && "\(passphrase)" == "SecretBytes(28)")

  // tutorial: begin
  let salt = randomBytes(Argon2id.saltSize)
  let sealingKey = try Argon2id.derive(
    passphrase: passphrase, salt: salt, opsLimit: 3, memLimit: 64 << 20, count: XChaCha20Poly1305.keySize)
  // tutorial: end
  #expect(sealingKey.count == 32)

  // tutorial: begin
  let secret = SecretBytes.random(count: 32)
  let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
  let context = Array("my file, version 1".utf8)
  let sealed = try XChaCha20Poly1305.sealSecret(secret, key: sealingKey, nonce: nonce, ad: context)
  let opened = try XChaCha20Poly1305.openSecret(sealed, key: sealingKey, nonce: nonce, ad: context)
  let isSame = opened.isEqual(to: secret)
  // tutorial: end
  #expect(isSame)

  // tutorial: begin
  do throws(CryptoError) {
    _ = try XChaCha20Poly1305.openSecret(sealed, key: sealingKey, nonce: nonce, ad: [])
    Issue.record("opened")
  } catch {
    print(error)
    #expect(error == .authenticationFailed)
  }
  // tutorial: end
}
