import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import CredentialDB
@testable import Recovery

/// Imported passkeys in the store: Recovery §6.
@Suite struct `Imported passkeys in a store` {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
  }

  private func imported(
    user: Int = 1, id: [UInt8] = [1], counter: UInt32 = 0, key: UInt8 = 3
  ) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: "site-1.example", userID: Array("user-\(user)".utf8), id: id, algorithm: .es256, counter: counter,
        created: 5, changed: 7, origin: .imported, importedKey: Hex([UInt8](repeating: key, count: 32)).secret))
  }

  // Holds: IMPORT-1
  @Test func `a derived and an imported passkey of one account are two rows, and each is removed alone`() throws {
    let (derived, passkey) = (try Given.source(), try imported())
    do {
      let store = try CredentialDB.open(directory)
      try store.save(derived, state: nil)
      try store.save(passkey, state: nil)
      #expect(try store.credentialCount() == 2 && store.relyingPartyCount() == 1)
      #expect(try store.credential(id: [1], rpIDHash: Given.rp(1)) == passkey)
      try store.save(imported(user: 2, id: derived.id), state: nil)
      #expect(try store.credential(id: derived.id, rpIDHash: Given.rp(1)) == derived)
    }
    let store = try CredentialDB.open(directory)
    #expect(try store.allCredentials() == [imported(user: 2, id: derived.id), passkey, derived])
    try store.remove(passkey, changed: 20)
    #expect(try store.credential(id: [1], rpIDHash: Given.rp(1)) == nil)
    #expect(try store.account(rpIDHash: Given.rp(1), userID: derived.userID) == .record(derived))
    #expect(
      try store.entry(accountTag: Given.keys.importedTag(Given.rp(1), id: [1]))
        == .tombstone(counter: 0, changed: 20))
  }

  /// Puts the row of an imported passkey under the tag of its account, as before version 8.
  private func putOld(_ record: CredentialSource, sequence: Int64, _ connection: Connection) throws {
    let tag = Given.keys.accountTag(record.rpIDHash, userID: record.userID)
    let row = try Given.keys.row(of: record, nonce: [UInt8](repeating: 8, count: 24))
    let sealed = try XChaCha20Poly1305.seal(
      RowPadding.pad(AccountEntry.record(record).plaintext), key: Given.keys[.record], nonce: row.nonce,
      ad: Array("record".utf8) + tag)
    try Statement(
      """
      INSERT INTO credential (accountTag, rpTag, credentialTag, keyTag, sequence, nonce, sealed)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, connection
    ).run(
      .blob(tag), .blob(row.tags?.rpTag), .blob(row.tags?.credentialTag), .blob(row.tags?.keyTag), .integer(sequence),
      .blob(row.nonce), .blob(sealed))
  }

  /// Makes the store one of version 7 with these imported passkeys besides what it has.
  private func makeOld(_ records: CredentialSource...) throws {
    let connection = try Connection(path: directory.path())
    for (index, record) in records.enumerated() { try putOld(record, sequence: Int64(index) + 2, connection) }
    var indexes = IndexCheck()
    let nonce = [UInt8](repeating: 9, count: 24)
    let rows = try StoreRows.rowSet(of: connection, keys: Given.keys, indexes: &indexes)
    try Statement("UPDATE rowSet SET nonce = ?, sealed = ?", connection).run(
      .blob(nonce), .blob(Given.keys.seal(rows, nonce: nonce)))
    try connection.execute("PRAGMA user_version = 7")
  }

  // Holds: IMPORT-1
  @Test func `a store of version 7 in which two keys have one id stays as it is`() throws {
    try makeOld(imported(key: 3), imported(user: 3, key: 4))
    for _ in 1...2 {
      let error = #expect(throws: RecoveryError.self) { _ = try CredentialDB.open(directory) }
      #expect(
        error?.reason.hasSuffix("is damaged: two imported passkeys of one site have the same id, and different keys")
          == true)
    }
    let connection = try Connection(path: directory.path())
    #expect(try connection.texts("PRAGMA user_version") == ["7"])
    #expect(try connection.texts("SELECT count(*) FROM credential") == ["2"])
  }

  // Holds: IMPORT-1
  @Test func `an imported passkey that two accounts of a store of version 7 have is one passkey`() throws {
    try makeOld(imported(counter: 3), imported(user: 3))
    let store = try CredentialDB.open(directory)
    #expect(try store.credentialCount() == 1)
    #expect(try store.credentialCount(rpIDHash: Given.rp(1), userVerified: true) == 1)
    #expect(try store.allCredentials() == [imported(user: 3)])
  }

  // Holds: IMPORT-1
  @Test func `an imported passkey under the tag of its account is refused in a store of version 8`() throws {
    try makeOld(imported(counter: 3))
    do { try Connection(path: directory.path()).execute("PRAGMA user_version = 8") }
    let store = try CredentialDB.open(directory)
    let error = #expect(throws: RecoveryError.self) { try store.allCredentials() }
    #expect(error?.reason.contains("a row does not open") == true)
  }

  // Holds: IMPORT-1
  @Test func `a store of version 7 keeps its imported passkeys, each in an entry of its own`() throws {
    let derived = try Given.source(user: 2)
    do { try CredentialDB.open(directory).save(derived, state: nil) }
    try makeOld(imported(counter: 3), imported(user: 3, id: [2], counter: 65_537, key: 4))
    let expected = [try imported(user: 3, id: [2], key: 4), try imported(), derived]
    for _ in 1...2 {
      let store = try CredentialDB.open(directory)
      #expect(try store.allCredentials() == expected)
      #expect(try store.allCredentials().map(\.counter) == [0, 0, 0])
      #expect(try store.credentialCount() == 3 && store.entries(after: nil, count: 9).count == 5)
      #expect(
        try store.account(rpIDHash: Given.rp(1), userID: Array("user-1".utf8)) == .tombstone(counter: 3, changed: 7))
      #expect(
        try store.account(rpIDHash: Given.rp(1), userID: Array("user-3".utf8))
          == .tombstone(counter: 65_537, changed: 7))
    }
    #expect(try Connection(path: directory.path()).texts("PRAGMA user_version") == ["16"])
  }
}
