import CryptoPrimitives
import Synchronization
import TestSupport
import Testing

@testable import CredentialDB
@testable import Recovery

/// Entries of another machine in the store: Recovery §9.
@Suite struct `Merging into a store` {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func make(_ kind: StoreKind) throws -> any CredentialStore {
    switch kind {
    case .inMemory: return InMemoryCredentialStore(keys: Given.keys, state: Given.state)
    case .sqlite:
      try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
      return try CredentialDB.open(directory)
    }
  }

  private static func tag(site: Int = 1, user: Int = 1) -> [UInt8] {
    Given.keys.accountTag(Given.rp(site), userID: Array("user-\(user)".utf8))
  }

  private func merged(_ entry: AccountEntry, site: Int = 1, user: Int = 1) throws -> MergedAccount {
    try MergedAccount(
      StoredAccount(accountTag: Self.tag(site: site, user: user), entry: entry), keys: Given.keys)
  }

  /// Merges the backup of `theirs`.
  @discardableResult
  private func merge(_ theirs: any CredentialStore, into ours: any CredentialStore) throws -> MergeReport {
    let file = try BackupWriter.file(of: theirs, keys: Given.keys, nonce: randomBytes(24)).file
    return try BackupMerge(BackupReader(file: file, keys: Given.keys), now: 1000).run(on: ours)
  }

  // Holds: FOLLOW-6
  @Test func `each durable change is observed, and an entry of the history is not`() throws {
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    let store = try CredentialDB.open(directory)
    let changes = Mutex(0)
    store.observe { changes.withLock { $0 += 1 } }
    try store.append(
      HistoryEntry(time: 1, site: nil, kind: .signIn, outcome: .done, verification: HistoryEntry.Verification.none))
    _ = try store.state()
    #expect(changes.withLock { $0 } == 0)
    try store.save(Given.source(user: 1), state: nil)
    try store.remove(Given.source(user: 1), changed: 20)
    try store.setLargeBlobArray([1])
    try store.setState(Given.state)
    _ = try store.merge([merged(.tombstone(counter: 9, changed: 9), user: 2)], epoch: 0, largeBlobArray: nil)
    try store.removeAll(state: Given.state)
    #expect(changes.withLock { $0 } == 6)
  }

  // MARK: - Listing

  private func name(_ record: CredentialSource) -> PasskeyName {
    PasskeyName(rpID: record.rpID, name: record.name ?? record.displayName)
  }

  @Test(arguments: StoreKind.allCases)
  func `records and tombstones are listed in the order of their tags, in pages`(kind: StoreKind) throws {
    let store = try make(kind)
    #expect(try store.entries(after: nil, count: 5) == [])
    for user in 1...9 { try store.save(Given.source(user: user), state: nil) }
    try store.remove(Given.source(user: 4), changed: 20)

    var listed: [StoredAccount] = []
    while true {
      let page = try store.entries(after: listed.last?.accountTag, count: 4)
      listed += page
      if page.count < 4 { break }
    }
    let tags = (1...9).map { Self.tag(user: $0) }.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(listed.map(\.accountTag) == tags)
    for user in 1...9 {
      let entry = listed.first { $0.accountTag == Self.tag(user: user) }?.entry
      #expect(try entry == (user == 4 ? .tombstone(counter: 0, changed: 20) : .record(Given.source(user: user))))
      #expect(try store.entry(accountTag: Self.tag(user: user)) == entry)
    }
    #expect(try store.entries(after: tags[8], count: 5) == [] && store.entries(after: nil, count: 0) == [])
    #expect(try store.entries(after: Array(tags[3].dropLast()), count: 1).map(\.accountTag) == [tags[3]])
    #expect(try store.entry(accountTag: [UInt8](repeating: 0, count: 32)) == nil)
  }

  // MARK: - One entry

  @Test(arguments: StoreKind.allCases)
  func `a tombstone replaces a record, and a record a tombstone`(kind: StoreKind) throws {
    let store = try make(kind)
    let record = try Given.source(counter: 1)
    try store.save(record, state: nil)
    try store.save(Given.source(user: 2), state: nil)
    // Fills what the store keeps of the last look-ups.
    #expect(try store.credential(id: record.id, rpIDHash: Given.rp(1)) == record)
    #expect(try store.credentials(rpIDHash: Given.rp(1)).count == 2)

    let removal = AccountEntry.tombstone(counter: 1, changed: 11)
    #expect(try store.merge([merged(removal)], epoch: 0, largeBlobArray: nil).accounts == [.removed(name(record))])
    #expect(try store.account(rpIDHash: Given.rp(1), userID: record.userID) == removal)
    #expect(try store.credential(id: record.id, rpIDHash: Given.rp(1)) == nil)
    #expect(try store.credentials(publicKey: Given.keys.privateKey(of: record).publicKey.bytes) == [])
    #expect(try store.credentials(rpIDHash: Given.rp(1)) == [Given.source(user: 2)] && store.credentialCount() == 1)

    let again = try Given.source(counter: 2)
    #expect(try store.merge([merged(.record(again))], epoch: 0, largeBlobArray: nil).accounts == [.added])
    #expect(try store.credential(id: again.id, rpIDHash: Given.rp(1)) == again)
    #expect(try store.credentials(publicKey: Given.keys.privateKey(of: again).publicKey.bytes) == [again])
    #expect(try store.credentials(rpIDHash: Given.rp(1)) == [again, Given.source(user: 2)], "the newest")
    #expect(try store.credentialCount() == 2)
  }

