import Recovery

/// The look-ups in the table `credential`; each uses one index, whatever the number of rows.
///
/// The session writes the table, with the hash over the rows, and says here what it has changed.
final class CredentialTable {
  /// The row with an `accountTag`.
  let ofAccount: Statement
  /// The records before a place, the newest first.
  let older: Statement
  private let keys: CredentialKeys
  private let ofRP: Statement
  private let countOfRP: Statement
  private let nextRP: Statement
  private let ofID: Statement
  private let ofKey: Statement
  private let first: Statement
  private let next: Statement
  /// For the relying party that was looked up last, until one of its records changes: how many records of credProtect
  /// level 1 it has, and the place after the newest of them.
  private var knownSite: (rpTag: [UInt8], unprotected: Int, end: Int64)?
  /// The record of the last lookup: a browser first asks for it without presence, and then signs in with it.
  private var knownRecord: (id: [UInt8], rpIDHash: RPIDHash, record: CredentialSource?)?

  /// Prepares the statements on a connection whose tables exist.
  init(_ connection: Connection, keys: CredentialKeys) throws(StoreFault) {
    self.keys = keys
    func select(_ condition: String) throws(StoreFault) -> Statement {
      try Statement("SELECT \(StoreRows.columns) FROM credential WHERE \(condition)", connection)
    }
    ofRP = try select("rpTag = ? AND sequence < ? ORDER BY sequence DESC")
    countOfRP = try Statement("SELECT count(*) FROM credential WHERE rpTag = ?", connection)
    // Selects the next record that is the oldest of its relying party.
    nextRP = try Statement(
      """
      SELECT \(StoreRows.columns) FROM credential AS record INDEXED BY credentialInSequence
      WHERE sequence > ? AND rpTag IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM credential AS older WHERE older.rpTag = record.rpTag AND older.sequence < record.sequence)
      ORDER BY sequence LIMIT 1
      """, connection)
    ofID = try select("credentialTag = ?")
    ofKey = try select("keyTag = ? ORDER BY sequence DESC")
    ofAccount = try select("accountTag = ?")
    older = try Statement(
      """
      SELECT \(StoreRows.columns) FROM credential INDEXED BY credentialInSequence
      WHERE sequence < ? AND rpTag IS NOT NULL ORDER BY sequence DESC
      """, connection)
    first = try select("TRUE ORDER BY accountTag LIMIT ?")
    next = try select("accountTag > ? ORDER BY accountTag LIMIT ?")
  }

  // MARK: - Accounts

  /// The record or tombstone with this tag.
  ///
  /// - Parameter isOld: whether the store was made before version 8.
  func entry(accountTag: [UInt8], isOld: Bool = false) throws(StoreFault) -> AccountEntry? {
    try entries(ofAccount, .blob(accountTag), isOld: isOld).first
  }

  /// Records and tombstones in the order of their tags, after `tag`.
  func accounts(after tag: [UInt8]?, count: Int) throws(StoreFault) -> [StoredAccount] {
    var accounts: [StoredAccount] = []
    let limit = Statement.Parameter.integer(Int64(count))
    try (tag == nil ? first : next).forEach(tag.map { [.blob($0), limit] } ?? [limit]) { row throws(StoreFault) in
      accounts.append(
        StoredAccount(accountTag: StoreRows.accountTag(row), entry: try StoreRows.entry(row, keys: keys)))
    }
    return accounts
  }

  private func entries(
    _ statement: Statement, _ parameter: Statement.Parameter, isOld: Bool = false
  ) throws(StoreFault) -> [AccountEntry] {
    var entries: [AccountEntry] = []
    try statement.forEach([parameter]) { row throws(StoreFault) in
      entries.append(try StoreRows.entry(row, keys: keys, isOld: isOld))
    }
    return entries
  }

  // MARK: - Records

  /// The record with this id at this relying party; if a derived and an imported passkey have the id, the derived one.
  func record(id: [UInt8], rpIDHash: RPIDHash) throws(StoreFault) -> CredentialSource? {
    if let knownRecord, knownRecord.rpIDHash == rpIDHash, knownRecord.id == id { return knownRecord.record }
    let records = try records(ofID, tag: keys.credentialTag(rpIDHash, id: id))
    let record = records.first(where: \.isDerivable) ?? records.first
    knownRecord = (id, rpIDHash, record)
    return record
  }

