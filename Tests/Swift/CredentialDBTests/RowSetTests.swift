import CryptoPrimitives
import Foundation
import Testing

@testable import CredentialDB
@testable import Recovery

/// An old row that is put back is found when the store opens, and so is a removed row.
@Suite struct `Rows that were put back` {
  let directory: TemporaryDirectory
  /// A copy of the store before the last changes.
  let old: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    old = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Self.state(pinRetries: 8))
    let store = try CredentialDB.open(directory)
    for user in 1...3 { try store.save(Given.source(user: user), state: nil) }
    try store.setLargeBlobArray([1])
    try old.write(directory.bytes())
    try store.remove(Given.source(user: 2), changed: 20)
    try store.setState(Self.state(pinRetries: 2))
    try store.setLargeBlobArray([2])
  }

  private static func state(pinRetries: UInt8) -> StoreState {
    var state = Given.state
    let hash = [UInt8](repeating: 1, count: 16).withUnsafeBytes(SecretBytes.init(copying:))
    state.settings.pin = StoredPIN(hash: hash, length: 4, retries: pinRetries)
    return state
  }

  private func change(_ sql: String) throws {
    let connection = try Connection(path: directory.path())
    try connection.execute("ATTACH '\(old.path())' AS old")
    try connection.execute(sql)
  }

  private func refusal(_ body: () throws -> Void) -> String {
    let error = #expect(throws: RecoveryError.self, performing: body)
    return error?.description.replacingOccurrences(of: directory.path(""), with: "") ?? ""
  }

  static let changes: [(what: String, sql: String)] = [
    (
      "a deleted passkey is back",
      """
      UPDATE credential SET (rpTag, credentialTag, keyTag, sequence, nonce, sealed) = (SELECT rpTag, credentialTag, \
      keyTag, sequence, nonce, sealed FROM old.credential AS o WHERE o.accountTag = credential.accountTag) \
      WHERE rpTag IS NULL
      """
    ),
    (
      "the PIN's tries are back", "UPDATE state SET (nonce, sealed, told) = (SELECT nonce, sealed, told FROM old.state)"
    ),
    ("old large blobs", "UPDATE blobs SET (nonce, sealed) = (SELECT nonce, sealed FROM old.blobs)"),
    ("the old sum", "UPDATE rowSet SET (nonce, sealed) = (SELECT nonce, sealed FROM old.rowSet)"),
    ("no sum", "DELETE FROM rowSet"),
    ("a sum of nothing of ours", "UPDATE rowSet SET sealed = zeroblob(144)"),
    ("no tombstone", "DELETE FROM credential WHERE rpTag IS NULL"),
    ("a passkey less", "DELETE FROM credential WHERE sequence = 1"),
    ("no large blobs", "DELETE FROM blobs"),
    ("another order", "UPDATE credential SET sequence = 100 WHERE sequence = 1"),
    ("another keyTag", "UPDATE credential SET keyTag = zeroblob(32) WHERE sequence = 1"),
    ("a store without the sum", "DROP TABLE rowSet; \(Given.withoutHistory); PRAGMA user_version = 1"),
  ]

  // Holds: FILE-4
  @Test(arguments: changes.indices)
  func `a row that is put back, removed or changed alone is found`(_ index: Int) throws {
    let (what, sql) = Self.changes[index]
    let left = try CredentialDB.open(directory).revision()
    try change(sql)
    let before = try directory.bytes()
    let said = refusal { _ = try CredentialDB.open(directory) }
    #expect(
      said == """
        the store credentials.sqlite was modified outside liquid-auth: an old row was put back, or a row was \
        removed; restore the right copy, or accept the store as it is with: liquid-auth recover --accept-store
        """, "\(what)")
    #expect(try directory.bytes() == before, "\(what): the file stays as it is")
    #expect(try directory.names == ["credentials.sqlite"], "\(what)")

    // Accepting the store loses none of its content, and is needed once only.
    var accepted: [CredentialSource] = []
    do {
      let store = try CredentialDB.open(directory, rows: .accepted)
      accepted = try store.allCredentials()
      #expect(accepted.count >= 1)
      try store.save(Given.source(user: 5), state: nil)
    }
    let store = try CredentialDB.open(directory)
    #expect(try store.allCredentials().dropFirst() == accepted[...], "\(what)")
    #expect(try store.revision() != left)
  }

  @Test func `an old copy of the whole store is not found`() throws {
    try directory.write(old.bytes())
    #expect(try CredentialDB.open(directory).allCredentials().count == 3)
  }

  @Test func `opening without judging the rows reports nothing, and leaves the store as it is`() throws {
    try change(Self.changes[0].sql)
    #expect(try CredentialDB.open(directory, rows: .unjudged).credentialCount() == 3)
    _ = refusal { _ = try CredentialDB.open(directory) }
    try change("DROP TABLE rowSet; \(Given.withoutHistory); PRAGMA user_version = 1")
    _ = refusal { _ = try CredentialDB.open(directory, rows: .unjudged) }
  }

  @Test func `the rows of a store of version 10 need not be judged either`() throws {
    try change("\(Self.changes[0].sql); PRAGMA user_version = 10")
    #expect(try CredentialDB.open(directory, rows: .unjudged).credentialCount() == 3)
    _ = refusal { _ = try CredentialDB.open(directory) }
  }

  @Test func `accepting an unmodified store is refused, and changes nothing`() throws {
    let before = try directory.bytes()
    let said = refusal { _ = try CredentialDB.open(directory, rows: .accepted) }
    #expect(said == "the store credentials.sqlite and its history are unmodified: there is nothing to accept")
    #expect(try directory.bytes() == before)
  }

  @Test func `a store of another phrase or vault, or a damaged one, cannot be accepted`() throws {
    try change(Self.changes[0].sql)
    #expect(
      refusal { _ = try CredentialDB.open(directory, keys: Given.otherKeys, rows: .accepted) }
        .contains("is damaged: its state does not open: its seal is broken, or was made with another phrase"))
    #expect(
      refusal { _ = try CredentialDB.open(directory, storeID: [UInt8](repeating: 1, count: 16), rows: .accepted) }
        .contains("does not belong to the vault"))
    try change("UPDATE credential SET sealed = zeroblob(272) WHERE sequence = 1")
    #expect(
      refusal { _ = try CredentialDB.open(directory, rows: .accepted) }.contains("is damaged: a row does not open"))
  }

  @Test func `the sum matches the rows after each kind of change`() throws {
    let store = try CredentialDB.open(directory)
    let changes: [() throws -> Void] = [
      { try store.save(Given.source(user: 9), state: nil) },
      { try store.save(Given.source(user: 9), state: Given.state) },
      { try store.save(Given.source(user: 9, name: "renamed"), state: nil) },
      { try store.save(Given.source(user: 9, counter: 1), state: nil) },
      { try store.remove(Given.source(user: 9), changed: 30) },
      { try store.remove(Given.source(user: 77), changed: 30) },
      { try store.setState(Self.state(pinRetries: 1)) }, { try store.setLargeBlobArray([3]) },
      { try store.removeAll(state: Given.state) }, { try store.save(Given.source(user: 9), state: nil) },
      { try store.setLargeBlobArray([4]) },
    ]
    for (number, change) in changes.enumerated() {
      try change()
      let copy = try TemporaryDirectory()
      try copy.write(directory.bytes())
      #expect(try CredentialDB.open(copy).allCredentials() == store.allCredentials(), "change \(number)")
    }
  }

  // Holds: FILE-4
  @Test func `a change that fails half-way leaves the sum unchanged`() throws {
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    let session = try Session(connection, keys: Given.keys)
    let revision = try session.revision()
    let source = try Given.source(user: 4)
    #expect(throws: StoreFault.exists) {
      try session.change { () throws(StoreFault) in
        try session.write(source)
        try session.write(Given.state)
        throw .exists
      }
    }
    #expect(try session.revision() == revision)
    try session.durably { () throws(StoreFault) in try session.write(source) }
    let copy = try TemporaryDirectory()
    try copy.write(directory.bytes())
    #expect(try CredentialDB.open(copy).allCredentials().count == 3)
  }
}

