/// What the file is (Recovery §6).
///
/// Every statement stands here as SQLite keeps it, so that it can be compared.
enum Schema {
  /// "LqAu", at offset 68 of the file.
  static let applicationID: UInt32 = 0x4C71_4175
  /// Counts the layouts of the tables, at offset 60 of the file: 1 has no `rowSet`, and gets it when it is opened.
  static let version: UInt32 = 2
  /// The layouts that are read.
  static let versions: ClosedRange<UInt32> = 1...version
  /// Given and compared, so that a store does not depend on how a distribution builds SQLite.
  static let pageSize: UInt32 = 4096

  /// What SQLite keeps of the tables and indexes, row by row: all that it could read another meaning out of.
  static let query = """
    SELECT quote(type) || quote(name) || quote(tbl_name) || quote(sql) FROM sqlite_schema ORDER BY name
    """

  /// What ``query`` answers for a store of ours; the index of the primary key is SQLite's own, and has no statement.
  static func rows(version: UInt32) -> [String] {
    [
      row("table", "blobs", "blobs", statements[6]),
      row("table", "credential", "credential", statements[0]),
      row("index", "credentialInSequence", "credential", statements[4]),
      row("index", "credentialOfID", "credential", statements[2]),
      row("index", "credentialOfKey", "credential", statements[3]),
      row("index", "credentialOfRP", "credential", statements[1]),
    ] + (version < 2 ? [] : [row("table", "rowSet", "rowSet", rowSet)]) + [
      row("index", "sqlite_autoindex_credential_1", "credential", nil),
      row("table", "state", "state", statements[5]),
    ]
  }

  private static func row(_ type: String, _ name: String, _ table: String, _ sql: String?) -> String {
    "'\(type)''\(name)''\(table)'" + (sql.map { "'\($0)'" } ?? "NULL")
  }

  /// An index of `credential`.
  struct Index {
    let name: String
    /// What it orders the rows by.
    let columns: [Column]
    /// Whether no two rows have the same there.
    let isUnique: Bool
  }

  /// A column of `credential` that is in an index, by its name.
  enum Column: String {
    case accountTag, rpTag, credentialTag, keyTag, sequence
  }

  /// All indexes of `credential`, that of its primary key too.
  static let indexes = [
    Index(name: "sqlite_autoindex_credential_1", columns: [.accountTag], isUnique: true),
    Index(name: "credentialOfRP", columns: [.rpTag, .sequence], isUnique: false),
    Index(name: "credentialOfID", columns: [.credentialTag], isUnique: false),
    Index(name: "credentialOfKey", columns: [.keyTag], isUnique: false),
    Index(name: "credentialInSequence", columns: [.sequence], isUnique: true),
  ]

  /// Tables and indexes, in the order in which they are made.
  static let statements = [
    """
    CREATE TABLE credential (accountTag BLOB NOT NULL PRIMARY KEY, rpTag BLOB, credentialTag BLOB, keyTag BLOB, \
    sequence INTEGER NOT NULL, nonce BLOB NOT NULL, sealed BLOB NOT NULL) STRICT
    """,
    "CREATE INDEX credentialOfRP ON credential (rpTag, sequence)",
    "CREATE INDEX credentialOfID ON credential (credentialTag)",
    "CREATE INDEX credentialOfKey ON credential (keyTag)",
    "CREATE UNIQUE INDEX credentialInSequence ON credential (sequence)",
    """
    CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), nonce BLOB NOT NULL, sealed BLOB NOT NULL, \
    told BLOB NOT NULL) STRICT
    """,
    "CREATE TABLE blobs (one INTEGER PRIMARY KEY CHECK (one = 1), nonce BLOB NOT NULL, sealed BLOB NOT NULL) STRICT",
    rowSet,
  ]

  /// The table that version 2 has beside those of version 1.
  static let rowSet =
    "CREATE TABLE rowSet (one INTEGER PRIMARY KEY CHECK (one = 1), nonce BLOB NOT NULL, sealed BLOB NOT NULL) STRICT"
}
