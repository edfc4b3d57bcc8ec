public import CryptoPrimitives
public import Recovery

/// The user's consent to the export of some passkeys, and the only way to get their private keys.
///
/// Only `agreement(toExportOf:from:)` of ``Authenticator`` makes one.
public struct PasskeyExport: Sendable {
  /// The accountTag (32 bytes) of each passkey, the newest first.
  public let accountTags: [[UInt8]]
  private let agreed: Set<[UInt8]>

  init(of accountTags: [[UInt8]], consent: consuming UserConsent) {
    (self.accountTags, agreed) = (accountTags, Set(accountTags))
  }

  /// Bytes of each secret.
  private static let size = 32

  /// The secrets of passkeys: for each, in order, its private key (a P-256 scalar or an Ed25519 seed), CredRandomWithUV
  /// and CredRandomWithoutUV (CTAP §12.7), 32 bytes each.
  ///
  /// - Parameters:
  ///   - records: at least one.
  ///   - keys: those of the store's phrase.
  /// - Throws: `key` if the user did not agree to the export of a passkey, or its key cannot be derived.
  public func secrets(of records: [CredentialSource], keys: CredentialKeys) throws(RecoveryError) -> SecretBytes {
    try SecretBytes(count: records.count * 3 * Self.size) { (output) throws(RecoveryError) in
      for (index, record) in records.enumerated() {
        guard agreed.contains(keys.accountTag(of: record)) else {
          throw RecoveryError(.key, "the user did not agree to the export of this passkey")
        }
        let key: SecretBytes
        do throws(CryptoError) { key = try keys.privateKey(of: record).secret } catch {
          throw RecoveryError(.key, "the key of a passkey cannot be used: \(error)")
        }
        let credential = Credential(record: record)
        for (place, secret) in [
          key, keys.credRandom(of: credential, userVerified: true),
          keys.credRandom(of: credential, userVerified: false),
        ].enumerated() {
          let start = (3 * index + place) * Self.size
          secret.withUnsafeBytes { secret in
            UnsafeMutableRawBufferPointer(rebasing: output[start..<start + Self.size]).copyMemory(from: secret)
          }
        }
      }
    }
  }
}

extension CredentialPrivateKey {
  /// The scalar or the seed, 32 bytes.
  fileprivate var secret: SecretBytes {
    switch key {
    case .es256(let key): key.scalar
    case .edDSA(let key): key.seed
    }
  }
}