/// Stores of version 1, which have no sum.
@Suite struct `Old stores` {
  let directory: TemporaryDirectory

  /// Makes a store of version 1: without the table of the sum, and with a state row that does not mention it.
  init() throws {
    directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    do {
      let store = try CredentialDB.open(directory)
      for user in 1...3 { try store.save(Given.source(user: user), state: nil) }
      try store.remove(Given.source(user: 2), changed: 20)
      try store.setLargeBlobArray([1])
    }
    try makeOld()
  }

  private func makeOld() throws {
    let connection = try Connection(path: directory.path())
    try connection.execute("DROP TABLE rowSet; \(Given.withoutHistory); PRAGMA user_version = 1")
    let nonce = [UInt8](repeating: 9, count: 24)
    try Statement("UPDATE state SET nonce = ?, sealed = ?", connection).run(
      .blob(nonce), .blob(Given.keys.seal(Given.state, version: 1, nonce: nonce)))
  }

  // Holds: FILE-5
  @Test func `an old store opens with all its content, and has a sum from then on`() throws {
    var revision: [UInt8] = []
    do {
      let store = try CredentialDB.open(directory)
      #expect(try store.allCredentials() == [Given.source(user: 3), Given.source(user: 1)])
      let entry = try store.account(rpIDHash: Given.rp(1), userID: Given.source(user: 2).userID)
      #expect(entry == .tombstone(counter: 0, changed: 20))
      #expect(try store.state() == Given.state && store.largeBlobArray() == [1])
      revision = try store.revision()
    }
    #expect(try directory.names == ["credentials.sqlite"])
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
    #expect(try CredentialDB.open(directory).revision() == revision)
    try Connection(path: directory.path()).execute("DELETE FROM credential WHERE rpTag IS NULL")
    #expect(throws: RecoveryError.self) { try CredentialDB.open(directory) }
  }

