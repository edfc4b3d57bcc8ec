public import CryptoPrimitives

/// The key (64 bytes) that every passkey comes from (Recovery §1).
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

/// A purpose that the main key has a key (32 bytes) of its own for (Recovery §2).
public enum Subkey: String, CaseIterable, Sendable {
  /// Tags of the store's rows.
  case lookUp = "look-up"
  /// Sealing of the store's rows.
  case record
  /// MACs of the store's rows, of which the store keeps the sum; ours, beside those of Recovery §2.
  case rowSet = "row-set"
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
  /// Which phrase this is; see ``fingerprint(of:)``.
  case fingerprint

  /// HKDF-SHA-512 of the main key, salt "liquid-auth/keys/v1", the case's label as info.
  public func derive(from mainKey: SecretBytes) -> SecretBytes {
    HKDFSHA512.derive(key: mainKey, salt: Array("liquid-auth/keys/v1".utf8), info: Array(rawValue.utf8), count: 32)
  }

  /// Four bytes that tell phrases apart and tell nothing of them; shown as 8 hexadecimal digits.
  public static func fingerprint(of mainKey: SecretBytes) -> [UInt8] {
    Subkey.fingerprint.derive(from: mainKey).withUnsafeBytes { Array($0.prefix(4)) }
  }
}