  @Test(arguments: StoreKind.allCases)
  func `the pairings of a site go when a merge removes its last passkey`(kind: StoreKind) throws {
    let store = try make(kind)
    for user in 1...2 { try store.save(Given.source(user: user), state: nil) }
    try store.save(Given.source(site: 2), state: nil)
    var state = try store.state()
    for site in 1...2 {
      try state.pairings.keep(
        Pairing(
          origin: "https://www.site-\(site).example", rpID: "site-\(site).example", id: "p",
          credential: SecretBytes(count: 1) { $0.initializeMemory(as: UInt8.self, repeating: 7) }))
    }
    try store.setState(state)
    let removal = AccountEntry.tombstone(counter: 0, changed: 11)
    _ = try store.merge([merged(removal)], epoch: 0, largeBlobArray: nil)
    #expect(try store.state().pairings.all.count == 2, "the site has another passkey")
    _ = try store.merge([merged(removal, user: 2)], epoch: 0, largeBlobArray: nil)
    #expect(try store.state().pairings.all.map(\.rpID) == ["site-2.example"])
    state.pairings.forget(rpID: "site-1.example")
    #expect(try store.state() == state, "the rest of the state stays")
  }

  @Test(arguments: StoreKind.allCases)
  func `a renamed passkey keeps its place, and one with another id is the newest`(kind: StoreKind) throws {
    let store = try make(kind)
    for user in 1...3 { try store.save(Given.source(user: user), state: nil) }
    let renamed = try Given.source(user: 1, name: "renamed", changed: 11)
    let replaced = try Given.source(user: 2, counter: 1)
    let merged = try store.merge(
      [merged(.record(renamed), user: 1), merged(.record(replaced), user: 2)], epoch: 0, largeBlobArray: nil)
    #expect(merged.accounts == [.changed, .changed])
    #expect(try store.allCredentials() == [replaced, Given.source(user: 3), renamed])
    #expect(try store.credential(id: Given.source(user: 2).id) == nil)
  }

  @Test(arguments: StoreKind.allCases)
  func `what is older than the entry here changes nothing`(kind: StoreKind) throws {
    let store = try make(kind)
    let record = try Given.source(counter: 1, name: "ours", changed: 50)
    try store.save(record, state: nil)
    let older =
      try [
        .record(Given.source(counter: 0, name: "theirs", changed: 99)), .record(Given.source(counter: 1, changed: 49)),
        .tombstone(counter: 1, changed: 49), .tombstone(counter: 0, changed: 99),
      ] as [AccountEntry]
    for entry in older {
      #expect(try store.merge([merged(entry)], epoch: 0, largeBlobArray: nil).accounts == [.kept])
    }
    #expect(try store.merge([merged(.record(record))], epoch: 0, largeBlobArray: nil).accounts == [.same])
    #expect(try store.allCredentials() == [record])
  }

  @Test(arguments: StoreKind.allCases)
  func `entries of one account are compared in their order`(kind: StoreKind) throws {
    let store = try make(kind)
    let record = try Given.source(counter: 1)
    let merged = try store.merge(
      [merged(.record(record)), merged(.tombstone(counter: 1, changed: 99)), merged(.record(record))], epoch: 0,
      largeBlobArray: nil)
    #expect(merged.accounts == [.added, .removed(name(record)), .removedHere(name(record))])
    #expect(try store.credentialCount() == 0 && store.relyingPartyCount() == 0)
  }

  @Test(arguments: StoreKind.allCases)
  func `epoch and large blobs come with the entries, and the rest of the state stays`(kind: StoreKind) throws {
    let array: [UInt8] = [0x81, 1] + SHA256.hash([0x81, 1]).prefix(16)
    let store = try make(kind)
    var state = Given.state
    state.floor = 2
    state.epoch = 2
    try state.policies.set(.deny, of: "secret-friend.example")
    try store.setState(state)
    let first = try store.merge([merged(.record(Given.source()))], epoch: 5, largeBlobArray: array)
    #expect(first.accounts == [.added] && first.largeBlobs == .taken)
    state.epoch = 5
    #expect(try store.state() == state && store.largeBlobArray() == array)
    let other: [UInt8] = [0x81, 2] + SHA256.hash([0x81, 2]).prefix(16)
    #expect(try store.merge([], epoch: 1, largeBlobArray: other).largeBlobs == .keptBack(entries: 1))
    #expect(try store.state() == state && store.largeBlobArray() == array)
  }

