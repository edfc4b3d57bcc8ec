public import CryptoPrimitives
import DeterministicKeys

/// What the store knows of the whole history: where it begins and ends.
public struct HistoryHead: Sendable, Equatable {
  /// The number of the oldest entry that is kept; numbers begin with 1.
  public var first: UInt64
  /// The hash before that entry, 32 bytes.
  public var before: [UInt8]
  /// The number of the newest entry; `first - 1` if there is none.
  public var last: UInt64
  /// The hash of the newest entry, 32 bytes.
  public var hash: [UInt8]
  /// That of the mark (``HistoryMark``) that was written last; 0 before version 10 of the store.
  public var generation: UInt64

  /// The head of an empty history.
  public init(generation: UInt64 = 0) {
    self.generation = generation
    first = 1
    before = [UInt8](repeating: 0, count: SHA256.size)
    last = 0
    hash = before
  }

  /// The number of entries.
  public var count: UInt64 { last + 1 - first }

  /// Compares the head with the mark of the store, and returns the head from which the history goes on.
  ///
  /// Entries can follow the marked one, because an entry alone does not change the mark. A head that does not follow the
  /// mark was put back; the mark then says where the history ended, and the check finds the missing entries.
  ///
  /// - Parameter next: the `previous` of the entry after the marked one; `nil` if the entry is not there.
  /// - Returns: also what is wrong; `nil` if the head follows the mark.
  public func judged(by mark: HistoryMark, next: [UInt8]?) -> (head: HistoryHead, fault: HistoryFault?) {
    if generation > mark.generation { return (self, .oldStore) }
    let follows =
      generation == mark.generation
      && (last == mark.last ? hash == mark.hash : last > mark.last && (next ?? mark.hash) == mark.hash)
    if follows { return (self, nil) }
    var head = self
    (head.first, head.last) = (min(first, mark.last + 1), mark.last)
    (head.hash, head.generation) = (mark.hash, mark.generation)
    guard last != mark.last || hash != mark.hash else { return (head, nil) }
    return (head, last < mark.last ? .missing(last + 1...mark.last) : .changed(mark.last))
  }
}

/// What the hash over the rows of the store says of the history: where it ended at the last change of the store.
///
/// So an old history beside newer rows is found, and old rows beside a newer history: Recovery §6.
public struct HistoryMark: Sendable, Equatable {
  /// Increases by 1 each time that a mark is written.
  public var generation: UInt64
  /// The number of the newest entry; 0 if there is none.
  public var last: UInt64
  /// The hash of that entry, 32 bytes.
  public var hash: [UInt8]

  static let size = 8 + 8 + SHA256.size

  /// The end of a history.
  public init(of head: HistoryHead) { (generation, last, hash) = (head.generation, head.last, head.hash) }

  /// BE64(generation) ‖ BE64(last) ‖ hash, 48 bytes.
  var bytes: [UInt8] { generation.bigEndianBytes + last.bigEndianBytes + hash }

  init(bytes: [UInt8]) {
    (generation, last) = (UInt64(bigEndianBytes: bytes[..<8]), UInt64(bigEndianBytes: bytes[8..<16]))
    hash = Array(bytes[16...])
  }
}

/// One entry as it is stored.
public struct HistoryRow: Sendable, Equatable {
  /// The entry's number.
  public var sequence: UInt64
  /// The hash of the entry before it, 32 bytes.
  public var previous: [UInt8]
  /// 24 bytes.
  public var nonce: [UInt8]
  /// 272 bytes.
  public var sealed: [UInt8]

  public init(sequence: UInt64, previous: [UInt8], nonce: [UInt8], sealed: [UInt8]) {
    (self.sequence, self.previous, self.nonce, self.sealed) = (sequence, previous, nonce, sealed)
  }

  /// SHA-256(previous ‖ nonce ‖ sealed): the `previous` of the next row.
  public var hash: [UInt8] { SHA256.hash(previous, nonce, sealed) }
}

// MARK: - Sealing and opening

extension CredentialKeys {
  /// Bytes of every padded entry, so that its length does not show its site.
  private static let historyEntrySize = 256

  /// Seals the entry that follows `head`.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func seal(
    _ entry: HistoryEntry, after head: HistoryHead, nonce: [UInt8]
  ) throws(CryptoError) -> HistoryRow {
    let plaintext = entry.plaintext + [0x80]
    let padding = [UInt8](repeating: 0, count: Self.historyEntrySize - plaintext.count)
    let sequence = head.last + 1
    let sealed = try XChaCha20Poly1305.seal(
      plaintext + padding, key: self[.history], nonce: nonce, ad: Self.historyAD(sequence, previous: head.hash))
    return HistoryRow(sequence: sequence, previous: head.hash, nonce: nonce, sealed: sealed)
  }

  /// Opens an entry; it does not open under another number or after another entry.
  public func open(_ row: HistoryRow) throws(RecoveryError) -> HistoryEntry {
    guard row.previous.count == SHA256.size,
      let padded = try? XChaCha20Poly1305.open(
        row.sealed, key: self[.history], nonce: row.nonce, ad: Self.historyAD(row.sequence, previous: row.previous))
    else { throw .notAuthentic }
    guard padded.count == Self.historyEntrySize, let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 0x80
    else { throw .malformed("no padding") }
    return try HistoryEntry(plaintext: Array(padded[..<end]))
  }

  /// "history" ‖ BE64(sequence) ‖ previous.
  private static func historyAD(_ sequence: UInt64, previous: [UInt8]) -> [UInt8] {
    Array("history".utf8) + sequence.bigEndianBytes + previous
  }

  private static let historyHeadAD = Array("history-head".utf8)

  /// Seals BE64(first) ‖ before ‖ BE64(last) ‖ hash ‖ BE64(generation), padded to 128 bytes.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func seal(_ head: HistoryHead, nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
    try XChaCha20Poly1305.seal(
      RowPadding.pad(
        head.first.bigEndianBytes + head.before + head.last.bigEndianBytes + head.hash
          + head.generation.bigEndianBytes),
      key: self[.history], nonce: nonce, ad: Self.historyHeadAD)
  }

  /// Opens the head; before version 10 of the store, it has no generation.
  public func openHistoryHead(_ sealed: [UInt8], nonce: [UInt8]) throws(RecoveryError) -> HistoryHead {
    guard let padded = try? XChaCha20Poly1305.open(sealed, key: self[.history], nonce: nonce, ad: Self.historyHeadAD)
    else { throw .notAuthentic }
    guard let plaintext = RowPadding.unpad(padded).map(Array.init), [80, 88].contains(plaintext.count) else {
      throw .malformed("two numbers with two hashes, and a generation")
    }
    func number(_ start: Int) -> UInt64 { UInt64(bigEndianBytes: plaintext[start..<start + 8]) }
    var head = HistoryHead(generation: plaintext.count == 80 ? 0 : number(80))
    (head.first, head.before) = (number(0), Array(plaintext[8..<40]))
    (head.last, head.hash) = (number(40), Array(plaintext[48..<80]))
    guard head.first > 0, head.last >= head.first - 1, head.last < Int64.max else {
      throw .malformed("the numbers of the entries")
    }
    return head
  }
}
