import CTAP2
import CryptoPrimitives

/// A connection with its prepared statements: each look-up is one index, whatever the number of rows.
final class Session {
  private let connection: Connection
  private let keys: CredentialKeys

  let ofRP: Statement
  let ofID: Statement
  let ofKey: Statement
  let ofAccount: Statement
  let all: Statement
  let removeAll: Statement
  private let count: Statement
  private let nonces: Statement
  let removeBlobs: Statement
  private let putBlobs: Statement
  private let getBlobs: Statement
  private let putRow: Statement
  private let putState: Statement
  private let getState: Statement
  /// The state row as it was read since the last change: every command asks for it, and nobody else writes.
  private var knownState: StoreState?
  /// The same for the revision of the records: getInfo tells it, and reads one nonce a record.
  private var knownRevision: [UInt8]?

  /// Prepares the statements on a connection whose tables are there.
  init(_ connection: Connection, keys: CredentialKeys) throws(StoreFault) {
    self.connection = connection
    self.keys = keys
    func select(_ condition: String) throws(StoreFault) -> Statement {
      try Statement("SELECT \(StoreRows.columns) FROM credential WHERE \(condition)", connection)
    }
    ofRP = try select("rpTag = ? ORDER BY sequence DESC")
    ofID = try select("credentialTag = ?")
    ofKey = try select("keyTag = ? ORDER BY sequence DESC")
    ofAccount = try select("accountTag = ?")
    all = try select("rpTag IS NOT NULL ORDER BY sequence DESC")
    count = try Statement("SELECT count(*) FROM credential WHERE rpTag IS NOT NULL", connection)
    nonces = try Statement(
      "SELECT nonce FROM credential WHERE rpTag IS NOT NULL ORDER BY accountTag", connection)
    removeAll = try Statement("DELETE FROM credential", connection)
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
  }

  /// Opens a file and checks it; until that is done, nothing can be written to it, not even by closing it.
  convenience init(opening file: StoreFile, keys: CredentialKeys, storeID: [UInt8]?) throws(StoreFault) {
    let changesWait = try file.inspect()
    let connection = try Connection(path: file.path)
    connection.keepLogWhenClosing(changesWait)
    try Self.configure(connection)
    try connection.execute("PRAGMA query_only = ON")
    try StoreCheck.run(on: connection, keys: keys, storeID: storeID)

    try connection.execute("PRAGMA query_only = OFF")
    connection.keepLogWhenClosing(false)
    if changesWait { connection.emptyLog() }
    try self.init(connection, keys: keys)
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
    let state = try StoreRows.state(getState, keys: keys)
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

  func recordCount() throws(StoreFault) -> Int {
    var number = 0
    try count.forEach { number = Int($0.text(0)) ?? 0 }
    return number
  }

  /// SHA-256 over the nonces of all records: each writing of a record draws another.
  func revision() throws(StoreFault) -> [UInt8] {
    if let knownRevision { return knownRevision }
    var all: [UInt8] = []
    try nonces.forEach { all += $0.blob(0) ?? [] }
    let revision = SHA256.hash(all)
    knownRevision = revision
    return revision
  }

  func largeBlobArray() throws(StoreFault) -> [UInt8]? { try StoreRows.largeBlobArray(getBlobs, keys: keys) }

  // MARK: - Writing

  func write(largeBlobArray array: [UInt8]) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try putBlobs.run(
      .blob(nonce),
      .blob(sealed { () throws(CryptoError) in try keys.seal(largeBlobArray: array, nonce: nonce) }))
  }

  /// Runs `body` as one transaction, synchronised, and then empties the log into the file.
  func durably(_ body: () throws(StoreFault) -> Void) throws(StoreFault) {
    knownState = nil
    knownRevision = nil
    try connection.transaction(body)
    connection.emptyLog()
  }

  func write(_ state: StoreState) throws(StoreFault) {
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    try putState.run(
      .blob(nonce), .blob(sealed { () throws(CryptoError) in try keys.seal(state, nonce: nonce) }),
      .blob(state.settings.told.encoded))
  }

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
    try putRow.run(
      .blob(row.accountTag), .blob(row.tags?.rpTag), .blob(row.tags?.credentialTag), .blob(row.tags?.keyTag),
      .blob(row.nonce), .blob(row.sealed))
  }

  private func sealed<R>(_ seal: () throws(CryptoError) -> R) throws(StoreFault) -> R {
    do throws(CryptoError) {
      return try seal()
    } catch {
      throw .unsealable(error)
    }
  }
}