  // MARK: - On disk

  private func contents(_ store: any CredentialStore) throws -> (entries: [StoredAccount], counts: [Int]) {
    (try store.entries(after: nil, count: .max), [try store.credentialCount(), try store.relyingPartyCount()])
  }

  @Test func `a merged store opens again with the same content, and is whole`() throws {
    let theirs = InMemoryCredentialStore(keys: Given.keys, state: Given.state)
    for user in 1...30 { try theirs.save(Given.source(site: user % 7, user: user), state: nil) }
    for user in 1...9 { try theirs.remove(Given.source(site: user % 7, user: user), changed: 20) }
    var entries: [StoredAccount] = []
    do {
      let ours = try make(.sqlite)
      for user in 5...15 { try ours.save(Given.source(site: user % 7, user: user, name: "ours"), state: nil) }
      let report = try merge(theirs, into: ours)
      #expect((report.added, report.removed.count, report.noted) == (15, 5, 4))
      #expect(report.kept + report.changed == 6)
      entries = try contents(ours).entries
      #expect(try contents(ours).counts == [21, 7])
      #expect(try !merge(theirs, into: ours).changesStore, "a repetition changes nothing")
      #expect(try contents(ours).entries == entries)
    }
    #expect(try directory.names == ["credentials.sqlite"])
    let again = try CredentialDB.open(directory)
    #expect(try contents(again).entries == entries && contents(again).counts == [21, 7])
  }

  @Test func `a merge without changes does not write to the file`() throws {
    let store = try #require(try make(.sqlite) as? CredentialDB)
    for user in 1...5 { try store.save(Given.source(user: user), state: nil) }
    let before = try directory.bytes()
    let report = try merge(store, into: store)
    #expect(report.same == 5 && !report.changesStore && !report.backupHasMore)
    #expect(try directory.bytes() == before)
  }

  // Holds: BACKUP-4
  /// SQLite gets no further page, as on a full disk, after each number of pages.
  @Test func `a disk that is full in the middle of a transaction leaves the store as it was`() throws {
    let theirs = InMemoryCredentialStore(keys: Given.keys, state: StoreState(storeID: Given.storeID, epoch: 9))
    for user in 1...40 { try theirs.save(Given.source(site: user % 7, user: user), state: nil) }
    try theirs.setLargeBlobArray([0x81, 1] + SHA256.hash([0x81, 1]).prefix(16))
    let store = try #require(try make(.sqlite) as? CredentialDB)
    for user in 1...5 { try store.save(Given.source(user: user), state: nil) }
    let (before, state, revision) = (try contents(store), try store.state(), try store.revision())

    func limit(_ pages: Int) throws {
      try store.with { session throws(StoreFault) in
        _ = try session.connection.texts("PRAGMA max_page_count = \(pages)")
      }
    }
    let pages = try store.with { session throws(StoreFault) in try session.connection.texts("PRAGMA page_count")[0] }
    var failures = 0
    for more in 0..<100 {
      try limit(Int(pages).unsafelyUnwrapped + more)
      do {
        try merge(theirs, into: store)
        break
      } catch let error as RecoveryError {
        failures += 1
        #expect(error.description.hasSuffix("no space left; free some space and try again"), "\(more) pages more")
      }
      #expect(try contents(store).entries == before.entries && contents(store).counts == before.counts)
      #expect(try store.state() == state && store.revision() == revision && store.largeBlobArray() == nil)
    }
    #expect(failures > 3, "the transaction was cut at several places")
    #expect(try contents(store).counts == [44, 7] && store.state().epoch == 9 && store.largeBlobArray() != nil)
    // The store can be used on, and is whole.
    try limit(1_000_000)
    try store.save(Given.source(user: 77), state: nil)
    #expect(try store.credentialCount() == 45)
  }

  @Test func `the history records backups and merges`() throws {
    let store = try #require(try make(.sqlite) as? CredentialDB)
    for kind in [HistoryEntry.Kind.makeBackup, .mergeBackup] {
      try store.append(HistoryEntry(time: 1, site: nil, kind: kind, outcome: .done, verification: .passphrase))
    }
    #expect(try store.history(after: 0, count: 9).map(\.entry?.kind) == [.makeBackup, .mergeBackup])
    #expect(try store.checkHistory().faults == [])
  }
}