  /// The newest record with this id, of any relying party; opens rows until one has the id, because no tag covers an id
  /// alone.
  func record(id: [UInt8]) throws(StoreFault) -> CredentialSource? {
    try older.first([.integer(.max)]) { row throws(StoreFault) in
      let record = try StoreRows.entry(row, keys: keys).record
      return record?.id == id ? record : nil
    }
  }

  /// The records with this tag of a public key, of any relying party.
  func records(keyTag: [UInt8]) throws(StoreFault) -> [CredentialSource] { try records(ofKey, tag: keyTag) }

  private func records(_ statement: Statement, tag: [UInt8]) throws(StoreFault) -> [CredentialSource] {
    try entries(statement, .blob(tag)).compactMap(\.record)
  }

  /// Calls `body` with the records before `place` and their places, the newest first, until it returns `false`.
  func forEachRecord(
    before place: Int64, _ body: (_ source: CredentialSource, _ place: Int64) -> Bool
  ) throws(StoreFault) {
    _ = try older.first([.integer(place)]) { row throws(StoreFault) -> Bool? in
      guard let record = try StoreRows.entry(row, keys: keys).record else { return nil }
      return body(record, StoreRows.place(row)) ? nil : true
    }
  }

  // MARK: - Relying parties

  /// The number of records, counted in the index.
  func count(ofRP tag: [UInt8]) throws(StoreFault) -> Int {
    try countOfRP.first([.blob(tag)]) { Int($0.integer(0)) } ?? 0
  }

  /// The number of records of credProtect level 1.
  ///
  /// The level is sealed, so the policies of all records of the relying party are read once.
  func unprotected(ofRP tag: [UInt8]) throws(StoreFault) -> Int {
    if let knownSite, knownSite.rpTag == tag { return knownSite.unprotected }
    var (unprotected, end) = (0, Int64.min)
    try ofRP.forEach([.blob(tag), .integer(.max)]) { row throws(StoreFault) in
      guard try StoreRows.policy(row, keys: keys).credProtect == .userVerificationOptional else { return }
      if unprotected == 0 { end = StoreRows.place(row) + 1 }
      unprotected += 1
    }
    knownSite = (tag, unprotected, end)
    return unprotected
  }

  /// The newest record before `place`; without `userVerified`, the newest one of credProtect level 1.
  ///
  /// Once those are counted, the records that are newer than all of them are not opened.
  func record(
    ofRP tag: [UInt8], userVerified: Bool, before place: Int64
  ) throws(StoreFault) -> (source: CredentialSource, place: Int64)? {
    let end = userVerified || knownSite?.rpTag != tag ? nil : knownSite?.end
    return try ofRP.first([.blob(tag), .integer(min(place, end ?? place))]) {
      row throws(StoreFault) -> (source: CredentialSource, place: Int64)? in
      guard let record = try StoreRows.entry(row, keys: keys).record,
        userVerified || record.policy.credProtect == .userVerificationOptional
      else { return nil }
      return (record, StoreRows.place(row))
    }
  }

  /// The relying party whose oldest record is the next after `place`, and the place of that record.
  func relyingParty(after place: Int64) throws(StoreFault) -> (rpID: String, place: Int64)? {
    var next: (String, Int64)?
    try nextRP.forEach([.integer(place)]) { row throws(StoreFault) in
      next = try StoreRows.entry(row, keys: keys).record.map { ($0.rpID, StoreRows.place(row)) }
    }
    return next
  }

  // MARK: - Changes

  /// A transaction may have changed any record.
  func forgetRecord() { knownRecord = nil }

  /// A record of the relying party with this tag was changed, added or removed.
  func forgetSite(_ rpTag: [UInt8]) {
    if knownSite?.rpTag == rpTag { knownSite = nil }
  }

  /// All rows were removed, or a transaction was taken back.
  func forget() { (knownSite, knownRecord) = (nil, nil) }
}
