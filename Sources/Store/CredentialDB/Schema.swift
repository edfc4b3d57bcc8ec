/// The layout of the file (Recovery §6).
///
/// Each statement is written as SQLite stores it, so that the two can be compared.
enum Schema {
  /// "LqAu", at offset 68 of the file.
  static let applicationID: UInt32 = 0x4C71_4175
  /// The version of the store, at offset 60 of the file.
  ///
  /// 1 has no `rowSet`, and 1 and 2 have no history; both are added when the store is opened. 4 has the tables of 3,
  /// and content that a reader of 3 refuses: policies and the setting for fingerprints, and in the history refusals by
  /// policy and verification by fingerprint. 5 has the tables of 3, and content that a reader of 4 refuses: the order of
  /// the means of verification, and in the history more kinds of entries and verification by PAM. 6 has the tables of 3,
  /// and content that a reader of 5 refuses: the counter in the TPM, and in the history old copies of the store. 7 has
  /// the tables of 3, and content that a reader of 6 refuses: the times of backups, and in the history backups and merges.
  /// 8 has the tables of 3: an imported passkey has an entry of its own, the history has imports, and the state row has
  /// the folder of backups that is followed. 9 has the tables of 3, and content that a reader of 8 refuses: in the history
  /// moves to a new phrase and exports, CredRandoms of imported passkeys, and the time of the own file in the folder.
  /// 10 has the tables of 3: the row of `rowSet` has a mark, which says where the history ends. 12 has the tables of 3, and
  /// content that a reader of 10 refuses: more kinds of entries in the history. 15 has the tables of 3, and content that a
  /// reader of 12 refuses: in the history the door of a request. 16 has the tables of 3, and content that a reader of 15
  /// refuses: pairings with dApps, keys for the passkeys of a Trezor, and in the history more kinds of entries. There is no
  /// 11, 13 or 14: one flipped bit would change 10, 12 or 15 to one of them, or one of them to 10 or 12, and nothing would
  /// detect this.
  static let version: UInt32 = 16
  /// The first version in which the hash over the rows says where the history ends.
  static let firstVersionWithMark: UInt32 = 10
  /// The first version in which an imported passkey has an entry of its own.
  static let firstVersionWithImported: UInt32 = 8
  /// The first version with the tables of the history.
  static let firstVersionWithHistory: UInt32 = 3
  /// The versions that can be read.
  static let versions = Set<UInt32>(1...10).union([12, 15, version])
  /// Set and compared, so that a store does not depend on how a distribution builds SQLite.
  static let pageSize: UInt32 = 4096

  /// Selects, row by row, all that SQLite stores about tables and indexes and that could change how it reads the file.
  static let query = """
    SELECT quote(type) || quote(name) || quote(tbl_name) || quote(sql) FROM sqlite_schema ORDER BY name
    """

  /// The result of ``query`` for a valid store; the index of the primary key is SQLite's own, and has no statement.
  static func rows(version: UInt32) -> [String] {
    [
      row("table", "blobs", "blobs", statements[6]),
      row("table", "credential", "credential", statements[0]),
      row("index", "credentialInSequence", "credential", statements[4]),
      row("index", "credentialOfID", "credential", statements[2]),
      row("index", "credentialOfKey", "credential", statements[3]),
      row("index", "credentialOfRP", "credential", statements[1]),
    ]
      + (version < firstVersionWithHistory
        ? []
        : [row("table", "history", "history", history[0]), row("table", "historyHead", "historyHead", history[1])])
      + (version < 2 ? [] : [row("table", "rowSet", "rowSet", rowSet)]) + [
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
    /// The columns that order its entries.
    let columns: [Column]
    /// Whether no two rows have the same values in these columns.
    let isUnique: Bool
  }

  /// A column of `credential` that is in an index, by its name.
  enum Column: String {
    case accountTag, rpTag, credentialTag, keyTag, sequence
  }

  /// All indexes of `credential`, including that of its primary key.
  static let indexes = [
    Index(name: "sqlite_autoindex_credential_1", columns: [.accountTag], isUnique: true),
    Index(name: "credentialOfRP", columns: [.rpTag, .sequence], isUnique: false),
    Index(name: "credentialOfID", columns: [.credentialTag], isUnique: false),
    Index(name: "credentialOfKey", columns: [.keyTag], isUnique: false),
    Index(name: "credentialInSequence", columns: [.sequence], isUnique: true),
  ]

  /// Tables and indexes, in the order in which they are made.
  static let statements =
    [
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
    ] + history

  /// The table that version 2 adds.
  static let rowSet =
    "CREATE TABLE rowSet (one INTEGER PRIMARY KEY CHECK (one = 1), nonce BLOB NOT NULL, sealed BLOB NOT NULL) STRICT"

  /// The tables that version 3 adds.
  static let history = [
    """
    CREATE TABLE history (sequence INTEGER PRIMARY KEY, previous BLOB NOT NULL, nonce BLOB NOT NULL, \
    sealed BLOB NOT NULL) STRICT
    """,
    """
    CREATE TABLE historyHead (one INTEGER PRIMARY KEY CHECK (one = 1), nonce BLOB NOT NULL, sealed BLOB NOT NULL) \
    STRICT
    """,
  ]
}
