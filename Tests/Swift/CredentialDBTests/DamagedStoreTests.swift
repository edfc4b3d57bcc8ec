import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CredentialDB

/// Damage to a store is refused with the file's name and leaves the file unchanged, unless it is in unused space.
@Suite struct `Damaged store` {
  let good: [UInt8]
  let content: Content

  /// The complete content of a store.
  struct Content: Equatable {
    let state: StoreState
    let all: [CredentialSource]
    let ofSites: [[CredentialSource]]
    let accounts: [AccountEntry?]
    let historyFaults: [HistoryFault]

    init(_ store: CredentialDB) throws {
      state = try store.state()
      all = try store.allCredentials()
      ofSites = try (1...2).map { try store.credentials(rpIDHash: Given.rp($0)) }
      accounts = try (1...6).map { try store.account(rpIDHash: Given.rp(1), userID: Given.source(user: $0).userID) }
      historyFaults = try store.checkHistory().faults
    }

    /// A damaged history does not keep the store from opening.
    static func == (one: Content, other: Content) -> Bool {
      one.state == other.state && one.all == other.all && one.ofSites == other.ofSites && one.accounts == other.accounts
    }
  }

  init() throws {
    let directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    let store = try CredentialDB.open(directory)
    for user in 1...4 { try store.save(Given.source(user: user, name: "user \(user)"), state: nil) }
    try store.save(Given.source(site: 2), state: nil)
    try store.append(
      HistoryEntry(time: 1, site: "site-1.example", kind: .signIn, outcome: .done, verification: .none))
    try store.remove(Given.source(user: 3), changed: 20)
    content = try Content(store)
    good = try directory.bytes()
  }

  /// Opens the store in the directory; `nil` if it is refused correctly.
  private func open(_ directory: TemporaryDirectory, _ what: String) throws -> Content? {
    let before = try directory.bytes()
    do {
      return try Content(CredentialDB.open(directory))
    } catch let error as RecoveryError {
      #expect(error.description.contains(directory.path()), "\(what)")
      #expect(try directory.bytes() == before, "\(what): the damaged file stays as it is")
      #expect(try directory.names == ["credentials.sqlite"], "\(what)")
      return nil
    }
  }

  private func open(_ bytes: [UInt8], _ what: String) throws -> Content? {
    let directory = try TemporaryDirectory()
    try directory.write(bytes)
    return try open(directory, what)
  }

  /// Opens the store with one bit flipped, and flips it back.
  private func open(_ directory: TemporaryDirectory, flipping bit: Int, of index: Int) throws -> Content? {
    try directory.patch(index, good[index] ^ 1 << UInt8(bit))
    defer { try? directory.patch(index, good[index]) }
    return try open(directory, "byte \(index), bit \(bit)")
  }

  // Holds: FILE-3
  @Test func `every truncation is refused`() throws {
    let counts = Array(stride(from: 0, to: good.count, by: 509)) + [1, 15, 16, 99, 100, 4095, 4096, good.count - 1]
    for count in counts {
      #expect(try open(Array(good.prefix(count)), "\(count) bytes") == nil)
    }
    #expect(try open(good + [0], "one byte more") == nil)
    #expect(try open(good + [UInt8](repeating: 0, count: 4096), "one page more") == nil)
  }

  @Test func `a changed bit of the header is refused, except in three fields`() throws {
    let directory = try TemporaryDirectory()
    try directory.write(good)
    // Without meaning: the schema cookie, and the version of SQLite that wrote the file.
    let free = Set(Array(40..<44) + Array(96..<100))
    for index in 0..<100 {
      for bit in 0..<8 {
        let opened = try open(directory, flipping: bit, of: index)
        #expect(opened == (free.contains(index) ? content : nil), "byte \(index), bit \(bit)")
      }
    }
  }

  // Holds: FILE-3
  /// Every 11th byte, each with another bit than the one before, in four parts that run in parallel.
  @Test(.whole("it opens the store very often"), arguments: 0..<4)
  func `a changed bit anywhere is refused, or does not change the content`(part: Int) throws {
    let directory = try TemporaryDirectory()
    try directory.write(good)
    var (inUse, unnoticed) = (0, 0)
    for index in stride(from: 100 + part * 11, to: good.count, by: 44) {
      let opened = try open(directory, flipping: index / 11 % 8, of: index)
      if let opened { #expect(opened == content, "byte \(index)") }
      // Zero bytes are mostly unused space; other bytes have a meaning.
      if good[index] != 0 {
        inUse += 1
        if opened != nil, opened?.historyFaults.isEmpty == true { unnoticed += 1 }
      }
    }
    #expect(inUse > 50)
    #expect(unnoticed <= 1, "a byte that is in use and yet unnoticed is rare")
    #expect(try directory.bytes() == good)
  }

  @Test(arguments: [
    "DROP INDEX credentialOfID", "CREATE TABLE more (x)", "DELETE FROM state", "PRAGMA application_id = 1",
    "CREATE TRIGGER t AFTER INSERT ON credential BEGIN DELETE FROM credential; END",
    "UPDATE credential SET sealed = zeroblob(272) WHERE sequence = 1",
    "UPDATE credential SET nonce = x'00' WHERE sequence = 2",
    "UPDATE credential SET rpTag = NULL WHERE sequence = 2",
    "UPDATE credential SET keyTag = NULL, rpTag = NULL, credentialTag = NULL WHERE sequence = 2",
    "UPDATE credential SET rpTag = (SELECT rpTag FROM credential WHERE sequence = 5) WHERE sequence = 1",
    "UPDATE credential SET credentialTag = (SELECT credentialTag FROM credential WHERE sequence = 2) WHERE sequence = 1",
    "UPDATE credential SET (nonce, sealed) = (SELECT nonce, sealed FROM credential WHERE sequence = 2) WHERE sequence = 1",
    "UPDATE credential SET accountTag = zeroblob(32) WHERE sequence = 1",
    "UPDATE state SET nonce = zeroblob(24)",
    "UPDATE credential SET keyTag = zeroblob(32) WHERE sequence = 1",
    "PRAGMA journal_mode = DELETE", "PRAGMA user_version = 0",
    "PRAGMA user_version = 11", "PRAGMA user_version = 13", "PRAGMA user_version = 14",
  ])
  func `a change by another program is refused`(sql: String) throws {
    let directory = try TemporaryDirectory()
    try directory.write(good)
    try Connection(path: directory.path()).execute(sql)
    #expect(try open(directory, sql) == nil)
  }

  @Test(arguments: [[], [0], Array("not a database".utf8), [UInt8](repeating: 0, count: 8192)] as [[UInt8]])
  func `other files are refused`(bytes: [UInt8]) throws {
    #expect(try open(bytes, "\(bytes.count) bytes") == nil)
  }

  @Test func `a damaged store with changes in its log stays as it is, with the log`() throws {
    let directory = try TemporaryDirectory()
    try directory.write(good)
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    let session = try Session(connection, keys: Given.otherKeys)
    try connection.transaction { () throws(StoreFault) in try session.writeFirst(Given.state) }

    let crashed = try TemporaryDirectory()
    let log = try directory.bytes("credentials.sqlite-wal")
    try crashed.write(good)
    try crashed.write(log, "credentials.sqlite-wal")
    let error = #expect(throws: RecoveryError.self) { try CredentialDB.open(crashed) }
    #expect(error?.description.contains("its state does not open") == true)
    #expect(try crashed.bytes() == good)
    #expect(try crashed.bytes("credentials.sqlite-wal") == log)
  }
}
