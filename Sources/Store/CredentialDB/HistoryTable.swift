import CryptoPrimitives
public import Recovery

/// The history of ceremonies, in the tables `history` and `historyHead` (Recovery §6).
///
/// The hash over the rows of the store does not cover it: a store whose history was changed opens, and the check of the
/// history says what is wrong. The row of that hash has a mark, which says where the history ended at the last change.
final class HistoryTable {
  /// The most entries that are kept.
  static let capacity: UInt64 = 10_000
  /// How many of the oldest entries make room for new ones.
  static let removedWhenFull: UInt64 = 1_000

  private let keys: CredentialKeys
  private let insert: Statement
  private let removeBefore: Statement
  private let previous: Statement
  private let after: Statement
  private let putHead: Statement
  private let getHead: Statement
  /// The head as it was read or written last, and what is wrong with it; `nil` if it must be read.
  private var known: (head: HistoryHead, fault: HistoryFault?)?

  /// Prepares the statements on a connection whose tables exist.
  init(_ connection: Connection, keys: CredentialKeys) throws(StoreFault) {
    self.keys = keys
    insert = try Statement(
      "INSERT OR REPLACE INTO history (sequence, previous, nonce, sealed) VALUES (?, ?, ?, ?)", connection)
    removeBefore = try Statement("DELETE FROM history WHERE sequence < ?", connection)
    previous = try Statement("SELECT previous FROM history WHERE sequence = ?", connection)
    after = try Statement(
      "SELECT sequence, previous, nonce, sealed FROM history WHERE sequence > ? ORDER BY sequence LIMIT ?", connection)
    putHead = try Statement(
      """
      INSERT INTO historyHead (one, nonce, sealed) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET nonce = excluded.nonce, sealed = excluded.sealed
      """, connection)
    getHead = try Statement("SELECT nonce, sealed FROM historyHead", connection)
  }

  /// Removes all entries, and begins an empty history.
  ///
  /// - Parameter mark: the mark before, whose generations go on.
  func clear(after mark: HistoryMark?) throws(StoreFault) {
    let generation = try judged(by: nil)?.head.generation ?? 0
    try removeBefore.run(.integer(.max))
    try write(HistoryHead(generation: max(generation, mark?.generation ?? 0)))
  }

  /// Adds an entry, in the caller's transaction; a full history loses its oldest entries.
  ///
  /// - Throws: `noHistoryHead` if the end of the history is unknown.
  func append(_ entry: HistoryEntry, after mark: HistoryMark?) throws(StoreFault) {
    guard let judged = try judged(by: mark) else { throw .noHistoryHead }
    var head = judged.head
    if head.count >= Self.capacity {
      head.first += Self.removedWhenFull
      // If the row is missing, the check finds that, whatever the hash.
      let first = try previous.first([.integer(Int64(head.first))]) { $0.blob(0) }
      head.before = first.flatMap { $0 } ?? head.before
      try removeBefore.run(.integer(Int64(head.first)))
    }
    let row: HistoryRow
    do throws(CryptoError) {
      row = try keys.seal(entry, after: head, nonce: randomBytes(XChaCha20Poly1305.nonceSize))
    } catch {
      throw .unsealable(error)
    }
    try insert.run(.integer(Int64(row.sequence)), .blob(row.previous), .blob(row.nonce), .blob(row.sealed))
    (head.last, head.hash) = (row.sequence, row.hash)
    try write(head, judged.fault)
  }

  /// The mark that follows `mark`, in the caller's transaction, which writes it.
  ///
  /// A mark stays as it is if the end of the history is unknown, or if the store is an old copy: a new one would hide it.
  func mark(after mark: HistoryMark?) throws(StoreFault) -> HistoryMark? {
    guard let judged = try judged(by: mark) else { return mark ?? HistoryMark(of: HistoryHead()) }
    guard judged.fault != .oldStore else { return mark }
    var head = judged.head
    head.generation += 1
    try write(head, judged.fault)
    return HistoryMark(of: head)
  }

  /// What is wrong with the end of the history, as far as it is known without reading the entries.
  func fault(after mark: HistoryMark?) throws(StoreFault) -> HistoryFault? {
    guard let judged = try judged(by: mark) else { return .noHead }
    return judged.fault
  }

  /// Whether entries were added since the mark.
  func isLonger(than mark: HistoryMark?) throws(StoreFault) -> Bool {
    guard let judged = try judged(by: mark), judged.fault != .oldStore else { return false }
    return judged.head.last != mark?.last
  }

  /// The next transaction reads the head again.
  func forget() { known = nil }

