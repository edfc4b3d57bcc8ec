import CSQLite
import CryptoPrimitives
import Glibc
import Synchronization
import TestVectors
import Testing

@testable import CredentialDB
@testable import Recovery

/// A commit that fails leaves open whether the log has the transaction; the store finds out before it answers.
///
/// The hooks of SQLite make a commit fail on either side of the moment at which its transaction is in the log.
@Suite struct `A commit that fails` {
  let directory: TemporaryDirectory
  let store: CredentialDB

  init() throws {
    directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    store = try CredentialDB.open(directory)
    try store.save(Given.source(), state: nil)
  }

  /// Where the next commit fails.
  enum Side: CaseIterable {
    case before, after
  }

  private func fail(_ side: Side) throws {
    try store.with { session throws(StoreFault) in
      switch side {
      case .before: sqlite3_commit_hook(session.connection.handle, { _ in 1 }, nil)
      case .after: sqlite3_wal_hook(session.connection.handle, { _, _, _, _ in SQLITE_IOERR }, nil)
      }
    }
  }

  private var names: [[UInt8]] {
    get throws { try store.credentials { $0.userID } }
  }

  // Holds: FAULT-14
  @Test(arguments: Side.allCases)
  func `is decided before the answer, as a crash would decide it`(_ side: Side) throws {
    let changes = Mutex(0)
    store.observe { changes.withLock { $0 += 1 } }
    try fail(side)
    let isThere: Bool
    do {
      try store.save(Given.source(user: 2), state: nil)
      isThere = true
    } catch {
      isThere = false
    }
    #expect(isThere == (side == .after))
    #expect(try names.count == (isThere ? 2 : 1))
    #expect(changes.withLock(\.self) == (isThere ? 1 : 0))
    // What a killed process leaves: the files as they are now.
    for name in try directory.names { try directory.write(directory.bytes(name), "killed" + name.dropFirst(11)) }
    let found = try CredentialDB.open(directory, "killed.sqlite")
    #expect(try found.credentialCount() == (isThere ? 2 : 1))

    try store.save(Given.source(user: 3), state: nil)
    #expect(try names.count == (isThere ? 3 : 2) && store.overview().credentials == (isThere ? 3 : 2))
  }

  @Test func `keeps the answer of a merge that is there all the same`() throws {
    try fail(.after)
    let account = try Given.source(user: 2)
    let merged = try store.merge(
      [
        MergedAccount(
          StoredAccount(accountTag: Given.keys.accountTag(of: account), entry: .record(account)), keys: Given.keys)
      ], epoch: 7, largeBlobArray: nil, keepsDeletion: false)
    #expect(merged.accounts.count == 1 && merged.accounts[0].isWritten)
    #expect(try store.state().epoch == 7 && store.credentialCount() == 2)
  }

  @Test func `forgets the numbers that were counted in a transaction that is taken back`() throws {
    let tag = Given.keys.rpTag(Given.rp(1))
    let sources = try (2...StoreRows.Totals.many).map { try Given.source(user: $0) }
    var counted: Int?
    #expect(throws: RecoveryError.self) {
      try store.durably { (session) throws(StoreFault) -> Void in
        for source in sources { try session.write(source) }
        _ = try session.count(ofRP: tag, userVerified: true)
        counted = try session.totals().ofLarge[tag]
        throw .noHistoryHead
      }
    }
    #expect(counted == StoreRows.Totals.many)
    #expect(try store.credentialCount(rpIDHash: Given.rp(1), userVerified: true) == 1)
  }

  // Holds: FAULT-14
  @Test func `explains later damage only with a number that SQLite takes for damage`() {
    for number in [EIO, ENXIO, ERANGE] { #expect(sqlite_shim_is_taken_for_damage(number) != 0) }
    for number in [0, ENOSPC, EDQUOT, ENOENT, EACCES, EROFS] { #expect(sqlite_shim_is_taken_for_damage(number) == 0) }
  }

  @Test func `says that nothing is decided if the store cannot be opened again, and tries that again later`() throws {
    try fail(.after)
    // A journal beside the file, which a store never has.
    try directory.write([1], "credentials.sqlite-journal")
    let error = #expect(throws: RecoveryError.self) { try store.save(Given.source(user: 2), state: nil) }
    #expect(
      error?.description.hasSuffix("; the change may or may not be stored; check the disk, then whether it was stored")
        == true
    )
    #expect(throws: RecoveryError(.store, "")) { try store.credentialCount() }
    #expect(unlink(directory.path("credentials.sqlite-journal")) == 0)
    #expect(try store.credentialCount() == 2)
  }
}
