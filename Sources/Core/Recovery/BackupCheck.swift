import CBOR
import CryptoPrimitives
import DeterministicKeys

/// Makes the digests by which two stores are compared without their secrets (Recovery §9).
public struct StoreDigests: Sendable {
  /// Bytes in a challenge.
  public static let challengeSize = 32
  /// Bytes in a digest.
  public static let size = 16

  private let keys: CredentialKeys
  private let challenge: SecretBytes

  /// - Parameters:
  ///   - keys: those of the store's phrase.
  ///   - challenge: 32 random bytes, the same for both stores.
  public init(keys: CredentialKeys, challenge: [UInt8]) {
    self.keys = keys
    self.challenge = challenge.withUnsafeBytes(SecretBytes.init(copying:))
  }

  /// The digest of the phrase: equal for two stores of one phrase, also if they are empty.
  public var ofPhrase: [UInt8] { digest(keys[.credentialKey].withUnsafeBytes { Array($0) }) }

  /// The digests of a record or tombstone; derives the record's keys.
  ///
  /// - Throws: `key` for a record whose private key cannot be used.
  public func digest(of account: StoredAccount) throws(RecoveryError) -> AccountDigest {
    AccountDigest(
      accountTag: account.accountTag, counter: account.entry.counter, changed: account.entry.changed,
      content: digest(account.entry.plaintext), record: try account.entry.record.map(digest))
  }

  /// The digests of all entries of a store, which nothing else may change meanwhile; in the order of their tags.
  ///
  /// - Throws: as ``digest(of:)``, or `store`.
  public func digests(of store: any CredentialStore) throws(RecoveryError) -> [AccountDigest] {
    var accounts: [AccountDigest] = []
    while case let page = try store.entries(after: accounts.last?.accountTag, count: BackupMerge.storePageSize),
      !page.isEmpty
    {
      for account in page { accounts.append(try digest(of: account)) }
    }
    return accounts
  }

  private func digest(of record: CredentialSource) throws(RecoveryError) -> AccountDigest.Record {
    let publicKey: [UInt8]
    do { publicKey = try keys.privateKey(of: record).publicKey.bytes } catch {
      throw RecoveryError(.key, "a private key cannot be used: \(error)")
    }
    let (rpIDHash, credential) = (record.rpIDHash, Credential(record: record))
    let secrets = [
      keys.credRandom(of: credential, userVerified: false),
      keys.credRandom(of: credential, userVerified: true),
      keys.largeBlobKey(rpIDHash, id: record.id),
    ]
    var message: [UInt8] = []
    // It does not move, so that no copy of a secret stays.
    message.reserveCapacity(publicKey.count + secrets.count * 32)
    message += publicKey
    for secret in secrets { secret.withUnsafeBytes { message += $0 } }
    return AccountDigest.Record(keys: digest(message), isImported: !record.isDerivable, name: PasskeyName(record))
  }

  /// The digests of the entries of a large-blob array; that of the whole array if it is not CBOR.
  public func digests(ofLargeBlobs array: [UInt8]?) -> [[UInt8]] {
    guard let array, array != SerializedLargeBlobs.initial else { return [] }
    guard let entries = SerializedLargeBlobs.entries(of: array) else { return [digest(array)] }
    return entries.map { digest(CBOREncoder.encode($0)) }
  }

  /// LEFT(HMAC-SHA-256(challenge, message), 16); wipes the message.
  private func digest(_ message: consuming [UInt8]) -> [UInt8] {
    defer { wipe(&message) }
    return Array(HMACSHA256.authenticate(message, key: challenge).prefix(Self.size))
  }

  /// Whether the id of a record is one that the phrase gives for its key: a hash id, or a sealed id of the same passkey.
  ///
  /// The policy in a sealed id is that of the registration, which the owner may have changed since.
  func derivesID(of record: CredentialSource) -> Bool {
    guard record.isDerivable else { return false }
    if let parameters = keys.open(sealedID: record.id, rpIDHash: record.rpIDHash) {
      return parameters.userID == record.userID && parameters.counter == record.counter
        && parameters.algorithm == record.algorithm
    }
    return (try? keys.privateKey(of: record).publicKey.hashID) == record.id
  }
}

/// The digests of one account's entry, and what says which of two entries is newer.
public struct AccountDigest: Sendable, Equatable {
  /// 32 bytes.
  public let accountTag: [UInt8]
  public let counter: UInt32
  /// Unix milliseconds.
  public let changed: UInt64
  /// Of the plaintext, 16 bytes.
  public let content: [UInt8]
  /// `nil` for a tombstone.
  public let record: Record?

