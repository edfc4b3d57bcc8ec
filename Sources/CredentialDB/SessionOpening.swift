import Recovery

extension Session {
  /// Opens a file and checks it; before that is done, nothing is written to it, not even by closing it.
  ///
  /// A store of version 1 becomes one of version 2.
  /// - Throws: `rowsChanged` if the rows were changed from outside, and `rule` does not allow that; `rowsUnchanged` if they
  ///   were not, and `rule` is `accepted`.
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

  /// Writes the hash over the rows to a store of version 1, or to one whose rows are accepted.
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

  /// Sets up a connection: alone on the file, synchronised at each commit, deleted content overwritten.
  static func configure(_ connection: Connection) throws(StoreFault) {
    try connection.execute(
      """
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
      PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0
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
