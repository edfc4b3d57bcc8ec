import Recovery

extension Session {
  /// Opens a file and checks it; before that is done, nothing is written to it, not even by closing it.
  ///
  /// A store of an older version gets the tables that it lacks, an entry for each imported passkey, and a mark. If `rule` is
  /// `accepted` and the history is not whole, an empty one begins.
  /// - Throws: `rowsChanged` if the rows were changed from outside, and `rule` does not allow that; `rowsUnchanged` if
  ///   neither rows nor history were, and `rule` is `accepted`.
  convenience init(
    opening file: StoreFile, keys: CredentialKeys, storeID: [UInt8]?, rows rule: RowRule
  ) throws(StoreFault) {
    let changesWait = try file.inspect()
    file.readAhead()
    let connection = try Connection(path: file.path)
    connection.keepLogWhenClosing(changesWait)
    try Self.configure(connection)
    try connection.execute("PRAGMA query_only = ON")
    let found: StoreCheck.Finding
    do throws(StoreFault) {
      found = try StoreCheck.run(on: connection, keys: keys, storeID: storeID)
    } catch {
      throw connection.cause(of: error)
    }
    // The upgrade of an older version writes the hash over the rows, and so judges them.
    let isUnjudged = rule == .unjudged && found.version >= Schema.firstVersionWithMark
    guard found.isAsItWasLeft || rule == .accepted || isUnjudged else { throw .rowsChanged }
    var hasHistory = found.version >= Schema.firstVersionWithHistory
    if rule == .accepted, hasHistory {
      let faults = try HistoryTable(connection, keys: keys).check(after: found.mark).faults
      if found.isAsItWasLeft, faults.isEmpty { throw .rowsUnchanged }
      // A history beside older rows is whole.
      hasHistory = faults.allSatisfy { $0 == .oldStore }
    }

    // Empties the page cache, which the check has filled with pages that requests will not need.
    try connection.execute("PRAGMA query_only = OFF; PRAGMA shrink_memory")
    connection.keepLogWhenClosing(false)
    connection.emptyLog()
    if found.version < Schema.firstVersionWithMark || rule == .accepted {
      try Self.upgrade(found, on: connection, keys: keys, hasHistory: hasHistory)
      connection.emptyLog()
    } else if found.version < Schema.version {
      // Its rows are those of this version, and its mark still says where the history ends.
      try connection.execute("PRAGMA user_version = \(Schema.version)")
      connection.emptyLog()
    }
    try self.init(connection, keys: keys)
    // In an older store, two records of one imported passkey can have become one.
    if found.version >= Schema.firstVersionWithImported { knownTotals = found.totals }
    shrink()
    if rule != .unjudged { markHistory() }
  }

  /// Writes the hash over the rows, and an empty history unless there is one, to a store of an older version, or to one
  /// that is accepted.
  static func upgrade(
    _ found: StoreCheck.Finding, on connection: Connection, keys: CredentialKeys, hasHistory: Bool
  ) throws(StoreFault) {
    try connection.transaction { () throws(StoreFault) in
      if found.version < 2 { try connection.execute(Schema.rowSet) }
      if found.version < Schema.firstVersionWithHistory {
        for statement in Schema.history { try connection.execute(statement) }
      }
      try connection.execute("PRAGMA user_version = \(Schema.version)")
      let session = try Session(connection, keys: keys)
      session.knownRows = found.rows
      // What is accepted becomes the valid store, whichever part of it is older.
      if try session.history.fault(after: found.mark) != .oldStore { session.knownRows?.history = found.mark }
      session.history.forget()
      if found.version < Schema.firstVersionWithImported { try session.moveImported() }
      try session.write(session.state())
      if !hasHistory { try session.history.clear(after: found.mark) }
      try session.writeRowSet()
    }
  }

  /// Gives each imported passkey of a store before version 8 an entry of its own.
  ///
  /// A tombstone with the old counter stays under the tag of the account.
  ///
  /// - Throws: `damaged` if two imported passkeys have the same id and different keys, because one of them would be lost.
  func moveImported() throws(StoreFault) {
    var tags: [[UInt8]] = []
    try credentials.older.forEach([.integer(.max)]) { row throws(StoreFault) in
      guard let record = try StoreRows.entry(row, keys: keys, isOld: true).record, !record.isDerivable else { return }
      if StoreRows.accountTag(row) != keys.accountTag(of: record) { tags.append(StoreRows.accountTag(row)) }
    }
    // The oldest first: each one that is written becomes the newest. So they keep their order, after the derived ones.
    for tag in tags.reversed() {
      guard let record = try credentials.entry(accountTag: tag, isOld: true)?.record,
        let imported = record.withoutCounter
      else { continue }
      let before = try credentials.entry(accountTag: keys.accountTag(of: imported))?.record
      if let before, !before.hasSameSecrets(as: imported) {
        throw .damaged("two imported passkeys of one site have the same id, and different keys")
      }
      try writeTombstone(accountTag: tag, counter: record.counter, changed: record.changed)
      try write(imported)
    }
  }

  /// Sets up a connection: alone on the file, synchronised at each commit, deleted content overwritten.
  ///
  /// SQLite does not move the log by itself: the commit of a large change would do that without a synchronisation.
  ///
  /// If the file is in use, an opening waits up to 5 seconds: after a lock of the vault, this process may still be closing
  /// the store, which empties the log and waits for the disk.
  static func configure(_ connection: Connection) throws(StoreFault) {
    try connection.execute(
      """
      PRAGMA busy_timeout = 5000; PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
      PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = 0
      """)
  }

  /// Returns empty pages to the system if there are many, as after a reset.
  ///
  /// A crash loses nothing: the smaller file is first written to the log as one transaction. Removed content is
  /// overwritten before, and after a failure the file keeps its size.
  func shrink() {
    let pages = try? connection.texts("PRAGMA freelist_count").first
    guard let empty = pages.flatMap({ $0 }).flatMap({ Int($0) }), empty >= Self.emptyPagesKept else { return }
    connection.vacuum()
    connection.emptyLog()
  }

  /// 64 KiB: the pages that a few removals leave are used again.
  private static let emptyPagesKept = 16
}