  public struct Record: Sendable, Equatable {
    /// Of the public key, both CredRandoms and the largeBlobKey, 16 bytes.
    public let keys: [UInt8]
    /// Whether the phrase does not give the private key.
    public let isImported: Bool
    public let name: PasskeyName

    public init(keys: [UInt8], isImported: Bool, name: PasskeyName) {
      (self.keys, self.isImported, self.name) = (keys, isImported, name)
    }
  }

  public init(accountTag: [UInt8], counter: UInt32, changed: UInt64, content: [UInt8], record: Record?) {
    (self.accountTag, self.counter, self.changed) = (accountTag, counter, changed)
    (self.content, self.record) = (content, record)
  }
}

/// What a store would lose if only the backup were left.
public struct BackupCheckReport: Sendable, Equatable {
  /// Passkeys that are equal in both, with the same keys and secrets.
  public private(set) var same = 0
  /// Passkeys whose entry in the backup is newer; an imported one only with the same key.
  public private(set) var newer = 0
  /// Passkeys that the backup does not have, or imported ones whose key it does not have.
  public private(set) var missing: [PasskeyName] = []
  /// Passkeys that the backup has removed, so that a restore would remove them.
  public private(set) var removed: [PasskeyName] = []
  /// Passkeys whose entry in the backup is older, or another one of the same age.
  public private(set) var older: [PasskeyName] = []
  /// Passkeys that are equal in both, but with another key or secret: the derivation has a fault.
  public private(set) var otherKeys: [PasskeyName] = []
  /// Passkeys among the equal ones that are imported, or whose id is not derived: only their bytes are compared.
  public private(set) var onlyBytes = 0
  /// Removals that the backup does not have; it may still have the passkey.
  public private(set) var missingRemovals = 0
  /// Passkeys that only the backup has.
  public private(set) var onlyInBackup = 0
  /// Large blobs that the backup does not have.
  public private(set) var missingLargeBlobs = 0
  /// Large blobs that only the backup has.
  public private(set) var onlyInBackupLargeBlobs = 0

  /// The number of passkeys of the store.
  public var passkeys: Int { same + newer + missing.count + removed.count + older.count + otherKeys.count }

  /// Whether the store would lose nothing.
  public var isComplete: Bool {
    missing.isEmpty && removed.isEmpty && older.isEmpty && otherKeys.isEmpty && missingLargeBlobs == 0
  }

  /// Compares a store with another one that was filled from the backup.
  ///
  /// - Parameters:
  ///   - accounts: the digests of the store's entries, each account once.
  ///   - largeBlobs: those of its large blobs.
  ///   - backup: the store that was filled.
  ///   - digests: makes the digests of that store, with the same challenge.
  public init(
    of accounts: [AccountDigest], largeBlobs: [[UInt8]], in backup: any CredentialStore, digests: StoreDigests
  ) throws(RecoveryError) {
    onlyInBackup = try backup.credentialCount()
    for account in accounts {
      try compare(account, with: backup.entry(accountTag: account.accountTag), digests)
    }
    let saved = Set(try digests.digests(ofLargeBlobs: backup.largeBlobArray()))
    missingLargeBlobs = Set(largeBlobs).subtracting(saved).count
    onlyInBackupLargeBlobs = saved.subtracting(largeBlobs).count
  }

  private mutating func compare(
    _ account: AccountDigest, with entry: AccountEntry?, _ digests: StoreDigests
  ) throws(RecoveryError) {
    let isNewer = entry.map { ($0.counter, $0.changed) > (account.counter, account.changed) } ?? false
    guard let record = account.record else {
      guard !isNewer else { return }
      if entry?.record != nil { onlyInBackup -= 1 }
      if entry?.isTombstone != true || entry?.counter != account.counter { missingRemovals += 1 }
      return
    }
    guard let entry, let theirs = entry.record else {
      // A tombstone of the same time wins.
      let isOlder = entry.map { ($0.counter, $0.changed) < (account.counter, account.changed) } ?? true
      if isOlder { missing.append(record.name) } else { removed.append(record.name) }
      return
    }
    onlyInBackup -= 1
    let saved = try digests.digest(of: StoredAccount(accountTag: account.accountTag, entry: entry))
    guard saved.content == account.content else {
      if record.isImported, saved.record?.keys != record.keys {
        missing.append(record.name)
      } else if isNewer {
        newer += 1
      } else {
        older.append(record.name)
      }
      return
    }
    guard saved.record?.keys == record.keys else {
      otherKeys.append(record.name)
      return
    }
    same += 1
    if !digests.derivesID(of: theirs) { onlyBytes += 1 }
  }
}
