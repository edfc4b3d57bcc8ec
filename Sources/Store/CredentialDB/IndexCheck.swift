import CryptoPrimitives
import Recovery

/// Checks that each index of `credential` has one entry for each row, with its columns, in the right place.
///
/// SQLite's integrity check looks up each row in each index, in an order that defeats a small cache. This check reads
/// each index once, from first to last entry. The entries must ascend, because SQLite searches by their order, and they
/// must be those of the rows, which were read before: then the sums of their hashes are equal. The hash key is random
/// each time, so other entries with the same sum cannot be prepared.
struct IndexCheck {
  private let hash = SipHash()
  /// The sum of the hashes that are still to be found in each index, modulo 2^128.
  private var sums = [UInt128](repeating: 0, count: Schema.indexes.count)
  private var entry = Entry()

  /// Adds the entries that a row must have.
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
        // If two rows may have the same columns, their rowids order them.
        if !index.isUnique { row.append(rowID, to: &entry) }
        ascends = ascends && last.bytes.lexicographicallyPrecedes(entry.bytes)
        if index.isUnique { row.append(rowID, to: &entry) }
        sums[number] &-= hash.hash(entry.bytes)
        swap(&last, &entry)
      }
      guard ascends, sums[number] == 0 else { throw .damaged("the index \(index.name) does not match its table") }
    }
  }

  /// The statement that reads an index; it selects only columns in the index, so that SQLite fetches no row.
  static func scan(of index: Schema.Index) -> String {
    let columns = index.columns.map { $0.rawValue + ", " }.joined()
    return "SELECT \(columns)rowid FROM credential INDEXED BY \(index.name)"
  }

  /// An entry of an index, as bytes that sort like the entries.
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

    /// Appends a tag from SQLite's memory; its size is fixed, so the next column needs no separator.
    mutating func append(_ blob: UnsafeRawBufferPointer) {
      guard blob.count == CredentialKeys.tagSize else { return appendOther() }
      bytes.append(3)
      bytes.append(contentsOf: blob)
    }

    /// Appends a byte that no valid row has.
    mutating func appendOther() { bytes.append(2) }
  }
}
