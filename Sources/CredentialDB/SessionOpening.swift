import Recovery

extension Session {
  /// Opens a file and checks it; until that is done, nothing can be written to it, not even by closing it.
  ///
  /// A store of version 1 becomes one of version 2.
  /// - Throws: `rowsChanged` if the rows are not those that were left and `rule` requires it; `rowsUnchanged` if they are
  ///   and `rule` is `accepted`.
  convenience init(
    opening file: StoreFile, keys: CredentialKeys, storeID: [UInt8]?, rows rule: RowRule
  ) throws(StoreFault) {
    let changesWait = try file.inspect()
    file.readAhead()
    let connection = try Connection(path: file.path)
    connection.keepLogWhenClosing(changesWait)
    try Self.configure(connection)
    try connection.execute("PRAGMA query_only = ON")
    let found = try StoreCheck.run(on: connection, keys: keys, storeID: storeID)
    let isUnjudged = rule == .unjudged && found.version == Schema.version
    guard found.isAsItWasLeft || rule == .accepted || isUnjudged else { throw .rowsChanged }
    if rule == .accepted, found.isAsItWasLeft { throw .rowsUnchanged }

    // Empties the page cache, which the check has filled with pages that requests will not need.
    try connection.execute("PRAGMA query_only = OFF; PRAGMA shrink_memory")
    connection.keepLogWhenClosing(false)
    if changesWait { connection.emptyLog() }
    if found.version < Schema.version || rule == .accepted {
      try Self.keepRowSet(of: found, on: connection, keys: keys)
      connection.emptyLog()
    }
    try self.init(connection, keys: keys)
    knownTotals = found.totals
    shrink()
  }

  /// Has the store keep the hash over its rows from now on: a store of version 1, or one whose rows are accepted.
  static func keepRowSet(
    of found: StoreCheck.Finding, on connection: Connection, keys: CredentialKeys
  ) throws(StoreFault) {
    try connection.transaction { () throws(StoreFault) in
      if found.version < Schema.version {
        try connection.execute("\(Schema.rowSet); PRAGMA user_version = \(Schema.version)")
      }
      let session = try Session(connection, keys: keys)
      session.knownRows = found.rows
      try session.write(session.state())
      try session.writeRowSet()
    }
  }

  /// What holds for every connection: alone on the file, synchronised at each commit, deleted content overwritten.
  static func configure(_ connection: Connection) throws(StoreFault) {
    try connection.execute(
      """
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
      PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0
      """)
  }

  /// Gives the pages that stand empty back to the system, where they are many: after a reset.
  ///
  /// Nothing is lost by it, whenever the machine stops: the smaller file stands in the log as one transaction first. What
  /// was removed is overwritten before, and a failure only leaves the file as long as it is.
  func shrink() {
    let pages = try? connection.texts("PRAGMA freelist_count").first
    guard let empty = pages.flatMap({ $0 }).flatMap({ Int($0) }), empty >= Self.emptyPagesKept else { return }
    connection.vacuum()
    connection.emptyLog()
  }

  /// 64 KiB: what a few removals leave will be used again.
  private static let emptyPagesKept = 16
}
