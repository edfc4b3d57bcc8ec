import CryptoPrimitives
import Recovery

/// A connection with its prepared statements: each look-up is one index, whatever the number of rows.
final class Session {
  private let connection: Connection
  private let keys: CredentialKeys

  let ofRP: Statement
  let ofRPAtPlace: Statement
  let ofID: Statement
  let ofKey: Statement
  let ofAccount: Statement
  let all: Statement
  private let removeCredentials: Statement
  private let count: Statement
  private let countOfRP: Statement
  private let removeBlobs: Statement
  private let putBlobs: Statement
  private let getBlobs: Statement
  private let putRow: Statement
  private let putState: Statement
  private let getState: Statement
  private let putRowSet: Statement
  private let getRowSet: Statement
  /// The state row as it was read since the last change: every command asks for it, and nobody else writes.
  private var knownState: StoreState?
  /// How many records there are, as it was counted since the last change.
  private var knownCount: Int?
  /// The record that was looked up last: a browser asks silently which key has it, and then signs in with it.
  private var knownRecord: (id: [UInt8], rpIDHash: RPIDHash, record: CredentialSource?)?
  /// The hash over the rows as the transaction under way has left them so far, or as it was read since the last one.
  private var knownRows: RowSet?

  /// Prepares the statements on a connection whose tables are there.
  init(_ connection: Connection, keys: CredentialKeys) throws(StoreFault) {
    self.connection = connection
    self.keys = keys
    func select(_ condition: String) throws(StoreFault) -> Statement {
      try Statement("SELECT \(StoreRows.columns) FROM credential WHERE \(condition)", connection)
    }
    ofRP = try select("rpTag = ? ORDER BY sequence DESC")
    ofRPAtPlace = try select("rpTag = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?")
    ofID = try select("credentialTag = ?")
    ofKey = try select("keyTag = ? ORDER BY sequence DESC")
    ofAccount = try select("accountTag = ?")
    all = try select("rpTag IS NOT NULL ORDER BY sequence DESC")
    count = try Statement("SELECT count(*) FROM credential WHERE rpTag IS NOT NULL", connection)
    countOfRP = try Statement("SELECT count(*) FROM credential WHERE rpTag = ?", connection)
    removeCredentials = try Statement("DELETE FROM credential", connection)
    removeBlobs = try Statement("DELETE FROM blobs", connection)
    putBlobs = try Statement(
      """
      INSERT INTO blobs (one, nonce, sealed) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET nonce = excluded.nonce, sealed = excluded.sealed
      """, connection)
    getBlobs = try Statement(StoreRows.selectBlobs, connection)
    // A changed name or policy leaves a credential where it stands; a new credential of the account is the newest.
    putRow = try Statement(
      """
      INSERT INTO credential (accountTag, rpTag, credentialTag, keyTag, nonce, sealed, sequence)
      VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(sequence), 0) + 1 FROM credential))
      ON CONFLICT (accountTag) DO UPDATE SET
        sequence = iif(credentialTag IS excluded.credentialTag, sequence, excluded.sequence),
        rpTag = excluded.rpTag, credentialTag = excluded.credentialTag, keyTag = excluded.keyTag,
        nonce = excluded.nonce, sealed = excluded.sealed
      """, connection)
    putState = try Statement(
      """
      INSERT INTO state (one, nonce, sealed, told) VALUES (1, ?, ?, ?)
      ON CONFLICT (one) DO UPDATE SET nonce = excluded.nonce, sealed = excluded.sealed, told = excluded.told
      """, connection)
    getState = try Statement(StoreRows.selectState, connection)
    putRowSet = try Statement(
      """
      INSERT INTO rowSet (one, nonce, sealed) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET nonce = excluded.nonce, sealed = excluded.sealed
      """, connection)
    getRowSet = try Statement(StoreRows.selectRowSet, connection)
  }