  /// The head from which the history goes on, and what is wrong with it; `nil` if it is missing or does not open.
  private func judged(by mark: HistoryMark?) throws(StoreFault) -> (head: HistoryHead, fault: HistoryFault?)? {
    if let known { return known }
    var read: HistoryHead?
    try getHead.forEach { row in read = try? keys.openHistoryHead(row.blob(1) ?? [], nonce: row.blob(0) ?? []) }
    guard let read else { return nil }
    guard let mark else { return (read, nil) }
    let next = try previous.first([.integer(Int64(clamping: mark.last) + 1)]) { $0.blob(0) }
    known = read.judged(by: mark, next: next.flatMap { $0 })
    return known
  }

  private func write(_ head: HistoryHead, _ fault: HistoryFault? = nil) throws(StoreFault) {
    known = nil
    let nonce = randomBytes(XChaCha20Poly1305.nonceSize)
    let sealed: [UInt8]
    do throws(CryptoError) { sealed = try keys.seal(head, nonce: nonce) } catch { throw .unsealable(error) }
    try putHead.run(.blob(nonce), .blob(sealed))
    known = (head, fault)
  }

  /// Up to `count` entries after one, the oldest first; one that does not open is `nil`.
  func entries(after sequence: Int64, count: Int) throws(StoreFault) -> [(sequence: Int64, entry: HistoryEntry?)] {
    var entries: [(Int64, HistoryEntry?)] = []
    try forEach(after: sequence, count: count) { row, sequence in entries.append((sequence, try? keys.open(row))) }
    return entries
  }

  /// Follows the chain from its first entry to its last.
  func check(after mark: HistoryMark?) throws(StoreFault) -> HistoryState {
    let judged = try judged(by: mark)
    var check = HistoryCheck(judged?.head)
    var state = HistoryState()
    try forEach(after: .min, count: -1) { row, sequence in
      guard let entry = check.add(row, sequence: sequence, keys: keys) else { return }
      state.count += 1
      state.first = state.first ?? entry.time
      state.last = entry.time
    }
    check.finish()
    state.faults = check.faults + (judged?.fault == .oldStore ? [.oldStore] : [])
    return state
  }

  /// - Parameter count: the most rows; −1 for all.
  private func forEach(
    after sequence: Int64, count: Int, _ body: (HistoryRow, Int64) -> Void
  ) throws(StoreFault) {
    try after.forEach([.integer(sequence), .integer(Int64(count))]) { row in
      let number = row.integer(0)
      body(
        HistoryRow(
          sequence: UInt64(bitPattern: number), previous: row.blob(1) ?? [], nonce: row.blob(2) ?? [],
          sealed: row.blob(3) ?? []), number)
    }
  }
}

// MARK: - The history of a store

extension CredentialDB: HistoryStore {
  /// The store itself.
  public var history: (any HistoryStore)? { self }

  /// Adds an entry to the history; a power failure can lose the last entries, and no more.
  ///
  /// Only the first in an empty log waits for the disk, for the head of the log; each 256th moves the log.
  /// The next change of a credential, or closing the store, synchronises it.
  public func append(_ entry: HistoryEntry) throws(RecoveryError) {
    try appendToHistory(entry)
  }

  /// Adds an entry as ``append(_:)`` does, unless it would have to wait for another use of the store.
  ///
  /// - Returns: whether it was added.
  public func appendIfIdle(_ entry: HistoryEntry) throws(RecoveryError) -> Bool {
    try appendToHistoryIfIdle(entry)
  }

  /// Adds entries to the history, all or none; they are durable when this returns.
  public func appendDurably(_ entries: [HistoryEntry]) throws(RecoveryError) {
    try durably { session throws(StoreFault) in
      for entry in entries { try session.history.append(entry, after: session.mark()) }
    }
  }

  /// What is wrong with the end of the history, without reading all of it; `nil` also if it cannot be read.
  public var historyFault: HistoryFault? {
    try? with { session throws(StoreFault) in try session.history.fault(after: session.mark()) }
  }

  /// Up to `count` entries after a number, the oldest first; an entry that was changed from outside is `nil`.
  public func history(after sequence: Int64, count: Int) throws(RecoveryError) -> [(
    sequence: Int64, entry: HistoryEntry?
  )] {
    try with { session throws(StoreFault) in try session.history.entries(after: sequence, count: count) }
  }

  /// Checks that the history is intact.
  public func checkHistory() throws(RecoveryError) -> HistoryState {
    try with { session throws(StoreFault) in try session.history.check(after: session.mark()) }
  }
}
