/// The port to a store that keeps a history of requests and changes: Recovery §6.
public protocol HistoryStore: CredentialStore {
  /// The next durable change takes this entry into its transaction; with `nil`, it takes none.
  ///
  /// If the end of the history is unknown, the change is made without the entry.
  func expect(_ entry: HistoryEntry?)
  /// Takes back the entry that is expected; returns whether a change had taken it along, or there was none.
  func takeBack() -> Bool

  /// The state row; `nil` if it would have to wait for another use of the store.
  func stateIfIdle() throws(RecoveryError) -> StoreState?
  /// Adds an entry; a power failure can lose the last entries, and no more.
  ///
  /// Only the first in an empty log waits for the disk, for the head of the log; each 256th moves the log.
  /// The next change of a credential, or closing the store, synchronises it.
  func append(_ entry: HistoryEntry) throws(RecoveryError)
  /// Adds an entry as ``append(_:)`` does, unless it would have to wait for another use of the store.
  ///
  /// - Returns: whether it was added.
  func appendIfIdle(_ entry: HistoryEntry) throws(RecoveryError) -> Bool
  /// Adds entries, all or none; they are durable when this returns.
  func appendDurably(_ entries: [HistoryEntry]) throws(RecoveryError)

  /// What is wrong with the end of the history, without reading all of it; `nil` also if it cannot be read.
  var historyFault: HistoryFault? { get }
  /// Up to `count` entries after a number, the oldest first; an entry that was changed from outside is `nil`.
  ///
  /// - Parameter count: −1 for all.
  func history(after sequence: Int64, count: Int) throws(RecoveryError) -> [(sequence: Int64, entry: HistoryEntry?)]
  /// Checks that the history is whole.
  func checkHistory() throws(RecoveryError) -> HistoryState
}

extension HistoryStore {
  /// All entries, the oldest first, without those that were changed from outside.
  public func historyEntries() throws(RecoveryError) -> [HistoryEntry] {
    try history(after: .min, count: -1).compactMap(\.entry)
  }
}

/// What the check of a history has found.
public struct HistoryState: Sendable, Equatable {
  /// The number of entries that open.
  public var count: UInt64 = 0
  /// The time of the oldest of them, Unix milliseconds; `nil` if there is none.
  public var first: UInt64?
  /// The time of the newest of them, Unix milliseconds.
  public var last: UInt64?
  /// What is wrong, in the order of the entries.
  public var faults: [HistoryFault] = []

  /// That of an empty history.
  public init() {}
}
