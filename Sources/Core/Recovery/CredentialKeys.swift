public import CryptoPrimitives
import DeterministicKeys

/// The keys that are derived from the main key: Recovery §2.
///
/// The subkeys are derived once and stay in locked memory for as long as the vault is open.
public struct CredentialKeys: Sendable {
  /// Only deterministic P-256 uses the main key itself (Recovery §3).
  let mainKey: SecretBytes
  private let subkeys: [Subkey: SecretBytes]
  /// HMAC keys, prepared once because every ceremony uses them.
  private let macKeys: [Subkey: HMACSHA512.Key]

  /// Derives the subkeys of a main key (64 bytes).
  public init(mainKey: SecretBytes) {
    self.mainKey = mainKey
    let subkeys = Dictionary(uniqueKeysWithValues: Subkey.allCases.map { ($0, $0.derive(from: mainKey)) })
    self.subkeys = subkeys
    macKeys = subkeys.filter { [.lookUp, .rowSet, .credentialKey].contains($0.key) }.mapValues(HMACSHA512.Key.init)
  }

  /// The subkey of a purpose, 32 bytes.
  subscript(purpose: Subkey) -> SecretBytes { subkeys[purpose] ?? purpose.derive(from: mainKey) }

  /// `mac(label, message)` of Recovery §2, for a result that is not secret.
  func mac(_ purpose: Subkey, _ message: [UInt8]) -> [UInt8] {
    Array(macKey(purpose).authenticate(message).prefix(32))
  }

  /// `mac(label, message)` of Recovery §2, for a secret result.
  func secret(_ purpose: Subkey, _ message: [UInt8]) -> SecretBytes {
    macKey(purpose).deriveSecret(message, count: 32)
  }

  private func macKey(_ purpose: Subkey) -> HMACSHA512.Key { macKeys[purpose] ?? HMACSHA512.Key(self[purpose]) }

  /// Whether this is the main key; for a command of the owner that typed the phrase again.
  public func isDerived(from mainKey: SecretBytes) -> Bool { self.mainKey.isEqual(to: mainKey) }

  /// The fingerprint of the phrase: 4 bytes, shown as 8 hex digits.
  public var fingerprint: [UInt8] {
    self[.fingerprint].withUnsafeBytes { Array($0.prefix(4)) }
  }
}

// MARK: - Tags of the store, Recovery §6

extension CredentialKeys {
  /// Bytes in a tag.
  package static let tagSize = 32

  /// The tag (32 bytes) of all records of a relying party.
  public func rpTag(_ rpIDHash: RPIDHash) -> [UInt8] { mac(.lookUp, [1] + rpIDHash.bytes) }

  /// The tag (32 bytes) of an account: the primary key of the store.
  public func accountTag(_ rpIDHash: RPIDHash, userID: [UInt8]) -> [UInt8] {
    mac(.lookUp, [2] + rpIDHash.bytes + userID)
  }

  /// The tag (32 bytes) of an imported passkey: the primary key of its record and its tombstone.
  ///
  /// An imported passkey has an entry of its own, so that it and the derived passkey of the same account never replace
  /// each other.
  public func importedTag(_ rpIDHash: RPIDHash, id: [UInt8]) -> [UInt8] { mac(.lookUp, [5] + rpIDHash.bytes + id) }

  /// The tag (32 bytes) under which a record is stored: that of its account, or of the imported passkey.
  public func accountTag(of source: CredentialSource) -> [UInt8] {
    source.isDerivable
      ? accountTag(source.rpIDHash, userID: source.userID) : importedTag(source.rpIDHash, id: source.id)
  }

  /// The tag (32 bytes) of a credential id at a relying party.
  public func credentialTag(_ rpIDHash: RPIDHash, id: [UInt8]) -> [UInt8] { mac(.lookUp, [3] + rpIDHash.bytes + id) }

  /// The tag (32 bytes) of a public key: X ‖ Y, or the 32 bytes of EdDSA.
  public func keyTag(publicKey: [UInt8]) -> [UInt8] { mac(.lookUp, [4] + publicKey) }
}

// MARK: - Secrets that belong to a credential, Recovery §5

extension CredentialKeys {
  /// CredRandomWithUV or CredRandomWithoutUV (32 bytes) of hmac-secret: CTAP §12.7.
  public func credRandom(_ rpIDHash: RPIDHash, id: [UInt8], userVerified: Bool) -> SecretBytes {
    secret(.hmacSecret, [userVerified ? 1 : 0] + rpIDHash.bytes + id)
  }

  /// A CredRandom (32 bytes) of a credential: from the record of an imported passkey if it has them, otherwise derived.
  public func credRandom(of credential: Credential, userVerified: Bool) -> SecretBytes {
    if let secret = credential.slip22CredRandom { return secret }
    guard let both = credential.record?.credRandoms else {
      return credRandom(credential.rpIDHash, id: credential.id, userVerified: userVerified)
    }
    return both.withUnsafeBytes { both in
      let half = both.count / 2
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: userVerified ? both[half...] : both[..<half]))
    }
  }

  /// CredRandomWithoutUV ‖ CredRandomWithUV (64 bytes) of a passkey: from its record if it has them, otherwise derived.
  func credRandoms(of record: CredentialSource) -> SecretBytes {
    record.credRandoms ?? credRandoms(record.rpIDHash, id: record.id)
  }

  /// CredRandomWithoutUV ‖ CredRandomWithUV (64 bytes), derived.
  func credRandoms(_ rpIDHash: RPIDHash, id: [UInt8]) -> SecretBytes {
    let parts = [false, true].map { credRandom(rpIDHash, id: id, userVerified: $0) }
    return SecretBytes(count: CredentialSource.credRandomsSize) { buffer in
      var end = 0
      for part in parts {
        part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[end...]).copyMemory(from: $0) }
        end += part.count
      }
    }
  }

  /// The largeBlobKey (32 bytes), for credentials registered with the extension: CTAP §12.3.
  public func largeBlobKey(_ rpIDHash: RPIDHash, id: [UInt8]) -> SecretBytes {
    secret(.largeBlobKey, rpIDHash.bytes + id)
  }
}
