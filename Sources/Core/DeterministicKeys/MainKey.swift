public import CryptoPrimitives

/// The key (64 bytes) from which every passkey is derived (Recovery §1).
public enum MainKey {
  /// Bytes in a main key.
  public static let size = 64

  /// PBKDF2-HMAC-SHA512 of the phrase, salt "liquid", 210 000 iterations: some 80 ms.
  public static func derive(from phrase: BIP39Phrase) throws(CryptoError) -> SecretBytes {
    try derive(from: phrase, iterations: 210_000)
  }

  /// The same at another cost, for the vectors of deterministic-P256.
  package static func derive(from phrase: BIP39Phrase, iterations: Int) throws(CryptoError) -> SecretBytes {
    try PBKDF2SHA512.derive(password: phrase.utf8, salt: Array("liquid".utf8), iterations: iterations, count: size)
  }
}

/// A purpose with its own key (32 bytes), derived from the main key (Recovery §2).
public enum Subkey: String, CaseIterable, Sendable {
  /// Tags of the store's rows.
  case lookUp = "look-up"
  /// Sealing of the store's rows.
  case record
  /// MACs of the store's rows, whose sum the store keeps; an addition to the labels of Recovery §2.
  case rowSet = "row-set"
  /// Sealing of the store's history of ceremonies; an addition to the labels of Recovery §2.
  case history
  /// The nonces of sealed credential ids.
  case credentialIDNonce = "credential-id-nonce"
  /// Sealing of credential ids.
  case credentialIDSeal = "credential-id-seal"
  /// Private keys of credentials that are not deterministic-P256.
  case credentialKey = "credential-key"
  /// The random values of the `hmac-secret` extension.
  case hmacSecret = "hmac-secret"
  /// Keys for large blobs.
  case largeBlobKey = "large-blob-key"
  /// Sealing of the backup file.
  case backup
  /// Association keys of Keyri.
  case keyri
  /// The fingerprint of the phrase; see ``fingerprint(of:)``.
  case fingerprint

  /// HKDF-SHA-512 of the main key, salt "liquid-auth/keys/v1", the case's label as info.
  public func derive(from mainKey: SecretBytes) -> SecretBytes {
    HKDFSHA512.derive(key: mainKey, salt: Array("liquid-auth/keys/v1".utf8), info: Array(rawValue.utf8), count: 32)
  }

  /// Four bytes that distinguish phrases and reveal nothing of them; shown as 8 hexadecimal digits.
  public static func fingerprint(of mainKey: SecretBytes) -> [UInt8] {
    Subkey.fingerprint.derive(from: mainKey).withUnsafeBytes { Array($0.prefix(4)) }
  }
}

/// deterministic-P256: the keys that phone wallets derive too (Recovery §3).
///
/// These are the keys of discoverable ES256 passkeys: `origin` is the rp.id, and `userHandle` is what `userIDText(_:)`
/// of the target Recovery makes of user.id. An account's first passkey has counter 0.
/// `CredentialKeys.privateKey(_:rpID:)` of Recovery derives the keys of all passkeys, from what
/// `CredentialKeys.open(sealedID:rpIDHash:)` finds in an id.
public enum DeterministicP256 {
  /// The private scalar: the first 32 bytes of SHA-512(mainKey ‖ origin ‖ userHandle ‖ BE32(counter)), used as they
  /// are.
  ///
  /// Nothing separates origin from handle, so ("example.com", "alice") and ("example.co", "malice") are one key. Both
  /// are bytes: a `String` that compares or normalises would find another key.
  /// - Throws: ``/CryptoPrimitives/CryptoError/scalarOutOfRange`` for one digest in 2^32; take the next counter then.
  public static func scalar(
    mainKey: SecretBytes, origin: [UInt8], userHandle: [UInt8], counter: UInt32
  ) throws(CryptoError) -> SecretBytes {
    let bigEndianCounter = withUnsafeBytes(of: counter.bigEndian) { Array($0) }
    return try inRange(
      SHA512.deriveSecret(mainKey, origin + userHandle + bigEndianCounter, count: P256.fieldSize))
  }

  /// The private key of that scalar.
  ///
  /// - Throws: as ``scalar(mainKey:origin:userHandle:counter:)``.
  public static func privateKey(
    mainKey: SecretBytes, origin: [UInt8], userHandle: [UInt8], counter: UInt32
  ) throws(CryptoError) -> P256.PrivateKey {
    try P256.PrivateKey(
      scalar: scalar(mainKey: mainKey, origin: origin, userHandle: userHandle, counter: counter))
  }

  /// Returns the scalar unchanged if it is in range.
  ///
  /// Not reduced and not replaced: every wallet must derive the same key, or none.
  package static func inRange(_ scalar: SecretBytes) throws(CryptoError) -> SecretBytes {
    guard P256.isValidScalar(scalar) else { throw .scalarOutOfRange }
    return scalar
  }
}
