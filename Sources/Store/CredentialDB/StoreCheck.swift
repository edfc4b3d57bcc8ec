import Recovery

/// The checks that a store must pass before it is used or written to.
///
/// SQLite's quick check walks every page; ``IndexCheck`` compares every index with its table; the MACs of the rows
/// cover every column of every row. So a changed byte is either found here, or is in unused space. An index entry with
/// a column too many is found only when its row is written, which then fails. Rows are opened only if their hash is
/// missing or differs from the stored one: this distinguishes a damaged row, which is lost, from an old row that was
/// put back.
enum StoreCheck {
  /// The findings about an intact store.
  struct Finding {
    /// The version of its tables.
    let version: UInt32
    /// The hash over its rows, as they are.
    let rows: RowSet
    /// How many there are.
    let totals: StoreRows.Totals
    /// Where the history ended at the last change; `nil` before version 10.
    let mark: HistoryMark?
    /// Whether the stored hash agrees; if not, a row was put back, added or taken out from outside.
    let isAsItWasLeft: Bool
  }

  static func run(on connection: Connection, keys: CredentialKeys, storeID: [UInt8]?) throws(StoreFault) -> Finding {
    guard try connection.texts("PRAGMA journal_mode") == ["wal"] else {
      throw .damaged("its journal mode was changed")
    }
    let version = try connection.texts("PRAGMA user_version").first.flatMap(UInt32.init) ?? 0
    guard version <= Schema.version else { throw .newer }
    guard Schema.versions.contains(version),
      try connection.texts("PRAGMA application_id") == ["\(Schema.applicationID)"],
      try connection.texts(Schema.query) == Schema.rows(version: version)
    else { throw .damaged("its tables are not those of a store") }

    let complaints = try connection.texts("PRAGMA quick_check(1)")
    guard complaints == ["ok"] else { throw .damaged(complaints.first ?? "SQLite cannot read it") }

    // The state first: it distinguishes a store of another phrase from one with damaged rows.
    let (state, versionLeft) = try StoreRows.state(connection, keys: keys)
    guard storeID == nil || state.storeID == storeID else { throw .foreign }
    guard try StoreRows.reportedSettings(connection) == state.settings.reported else {
      throw .damaged("its clear settings differ from the sealed ones")
    }
    _ = try StoreRows.largeBlobArray(Statement(StoreRows.selectBlobs, connection), keys: keys)

    var indexes = IndexCheck()
    let rows = try StoreRows.rowSet(of: connection, keys: keys, indexes: &indexes)
    try indexes.run(on: connection)
    let left = version > 1 ? try StoreRows.rowSet(Statement(StoreRows.selectRowSet, connection), keys: keys) : nil
    let isSame = left?.hasSameRows(as: rows) ?? (version < 2)
    if !isSame || version < 2 {
      try StoreRows.openAll(of: connection, keys: keys, isOld: version < Schema.firstVersionWithImported)
    }
    // If a table was removed to make the store look like an older one, the state row still says that it exists; the mark
    // does the same.
    let hasMark = left?.history != nil
    return Finding(
      version: version, rows: rows, totals: try StoreRows.totals(of: connection), mark: left?.history,
      isAsItWasLeft: isSame && versionLeft <= version && hasMark == (version >= Schema.firstVersionWithMark))
  }
}
