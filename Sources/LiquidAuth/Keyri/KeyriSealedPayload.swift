import CryptoPrimitives

/// What a browser gets in the answer to its login, readable by that browser alone: `browserData` on the wire.
///
/// ECDH of a fresh P-256 key with the browser's, HKDF-SHA-256 (no info) and AES-256-GCM (no additional data); key, salt
/// and nonce serve once.
struct KeyriSealedPayload: Encodable, Equatable {
  /// Random bytes in the salt.
  ///
  /// The field on the wire takes any number; phones send a decimal number of up to four digits.
  static let saltSize = 32

  /// The fresh public key, X ‖ Y.
  let publicKey: String
  /// Cipher text ‖ tag.
  let ciphertext: String
  /// What HKDF takes as its salt.
  let salt: String
  /// The nonce of AES-GCM, 12 bytes.
  let iv: String

  /// Seals; all members are in base64.
  init(_ payload: [UInt8], for browserKey: P256.PublicKey, chance: KeyriChance) throws(CryptoError) {
    let ephemeral = try chance.key()
    let (salt, nonce) = (chance.bytes(Self.saltSize), chance.bytes(AESGCM.nonceSize))
    let secret = try ephemeral.sharedSecret(with: browserKey)
    let key = HKDFSHA256.derive(key: secret, salt: salt, info: [], count: AESGCM.keySize)
    publicKey = Base64.encode(ephemeral.publicKey.raw)
    ciphertext = Base64.encode(try AESGCM.seal(payload, key: key, nonce: nonce, ad: []))
    self.salt = Base64.encode(salt)
    iv = Base64.encode(nonce)
  }
}
