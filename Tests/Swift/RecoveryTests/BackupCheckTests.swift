import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The check of a backup: Recovery §9.
@Suite struct BackupCheckTests {
  private let live: Machine
  private let digests: StoreDigests
  private static let challenge: [UInt8] = Array(0..<32)

  init() throws {
    live = try Machine()
    digests = StoreDigests(keys: live.vault.keys, challenge: Self.challenge)
  }

  /// A store with the entries of the live one.
  private func backup() throws -> InMemoryCredentialStore {
    let store = InMemoryCredentialStore(keys: live.vault.keys)
    _ = try BackupMerge(
      BackupReader(
        file: BackupWriter.file(of: live.store, keys: live.vault.keys, nonce: [UInt8](repeating: 5, count: 24)).file,
        keys: live.vault.keys),
      now: 5
    ).run(on: store)
    return store
  }

  private func report(
    of accounts: [AccountDigest]? = nil, in backup: InMemoryCredentialStore
  ) throws -> BackupCheckReport {
    let accounts = try accounts ?? digests.digests(of: live.store)
    return try BackupCheckReport(
      of: accounts, largeBlobs: digests.digests(ofLargeBlobs: live.store.largeBlobArray()), in: backup,
      digests: digests)
  }

  private func imported(_ key: UInt8) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: "imported.example", userID: [9], name: "zoe", id: [9], algorithm: .es256, counter: 0, created: 1,
        changed: UInt64(key), origin: .imported, importedKey: Hex([UInt8](repeating: key, count: 32)).secret))
  }

  /// LEFT(HMAC-SHA-256(challenge, message), 16), as the contract writes it.
  private func mac(_ message: [UInt8]) -> [UInt8] {
    Array(HMACSHA256.authenticate(message, key: Hex(Self.challenge).secret).prefix(16))
  }

  // Holds: BACKUP-8
  @Test func `a digest has the contract's bytes`() throws {
    let record = try live.register("alice")
    let keys = live.vault.keys
    let stored = try #require(try live.store.entries(after: nil, count: 1).first)
    let publicKey = try keys.privateKey(of: record).publicKey.bytes
    let secrets =
      [false, true].map { keys.credRandom(record.rpIDHash, id: record.id, userVerified: $0) }
      + [keys.largeBlobKey(record.rpIDHash, id: record.id)]
    let message = publicKey + secrets.flatMap { $0.withUnsafeBytes { Array($0) } }
    #expect(message.count == 160)
    #expect(
      try digests.digest(of: stored)
        == AccountDigest(
          accountTag: keys.accountTag(record.rpIDHash, userID: record.userID), counter: 0, changed: 1000,
          content: mac(stored.entry.plaintext),
          record: .init(
            keys: mac(message), isImported: false, name: PasskeyName(rpID: "example.com", name: "name of alice"))))
    let tombstone = StoredAccount(accountTag: stored.accountTag, entry: .tombstone(counter: 2, changed: 3))
    #expect(
      try digests.digest(of: tombstone)
        == AccountDigest(
          accountTag: stored.accountTag, counter: 2, changed: 3, content: mac([0xA2, 7, 2, 10, 3]), record: nil))
    #expect(digests.ofPhrase == mac(keys[.credentialKey].withUnsafeBytes { Array($0) }))
  }

  // Holds: ROTATE-11
  @Test func `the digest of an imported passkey has the CredRandoms of its record`() throws {
    let keys = live.vault.keys
    let (plain, other) = (try imported(3), CredentialKeys(mainKey: .random(count: 64)))
    let kept = plain.keepingCredRandoms(of: other)
    let message = { (credRandoms: CredentialKeys) in
      let secrets =
        [false, true].map { credRandoms.credRandom(plain.rpIDHash, id: plain.id, userVerified: $0) }
        + [keys.largeBlobKey(plain.rpIDHash, id: plain.id)]
      return try keys.privateKey(of: plain).publicKey.bytes + secrets.flatMap { $0.withUnsafeBytes { Array($0) } }
    }
    let digest = { (passkey: CredentialSource) in
      try digests.digest(of: StoredAccount(accountTag: keys.accountTag(of: passkey), entry: .record(passkey))).record
    }
    #expect(try digest(kept)?.keys == mac(message(other)))
    #expect(try digest(plain)?.keys == mac(message(keys)))
    try live.store.save(kept, state: nil)
    #expect(try report(in: backup()).isComplete)
    let without = InMemoryCredentialStore(keys: keys)
    try without.save(plain, state: nil)
    #expect(try report(in: without).isComplete == false)
  }

  // Holds: BACKUP-8
  @Test func `another challenge or another phrase gives other digests`() throws {
    try live.register("alice")
    let stored = try #require(try live.store.entries(after: nil, count: 1).first)
    let digest = try digests.digest(of: stored)
    let others = [
      StoreDigests(keys: live.vault.keys, challenge: [UInt8](repeating: 1, count: 32)),
      StoreDigests(keys: CredentialKeys(mainKey: SecretBytes.random(count: 64)), challenge: Self.challenge),
    ]
    for other in others {
      let theirs = try other.digest(of: stored)
      #expect(theirs.record?.keys != digest.record?.keys && other.ofPhrase != digests.ofPhrase)
    }
  }

  // Holds: BACKUP-8
  @Test func `a store that is the same loses nothing`() throws {
    try live.register("alice")
    try live.register("bob", algorithm: .edDSA)
    try live.vault.remove(live.register("gone"), now: 2000)
    let report = try report(in: backup())
    #expect(report.isComplete && report.passkeys == 2 && report.same == 2)
    #expect(report.onlyBytes == 0 && report.missingRemovals == 0 && report.onlyInBackup == 0)
    let empty = try BackupCheckReport(
      of: [], largeBlobs: [], in: InMemoryCredentialStore(keys: live.vault.keys), digests: digests)
    #expect(empty.isComplete && empty.passkeys == 0)
  }

  // Holds: BACKUP-8
  @Test func `each difference is named or counted`() throws {
    let renamed = try live.register("renamed")
    try live.register("again")
    let removed = try live.register("removed")
    let newer = try live.register("newer")
    let backup = try backup()
    try live.vault.rename(renamed, name: "new name", displayName: nil, now: 2000)
    try live.register("again", now: 3000)
    try live.vault.remove(removed, now: 2000)
    try live.register("late", at: "late.example")
    var changed = newer
    changed.rename(name: "newer", displayName: nil, now: 4000)
    try backup.save(changed, state: nil)
    try backup.save(imported(3), state: nil)

    let report = try report(in: backup)
    let name = { (rpID: String, name: String) in PasskeyName(rpID: rpID, name: name) }
    #expect(!report.isComplete && report.passkeys == 4 && report.same == 0)
    #expect(report.missing == [name("late.example", "name of late")])
    #expect(
      Set(report.older.map(\.name)) == ["new name", "name of again"] && report.older.count == 2
        && report.otherKeys.isEmpty)
    #expect(report.newer == 1 && report.missingRemovals == 1 && report.onlyInBackup == 1)
  }

  // Holds: BACKUP-8
  @Test func `a passkey that is removed only in the backup is named`() throws {
    let alice = try live.register("alice")
    let backup = try backup()
    try backup.remove(alice, changed: 2000)
    let gone = try report(in: backup)
    #expect(gone.removed == [PasskeyName(rpID: "example.com", name: "name of alice")] && !gone.isComplete)
    #expect(gone.missing.isEmpty && gone.passkeys == 1)
    try live.vault.remove(alice, now: 3000)
    let removed = try report(in: backup)
    #expect(removed.isComplete && removed.missingRemovals == 0 && removed.passkeys == 0)
    // Registered again on another machine since.
    var again = alice
    again.rename(name: "again", displayName: nil, now: 4000)
    try backup.save(again, state: nil)
    let only = try report(in: backup)
    #expect(only.isComplete && only.missingRemovals == 0 && only.onlyInBackup == 1)
  }

  // Holds: BACKUP-8
  @Test func `two entries of the same age are not the same`() throws {
    let alice = try live.register("alice")
    let backup = try backup()
    var other = alice
    other.rename(name: "other", displayName: nil, now: alice.changed)
    try backup.save(other, state: nil)
    #expect(try report(in: backup).older.count == 1)
  }

  // Holds: BACKUP-8
  @Test func `equal entries with other keys are a fault`() throws {
    try live.register("alice")
    let backup = try backup()
    let digest = try digests.digest(of: try #require(try live.store.entries(after: nil, count: 1).first))
    let record = try #require(digest.record)
    let wrong = AccountDigest(
      accountTag: digest.accountTag, counter: digest.counter, changed: digest.changed, content: digest.content,
      record: .init(keys: mac([1]), isImported: false, name: record.name))
    let report = try report(of: [wrong], in: backup)
    #expect(!report.isComplete && report.otherKeys == [record.name] && report.same == 0)
  }

  // Holds: BACKUP-8
  @Test func `imported keys and ids that are not derived are compared by their bytes`() throws {
    try live.register("sealed")
    try live.store.save(imported(3), state: nil)
    // The owner may change the policy after the registration; a sealed id keeps the one from before.
    var relaxed = try live.register("relaxed")
    relaxed.policy = CredentialPolicy(credProtect: .userVerificationRequired)
    try live.store.save(relaxed, state: nil)
    let hash = try live.vault.recover(rpID: "hash.example", userID: [1], now: 5)
    #expect(hash.id.count == CredentialID.hashLength)
    let foreign = try #require(
      CredentialSource(
        rpID: "foreign.example", userID: [1], id: [1, 2, 3], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .registered))
    try live.store.save(foreign, state: nil)
    let same = try report(in: backup())
    #expect(same.isComplete && same.same == 5 && same.onlyBytes == 2)

    let backup = try backup()
    try live.store.save(imported(4), state: nil)
    #expect(try report(in: backup).missing == [PasskeyName(rpID: "imported.example", name: "zoe")])
  }

  // Holds: BACKUP-8
  @Test func `an imported passkey whose key is not in the backup is missing, also if the entry there is newer`() throws
  {
    try live.store.save(imported(3), state: nil)
    for (key, name, missing) in [(4, "zoe", 1), (3, "new name", 0)] as [(UInt8, String, Int)] {
      let backup = InMemoryCredentialStore(keys: live.vault.keys)
      try backup.save(
        try #require(
          CredentialSource(
            rpID: "imported.example", userID: [9], name: name, id: [9], algorithm: .es256, counter: 0, created: 1,
            changed: 9, origin: .imported, importedKey: Hex([UInt8](repeating: key, count: 32)).secret)), state: nil)
      let report = try report(in: backup)
      #expect(report.missing.count == missing && report.newer == 1 - missing && report.isComplete == (missing == 0))
    }
  }

  // Holds: BACKUP-8, IMPORT-1
  @Test func `an imported passkey that was removed in the backup is named, and a derived one changes nothing`() throws {
    try live.store.save(imported(3), state: nil)
    let backup = try backup()
    let account = CredentialSource(
      rpID: "imported.example", userID: [9], id: [8], algorithm: .es256, counter: 7, created: 1, changed: 9,
      origin: .registered)
    try backup.save(#require(account), state: nil)
    #expect(try report(in: backup).same == 1)
    try backup.remove(imported(3), changed: 4)
    let report = try report(in: backup)
    #expect(report.removed == [PasskeyName(rpID: "imported.example", name: "zoe")] && report.missing == [])
  }

  // Holds: BACKUP-8
  @Test func `a large blob that is only in the store is missing, and one that is only in the backup is not`() throws {
    let array = { (content: [UInt8]) in content + SHA256.hash(content).prefix(16) }
    let (both, one) = (array([0x82, 1, 2]), array([0x81, 2]))
    for (ours, theirs, missing, only) in [
      (both, one, 1, 0), (one, both, 0, 1), (both, array([0x82, 2, 1]), 0, 0), (both, nil, 2, 0), (nil, both, 0, 2),
      (SerializedLargeBlobs.initial, nil, 0, 0), (array([0x61, 0x61]), both, 1, 2), (array([0x61, 0x61]), nil, 1, 0),
    ] as [([UInt8]?, [UInt8]?, Int, Int)] {
      let backup = InMemoryCredentialStore(keys: live.vault.keys)
      if let theirs { try backup.setLargeBlobArray(theirs) }
      let report = try BackupCheckReport(
        of: [], largeBlobs: digests.digests(ofLargeBlobs: ours), in: backup, digests: digests)
      #expect(report.missingLargeBlobs == missing && report.onlyInBackupLargeBlobs == only)
      #expect(report.isComplete == (missing == 0))
    }
  }
}
