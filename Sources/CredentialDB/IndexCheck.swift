import CryptoPrimitives
import Recovery

/// Whether each index of `credential` has one entry for each row, with its columns, and in its place.
///
/// SQLite's integrity check looks each row up in each index, in no order that a small cache is good for. Here each index
/// is read once, from its first entry to its last. They must ascend, for SQLite finds one by that; and they must be the
/// entries of the rows, which were read before: then the sums of their hashes are equal. The key of the hashes is drawn
/// anew each time, so whoever wrote the file could not look for other entries with the same sum.
struct IndexCheck {
  private let hash = SipHash()
  /// The sum of the hashes that are still to be found in each index, modulo 2^128.
  private var sums = [UInt128](repeating: 0, count: Schema.indexes.count)
  private var entry = Entry()

  /// Adds the entries that a row has to have.
  mutating func add(_ row: CredentialRow, sequence: Int64, rowID: Int64) {
    for (number, index) in Schema.indexes.enumerated() {
      entry.removeAll()
      for column in index.columns {
        switch column {
        case .accountTag: entry.append(row.accountTag)
        case .rpTag: entry.append(row.tags?.rpTag)
        case .credentialTag: entry.append(row.tags?.credentialTag)
        case .keyTag: entry.append(row.tags?.keyTag)
        case .sequence: entry.append(sequence)
        }
      }
      entry.append(rowID)
      sums[number] &+= hash.hash(entry.bytes)
    }
  }

  /// Reads the indexes, after all rows were added.
  mutating func run(on connection: Connection) throws(StoreFault) {
    for (number, index) in Schema.indexes.enumerated() {
      var (last, ascends) = (Entry(), true)
      let rowID = Int32(index.columns.count)
      try Statement(Self.scan(of: index), connection).forEach { row in
        entry.removeAll()
        for column in 0..<rowID { row.append(column, to: &entry) }
        // Where two rows may have the same columns, their numbers order them.
        if !index.isUnique { row.append(rowID, to: &entry) }
        ascends = ascends && last.bytes.lexicographicallyPrecedes(entry.bytes)
        if index.isUnique { row.append(rowID, to: &entry) }
        sums[number] &-= hash.hash(entry.bytes)
        swap(&last, &entry)
      }
      guard ascends, sums[number] == 0 else { throw .damaged("the index \(index.name) does not match its table") }
    }
  }

  /// Reads what stands in an index: all columns that are asked for are there, so that SQLite fetches no row.
  static func scan(of index: Schema.Index) -> String {
    let columns = index.columns.map { $0.rawValue + ", " }.joined()
    return "SELECT \(columns)rowid FROM credential INDEXED BY \(index.name)"
  }

  /// An entry of an index, in bytes that have the order that entries have.
  struct Entry {
    private(set) var bytes: [UInt8] = []

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    mutating func append(_ number: Int64) {
      bytes.append(1)
      withUnsafeBytes(of: (UInt64(bitPattern: number) ^ 1 << 63).bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends the bytes of a column; `nil` is NULL.
    mutating func append(_ blob: [UInt8]?) {
      guard let blob else { return bytes.append(0) }
      bytes.append(3)
      bytes.append(contentsOf: blob)
    }

    /// Appends bytes of SQLite's: a tag, whose length shows where the next column begins.
    mutating func append(_ blob: UnsafeRawBufferPointer) {
      guard blob.count == CredentialKeys.tagSize else { return appendOther() }
      bytes.append(3)
      bytes.append(contentsOf: blob)
    }

    /// Appends what no row of ours has.
    mutating func appendOther() { bytes.append(2) }
  }
}
