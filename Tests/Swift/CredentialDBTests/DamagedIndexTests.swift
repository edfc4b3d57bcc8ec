import CSQLite
import Recovery
import TestVectors
import Testing

@testable import CredentialDB

/// An index that does not match its rows is found, though no row was changed.
@Suite struct `Damaged index` {
  let directory: TemporaryDirectory
  /// A copy of the undamaged store.
  let old: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    old = try TemporaryDirectory()
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    do {
      let store = try CredentialDB.open(directory)
      for user in 1...6 { try store.save(Given.source(user: user), state: nil) }
      try store.remove(Given.source(user: 6), changed: 20)
    }
    try old.write(directory.bytes())
  }

  // MARK: - Damages

  static let indexes = Schema.indexes.map(\.name)

  /// Statements that change the table with the index attached, and undo it with the index detached.
  static let damages: [(what: String, seen: String, unseen: String)] = [
    ("an entry is missing", "DELETE FROM credential WHERE rowid = 3", "\(insert) WHERE rowid = 3"),
    (
      "one entry too many",
      "INSERT INTO credential (rowid, \(names)) VALUES (9, x'00', x'00', x'00', x'00', 9, '', '')",
      "DELETE FROM credential WHERE rowid = 9"
    ),
    ("an entry of no row", move(3, to: 9), move(9, to: 3)),
    ("two entries with each other's row", exchange, exchange),
    ("another key", set { $0 == "sequence" ? "8" : "zeroblob(32)" }, restore),
    ("NULL", set { _ in "NULL" }, restore),
    ("text of the same bytes", set { "CAST(\($0) AS TEXT)" }, restore),
    ("bytes that are cut off", set { $0 == "sequence" ? "x'03'" : "substr(\($0), 1, 31)" }, restore),
  ]

  private static let columns = ["accountTag", "rpTag", "credentialTag", "keyTag", "sequence"]
  private static let names = columns.joined(separator: ", ") + ", nonce, sealed"
  private static let insert =
    "INSERT INTO credential (rowid, \(names)) SELECT rowid, \(names) FROM old.credential"
  private static let exchange = [move(3, to: 9), move(4, to: 3), move(9, to: 4)].joined(separator: "; ")
  private static let restore = """
    UPDATE credential SET (\(names)) = (SELECT \(names) FROM old.credential WHERE rowid = 3) WHERE rowid = 3
    """

  private static func move(_ row: Int, to number: Int) -> String {
    "UPDATE credential SET rowid = \(number) WHERE rowid = \(row)"
  }

  private static func set(_ value: (String) -> String) -> String {
    "UPDATE credential SET \(columns.map { "\($0) = \(value($0))" }.joined(separator: ", ")) WHERE rowid = 3"
  }

  /// Runs statements on the table `credential` with one index or none, and without types and constraints.
  private func run(_ sql: String, seenBy index: String?) throws {
    let key = index == "sqlite_autoindex_credential_1" ? " PRIMARY KEY" : ""
    try runRaw(
      """
      PRAGMA writable_schema = ON;
      DELETE FROM sqlite_schema WHERE type = 'index' AND name IS NOT '\(index ?? "")';
      UPDATE sqlite_schema SET sql = 'CREATE TABLE credential (accountTag\(key), rpTag, credentialTag, keyTag, sequence,
        nonce, sealed)' WHERE name = 'credential'
      """)
    try runRaw("ATTACH '\(old.path())' AS old; \(sql)")
    // The first page has the schema, after the file header.
    for (offset, byte) in try old.bytes().prefix(4096).enumerated().dropFirst(100) {
      try directory.patch(offset, byte)
    }
  }

  /// Runs statements on a connection that may damage the file, unlike ours.
  private func runRaw(_ sql: String) throws {
    var handle: OpaquePointer?
    try #require(sqlite3_open_v2(directory.path(), &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    defer { sqlite3_close_v2(handle) }
    let result = sqlite3_exec(handle, sql, nil, nil, nil)
    try #require(result == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
  }

  // MARK: - Detection

  private func ask(_ sql: String) throws -> [String] { try Connection(path: directory.path()).texts(sql) }

  private func rows(of directory: TemporaryDirectory) throws -> [String] {
    try Connection(path: directory.path()).texts(
      """
      SELECT rowid || quote(accountTag) || quote(rpTag) || quote(credentialTag) || quote(keyTag) || quote(sequence)
        || quote(nonce) || quote(sealed) FROM credential NOT INDEXED ORDER BY rowid
      """)
  }

  /// Expects that the rows and the quick check do not show the damage, and that opening the store finds it.
  private func expectFound(_ index: String, _ what: String) throws {
    #expect(try rows(of: directory) == rows(of: old), "\(what)")
    #expect(try ask("PRAGMA quick_check") == ["ok"], "\(what)")
    #expect(try ask("PRAGMA integrity_check") != ["ok"], "\(what)")

    let before = try directory.bytes()
    for rule in [RowRule.asTheyWereLeft, .accepted, .unjudged] {
      let error = #expect(throws: RecoveryError.self, "\(what)") { try CredentialDB.open(directory, rows: rule) }
      #expect(error?.description.contains("is damaged: the index \(index) does not match its table") == true, "\(what)")
    }
    #expect(try directory.bytes() == before, "\(what)")
  }

  // Holds: FILE-3
  @Test(.whole("it makes many stores"), arguments: indexes, damages.indices)
  func `an index with entries that differ from its rows is found`(index: String, damage: Int) throws {
    let (what, seen, unseen) = Self.damages[damage]
    try run(seen, seenBy: index)
    try run(unseen, seenBy: nil)
    try expectFound(index, what)
  }

  // Holds: FILE-3
  @Test(arguments: indexes)
  func `an index with its entries in another order is found`(index: String) throws {
    let root = try ask("SELECT rootpage FROM sqlite_schema WHERE name = '\(index)'").first.flatMap(Int.init)
    let page = (try #require(root) - 1) * 4096
    let bytes = try directory.bytes()
    // A leaf page of an index: the offsets of its cells follow 8 bytes of header.
    #expect(bytes[page] == 10)
    let (first, second) = (page + 8, page + 10)
    for place in 0..<2 {
      try directory.patch(first + place, bytes[second + place])
      try directory.patch(second + place, bytes[first + place])
    }
    try expectFound(index, "two entries have changed places")
  }

  // Holds: FILE-3
  @Test func `a column boundary moved into the next column is found`() throws {
    let (first, rest) = ([UInt8](repeating: 7, count: 20), [UInt8](repeating: 9, count: 11))
    let tag = first + [3] + rest
    var sound = IndexCheck.Entry()
    tag.withUnsafeBytes { sound.append($0) }
    sound.append(5)
    var made = IndexCheck.Entry()
    first.withUnsafeBytes { made.append($0) }
    (rest + [1, 0x80, 0, 0, 0, 0, 0, 0, 5]).withUnsafeBytes { made.append($0) }
    #expect(sound.bytes == [3] + tag + [1, 0x80, 0, 0, 0, 0, 0, 0, 5])
    #expect(made.bytes == [2, 2])
  }

  @Test func `the same statements without an index do no damage`() throws {
    for (_, seen, unseen) in Self.damages {
      try run(seen, seenBy: nil)
      try run(unseen, seenBy: nil)
    }
    #expect(try rows(of: directory) == rows(of: old))
    #expect(try CredentialDB.open(directory).allCredentials().count == 5)
  }

  // MARK: - Reading

  @Test func `the check reads each index alone, without its rows`() throws {
    let connection = try Connection(path: directory.path())
    for index in Schema.indexes {
      var plan: [String] = []
      try Statement("EXPLAIN QUERY PLAN " + IndexCheck.scan(of: index), connection).forEach { plan.append($0.text(3)) }
      #expect(plan == ["SCAN credential USING COVERING INDEX \(index.name)"])
      let columns = try connection.texts("SELECT name FROM pragma_index_info('\(index.name)') ORDER BY seqno")
      #expect(columns == index.columns.map(\.rawValue))
    }
    let unique = try connection.texts("SELECT name FROM pragma_index_list('credential') WHERE \"unique\"")
    #expect(Set(unique) == Set(Schema.indexes.filter(\.isUnique).map(\.name)))
    let all = try connection.texts("SELECT name FROM sqlite_schema WHERE type = 'index'")
    #expect(Set(all) == Set(Self.indexes) && all.count == Self.indexes.count)
  }
}
