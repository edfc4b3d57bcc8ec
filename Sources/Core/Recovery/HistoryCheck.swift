/// Something that is wrong with a history.
public enum HistoryFault: Sendable, Equatable {
  /// The head is missing, or does not open: where the history begins and ends is unknown.
  case noHead
  /// The entry is not the one that was written.
  case changed(UInt64)
  /// The entries are not there.
  case missing(ClosedRange<UInt64>)
  /// An entry with this number does not belong to the history.
  case added(Int64)
  /// The rest of the store is older than the history.
  case oldStore
}

extension HistoryFault: CustomStringConvertible {
  /// Which entries, and what happened to them.
  public var description: String {
    switch self {
    case .noHead: "the row that says where the history begins and ends was changed or removed"
    case .changed(let number): "entry \(number) was changed"
    case .missing(let numbers) where numbers.count == 1: "entry \(numbers.lowerBound) is missing"
    case .missing(let numbers): "entries \(numbers.lowerBound) to \(numbers.upperBound) are missing"
    case .added(let number): "entry \(number) was added"
    case .oldStore: "the rest of the store is an old copy, older than the history"
    }
  }
}

/// Follows the chain of a history from its first entry to its last, and collects what is wrong.
public struct HistoryCheck: Sendable {
  private let head: HistoryHead?
  /// The number of the next entry; `nil` before the first one of a history without a head.
  private var expected: UInt64?
  /// The hash that the next entry must follow; `nil` after a fault.
  private var hash: [UInt8]?
  /// What is wrong, in the order of the entries.
  public private(set) var faults: [HistoryFault] = []

  /// - Parameter head: `nil` if it is missing or does not open.
  public init(_ head: HistoryHead?) {
    self.head = head
    expected = head?.first
    hash = head?.before
    if head == nil { faults.append(.noHead) }
  }

  /// Checks the next row, in the order of the numbers.
  ///
  /// - Returns: its entry; `nil` if it is none of this history.
  @discardableResult
  public mutating func add(_ row: HistoryRow, sequence: Int64, keys: CredentialKeys) -> HistoryEntry? {
    guard let number = UInt64(exactly: sequence), number >= expected ?? 1, number <= head?.last ?? .max else {
      faults.append(.added(sequence))
      return nil
    }
    if let expected, number > expected {
      faults.append(.missing(expected...number - 1))
      hash = nil
    }
    expected = number + 1
    guard let entry = try? keys.open(row) else {
      faults.append(.changed(number))
      hash = nil
      return nil
    }
    // The entry before this one opens, but is another than the one that this one follows.
    if let hash, hash != row.previous { faults.append(.changed(max(number - 1, head?.first ?? 1))) }
    hash = row.hash
    return entry
  }

  /// Checks the end, after the last row.
  public mutating func finish() {
    guard let head, let expected else { return }
    if expected <= head.last {
      faults.append(.missing(expected...head.last))
    } else if let hash, hash != head.hash {
      faults.append(.changed(head.last))
    }
  }
}