  /// Opens a file and checks it; until that is done, nothing can be written to it, not even by closing it.
  ///
  /// A store of version 1 becomes one of version 2.
  /// - Throws: `rowsChanged` where the rows are not those that were left, and `rule` wants them to be.
  convenience init(
    opening file: StoreFile, keys: CredentialKeys, storeID: [UInt8]?, rows rule: RowRule
  ) throws(StoreFault) {
    let changesWait = try file.inspect()
    let connection = try Connection(path: file.path)
    connection.keepLogWhenClosing(changesWait)
    try Self.configure(connection)
    try connection.execute("PRAGMA query_only = ON")
    let found = try StoreCheck.run(on: connection, keys: keys, storeID: storeID)
    let isUnjudged = rule == .unjudged && found.version == Schema.version
    guard found.isAsItWasLeft || rule == .accepted || isUnjudged else { throw .rowsChanged }

    try connection.execute("PRAGMA query_only = OFF")
    connection.keepLogWhenClosing(false)
    if changesWait { connection.emptyLog() }
    if found.version < Schema.version || rule == .accepted && !found.isAsItWasLeft {
      try Self.keepRowSet(of: found, on: connection, keys: keys)
      connection.emptyLog()
    }
    try self.init(connection, keys: keys)
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

  // MARK: - Reading

  func state() throws(StoreFault) -> StoreState {
    if let knownState { return knownState }
    let state = try StoreRows.state(getState, keys: keys).state
    knownState = state
    return state
  }

  func entries(
    _ statement: Statement, _ parameters: [Statement.Parameter] = []
  ) throws(StoreFault) -> [AccountEntry] {
    var entries: [AccountEntry] = []
    try statement.forEach(parameters) { row throws(StoreFault) in
      entries.append(try StoreRows.entry(row, keys: keys))
    }
    return entries
  }

  func records(_ statement: Statement, _ tag: [UInt8]) throws(StoreFault) -> [CredentialSource] {
    try entries(statement, [.blob(tag)]).compactMap(\.record)
  }

  /// The record with this id at this relying party.
  func record(id: [UInt8], rpIDHash: RPIDHash) throws(StoreFault) -> CredentialSource? {
    if let knownRecord, knownRecord.rpIDHash == rpIDHash, knownRecord.id == id { return knownRecord.record }
    let record = try records(ofID, keys.credentialTag(rpIDHash, id: id)).first
    knownRecord = (id, rpIDHash, record)
    return record
  }

  func recordCount() throws(StoreFault) -> Int {
    if let knownCount { return knownCount }
    let number = try number(count)
    knownCount = number
    return number
  }

  func recordCount(ofRP tag: [UInt8]) throws(StoreFault) -> Int { try number(countOfRP, [.blob(tag)]) }

  private func number(_ statement: Statement, _ parameters: [Statement.Parameter] = []) throws(StoreFault) -> Int {
    var number = 0
    try statement.forEach(parameters) { number = Int($0.text(0)) ?? 0 }
    return number
  }

  /// The sum over the rows of `credential`: each writing of a row draws another nonce, and so has another MAC.
  func revision() throws(StoreFault) -> [UInt8] { try rows().credentials.bytes }

  private func rows() throws(StoreFault) -> RowSet {
    if let knownRows { return knownRows }
    guard let rows = try StoreRows.rowSet(getRowSet, keys: keys) else { throw .damaged("its rowSet does not open") }
    knownRows = rows
    return rows
  }

  func largeBlobArray() throws(StoreFault) -> [UInt8]? { try StoreRows.largeBlobArray(getBlobs, keys: keys) }

  // MARK: - Writing

  /// Runs `body` as one transaction, synchronised, with the hash over the rows, and then empties the log into the file.
  func durably(_ body: () throws(StoreFault) -> Void) throws(StoreFault) {
    try change(body)
    connection.emptyLog()
  }

  /// Runs `body` as one transaction, synchronised: what it writes, and what the store says of its rows then.
  func change(_ body: () throws(StoreFault) -> Void) throws(StoreFault) {
    knownState = nil
    defer { (knownCount, knownRecord) = (nil, nil) }
    do throws(StoreFault) {
      try connection.transaction { () throws(StoreFault) in
        try body()
        try writeRowSet()
      }
    } catch {
      (knownState, knownRows) = (nil, nil)
      throw error
    }
  }

  /// Writes the first state of a store that is empty.
  func begin(with state: StoreState) throws(StoreFault) {
    knownRows = RowSet()
    try write(state)
    try writeRowSet()
  }

  private func writeRowSet() throws(StoreFault) {
    let rows = try rows()
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try putRowSet.run(
      .blob(nonce), .blob(sealed { () throws(CryptoError) in try keys.seal(rows, nonce: nonce) }))
  }

  /// Writes with `write`, and has the rows of `select` before and after it in the hash.
  private func replace(
    _ select: Statement, _ parameters: [Statement.Parameter] = [], in part: WritableKeyPath<RowSet, MultisetHash>,
    mac: (Statement.Row) throws(StoreFault) -> [UInt8], by write: () throws(StoreFault) -> Void
  ) throws(StoreFault) {
    var rows = try rows()
    try select.forEach(parameters) { row throws(StoreFault) in rows[keyPath: part].remove(try mac(row)) }
    try write()
    try select.forEach(parameters) { row throws(StoreFault) in rows[keyPath: part].add(try mac(row)) }
    knownRows = rows
  }

  private func replaceBlobs(by write: () throws(StoreFault) -> Void) throws(StoreFault) {
    try replace(
      getBlobs, in: \.others,
      mac: { [keys] row in keys.blobsRowMAC(nonce: row.blob(0) ?? [], sealed: row.blob(1) ?? []) }, by: write)
  }

  func write(largeBlobArray array: [UInt8]) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try replaceBlobs { () throws(StoreFault) in
      try putBlobs.run(
        .blob(nonce),
        .blob(sealed { () throws(CryptoError) in try keys.seal(largeBlobArray: array, nonce: nonce) }))
    }
  }

