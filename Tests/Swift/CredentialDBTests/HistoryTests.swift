import CryptoPrimitives
import DeterministicKeys
import Foundation
import TestVectors
import Testing

@testable import CredentialDB
@testable import Recovery

/// The history of ceremonies in the store's file.
@Suite struct `History of a store` {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
  }

  static func entry(_ number: Int) -> HistoryEntry {
    HistoryEntry(
      time: UInt64(number), site: number % 3 == 0 ? nil : "site-\(number % 7).example", kind: .signIn, outcome: .done,
      verification: .passphrase)
  }

  /// Adds entries in one transaction: 10,000 transactions take long in a debug build.
  private func fill(_ numbers: ClosedRange<Int>) throws {
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    let session = try Session(connection, keys: Given.keys)
    try connection.transaction { () throws(StoreFault) in
      for number in numbers { try session.history.append(Self.entry(number), after: session.mark()) }
    }
    connection.emptyLog()
  }

  private func change(_ sql: String) throws { try Connection(path: directory.path()).execute(sql) }

  private func faults() throws -> [HistoryFault] { try CredentialDB.open(directory).checkHistory().faults }

  // Holds: RECORD-1
  @Test func `entries are read in their order, and a page continues after the one before`() throws {
    var store: CredentialDB? = try CredentialDB.open(directory)
    #expect(try store?.history(after: .min, count: 10).isEmpty == true)
    #expect(try store?.checkHistory() == HistoryState())
    for number in 1...5 { try store?.append(Self.entry(number)) }
    store = nil
    let again = try CredentialDB.open(directory)
    try again.append(Self.entry(6))
    let pages = try [again.history(after: .min, count: 4), again.history(after: 4, count: 4)]
    #expect(pages.map { $0.map(\.sequence) } == [[1, 2, 3, 4], [5, 6]])
    #expect(pages.joined().map(\.entry) == (1...6).map(Self.entry))
    var state = HistoryState()
    (state.count, state.first, state.last) = (6, 1, 6)
    #expect(try again.checkHistory() == state)
    #expect(try again.history(after: 6, count: 4).isEmpty)
  }

  // Holds: RECORD-4
  @Test func `an entry does not wait for the disk, and the next durable change takes it along`() throws {
    let store = try CredentialDB.open(directory)
    try store.save(Given.source(), state: nil)
    let (file, revision) = (try directory.bytes(), try store.revision())
    try store.append(Self.entry(1))
    #expect(try directory.bytes() == file, "it is in the log")
    #expect(try directory.bytes("credentials.sqlite-wal").count > 0)
    #expect(try store.revision() == revision)
    try store.save(Given.source(user: 2), state: nil)
    #expect(try directory.bytes("credentials.sqlite-wal") == [])
    let copy = try TemporaryDirectory()
    try copy.write(directory.bytes())
    #expect(try CredentialDB.open(copy).history(after: .min, count: 10).map(\.entry) == [Self.entry(1)])
  }

  @Test func `entries without a change are moved into the file before the log is large`() throws {
    let store = try CredentialDB.open(directory)
    let most = Session.mostInLog
    for number in 1..<most { try store.append(Self.entry(number)) }
    #expect(try directory.bytes("credentials.sqlite-wal").count > 0)
    try store.append(Self.entry(most))
    #expect(try directory.bytes("credentials.sqlite-wal") == [])
    let copy = try TemporaryDirectory()
    try copy.write(directory.bytes())
    let counts = try [store, CredentialDB.open(copy)].map { try $0.checkHistory().count }
    #expect(counts == [UInt64(most), UInt64(most)])
  }

  // Holds: RECORD-4
  @Test func `wherever the log ends after a crash, the chain is whole and no passkey is lost`() throws {
    let file: [UInt8]
    let log: [UInt8]
    do {
      let store = try CredentialDB.open(directory)
      try store.save(Given.source(), state: nil)
      file = try directory.bytes()
      for number in 1...3 { try store.append(Self.entry(number)) }
      log = try directory.bytes("credentials.sqlite-wal")
    }
    var counts: Set<UInt64> = []
    for count in Array(stride(from: 0, to: log.count, by: 1501)) + [log.count - 1, log.count] {
      let crashed = try TemporaryDirectory()
      try crashed.write(file)
      try crashed.write(Array(log.prefix(count)), "credentials.sqlite-wal")
      let store = try CredentialDB.open(crashed)
      let state = try store.checkHistory()
      #expect(try state.faults == [] && store.credentialCount() == 1, "\(count) bytes of the log")
      counts.insert(state.count)
      try store.append(Self.entry(9))
      #expect(try store.checkHistory().faults == [])
    }
    #expect(counts == [0, 1, 2, 3])
  }

  // Holds: RECORD-5
  @Test func `a full history loses its oldest entries, and the chain stays whole`() throws {
    let capacity = Int(HistoryTable.capacity)
    try fill(1...capacity)
    do {
      let store = try CredentialDB.open(directory)
      let state = try store.checkHistory()
      #expect(state.faults == [] && state.count == 10_000 && state.first == 1 && state.last == 10_000)
      #expect(try store.history(after: .min, count: 1).map(\.sequence) == [1])
    }
    // 272 bytes sealed, nonce and hash: some 340 bytes each.
    let size = try directory.bytes().count
    #expect(size < 4_000_000)
    print("a store with 10,000 entries: \(size) bytes")

    let store = try CredentialDB.open(directory)
    try store.append(Self.entry(capacity + 1))
    let state = try store.checkHistory()
    #expect(state.faults == [] && state.count == 9001 && state.first == 1001 && state.last == 10_001)
    #expect(try store.history(after: .min, count: 1).map(\.sequence) == [1001])
    try store.append(Self.entry(capacity + 2))
    #expect(try store.checkHistory().count == 9002)
    try store.setState(Given.state)
    #expect(try directory.bytes().count <= size, "the pages are used again")
  }

  // Holds: RECORD-3, RECORD-5
  @Test(.whole("10,000 entries take long"))
  func `of 10,000 entries, one that was changed and one that was cut are found`() throws {
    try fill(1...10_000)
    try change("UPDATE history SET sealed = zeroblob(272) WHERE sequence = 4711")
    #expect(try faults() == [.changed(4711)])
    try change("DELETE FROM history WHERE sequence = 8157")
    #expect(try faults() == [.changed(4711), .missing(8157...8157)])
    try change("DELETE FROM history WHERE sequence > 9000")
    #expect(try faults() == [.changed(4711), .missing(8157...8157), .missing(9001...10_000)])
    let left = try CredentialDB.open(directory).history(after: 4709, count: 3)
    #expect(left.map(\.sequence) == [4710, 4711, 4712] && left.map { $0.entry == nil } == [false, true, false])
  }

  static let changes: [(sql: String, faults: [HistoryFault])] = [
    ("UPDATE history SET sealed = zeroblob(272) WHERE sequence = 1", [.changed(1)]),
    ("UPDATE history SET nonce = zeroblob(24) WHERE sequence = 3", [.changed(3)]),
    ("UPDATE history SET nonce = x'' WHERE sequence = 3", [.changed(3)]),
    ("UPDATE history SET previous = zeroblob(32) WHERE sequence = 5", [.changed(5)]),
    ("UPDATE history SET previous = x'' WHERE sequence = 5", [.changed(5)]),
    ("DELETE FROM history WHERE sequence = 1", [.missing(1...1)]),
    ("DELETE FROM history WHERE sequence IN (2, 3)", [.missing(2...3)]),
    ("DELETE FROM history WHERE sequence = 5", [.missing(5...5)]),
    ("DELETE FROM history", [.missing(1...5)]),
    ("UPDATE history SET sequence = 9 WHERE sequence = 5", [.added(9), .missing(5...5)]),
    ("UPDATE history SET sequence = -1 WHERE sequence = 1", [.added(-1), .missing(1...1)]),
    ("INSERT INTO history SELECT 6, previous, nonce, sealed FROM history WHERE sequence = 5", [.added(6)]),
    ("DELETE FROM historyHead", [.noHead]),
    ("UPDATE historyHead SET sealed = zeroblob(144)", [.noHead]),
    ("DELETE FROM history; DELETE FROM historyHead", [.noHead]),
    ("UPDATE historyHead SET (nonce, sealed) = (SELECT nonce, sealed FROM state)", [.noHead]),
  ]

  // Holds: RECORD-3
  @Test(arguments: changes.indices)
  func `a change from outside is found, and the store opens`(_ index: Int) throws {
    let (sql, expected) = Self.changes[index]
    do {
      let store = try CredentialDB.open(directory)
      try store.save(Given.source(), state: nil)
      for number in 1...5 { try store.append(Self.entry(number)) }
    }
    try change(sql)
    #expect(try faults() == expected, "\(sql)")
    do {
      let store = try CredentialDB.open(directory)
      #expect(try store.credentialCount() == 1)
      if expected == [.noHead] {
        let error = #expect(throws: RecoveryError.self) { try store.append(Self.entry(6)) }
        #expect(error?.description.contains("liquid-auth log verify") == true)
        #expect(try store.checkHistory().faults == [.noHead], "a new chain would hide the change")
      } else {
        // Later entries do not hide it, except one that was put in where the next one goes.
        try store.append(Self.entry(6))
        let faults = expected.filter { $0 != .added(6) && $0 != .added(9) }
        #expect(try store.checkHistory().faults.filter { $0 != .added(9) } == faults, "\(sql)")
      }
    }
    if try faults().isEmpty { return }
    // The owner accepts the store: an empty history begins.
    do {
      let store = try CredentialDB.open(directory, rows: .accepted)
      #expect(try store.checkHistory() == HistoryState())
      try store.append(Self.entry(1))
    }
    #expect(try faults() == [] && CredentialDB.open(directory).credentialCount() == 1)
    #expect(throws: RecoveryError.self) { try CredentialDB.open(directory, rows: .accepted) }
  }

  @Test func `a store whose rows are accepted keeps a history that is whole`() throws {
    do {
      let store = try CredentialDB.open(directory)
      try store.save(Given.source(), state: nil)
      try store.append(Self.entry(1))
    }
    try change("DELETE FROM credential")
    #expect(try CredentialDB.open(directory, rows: .accepted).history(after: .min, count: 9).count == 1)
    #expect(try faults() == [])
  }

  @Test func `a reset keeps the history`() throws {
    let store = try CredentialDB.open(directory)
    for number in 1...3 { try store.append(Self.entry(number)) }
    try store.removeAll(state: StoreState(storeID: Given.storeID, epoch: 1, floor: 1))
    #expect(try store.checkHistory().count == 3 && store.checkHistory().faults == [])
  }

  // Holds: RECORD-6
  @Test func `a store of version 2 gets a history when it is opened`() throws {
    do { try CredentialDB.open(directory).save(Given.source(), state: nil) }
    try makeVersion2()
    do {
      let store = try CredentialDB.open(directory)
      #expect(try store.credentialCount() == 1 && store.state() == Given.state)
      #expect(try store.checkHistory() == HistoryState())
      try store.append(Self.entry(1))
    }
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
    #expect(try CredentialDB.open(directory).checkHistory().count == 1)
    #expect(try directory.names == ["credentials.sqlite"])
  }

  // Holds: POLICY-2
  @Test func `a store of version 3 keeps its history, and can then hold policies`() throws {
    var state = Given.state
    try state.policies.set(.deny, of: "secret-friend.example")
    do { try CredentialDB.open(directory).append(Self.entry(1)) }
    try makeOld(version: 3)
    do {
      let store = try CredentialDB.open(directory)
      #expect(try store.checkHistory().count == 1 && store.checkHistory().faults == [])
      try store.setState(state)
      try store.append(
        HistoryEntry(time: 2, site: nil, kind: .signIn, outcome: .deniedByPolicy, verification: .none))
    }
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
    #expect(try !contains("friend", in: directory.bytes()), "policies are sealed")
    let store = try CredentialDB.open(directory)
    #expect(try store.state() == state && store.history(after: 1, count: 9).map(\.entry?.outcome) == [.deniedByPolicy])
    try state.reset()
    try store.removeAll(state: state)
    #expect(try store.state().policies.policy(of: "secret-friend.example") == .deny)
  }

  // Holds: FILE-5
  @Test func `a store of version 8 that follows a folder opens, with the time of its own file`() throws {
    do { try CredentialDB.open(directory).append(Self.entry(1)) }
    let digest = [UInt8](0..<16)
    // {1: storeID, 2: 0, 3: 0, 18: {1: 5, 4: "/a", 5: digest}, 20: true, 21: true}
    var plaintext: [UInt8] = [0xA6, 0x01, 0x50]
    plaintext += Given.storeID
    plaintext += [0x02, 0x00, 0x03, 0x00, 0x12, 0xA3, 0x01, 0x05, 0x04, 0x62, 0x2F, 0x61, 0x05, 0x50]
    plaintext += digest
    plaintext += [0x14, 0xF5, 0x15, 0xF5]
    let nonce = [UInt8](repeating: 9, count: 24)
    let sealed = try XChaCha20Poly1305.seal(
      RowPadding.pad(plaintext), key: Given.keys[.record], nonce: nonce, ad: Array("state".utf8))
    try makeOld(version: 8, state: sealed, nonce: nonce)
    for _ in 1...2 {
      let store = try CredentialDB.open(directory)
      let expected = BackupTimes(folder: "/a", ownFile: digest, ownWritten: 5)
      #expect(try store.state().backup == expected)
      #expect(try store.checkHistory().count == 1 && store.checkHistory().faults == [])
    }
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
  }

  // Holds: RECORD-3, RECORD-6
  @Test func `a history that is removed with its tables is found when the store opens`() throws {
    do { try CredentialDB.open(directory).append(Self.entry(1)) }
    try change("\(Given.withoutHistory); PRAGMA user_version = 2")
    let error = #expect(throws: RecoveryError.self) { try CredentialDB.open(directory) }
    #expect(error?.description.contains("was modified outside liquid-auth") == true)
  }

  /// Removes the tables, and what the state row says of them.
  private func makeVersion2() throws {
    try Connection(path: directory.path()).execute(Given.withoutHistory)
    let nonce = [UInt8](repeating: 9, count: 24)
    try makeOld(version: 2, state: Given.keys.seal(Given.state, version: 2, nonce: nonce), nonce: nonce)
  }

  /// Gives the store another version and another state row.
  private func makeOld(
    version: Int, state sealed: [UInt8]? = nil, nonce: [UInt8] = [UInt8](repeating: 9, count: 24)
  ) throws {
    let connection = try Connection(path: directory.path())
    try connection.execute("PRAGMA user_version = \(version)")
    var indexes = IndexCheck()
    if let sealed {
      try Statement("UPDATE state SET nonce = ?, sealed = ?", connection).run(.blob(nonce), .blob(sealed))
    }
    let rows = try StoreRows.rowSet(of: connection, keys: Given.keys, indexes: &indexes)
    try Statement("UPDATE rowSet SET nonce = ?, sealed = ?", connection).run(
      .blob(nonce), .blob(Given.keys.seal(rows, nonce: nonce)))
  }

  // Holds: ROTATE-4
  @Test func `for a move to a new phrase, the history of either store is reported if it was modified`() throws {
    let name = "previous.sqlite"
    try CredentialDB.create(at: directory.path(name), keys: Given.otherKeys, state: Given.state)
    func fault() throws -> String? {
      let previous = try CredentialDB.open(directory, name, keys: Given.otherKeys)
      return try CredentialDB.open(directory).rotationHistoryFault(previous: previous)
    }
    do {
      let previous = try CredentialDB.open(directory, name, keys: Given.otherKeys)
      let present = try CredentialDB.open(directory)
      for number in 1...3 {
        try previous.append(Self.entry(number))
        try present.append(Self.entry(number))
      }
    }
    #expect(try fault() == nil)
    try change("DELETE FROM history WHERE sequence = 3")
    #expect(try fault() == "the history was modified outside liquid-auth: entry 3 is missing")
    do { try Connection(path: directory.path(name)).execute("DELETE FROM history WHERE sequence IN (1, 3)") }
    #expect(
      try fault() == "the history of the old phrase was modified outside liquid-auth: entry 1 is missing, and 1 more")
  }

  /// Keeps a copy of the file as it is now, and attaches it as `old` to later changes.
  private func keep() throws -> TemporaryDirectory {
    let old = try TemporaryDirectory()
    try old.write(directory.bytes())
    return old
  }

  private func change(_ sql: String, with old: TemporaryDirectory) throws {
    try change("ATTACH '\(old.path())' AS old; \(sql)")
  }

  /// What a program that keeps the head and the newest number can do later.
  private static let rollBack = """
    DELETE FROM history WHERE sequence > (SELECT max(sequence) FROM old.history); \
    UPDATE historyHead SET (nonce, sealed) = (SELECT nonce, sealed FROM old.historyHead)
    """

  // Holds: RECORD-11
  @Test(arguments: [true, false])
  func `a history that is taken back alone is found, and the next entries do not hide it`(_ isClosed: Bool) throws {
    do {
      let store = try CredentialDB.open(directory)
      for number in 1...3 { try store.append(Self.entry(number)) }
    }
    let old = try keep()
    do {
      let store = try CredentialDB.open(directory)
      for number in 4...7 { try store.append(Self.entry(number)) }
      // Either the end of the session or a change of the store marks the end.
      if !isClosed {
        try store.save(Given.source(), state: nil)
        let copy = try directory.bytes()
        store.close()
        try directory.write(copy)
      }
    }
    try change(Self.rollBack, with: old)
    do {
      let store = try CredentialDB.open(directory)
      #expect(store.historyFault == .missing(4...7))
      #expect(try store.checkHistory().faults == [.missing(4...7)])
      for number in 8...11 { try store.append(Self.entry(number)) }
      try store.save(Given.source(user: 2), state: nil)
      #expect(try store.history(after: .min, count: 20).map(\.sequence) == [1, 2, 3, 8, 9, 10, 11])
      #expect(try store.checkHistory().faults == [.missing(4...7)])
    }
    #expect(try faults() == [.missing(4...7)])
    // The owner accepts the store: an empty history begins, and an older head is still found.
    _ = try CredentialDB.open(directory, rows: .accepted)
    #expect(try faults() == [])
    try change("INSERT INTO history SELECT * FROM old.history; \(Self.rollBack)", with: old)
    #expect(try faults() != [])
  }

  // Holds: RECORD-11
  @Test func `an empty history in place of one is found`() throws {
    let old = try keep()
    do {
      let store = try CredentialDB.open(directory)
      for number in 1...3 { try store.append(Self.entry(number)) }
    }
    try change("DELETE FROM history; \(Self.rollBack)", with: old)
    #expect(try faults() == [.missing(1...3)])
  }

  // Holds: RECORD-11
  @Test func `old rows beside a newer history are found, until the owner accepts them`() throws {
    try CredentialDB.open(directory).save(Given.source(), state: nil)
    let old = try keep()
    do {
      let store = try CredentialDB.open(directory)
      try store.save(Given.source(user: 2), state: nil)
      try store.append(Self.entry(1))
    }
    for table in ["credential", "state", "blobs", "rowSet"] {
      try change("DELETE FROM \(table); INSERT INTO \(table) SELECT * FROM old.\(table)", with: old)
    }
    do {
      let store = try CredentialDB.open(directory)
      #expect(try store.credentialCount() == 1)
      #expect(store.historyFault == .oldStore)
      try store.append(Self.entry(2))
      try store.save(Given.source(user: 3), state: nil)
    }
    #expect(try faults() == [.oldStore])
    do {
      let store = try CredentialDB.open(directory, rows: .accepted)
      #expect(try store.checkHistory().count == 2)
    }
    #expect(try faults() == [])
  }

  // Holds: RECORD-11
  @Test(arguments: [12, 15])
  func `a store of version 12 or 15 gets the new number, and keeps its history`(_ version: Int) throws {
    try CredentialDB.open(directory).append(Self.entry(1))
    try change("PRAGMA user_version = \(version)")
    #expect(try faults() == [])
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
    #expect(try CredentialDB.open(directory).checkHistory().count == 1)
  }

  // Holds: RECORD-11
  @Test func `a store of version 10 gets the new number, and what its mark finds is not lost`() throws {
    try CredentialDB.open(directory).save(Given.source(), state: nil)
    let old = try keep()
    try CredentialDB.open(directory).append(Self.entry(1))
    try change("PRAGMA user_version = 10")
    #expect(try faults() == [])
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
    for table in ["credential", "state", "blobs", "rowSet"] {
      try change("DELETE FROM \(table); INSERT INTO \(table) SELECT * FROM old.\(table)", with: old)
    }
    try change("PRAGMA user_version = 10")
    for _ in 1...2 { #expect(try faults() == [.oldStore]) }
  }

  // Holds: RECORD-11
  @Test func `entries since the mark, as after a crash, are no fault`() throws {
    let crashed = try TemporaryDirectory()
    do {
      let store = try CredentialDB.open(directory)
      try store.save(Given.source(), state: nil)
      for number in 1...3 { try store.append(Self.entry(number)) }
      try crashed.write(directory.bytes())
      try crashed.write(directory.bytes("credentials.sqlite-wal"), "credentials.sqlite-wal")
    }
    for _ in 1...2 {
      let store = try CredentialDB.open(crashed)
      #expect(try store.historyFault == nil && store.checkHistory().faults == [] && store.checkHistory().count == 3)
    }
  }

  // Holds: RECORD-3, RECORD-11
  @Test func `an older store whose head is lost gets a mark, and opens`() throws {
    do { try CredentialDB.open(directory).append(Self.entry(1)) }
    try change("DELETE FROM historyHead")
    try makeOld(version: 9)
    for user in 1...2 {
      let store = try CredentialDB.open(directory)
      #expect(try store.historyFault == .noHead && store.checkHistory().faults == [.noHead])
      try store.save(Given.source(user: user), state: nil)
    }
  }

  // Holds: RECORD-11
  @Test func `a store with a mark is not taken for an older one`() throws {
    try change("PRAGMA user_version = 9")
    let error = #expect(throws: RecoveryError.self) { try CredentialDB.open(directory) }
    #expect(error?.description.contains("was modified outside liquid-auth") == true)
  }

  // Holds: RECORD-12
  @Test func `the entry of a change is in its transaction, and no other change takes it`() throws {
    func left() throws -> (entries: [HistoryEntry?], passkeys: Int) {
      let copy = try TemporaryDirectory()
      // The process ends here: what is not in the file, and durable, is lost.
      try copy.write(directory.bytes())
      let store = try CredentialDB.open(copy)
      return (try store.history(after: .min, count: 9).map(\.entry), try store.credentialCount())
    }
    let store = try CredentialDB.open(directory)
    store.expect(Self.entry(1))
    try store.save(Given.source(), state: nil)
    #expect(store.takeBack())
    #expect(try left() == ([Self.entry(1)], 1))
    try store.save(Given.source(user: 2), state: nil)
    #expect(try left() == ([Self.entry(1)], 2))
    store.expect(Self.entry(2))
    #expect(!store.takeBack(), "no change was made")
    try store.save(Given.source(user: 3), state: nil)
    #expect(try left() == ([Self.entry(1)], 3))
    // A change that fails takes none.
    store.expect(Self.entry(3))
    #expect(throws: RecoveryError.self) {
      try store.durably { session throws(StoreFault) in
        try session.write(largeBlobArray: [1])
        throw StoreFault.missing
      }
    }
    #expect(!store.takeBack())
    #expect(try store.checkHistory().faults == [] && store.checkHistory().count == 1)
  }

  // Holds: RECORD-12
  @Test func `a change is made without its entry if the end of the history is unknown`() throws {
    try change("DELETE FROM historyHead")
    let store = try CredentialDB.open(directory)
    store.expect(Self.entry(1))
    try store.save(Given.source(), state: nil)
    #expect(!store.takeBack())
    #expect(try store.credentialCount() == 1 && store.checkHistory().faults == [.noHead])
  }

  // Holds: RECORD-2
  @Test func `the file has no site, and rows of one size`() throws {
    do {
      let store = try CredentialDB.open(directory)
      for site in ["a.example", String(repeating: "long.", count: 40) + "example", nil] {
        try store.append(
          HistoryEntry(time: 1, site: site, kind: .register, outcome: .denied, verification: .none))
      }
      #expect(try !contains("example", in: directory.bytes("credentials.sqlite-wal")))
    }
    #expect(try !contains("example", in: directory.bytes()))
    let lengths = try Connection(path: directory.path()).texts(
      "SELECT DISTINCT length(previous) || ' ' || length(nonce) || ' ' || length(sealed) FROM history")
    #expect(lengths == ["32 24 272"])
  }

  private func contains(_ text: String, in bytes: [UInt8]) -> Bool { Data(bytes).range(of: Data(text.utf8)) != nil }
}
