import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The selection of passkeys for a page: Recovery §9.
@Suite struct BackupSelectionTests {
  let keys: CredentialKeys
  private static let nonce = [UInt8](repeating: 6, count: 24)

  init() throws { keys = try KeysAndRecovery.keys() }

  /// A passkey whose user.id is one byte.
  private func passkey(
    _ user: UInt8, created: UInt64 = 1, changed: UInt64 = 1, name: String? = nil, isImported: Bool = false
  ) throws -> StoredAccount {
    let source = CredentialSource(
      rpID: "example.com", userID: [user], name: name ?? "user \(user)", id: [UInt8](repeating: user, count: 127),
      algorithm: .es256, counter: isImported ? 0 : 1, created: created, changed: changed,
      origin: isImported ? .imported : .registered,
      importedKey: isImported ? Hex([UInt8](repeating: 1, count: 32)).secret : nil)
    let record = try #require(source)
    return StoredAccount(accountTag: keys.accountTag(of: record), entry: .record(record))
  }

  private func removal(_ user: UInt8, changed: UInt64) -> StoredAccount {
    StoredAccount(
      accountTag: keys.accountTag(RPIDHash(rpID: "gone.example"), userID: [user]),
      entry: .tombstone(counter: 1, changed: changed))
  }

  private func backup(_ accounts: [StoredAccount], epoch: UInt16 = 0, blobs: [UInt8]? = nil) throws -> [UInt8] {
    let writer = BackupWriter()
    try writer.append(accounts.sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) })
    return try writer.file(epoch: epoch, largeBlobArray: blobs, keys: keys, nonce: [UInt8](repeating: 5, count: 24))
  }

  private func select(
    _ accounts: [StoredAccount], atMost size: Int, epoch: UInt16 = 0, blobs: [UInt8]? = nil
  ) throws -> BackupSelection {
    try BackupSelection(
      of: BackupReader(file: backup(accounts, epoch: epoch, blobs: blobs), keys: keys), atMost: size, nonce: Self.nonce)
  }

  /// The bytes of a file with these entries, and the four that the selection keeps free.
  private func room(for accounts: [StoredAccount]) throws -> Int {
    try backup([]).count + accounts.reduce(0) { $0 + $1.encoded.count } + 4
  }

  /// The user.ids of the passkeys in a file, in ascending order; and the number of removals.
  private func content(_ file: [UInt8]) throws -> (users: [UInt8], removals: Int) {
    let reader = try BackupReader(file: file, keys: keys)
    let entries = try (0..<reader.count).map { try reader.account(at: $0).entry }
    return (entries.compactMap { $0.record?.userID.first }.sorted(), entries.count(where: \.isTombstone))
  }

  // Holds: PAPER-2
  @Test func `a small backup is selected whole`() throws {
    let accounts = try [passkey(1), passkey(2, isImported: true), removal(3, changed: 1)]
    let selection = try select(accounts, atMost: room(for: accounts), epoch: 7)
    #expect(selection.isComplete && selection.leftOut.isEmpty && selection.leftOutRemovals == 0)
    #expect((selection.passkeys, selection.removals) == (2, 1))
    let reader = try BackupReader(file: selection.file, keys: keys)
    #expect(reader.epoch == 7 && reader.largeBlobArray == nil)
    let sorted = accounts.sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) }
    #expect(try (0..<reader.count).map { try reader.account(at: $0) } == sorted)
  }

  @Test(arguments: [0, 1, 5696, 5700])
  func `an empty backup is selected if it fits`(size: Int) throws {
    guard size > 4 else {
      let error = #expect(throws: RecoveryError.self) { try select([], atMost: size) }
      #expect(error?.description == "a backup has more than \(size) bytes")
      return
    }
    let selection = try select([], atMost: size)
    #expect(selection.isComplete && selection.passkeys == 0)
    #expect(try content(selection.file) == ([], 0))
  }

  // Holds: PAPER-2
  @Test func `imported passkeys come first, then those that were changed last`() throws {
    // A record that was recovered has changed 0, and counts by the time when it was made.
    let accounts = try [
      passkey(1, changed: 40), passkey(2, changed: 10), passkey(3, created: 30, changed: 0),
      passkey(4, changed: 1, isImported: true), passkey(5, changed: 20), removal(6, changed: 99),
    ]
    let first = try select(accounts, atMost: room(for: [accounts[3], accounts[0], accounts[2]]))
    #expect(try content(first.file) == ([1, 3, 4], 0))
    #expect((first.passkeys, first.removals, first.leftOutRemovals) == (3, 0, 1))
    #expect(
      first.leftOut
        == [PasskeyName(rpID: "example.com", name: "user 5"), PasskeyName(rpID: "example.com", name: "user 2")])
    #expect(!first.isComplete)
    #expect(try content(select(accounts, atMost: room(for: [accounts[3]])).file) == ([4], 0))
  }

  // Holds: PAPER-2
  @Test func `removals come last, the newest first`() throws {
    let accounts = try [passkey(1), removal(2, changed: 1), removal(3, changed: 3), removal(4, changed: 2)]
    let selection = try select(accounts, atMost: room(for: [accounts[0], accounts[2]]))
    #expect((selection.passkeys, selection.removals, selection.leftOutRemovals) == (1, 1, 2))
    #expect(selection.leftOut.isEmpty && !selection.isComplete)
    let reader = try BackupReader(file: selection.file, keys: keys)
    #expect(try (0..<reader.count).contains { try reader.account(at: $0) == accounts[2] })
  }

  // Holds: PAPER-2
  @Test func `an entry that does not fit is left out whole, and smaller ones after it are taken`() throws {
    let accounts = try [
      passkey(1, changed: 3, name: String(repeating: "n", count: 255)), passkey(2, changed: 2), passkey(3, changed: 1),
    ]
    let size = try room(for: [accounts[1], accounts[2]])
    let all = try select(accounts, atMost: size)
    #expect(try content(all.file) == ([2, 3], 0))
    #expect(all.leftOut == [PasskeyName(rpID: "example.com", name: String(repeating: "n", count: 255))])
    // One byte less, and the last one does not fit either.
    let less = try select(accounts, atMost: size - 1)
    #expect(try content(less.file) == ([2], 0))
    #expect(less.leftOut.map(\.name) == [String(repeating: "n", count: 64), "user 3"])
  }

  @Test func `of equal times, the order of the tags decides`() throws {
    let accounts = try (1...5).map { try passkey(UInt8($0)) }
    let sorted = accounts.sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) }
    let selection = try select(accounts.reversed(), atMost: room(for: Array(sorted.prefix(3))))
    #expect(try content(selection.file).users == sorted.prefix(3).compactMap { $0.entry.record?.userID.first }.sorted())
  }

  // Holds: PAPER-2
  @Test(arguments: [(nil, false), (SerializedLargeBlobs.initial, false), ([1, 2, 3], true)] as [([UInt8]?, Bool)])
  func `large blobs are left out`(blobs: [UInt8]?, areLeftOut: Bool) throws {
    let selection = try select([passkey(1)], atMost: 5700, blobs: blobs)
    #expect(selection.leavesOutLargeBlobs == areLeftOut && selection.isComplete == !areLeftOut)
    #expect(try BackupReader(file: selection.file, keys: keys).largeBlobArray == nil)
  }

  // Holds: PAPER-2
  @Test func `no selection is larger than the given size`() throws {
    let accounts = try (0..<60).map { try passkey($0, changed: UInt64($0)) } + (0..<60).map { removal($0, changed: 1) }
    for size in [200, 333, 599, 1000, 5700, 5701, 20_000] {
      let selection = try select(accounts, atMost: size)
      #expect(selection.file.count <= size)
      #expect(selection.passkeys + selection.leftOut.count == 60)
      #expect(selection.removals + selection.leftOutRemovals == 60)
      #expect(try content(selection.file).users == ((60 - selection.passkeys)..<60).map { UInt8($0) })
    }
    #expect(try select(accounts, atMost: 5700).passkeys == 27)
  }

  @Test func `a damaged entry is not left out silently`() throws {
    var account = try passkey(1)
    account = StoredAccount(accountTag: [UInt8](repeating: 0, count: 32), entry: account.entry)
    let accounts = [account, try passkey(2)]
    let error = #expect(throws: RecoveryError.columnsExchanged) { try select(accounts, atMost: 5700) }
    #expect(error?.description == "entry 1 of 2: its tag is not that of its account")
  }
}
