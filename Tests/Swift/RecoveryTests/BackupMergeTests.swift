import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// Merging a backup into a store: Recovery §9.
@Suite struct BackupMergeTests {
  let keys: CredentialKeys
  private static let now: UInt64 = 1_790_000_000_000

  init() throws { keys = try KeysAndRecovery.keys() }

  private func store(_ entries: AccountEntry..., blobs: [UInt8]? = nil) throws -> InMemoryCredentialStore {
    let store = InMemoryCredentialStore(keys: keys, state: StoreState(storeID: Array(0xA0...0xAF)))
    _ = try store.merge(entries.map { try MergedAccount(stored($0), keys: keys) }, epoch: 0, largeBlobArray: nil)
    if let blobs { try store.setLargeBlobArray(blobs) }
    return store
  }

  /// Tombstones belong to the account of `record(_:)`.
  private func stored(_ entry: AccountEntry) throws -> StoredAccount {
    let record = try entry.record ?? #require(try record().record)
    return StoredAccount(accountTag: keys.accountTag(of: record), entry: entry)
  }

  private func record(
    _ name: String? = "alice", user: UInt8 = 1, counter: UInt32 = 1, created: UInt64 = 1, changed: UInt64 = 100,
    key: UInt8? = nil
  ) throws -> AccountEntry {
    let source = CredentialSource(
      rpID: "example.com", userID: [user], name: name, displayName: "Alice", id: [user], algorithm: .es256,
      counter: counter, created: created, changed: changed, origin: key == nil ? .registered : .imported,
      importedKey: key.map { Hex([UInt8](repeating: $0, count: 32)).secret })
    return .record(try #require(source))
  }

  private func backup(of store: InMemoryCredentialStore) throws -> BackupReader {
    try BackupReader(
      file: BackupWriter.file(of: store, keys: keys, nonce: [UInt8](repeating: 5, count: 24)).file, keys: keys)
  }

  @discardableResult
  private func merge(
    _ theirs: InMemoryCredentialStore, into ours: InMemoryCredentialStore
  ) throws -> MergeReport {
    let merge = BackupMerge(try backup(of: theirs), now: Self.now)
    let preview = try merge.compare(with: ours)
    let revision = try ours.revision()
    let report = try merge.run(on: ours)
    #expect(report == preview, "what was done is what was said before")
    #expect(try (ours.revision() != revision) == report.changesRows)
    return report
  }

  // MARK: - One account

  @Test(arguments: try KeysAndRecovery.load().merge.array)
  func `the newer entry of an account wins, in either order`(_ vector: Vector) throws {
    let entries = try vector.entries.array.map { entry -> AccountEntry in
      let (counter, changed) = (entry.counter.integer(UInt32.self), entry.changedAt.integer(UInt64.self))
      return entry.deleted.isTrue
        ? .tombstone(counter: counter, changed: changed)
        // A plaintext that sorts by the one byte of the vector.
        : try record(entry.plaintext.text, counter: counter, changed: changed)
    }
    let winner = entries[vector.winner.integer()]
    for pair in [entries, entries.reversed()] {
      let ours = try store(pair[0])
      try merge(store(pair[1]), into: ours)
      try merge(store(pair[0]), into: ours)
      #expect(try ours.entries(after: nil, count: 9) == [stored(winner)])
    }
  }

  @Test func `each kind of difference is counted`() throws {
    let name = try PasskeyName(#require(record().record))
    let cases: [(ours: AccountEntry?, theirs: AccountEntry, merge: AccountMerge)] = [
      (nil, try record(), .added), (nil, .tombstone(counter: 1, changed: 1), .noted),
      (try record(), try record(), .same),
      (.tombstone(counter: 1, changed: 1), .tombstone(counter: 1, changed: 1), .same),
      (try record(), try record("bob", changed: 101), .changed), (try record(), try record(counter: 2), .changed),
      (try record(), .tombstone(counter: 1, changed: 101), .removed(name)),
      (.tombstone(counter: 1, changed: 1), try record(counter: 2), .added),
      (.tombstone(counter: 1, changed: 1), .tombstone(counter: 2, changed: 1), .noted),
      (try record(changed: 101), try record("bob"), .kept),
      (.tombstone(counter: 1, changed: 101), try record(), .removedHere(name)),
      (.tombstone(counter: 1, changed: 101), .tombstone(counter: 1, changed: 100), .kept),
      (try record(changed: 101), .tombstone(counter: 1, changed: 100), .kept),
    ]
    for (ours, theirs, expected) in cases {
      #expect(AccountMerge(of: theirs, into: ours) == expected)
      let machine = try ours.map { try store($0) } ?? store()
      let report = try merge(store(theirs), into: machine)
      let counts =
        [
          .added: report.added, .changed: report.changed, .removed(name): report.removed.count, .noted: report.noted,
          .same: report.same, .kept: report.kept - report.removedHere.count,
          .removedHere(name): report.removedHere.count,
        ]
        as KeyValuePairs<AccountMerge, Int>
      for (kind, count) in counts { #expect(count == (kind == expected ? 1 : 0), "\(kind) in \(expected)") }
      #expect(try machine.entries(after: nil, count: 9) == [stored(expected.isWritten ? theirs : ours ?? theirs)])
      #expect(report.backupHasMore == expected.isWritten)
      #expect(try !merge(store(theirs), into: machine).changesStore, "a repetition changes nothing")
    }
  }

  // MARK: - Imported keys

  // Holds: IMPORT-1
  @Test func `an imported passkey and the derived one of its account do not replace each other`() throws {
    let imported = try record(counter: 0, key: 3)
    for theirs in [
      try record(counter: 2), try record(changed: 101), .tombstone(counter: 2, changed: 1),
      .tombstone(counter: 0, changed: 101),
    ] {
      for (ours, theirs) in [(imported, theirs), (theirs, imported)] {
        let machine = try store(ours)
        let report = try merge(store(theirs), into: machine)
        #expect(report.added + report.noted == 1 && report.kept == 0 && report.removed == [])
        #expect(Set(try machine.entries(after: nil, count: 9).map(\.accountTag)).count == 2)
        #expect(try machine.entry(accountTag: stored(ours).accountTag) == ours)
        #expect(try machine.entry(accountTag: stored(theirs).accountTag) == theirs)
      }
    }
  }

  // Holds: IMPORT-1
  @Test func `the removal of an imported passkey reaches the other machine, and so does a later import`() throws {
    let imported = try record(counter: 0, key: 3)
    let (first, second) = (try store(imported), try store(imported))
    try second.remove(#require(imported.record), changed: 200)
    let old = try store(imported)
    #expect(try merge(second, into: first).removed == [PasskeyName(rpID: "example.com", name: "alice")])
    #expect(try first.allCredentials() == [])

    let report = try merge(old, into: second)
    #expect(report.kept == 1 && report.leftImported == [] && !report.backupHasMore)
    #expect(report.removedHere == [PasskeyName(rpID: "example.com", name: "alice")])
    try second.save(#require(record(counter: 0, changed: 201, key: 3).record), state: nil)
    #expect(try merge(second, into: first).added == 1)
    #expect(try first.allCredentials().map(\.changed) == [201])
  }

  // Holds: BACKUP-5
  @Test func `another key with the id of an imported passkey is never taken, and is reported`() throws {
    let name = PasskeyName(try #require(try record().record))
    for (changed, kept) in [(101, [name]), (99, [])] as [(UInt64, [PasskeyName])] {
      let ours = try store(record(counter: 0, key: 3))
      let report = try merge(store(record(counter: 0, changed: changed, key: 4)), into: ours)
      #expect(report.kept == 1 && report.keptImported == kept && report.leftImported == [name])
      #expect(report.backupHasMore && !report.changesStore)
      #expect(try ours.entries(after: nil, count: 9) == [stored(record(counter: 0, key: 3))])
    }
  }

  // Holds: ROTATE-11
  @Test func `other CredRandoms of an imported passkey are never taken, and are reported`() throws {
    let name = PasskeyName(try #require(try record().record))
    let plain = { (changed: UInt64) in try #require(record(counter: 0, changed: changed, key: 3).record) }
    let other = CredentialKeys(mainKey: .random(count: 64))
    let moved = { (changed: UInt64) in try plain(changed).keepingCredRandoms(of: other) }
    for (ours, theirs) in [
      (try plain(100), try moved(101)), (try moved(100), try plain(101)),
      (try moved(100), try plain(101).keepingCredRandoms(of: keys)),
    ] {
      let here = try store(.record(ours))
      let report = try merge(store(.record(theirs)), into: here)
      #expect(report.kept == 1 && report.keptImported == [name] && report.leftImported == [name])
      #expect(report.backupHasMore && !report.changesStore)
      #expect(try here.allCredentials() == [ours])
    }
    // With the same ones, the newer entry is taken; a store without the passkey gets it with them.
    let here = try store(.record(moved(100)))
    #expect(try merge(store(.record(moved(101))), into: here).changed == 1)
    #expect(try here.allCredentials() == [moved(101)])
    let empty = try store()
    #expect(try merge(here, into: empty).added == 1)
    #expect(try empty.allCredentials() == [moved(101)])
  }

  @Test func `an imported passkey that is renamed elsewhere changes here`() throws {
    let (ours, theirs) = (try store(record(counter: 0, key: 3)), try record("bob", counter: 0, changed: 101, key: 3))
    let report = try merge(store(theirs), into: ours)
    #expect(report.changed == 1 && report.keptImported == [])
    #expect(try ours.entries(after: nil, count: 9) == [stored(theirs)])
    // The store has the key.
    let older = try merge(store(record(counter: 0, key: 3)), into: ours)
    #expect(older.kept == 1 && older.leftImported == [] && !older.backupHasMore)
  }

  @Test func `a passkey without a name is reported by its display name`() throws {
    let ours = try store(record(nil, counter: 0, key: 3))
    let report = try merge(store(record(nil, counter: 0, changed: 101, key: 4)), into: ours)
    #expect(report.keptImported.map(\.rpID) == ["example.com"] && report.keptImported.map(\.name) == ["Alice"])
  }

  /// A merge reports each imported passkey, over a socket whose messages have a limit.
  @Test func `long names are cut off in a report, between characters`() throws {
    let source = CredentialSource(
      rpID: String(repeating: "é", count: 200), userID: [1], name: "x" + String(repeating: "ü", count: 60), id: [1],
      algorithm: .es256, counter: 0, created: 0, changed: 0, origin: .registered)
    let name = PasskeyName(try #require(source))
    #expect(name.rpID == String(repeating: "é", count: 126) && name.rpID.utf8.count == 252)
    #expect(name.name == "x" + String(repeating: "ü", count: 31))
  }

  // MARK: - The rest of the store

  @Test func `the epoch becomes the higher one, and nothing else of the state changes`() throws {
    var state = StoreState(storeID: Array(0xA0...0xAF), epoch: 2, floor: 2, credentialIDForm: .hash)
    state.settings.pin = StoredPIN(hash: Hex([UInt8](repeating: 1, count: 16)).secret, length: 4, retries: 3)
    state.settings.alwaysUV = true
    try state.policies.set(.deny, of: "secret-friend.example")
    state.counter = StoreCounter(index: 0x0180_0000, auth: Hex([UInt8](repeating: 2, count: 32)).secret, value: 9)
    for (epoch, expected) in [(1, 2), (2, 2), (7, 7)] as [(UInt16, UInt16)] {
      let ours = InMemoryCredentialStore(keys: keys, state: state)
      let theirs = InMemoryCredentialStore(
        keys: keys, state: StoreState(storeID: Array(0...15), epoch: epoch, floor: 0))
      let report = try merge(theirs, into: ours)
      var after = state
      after.epoch = expected
      #expect(try ours.state() == after)
      #expect(report.raisesEpoch == (expected > 2) && report.backupHasMore == (expected > 2))
      #expect(report.changesStore == (expected > 2) && !report.changesRows)
    }
  }

  /// A serialized array with these entries.
  private static func array(_ entries: UInt8...) -> [UInt8] {
    let content = CBOREncoder.encode(.array(entries.map { .unsigned(UInt64($0)) }))
    return content + SHA256.hash(content).prefix(16)
  }

  // Holds: BACKUP-5
  @Test func `large blobs are taken only where there are none`() throws {
    let initial = SerializedLargeBlobs.initial
    let tooLong = CBOREncoder.encode([.bytes([UInt8](repeating: 0, count: 8180))])
    let cases: [(ours: [UInt8]?, theirs: [UInt8]?, merge: LargeBlobsMerge)] = [
      (nil, nil, .none), (nil, initial, .none), (initial, nil, .none), (Self.array(1), nil, .none),
      (Self.array(1), initial, .none), (nil, Self.array(1), .taken), (initial, Self.array(1, 2), .taken),
      (Self.array(1), Self.array(1), .same), (Self.array(2, 1), Self.array(1, 2), .same),
      (Self.array(1, 2, 3), Self.array(3, 1), .same), (Self.array(1), Self.array(1, 2, 3), .keptBack(entries: 2)),
      (Self.array(9), Self.array(8), .keptBack(entries: 1)), (nil, [0x80, 1], .invalid), (nil, [], .invalid),
      (Self.array(1), Array(Self.array(1, 2).dropLast()), .invalid),
      (nil, tooLong + SHA256.hash(tooLong).prefix(16), .invalid),
      (Self.array(1), [0xFF] + SHA256.hash([0xFF]).prefix(16), .keptBack(entries: 0)),
    ]
    for (ours, theirs, expected) in cases {
      #expect(LargeBlobsMerge(of: theirs, into: ours) == expected)
      let machine = try store(blobs: ours)
      let report = try merge(store(blobs: theirs), into: machine)
      #expect(report.largeBlobs == expected)
      #expect(try machine.largeBlobArray() == (expected == .taken ? theirs : ours))
      let isMore = [.none, .same].contains(expected) ? false : true
      #expect(report.backupHasMore == isMore && report.changesStore == (expected == .taken))
    }
    #expect(LargeBlobsMerge(of: Self.array(1) + [], into: nil) == .taken)
    let longest = CBOREncoder.encode([.bytes([UInt8](repeating: 0, count: 8172))])
    let fits = longest + SHA256.hash(longest).prefix(16)
    #expect(fits.count == 8192 && LargeBlobsMerge(of: fits, into: nil) == .taken)
  }

  // Holds: FOLLOW-2
  @Test func `a merge without the owner does not bring back large blobs that were deleted`() throws {
    let initial = SerializedLargeBlobs.initial
    let cases: [(ours: [UInt8]?, merge: LargeBlobsMerge)] = [
      (nil, .taken), (initial, .keptBack(entries: 2)), (Self.array(1), .keptBack(entries: 1)),
      (Self.array(1, 2), .same),
    ]
    for (ours, expected) in cases {
      let machine = try store(blobs: ours)
      let file = try backup(of: store(record(), blobs: Self.array(1, 2)))
      let merge = BackupMerge(file, now: Self.now, keepsDeletedBlobs: true)
      let report = try merge.run(on: machine)
      #expect(report.largeBlobs == expected && report.added == 1)
      #expect(try machine.largeBlobArray() == (expected == .taken ? Self.array(1, 2) : ours))
      let again = try BackupMerge(
        backup(of: store(record(), blobs: Self.array(1, 2))), now: Self.now, keepsDeletedBlobs: true
      ).run(on: machine)
      #expect(again.largeBlobs == (expected == .taken ? .same : expected) && !again.changesStore)
    }
    #expect(LargeBlobsMerge(of: initial, into: initial, keepsDeletion: true) == .none)
    #expect(LargeBlobsMerge(of: [0x80, 1], into: initial, keepsDeletion: true) == .invalid)
  }

  // Holds: FOLLOW-2
  @Test func `large blobs that are deleted between the comparison and the merge stay deleted`() throws {
    for keepsDeletion in [true, false] {
      let machine = try store()
      let merge = BackupMerge(
        try backup(of: store(record(), blobs: Self.array(1, 2))), now: Self.now, keepsDeletedBlobs: keepsDeletion)
      #expect(try merge.compare(with: machine).largeBlobs == .taken)
      #expect(try merge.prepareBatch())
      try machine.setLargeBlobArray(Self.array(1))
      try machine.setLargeBlobArray(SerializedLargeBlobs.initial)
      try merge.writeBatch(to: machine)
      #expect(merge.report.added == 1)
      #expect(merge.report.largeBlobs == (keepsDeletion ? .keptBack(entries: 2) : .taken))
      #expect(
        try machine.largeBlobArray() == (keepsDeletion ? SerializedLargeBlobs.initial : Self.array(1, 2)))
    }
  }

  // Holds: FOLLOW-4
  @Test func `equal stores have equal files if the nonce is computed, and others have other nonces`() throws {
    let file = { (store: InMemoryCredentialStore, nonce: [UInt8]?) in
      let writer = BackupWriter()
      try writer.append(store.entries(after: nil, count: 9))
      return try writer.file(
        epoch: store.state().epoch, largeBlobArray: store.largeBlobArray(), keys: keys, nonce: nonce)
    }
    let nonce = { (file: [UInt8]) in Array(file[32..<56]) }
    let (one, same) = (try store(record(), blobs: Self.array(1)), try store(record(), blobs: Self.array(1)))
    let first = try file(one, nil)
    #expect(try file(same, nil) == first)
    let others = [
      try store(record("bob"), blobs: Self.array(1)), try store(record(), blobs: Self.array(2)), try store(record()),
    ]
    for other in others { #expect(try nonce(file(other, nil)) != nonce(first)) }
    #expect(try nonce(file(one, [UInt8](repeating: 5, count: 24))) == [UInt8](repeating: 5, count: 24))
    let content = try BackupReader(file: first, keys: keys)
    #expect(try content.account(at: 0) == stored(record()) && content.count == 1)
  }

  @Test func `entries from a clock that is more than a day ahead are counted`() throws {
    let day: UInt64 = 86_400_000
    let theirs = try store(
      record(user: 2, changed: Self.now + day), record(user: 3, changed: Self.now + day + 1),
      .tombstone(counter: 1, changed: .max))
    #expect(try merge(theirs, into: store()).entriesAhead == 2)
    #expect(try merge(theirs, into: theirs).entriesAhead == 2, "equal ones, too")
    #expect(try BackupMerge(backup(of: theirs), now: .max).compare(with: store()).entriesAhead == 0)
  }

  @Test func `passkeys are added in the order in which they were made`() throws {
    let theirs = try store(
      record("third", user: 1, created: 30), record("first", user: 2, created: 10),
      record("second", user: 3, created: 20))
    let ours = try store(record("here", user: 4, created: 99))
    try merge(theirs, into: ours)
    #expect(try ours.allCredentials().map(\.name) == ["third", "second", "first", "here"])
  }

  // MARK: - Steps

  /// Removals of so many accounts: they need no keys.
  private func removals(_ count: Int) throws -> InMemoryCredentialStore {
    let store = try store()
    let removals = try (0..<count).map { number in
      try MergedAccount(
        StoredAccount(
          accountTag: SHA256.hash(UInt64(number).bigEndianBytes), entry: .tombstone(counter: 1, changed: 1)), keys: keys
      )
    }
    _ = try store.merge(removals, epoch: 4, largeBlobArray: Self.array(1))
    return store
  }

  // Holds: BACKUP-4
  @Test func `a merge of more than 500 entries takes several transactions, and can be cut between them`() throws {
    let theirs = try removals(501)
    let ours = try store()
    let merge = BackupMerge(try backup(of: theirs), now: Self.now)
    var pages = 0
    while try merge.readPage() {
      try merge.comparePage(with: ours)
      pages += 1
    }
    #expect(pages == 2 && merge.preview.noted == 501 && merge.report.noted == 0)
    #expect(try ours.entries(after: nil, count: 1) == [])

    #expect(try merge.prepareBatch())
    try merge.writeBatch(to: ours)
    #expect(merge.report.noted == 500)
    #expect(try ours.state().epoch == 4 && ours.largeBlobArray() == Self.array(1), "with the first transaction")
    #expect(try ours.entries(after: nil, count: 9_999).count == 500)

    // The disk is full: the batch can be written later.
    #expect(try merge.prepareBatch())
    ours.isFull = true
    #expect(throws: RecoveryError(.store, "")) { try merge.writeBatch(to: ours) }
    #expect(merge.report.noted == 500)
    ours.isFull = false

    // Another merge of the same file completes it.
    let again = try BackupMerge(backup(of: theirs), now: Self.now).run(on: ours)
    #expect(again.noted == 1 && again.same == 500 && !again.raisesEpoch && again.largeBlobs == .same)
    #expect(try ours.entries(after: nil, count: 9_999) == theirs.entries(after: nil, count: 9_999))

    try merge.writeBatch(to: ours)
    #expect(try !merge.prepareBatch())
    #expect(merge.report.noted == 500 && merge.report.same == 1 && merge.report.largeBlobs == .taken)
  }

  @Test func `a site whose passkey is replaced keeps its pairings, also over two transactions`() throws {
    let ours = try store(record())
    var state = try ours.state()
    let token = Hex([UInt8](repeating: 7, count: 9)).secret
    try state.pairings.keep(
      Pairing(origin: "https://example.com", rpID: "example.com", id: "p", credential: token))
    try ours.setState(state)
    // With the removal of our passkey, as many removals as one transaction has.
    let theirs = try removals(499)
    let changes = [AccountEntry.tombstone(counter: 1, changed: 101), try record(user: 2, created: 50)]
    _ = try theirs.merge(changes.map { try MergedAccount(stored($0), keys: keys) }, epoch: 0, largeBlobArray: nil)
    let report = try merge(theirs, into: ours)
    #expect(report.removed.count == 1 && report.added == 1 && report.noted == 499)
    #expect(try ours.state().pairings.all.map(\.rpID) == ["example.com"])
  }

  @Test func `the epoch and the large blobs are merged with the first transaction only`() throws {
    let ours = try store()
    let merge = BackupMerge(try backup(of: removals(501)), now: Self.now)
    _ = try merge.compare(with: ours)
    #expect(try merge.prepareBatch())
    try merge.writeBatch(to: ours)
    #expect(try ours.state().epoch == 4 && ours.largeBlobArray() == Self.array(1))

    // A platform deletes its large blobs before the second transaction.
    try ours.setLargeBlobArray(SerializedLargeBlobs.initial)
    var state = try ours.state()
    state.epoch = 2
    try ours.setState(state)
    #expect(try merge.prepareBatch())
    try merge.writeBatch(to: ours)
    #expect(try ours.largeBlobArray() == SerializedLargeBlobs.initial && ours.state().epoch == 2)
    #expect(merge.report.largeBlobs == .taken && merge.report.raisesEpoch && merge.report.noted == 501)
  }

  /// Each secret takes a page of memory that is locked, and the kernel limits it.
  @Test(arguments: [(false, [100, 150]), (true, [50, 100, 150])])
  func `a page and a transaction have at most 100 secrets of imported passkeys`(
    withCredRandoms: Bool, counts: [Int]
  ) throws {
    let theirs = try store()
    for user in 0..<150 {
      let passkey = try #require(record(user: UInt8(user), counter: 0, key: 7).record)
      try theirs.save(withCredRandoms ? passkey.keepingCredRandoms(of: keys) : passkey, state: nil)
    }
    let ours = try store()
    let merge = BackupMerge(try backup(of: theirs), now: Self.now)
    var added: [Int] = []
    while try merge.readPage() {
      try merge.comparePage(with: ours)
      added.append(merge.preview.added)
    }
    #expect(added == counts)
    var stored: [Int] = []
    while try merge.prepareBatch() {
      try merge.writeBatch(to: ours)
      stored.append(try ours.credentialCount())
    }
    #expect(stored == counts && merge.report.added == 150)
  }

  // Holds: BACKUP-4
  @Test func `a change between the comparison and the writing stays if it is newer`() throws {
    let ours = try store(record("old", changed: 100))
    let theirs = try store(record("theirs", changed: 200), record("other", user: 2, changed: 200))
    let merge = BackupMerge(try backup(of: theirs), now: Self.now)
    let preview = try merge.compare(with: ours)
    #expect(preview.changed == 1 && preview.added == 1)
    #expect(try merge.prepareBatch())
    let newer = try record("ours", changed: 300)
    try ours.save(#require(newer.record), state: nil)
    try merge.writeBatch(to: ours)
    #expect(merge.report.kept == 1 && merge.report.changed == 0 && merge.report.added == 1)
    #expect(try ours.entry(accountTag: stored(newer).accountTag) == newer)
    #expect(try !merge.prepareBatch())
  }

  // Holds: BACKUP-2
  @Test func `an entry that cannot be used stops the merge before anything is written`() throws {
    // The last entry of the backup has the tag of another account.
    let writer = BackupWriter()
    try writer.append([
      stored(record()), StoredAccount(accountTag: [UInt8](repeating: 0xFF, count: 32), entry: record(user: 2)),
    ])
    let file = try writer.file(epoch: 9, largeBlobArray: nil, keys: keys, nonce: [UInt8](repeating: 5, count: 24))
    let ours = try store()
    let error = #expect(throws: RecoveryError.columnsExchanged) {
      try BackupMerge(BackupReader(file: file, keys: keys), now: Self.now).run(on: ours)
    }
    #expect(error?.description == "entry 2 of 2: its tag is not that of its account")
    #expect(try ours.entries(after: nil, count: 9) == [] && ours.state().epoch == 0)
  }

  // Holds: BACKUP-7
  @Test func `only the backups that the store wrote last are recognized`() throws {
    let machine = try store(try record())
    let file = try BackupWriter.file(of: machine, keys: keys, nonce: [UInt8](repeating: 1, count: 24)).file
    let other = try BackupWriter.file(of: machine, keys: keys, nonce: [UInt8](repeating: 2, count: 24)).file
    let isLast = { (file: [UInt8]) in
      try BackupMerge(BackupReader(file: file, keys: keys), now: 5).compare(with: machine).isLastWritten
    }
    #expect(try !isLast(file))
    try machine.record(.written, file: BackupFile.digest(of: file), at: 5)
    #expect(try isLast(file) && !isLast(other))
    try machine.record(.checked, at: 6)
    #expect(try isLast(file))
    // That of the followed folder does not take its place.
    try machine.recordOwnFile(BackupFile.digest(of: other), at: 7)
    #expect(try isLast(file) && isLast(other))
    #expect(
      try machine.state().backup
        == BackupTimes(
          written: 5, file: BackupFile.digest(of: file), checked: 6, ownFile: BackupFile.digest(of: other),
          ownWritten: 7))
    var state = try machine.state()
    try state.reset()
    try machine.removeAll(state: state)
    #expect(try !isLast(file) && !isLast(other))
  }
}