  @Test func `opening without judging the rows upgrades the store too`() throws {
    #expect(try CredentialDB.open(directory, rows: .unjudged).credentialCount() == 2)
    #expect(try CredentialDB.open(directory).allCredentials().count == 2)
  }

  @Test func `the settings of an old store can be read before it is opened`() {
    #expect(CredentialDB.reportedSettings(at: directory.path()) == ReportedSettings())
  }

  // Holds: FILE-5
  @Test func `the upgrade from version 1 to 4 is one transaction, wherever it stops`() throws {
    let before = try directory.bytes()
    // The log before it is moved into the file, as on disk after a power failure.
    var log: [UInt8] = []
    do {
      let connection = try Connection(path: directory.path())
      connection.keepLogWhenClosing(true)
      try Session.configure(connection)
      let found = try StoreCheck.run(on: connection, keys: Given.keys, storeID: nil)
      try Session.upgrade(found, on: connection, keys: Given.keys, hasHistory: false)
      log = try directory.bytes("credentials.sqlite-wal")
    }
    #expect(log.count > 4096)
    for count in Array(stride(from: 0, to: log.count, by: 1501)) + [log.count - 1, log.count] {
      let crashed = try TemporaryDirectory()
      try crashed.write(before)
      try crashed.write(Array(log.prefix(count)), "credentials.sqlite-wal")
      #expect(try CredentialDB.open(crashed).allCredentials().count == 2, "\(count) bytes of the log")
      #expect(try CredentialDB.open(crashed).largeBlobArray() == [1], "\(count) bytes of the log")
    }
  }
}

/// After a reset the file is as small as a new one.
@Suite struct `A store that shrinks` {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
  }

  // Holds: FILE-6
  @Test func `a reset shrinks the file to the size of a new store`() throws {
    let size = try directory.bytes().count
    let store = try CredentialDB.open(directory)
    for user in 1...300 { try store.save(Given.source(user: user), state: nil) }
    #expect(try directory.bytes().count > 4 * size)
    let state = StoreState(storeID: Given.storeID, epoch: 1, floor: 1)
    try store.removeAll(state: state)
    #expect(try directory.bytes().count == size)
    #expect(try directory.bytes("credentials.sqlite-wal") == [])

    try store.save(Given.source(), state: nil)
    let copy = try TemporaryDirectory()
    try copy.write(directory.bytes())
    let again = try CredentialDB.open(copy)
    #expect(try again.state() == state && again.allCredentials() == [Given.source()])
  }

  // Holds: FILE-6
  @Test func `a store that a crash left large shrinks when it is opened`() throws {
    let size = try directory.bytes().count
    do {
      let store = try CredentialDB.open(directory)
      for user in 1...300 { try store.save(Given.source(user: user), state: nil) }
    }
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    try removeAll(on: connection)
    connection.emptyLog()
    try directory.write(directory.bytes(), "copy")
    #expect(try directory.bytes("copy").count > 4 * size)
    #expect(try CredentialDB.open(directory, "copy").state().epoch == 1)
    #expect(try directory.bytes("copy").count == size)
  }

  private func removeAll(on connection: Connection) throws {
    let session = try Session(connection, keys: Given.keys)
    try session.change { () throws(StoreFault) in
      try session.removeAll()
      try session.write(StoreState(storeID: Given.storeID, epoch: 1, floor: 1))
    }
  }

  // Holds: FILE-6
  /// The content that remains after the removal is in the file at every moment.
  @Test func `a crash while the file shrinks loses nothing`() throws {
    do {
      let store = try CredentialDB.open(directory)
      for user in 1...200 { try store.save(Given.source(user: user), state: nil) }
    }
    let connection = try Connection(path: directory.path())
    try Session.configure(connection)
    try removeAll(on: connection)
    let session = try Session(connection, keys: Given.keys)
    try session.change { () throws(StoreFault) in
      for number in 1...3 { try session.write(source(user: number)) }
    }
    connection.emptyLog()
    let before = try directory.bytes()
    connection.vacuum()
    let log = try directory.bytes("credentials.sqlite-wal")
    #expect(log.count > 32)
    for count in Array(stride(from: 0, to: log.count, by: 2003)) + [log.count - 1, log.count] {
      let crashed = try TemporaryDirectory()
      try crashed.write(before)
      try crashed.write(Array(log.prefix(count)), "credentials.sqlite-wal")
      let store = try CredentialDB.open(crashed)
      #expect(try store.allCredentials().count == 3 && store.state().epoch == 1, "\(count) bytes of the log")
    }
  }

  private func source(user: Int) throws(StoreFault) -> CredentialSource {
    do { return try Given.source(user: user) } catch { throw .missing }
  }
}
