import Recovery

/// Opens the rows of the tables.
enum StoreRows {
  /// The columns that ``entry(_:keys:)`` reads, in its order.
  static let columns = "accountTag, rpTag, credentialTag, keyTag, nonce, sealed, sequence"

  /// The index of `rpTag` in ``columns``.
  static let rpTagColumn: Int32 = 1

  /// The `sequence` of a row of `credential`, which identifies it.
  static func place(_ row: Statement.Row) -> Int64 { row.integer(6) }

  /// The tag of a row of `credential`.
  static func accountTag(_ row: Statement.Row) -> [UInt8] { row.blob(0) ?? [] }

  /// Opens a row of `credential`, and compares its columns with its sealed content.
  ///
  /// - Parameter isOld: whether the store was made before version 8.
  static func entry(
    _ row: Statement.Row, keys: CredentialKeys, isOld: Bool = false
  ) throws(StoreFault) -> AccountEntry {
    let sealed = try credentialRow(row)
    do {
      return try keys.open(sealed, isOld: isOld)
    } catch {
      throw .damaged("a row does not open: \(error)")
    }
  }

  /// The policy of a record, without the comparison of ``entry(_:keys:isOld:)``: for a row that is counted, not used.
  ///
  /// The hash over all rows covered its columns when the store was opened.
  static func policy(_ row: Statement.Row, keys: CredentialKeys) throws(StoreFault) -> CredentialPolicy {
    let sealed = try credentialRow(row)
    do {
      return try keys.policy(of: sealed)
    } catch {
      throw .damaged("a row does not open: \(error)")
    }
  }

  /// A row of `credential`, still sealed.
  private static func credentialRow(_ row: Statement.Row) throws(StoreFault) -> CredentialRow {
    let tags: CredentialRow.Tags?
    switch (row.blob(1), row.blob(2), row.blob(3)) {
    case (let rpTag?, let credentialTag?, let keyTag?):
      tags = CredentialRow.Tags(rpTag: rpTag, credentialTag: credentialTag, keyTag: keyTag)
    case (nil, nil, nil): tags = nil
    default: throw .damaged("a row has some of its tags and not the others")
    }
    return CredentialRow(
      accountTag: accountTag(row), tags: tags, nonce: row.blob(4) ?? [], sealed: row.blob(5) ?? [])
  }

  /// Opens the row of `state`, and returns also the version of the tables for which it was written.
  static func state(
    _ connection: Connection, keys: CredentialKeys
  ) throws(StoreFault) -> (state: StoreState, version: UInt32) {
    try state(Statement(selectState, connection), keys: keys)
  }

  /// The settings in clear in that row; `nil` if they are not valid.
  static func reportedSettings(_ connection: Connection) throws(StoreFault) -> ReportedSettings? {
    var reported: ReportedSettings?
    try Statement("SELECT told FROM state", connection).forEach { row throws(StoreFault) in
      reported = ReportedSettings(decoding: row.blob(0) ?? [])
    }
    return reported
  }

  static let selectBlobs = "SELECT nonce, sealed FROM blobs"

  /// Opens the row of `blobs`, if there is one.
  static func largeBlobArray(_ statement: Statement, keys: CredentialKeys) throws(StoreFault) -> [UInt8]? {
    var array: [UInt8]?
    try statement.forEach { row throws(StoreFault) in
      do {
        array = try keys.openLargeBlobArray(row.blob(1) ?? [], nonce: row.blob(0) ?? [])
      } catch {
        throw .damaged("its large blobs do not open: \(error)")
      }
    }
    return array
  }

  static let selectState = "SELECT nonce, sealed FROM state"

  static func state(
    _ statement: Statement, keys: CredentialKeys
  ) throws(StoreFault) -> (state: StoreState, version: UInt32) {
    var state: (StoreState, UInt32)?
    try statement.forEach { row throws(StoreFault) in
      do {
        state = try keys.openState(row.blob(1) ?? [], nonce: row.blob(0) ?? [])
      } catch {
        throw .damaged("its state does not open: \(error)")
      }
    }
    guard let state else { throw .damaged("its state row is missing") }
    return state
  }

  // MARK: - The hash over all rows

  static let selectRowSet = "SELECT nonce, sealed FROM rowSet"

  /// The stored hash over the rows; `nil` if it is missing or does not open.
  static func rowSet(_ statement: Statement, keys: CredentialKeys) throws(StoreFault) -> RowSet? {
    var rows: RowSet?
    try statement.forEach { row throws(StoreFault) in
      rows = try? keys.openRowSet(row.blob(1) ?? [], nonce: row.blob(0) ?? [])
    }
    return rows
  }

  /// The MAC of a row of `credential`.
  static func mac(_ row: Statement.Row, keys: CredentialKeys) throws(StoreFault) -> [UInt8] {
    keys.rowMAC(of: try credentialRow(row), sequence: place(row))
  }

  /// Adds up the MACs of all rows of the store, and adds the rows of `credential` to `indexes`.
  ///
  /// A row with a column of a wrong length fails to open. The MAC alone would not find it: the columns are
  /// concatenated, so a byte moved from one column to the next gives the same MAC.
  static func rowSet(
    of connection: Connection, keys: CredentialKeys, indexes: inout IndexCheck
  ) throws(StoreFault) -> RowSet {
    var rows = RowSet()
    let all = try Statement("SELECT \(columns), rowid FROM credential NOT INDEXED", connection)
    try all.forEach { row throws(StoreFault) in
      let sealed = try credentialRow(row)
      if !sealed.hasColumnLengths { _ = try entry(row, keys: keys) }
      rows.credentials.add(keys.rowMAC(of: sealed, sequence: place(row)))
      indexes.add(sealed, sequence: place(row), rowID: row.integer(7))
    }
    try Statement(selectState, connection).forEach { row in
      rows.others.add(keys.stateRowMAC(nonce: row.blob(0) ?? [], sealed: row.blob(1) ?? []))
    }
    try Statement(selectBlobs, connection).forEach { row in
      rows.others.add(keys.blobsRowMAC(nonce: row.blob(0) ?? [], sealed: row.blob(1) ?? []))
    }
    return rows
  }

  /// Opens every row of `credential`, and throws if one is damaged.
  ///
  /// - Parameter isOld: whether the store was made before version 8.
  static func openAll(of connection: Connection, keys: CredentialKeys, isOld: Bool) throws(StoreFault) {
    try Statement("SELECT \(columns) FROM credential", connection).forEach { row throws(StoreFault) in
      _ = try entry(row, keys: keys, isOld: isOld)
    }
  }

  // MARK: - Totals

  /// Counts of the rows of `credential`.
  struct Totals: Equatable {
    /// Records without tombstones.
    var records = 0
    /// Relying parties that have a record.
    var relyingParties = 0
    /// The records of each relying party that has at least ``many``, by its tag: a request need not count them.
    var ofLarge: [[UInt8]: Int] = [:]

    /// Bounds the time to count those of another relying party, and the memory for ``ofLarge``.
    static let many = 100
  }

  /// Counts with the index of the relying parties, without reading rows.
  static func totals(of connection: Connection) throws(StoreFault) -> Totals {
    var totals = Totals()
    try Statement(
      "SELECT count(*), rpTag FROM credential INDEXED BY credentialOfRP WHERE rpTag IS NOT NULL GROUP BY rpTag",
      connection
    ).forEach { row in
      let count = Int(row.integer(0))
      totals.records += count
      totals.relyingParties += 1
      if count >= Totals.many, let tag = row.blob(1) { totals.ofLarge[tag] = count }
    }
    return totals
  }
}