  func write(_ state: StoreState) throws(StoreFault) {
    knownState = nil
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try replace(
      getState, in: \.others,
      mac: { [keys] row in keys.stateRowMAC(nonce: row.blob(0) ?? [], sealed: row.blob(1) ?? []) }
    ) { () throws(StoreFault) in
      try putState.run(
        .blob(nonce),
        .blob(sealed { () throws(CryptoError) in try keys.seal(state, hasRowSet: true, nonce: nonce) }),
        .blob(state.settings.told.encoded))
    }
  }

  /// Removes every record and tombstone, and the large-blob array.
  func removeAll() throws(StoreFault) {
    var rows = try rows()
    try removeCredentials.run()
    rows.credentials = MultisetHash()
    knownRows = rows
    try replaceBlobs { () throws(StoreFault) in try removeBlobs.run() }
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

  func write(_ source: CredentialSource) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try write(sealed { () throws(CryptoError) in try keys.row(of: source, nonce: nonce) })
  }

  func writeTombstone(accountTag: [UInt8], counter: UInt32, changed: UInt64) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try write(
      sealed { () throws(CryptoError) in
        try keys.tombstoneRow(accountTag: accountTag, counter: counter, changed: changed, nonce: nonce)
      })
  }

  private func write(_ row: CredentialRow) throws(StoreFault) {
    try replace(
      ofAccount, [.blob(row.accountTag)], in: \.credentials,
      mac: { [keys] row throws(StoreFault) in try StoreRows.mac(row, keys: keys) }
    ) { () throws(StoreFault) in
      try putRow.run(
        .blob(row.accountTag), .blob(row.tags?.rpTag), .blob(row.tags?.credentialTag), .blob(row.tags?.keyTag),
        .blob(row.nonce), .blob(row.sealed))
    }
  }

  private func sealed<R>(_ seal: () throws(CryptoError) -> R) throws(StoreFault) -> R {
    do throws(CryptoError) {
      return try seal()
    } catch {
      throw .unsealable(error)
    }
  }
}
