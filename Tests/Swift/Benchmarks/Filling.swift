import ArgumentParser
import CSQLite
import CryptoPrimitives
import Recovery
import StateDirectory
import Vault

/// Makes a state directory with many passkeys, for `Tests/EndToEnd/load`.
struct Fill: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes a vault with a new phrase, and a store with so many passkeys, each at its own site.")

  @Option(help: "The directory to make; the vault and the store go into its directory \"state\".")
  var folder: String
  @Option(help: "How many passkeys.")
  var credentials: Int

  func run() async throws {
    let key = try KeyInUse(folder: folder, cost: PassphraseCost(opsLimit: 1, memLimit: 8192))
    try await key.fill(sites: credentials)
  }
}

/// Adds passkeys by the thousand: rows as the store writes them, sealed and counted, but in few transactions.
///
/// The store opens only if every row, index and sum is as the store would have written it.
extension KeyInUse {
  /// Stores one passkey at each of `count` sites.
  func fill(sites count: Int) async throws { try await fill(count) { try source(site: $0, user: $0) } }

  /// Stores `count` passkeys at one site.
  func fill(accounts count: Int, ofSite site: Int) async throws {
    try await fill(count) { try source(site: site, user: $0) }
  }

  /// The passkey of one account, as a registration stores it.
  func source(site: Int, user: Int) throws -> CredentialSource {
    let registration = Self.registration(site: site, user: user)
    let user = registration.user
    let parameters = CredentialParameters.discoverable(userID: user.id, counter: 0, algorithm: .es256)
    let source = try parameters.flatMap { parameters in
      CredentialSource(
        rpID: registration.rpID, userID: user.id, name: user.name, displayName: user.displayName,
        id: try keys.sealedID(parameters, rpIDHash: RPIDHash(rpID: registration.rpID)), algorithm: .es256, counter: 0,
        created: 1, changed: 1, origin: .registered)
    }
    guard let source else { throw BenchmarkError("an account that cannot be registered") }
    return source
  }

  static func registration(site: Int, user: Int) -> CredentialRegistration {
    CredentialRegistration(
      rpID: "site-\(1_000_000 + site).example.com",
      user: PublicKeyCredentialUserEntity(id: Array("user-\(user)".utf8), name: "alice", displayName: "Alice"),
      algorithm: .es256)
  }

  /// The number of rows that two tasks make together, and that one transaction writes.
  private static let batch = 20_000

  private func fill(_ count: Int, _ source: @escaping @Sendable (Int) throws -> CredentialSource) async throws {
    let keys = keys
    let rows = { @Sendable (numbers: Range<Int>) async throws -> [(CredentialRow, [UInt8])] in
      try numbers.map { number in
        let row = try keys.row(of: try source(number), nonce: randomBytes(XChaCha20Poly1305.nonceSize))
        return (row, keys.rowMAC(of: row, sequence: Int64(number + 1)))
      }
    }
    let table = try BulkTable(path: directory.path + "/credentials.sqlite")
    var sum = MultisetHash()
    for start in stride(from: 0, to: count, by: Self.batch) {
      let end = min(count, start + Self.batch)
      let middle = (start + end) / 2
      async let first = rows(start..<middle)
      async let second = rows(middle..<end)
      let made = try await first + second
      made.forEach { sum.add($0.1) }
      try table.insert(made.map(\.0), firstSequence: Int64(start + 1))
    }
    try table.finish { nonce, sealed in
      var rows = try keys.openRowSet(sealed, nonce: nonce)
      rows.credentials = sum
      let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
      return (nonce, try keys.seal(rows, nonce: nonce))
    }
  }
}

/// The table `credential` of an empty store, written without its indexes; `finish` creates them.
private final class BulkTable {
  private let handle: OpaquePointer
  private let indexes: [String]
  private var insertion: OpaquePointer?

  init(path: String) throws(BenchmarkError) {
    var handle: OpaquePointer?
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else {
      throw BenchmarkError("cannot open \(path)")
    }
    self.handle = handle
    var indexes: [(name: String, sql: String)] = []
    try Self.run(handle, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
    try Self.rows(handle, "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL") { row in
      indexes.append((String(cString: sqlite3_column_text(row, 0)), String(cString: sqlite3_column_text(row, 1))))
    }
    self.indexes = indexes.map(\.sql)
    for index in indexes { try Self.run(handle, "DROP INDEX \(index.name)") }
    let sql = """
      INSERT INTO credential (accountTag, rpTag, credentialTag, keyTag, sequence, nonce, sealed)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """
    guard sqlite3_prepare_v2(handle, sql, -1, &insertion, nil) == SQLITE_OK else { throw Self.error(handle) }
  }

  deinit {
    sqlite3_finalize(insertion)
    sqlite3_close_v2(handle)
  }

  func insert(_ rows: [CredentialRow], firstSequence: Int64) throws(BenchmarkError) {
    try Self.run(handle, "BEGIN")
    for (sequence, row) in zip(firstSequence..., rows) {
      bind(1, row.accountTag)
      bind(2, row.tags?.rpTag)
      bind(3, row.tags?.credentialTag)
      bind(4, row.tags?.keyTag)
      sqlite3_bind_int64(insertion, 5, sequence)
      bind(6, row.nonce)
      bind(7, row.sealed)
      guard sqlite3_step(insertion) == SQLITE_DONE else { throw Self.error(handle) }
      sqlite3_reset(insertion)
    }
    try Self.run(handle, "COMMIT")
  }

  /// Creates the indexes, and replaces the row of `rowSet` with the result of `replace`.
  func finish(_ replace: ([UInt8], [UInt8]) throws -> (nonce: [UInt8], sealed: [UInt8])) throws {
    for sql in indexes { try Self.run(handle, sql) }
    var row: (nonce: [UInt8], sealed: [UInt8]) = ([], [])
    try Self.rows(handle, "SELECT nonce, sealed FROM rowSet") { row = (Self.blob($0, 0), Self.blob($0, 1)) }
    row = try replace(row.nonce, row.sealed)
    sqlite3_finalize(insertion)
    insertion = nil
    guard sqlite3_prepare_v2(handle, "UPDATE rowSet SET nonce = ?, sealed = ?", -1, &insertion, nil) == SQLITE_OK else {
      throw Self.error(handle)
    }
    bind(1, row.nonce)
    bind(2, row.sealed)
    guard sqlite3_step(insertion) == SQLITE_DONE else { throw Self.error(handle) }
    sqlite3_reset(insertion)
    try Self.run(handle, "PRAGMA wal_checkpoint(TRUNCATE)")
  }

  private func bind(_ index: Int32, _ bytes: [UInt8]?) {
    guard let bytes else { return _ = sqlite3_bind_null(insertion, index) }
    sqlite_shim_bind_blob(insertion, index, bytes, Int32(bytes.count))
  }

  private static func blob(_ row: OpaquePointer?, _ column: Int32) -> [UInt8] {
    let count = Int(sqlite3_column_bytes(row, column))
    return Array(UnsafeRawBufferPointer(start: sqlite3_column_blob(row, column), count: count))
  }

  private static func run(_ handle: OpaquePointer, _ sql: String) throws(BenchmarkError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error(handle) }
  }

  private static func rows(
    _ handle: OpaquePointer, _ sql: String, _ body: (OpaquePointer?) -> Void
  ) throws(BenchmarkError) {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw error(handle) }
    defer { sqlite3_finalize(statement) }
    while sqlite3_step(statement) == SQLITE_ROW { body(statement) }
  }

  private static func error(_ handle: OpaquePointer) -> BenchmarkError {
    BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(handle)))")
  }
}
