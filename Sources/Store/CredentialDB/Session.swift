import CryptoPrimitives
import Recovery

/// A connection with its prepared statements: what is read and written together, in one transaction.
final class Session {
  let connection: Connection
  let credentials: CredentialTable
  let history: HistoryTable
  let keys: CredentialKeys

  private let removeCredentials: Statement
  private let oneOrTwoOfRP: Statement
  private let removeBlobs: Statement
  private let putBlobs: Statement
  private let getBlobs: Statement
  private let putRow: Statement
  private let putState: Statement
  private let getState: Statement
  private let putRowSet: Statement
  private let getRowSet: Statement
  /// The state row, kept until the next change: every command needs it, and no other process writes.
  private var knownState: StoreState?
  /// The totals, counted when the store was opened and updated with each change.
  var knownTotals: StoreRows.Totals?
  /// The hash over the rows with the changes of the open transaction, or as it was read since the last one.
  var knownRows: RowSet?

  /// Prepares the statements on a connection whose tables exist.
  init(_ connection: Connection, keys: CredentialKeys) throws(StoreFault) {
    self.connection = connection
    self.keys = keys
    credentials = try CredentialTable(connection, keys: keys)
    history = try HistoryTable(connection, keys: keys)
    oneOrTwoOfRP = try Statement("SELECT sequence FROM credential WHERE rpTag = ? LIMIT 2", connection)
    removeCredentials = try Statement("DELETE FROM credential", connection)
    removeBlobs = try Statement("DELETE FROM blobs", connection)
    putBlobs = try Statement(
      """
      INSERT INTO blobs (one, nonce, sealed) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET nonce = excluded.nonce, sealed = excluded.sealed
      """, connection)
    getBlobs = try Statement(StoreRows.selectBlobs, connection)
    // A changed name or policy keeps the place of a credential; a new credential of the account is the newest.
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

  // MARK: - Reading

  func state() throws(StoreFault) -> StoreState {
    if let knownState { return knownState }
    let state = try StoreRows.state(getState, keys: keys).state
    knownState = state
    return state
  }

  func totals() throws(StoreFault) -> StoreRows.Totals {
    if let knownTotals { return knownTotals }
    let totals = try StoreRows.totals(of: connection)
    knownTotals = totals
    return totals
  }

  /// Whether ``known`` reads nothing from the file.
  var isKnown: Bool { knownTotals != nil && knownState != nil }

  /// The number of records and the state row; `nil` if the records have not been counted, or after a failure.
  var known: (credentials: Int?, state: StoreState?)? {
    guard let knownTotals, let state = try? state() else { return nil }
    return (knownTotals.records, state)
  }

  /// The number of records of a relying party that a request without an allowList may use.
  func count(ofRP tag: [UInt8], userVerified: Bool) throws(StoreFault) -> Int {
    guard userVerified else { return try credentials.unprotected(ofRP: tag) }
    if let count = try totals().ofLarge[tag] { return count }
    let count = try credentials.count(ofRP: tag)
    if count >= StoreRows.Totals.many { knownTotals?.ofLarge[tag] = count }
    return count
  }

  /// The sum over the rows of `credential`: each write of a row draws a new nonce, and so changes its MAC.
  func revision() throws(StoreFault) -> [UInt8] { try rows().credentials.bytes }

  private func rows() throws(StoreFault) -> RowSet {
    if let knownRows { return knownRows }
    guard let rows = try StoreRows.rowSet(getRowSet, keys: keys) else { throw .damaged("its rowSet does not open") }
    knownRows = rows
    return rows
  }

  /// Where the history ended at the last change; `nil` only before the first one.
  func mark() throws(StoreFault) -> HistoryMark? { try rows().history }

  func largeBlobArray() throws(StoreFault) -> [UInt8]? { try StoreRows.largeBlobArray(getBlobs, keys: keys) }

  // MARK: - Writing

  /// Runs `body` as one transaction, synchronised, with the hash over the rows and the mark of the history, and then
  /// empties the log into the file.
  ///
  /// - Parameter mark: the nonce of that hash, which was drawn for this transaction; `nil` draws one.
  func durably(mark: [UInt8]? = nil, _ body: () throws(StoreFault) -> Void) throws(StoreFault) {
    try change(mark: mark, body)
    connection.emptyLog()
  }

  /// Whether the last transaction that ``durably(mark:_:)`` wrote is the one with this mark.
  func hasMark(_ mark: [UInt8]) throws(StoreFault) -> Bool {
    var nonce: [UInt8]?
    try getRowSet.forEach { nonce = $0.blob(0) }
    return nonce == mark
  }

  /// Begins a transaction of several changes.
  func begin() throws(StoreFault) {
    knownState = nil
    try connection.beginMoving()
  }

  /// Commits that transaction, with the new hash over the rows, and moves the log into the file; `mark` is its nonce.
  func commit(mark: [UInt8]) throws(StoreFault) {
    defer { credentials.forgetRecord() }
    try writeRowSet(nonce: mark)
    try connection.commitAndMoveLog()
  }

  /// Takes that transaction back.
  func rollBack() {
    connection.rollBack()
    credentials.forget()
    history.forget()
    (knownState, knownRows, knownTotals) = (nil, nil, nil)
  }

  /// Runs `body` as one transaction, synchronised, which also writes the new hash over the rows.
  func change(
    mark: [UInt8]? = nil, _ body: () throws(StoreFault) -> Void
  ) throws(StoreFault) {
    knownState = nil
    defer { credentials.forgetRecord() }
    do throws(StoreFault) {
      try connection.transaction { () throws(StoreFault) in
        try body()
        try writeRowSet(nonce: mark)
      }
    } catch {
      credentials.forget()
      history.forget()
      (knownState, knownRows, knownTotals) = (nil, nil, nil)
      throw error
    }
  }

  /// Writes where the history ends, if entries were added since the last change: an old history is found then.
  ///
  /// The state row is written, too. So an old mark needs an old state row, which the counter in the TPM finds. After a
  /// failure, the next change writes the mark.
  func markHistory() {
    guard let last = try? mark(), (try? history.isLonger(than: last)) == true else { return }
    try? durably { () throws(StoreFault) in try write(state()) }
  }

  /// Adds an entry to the transaction of a change; returns `false` if the end of the history is unknown.
  func record(_ entry: HistoryEntry) throws(StoreFault) -> Bool {
    do throws(StoreFault) { try history.append(entry, after: mark()) } catch .noHistoryHead { return false }
    return true
  }

  /// Adds an entry to the history; the log keeps it until the next durable change.
  func append(_ entry: HistoryEntry) throws(StoreFault) {
    do throws(StoreFault) {
      try connection.transaction(isSynchronised: false) { () throws(StoreFault) in
        try history.append(entry, after: mark())
      }
    } catch {
      history.forget()
      // Without a synchronisation, only a write can fail, and then the log does not have the entry.
      if case .uncommitted(let reason) = error { throw reason }
      throw error
    }
    if connection.transactionsInLog >= Self.mostInLog { connection.emptyLog() }
  }

  /// How many entries of the history the log has at most: some 4 MB.
  static let mostInLog = 256

  /// Writes the first state of an empty store.
  func writeFirst(_ state: StoreState) throws(StoreFault) {
    knownRows = RowSet()
    try history.clear(after: nil)
    try write(state)
    try writeRowSet()
  }

  func writeRowSet(nonce mark: [UInt8]? = nil) throws(StoreFault) {
    var rows = try rows()
    rows.history = try history.mark(after: rows.history)
    knownRows = rows
    let nonce = mark ?? randomBytes(XChaCha20Poly1305.nonceSize)
    try putRowSet.run(
      .blob(nonce), .blob(sealed { () throws(CryptoError) in try keys.seal(rows, nonce: nonce) }))
  }

  /// Runs `write`, and updates the hash with the rows of `select` before and after it.
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
        .blob(sealed { () throws(CryptoError) in try keys.seal(state, version: Schema.version, nonce: nonce) }),
        .blob(state.settings.reported.encoded))
    }
  }

  /// Removes every record and tombstone, and the large-blob array.
  func removeAll() throws(StoreFault) {
    var rows = try rows()
    try removeCredentials.run()
    rows.credentials = MultisetHash()
    (knownRows, knownTotals) = (rows, StoreRows.Totals())
    credentials.forget()
    try replaceBlobs { () throws(StoreFault) in try removeBlobs.run() }
  }

  func write(_ source: CredentialSource, publicKey: CredentialPublicKey? = nil) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try write(sealed { () throws(CryptoError) in try keys.row(of: source, publicKey: publicKey, nonce: nonce) })
  }

  func writeTombstone(accountTag: [UInt8], counter: UInt32, changed: UInt64) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try write(
      sealed { () throws(CryptoError) in
        try keys.tombstoneRow(accountTag: accountTag, counter: counter, changed: changed, nonce: nonce)
      })
  }

  /// Merges entries of another machine in the caller's transaction.
  func merge(_ accounts: [MergedAccount]) throws(StoreFault) -> [AccountMerge] {
    var merged: [AccountMerge] = []
    for account in accounts {
      let merge = AccountMerge(of: account.entry, into: try credentials.entry(accountTag: account.accountTag))
      merged.append(merge)
      guard merge.isWritten else { continue }
      switch account.entry {
      case .record(let source): try write(source, publicKey: account.publicKey)
      case .tombstone(let counter, let changed):
        try writeTombstone(accountTag: account.accountTag, counter: counter, changed: changed)
      }
    }
    return merged
  }

  private func write(_ row: CredentialRow) throws(StoreFault) {
    let before = try totals()
    var replaced: [UInt8]?
    try credentials.ofAccount.forEach([.blob(row.accountTag)]) { replaced = $0.blob(StoreRows.rpTagColumn) }
    try replace(
      credentials.ofAccount, [.blob(row.accountTag)], in: \.credentials,
      mac: { [keys] row throws(StoreFault) in try StoreRows.mac(row, keys: keys) }
    ) { () throws(StoreFault) in
      try putRow.run(
        .blob(row.accountTag), .blob(row.tags?.rpTag), .blob(row.tags?.credentialTag), .blob(row.tags?.keyTag),
        .blob(row.nonce), .blob(row.sealed))
    }
    knownTotals = try totals(after: before, replacing: replaced, by: row.tags?.rpTag)
    if let tag = row.tags?.rpTag ?? replaced { credentials.forgetSite(tag) }
  }

  /// The totals after an account's record was added or removed; a record that replaces another changes nothing.
  private func totals(
    after before: StoreRows.Totals, replacing old: [UInt8]?, by new: [UInt8]?
  ) throws(StoreFault) -> StoreRows.Totals {
    guard let tag = new ?? old, (new == nil) != (old == nil) else { return before }
    var (totals, ofRP) = (before, 0)
    try oneOrTwoOfRP.forEach([.blob(tag)]) { _ in ofRP += 1 }
    totals.records += new == nil ? -1 : 1
    totals.ofLarge[tag]? += new == nil ? -1 : 1
    if new == nil, ofRP == 0 { totals.relyingParties -= 1 }
    if new != nil, ofRP == 1 { totals.relyingParties += 1 }
    return totals
  }

  private func sealed<R>(_ seal: () throws(CryptoError) -> R) throws(StoreFault) -> R {
    do throws(CryptoError) {
      return try seal()
    } catch {
      throw .unsealable(error)
    }
  }
}
