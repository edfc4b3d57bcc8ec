import CryptoPrimitives

/// Transactions that are signed together: one atomic group, or independent transactions.
///
/// ARC-1 (Group Validation), to which ARC-27 refers, requires a list to be one whole group in its order, or one
/// transaction without a group. It allows wallets to accept several of these in one list. This type accepts several
/// transactions without a group. It refuses a list with two groups or with only some grouped, because a prompt could
/// not show which of them depend on each other.
public struct TransactionGroup: Hashable, Sendable {
  /// The most transactions in a group, and in a list of ARC-27.
  public static let maximumCount = 16

  /// The transactions, in their order.
  public let transactions: [Transaction]
  /// The id of an atomic group, 32 bytes; `nil` if the transactions are independent.
  public let id: [UInt8]?

  /// Checks that the transactions are one whole group, or that none has a group id.
  ///
  /// - Throws: ``TransactionError``, with the id of the group of exactly these transactions.
  public init(_ transactions: [Transaction]) throws(TransactionError) {
    guard !transactions.isEmpty else { throw .noTransaction }
    guard transactions.count <= Self.maximumCount else { throw .tooManyTransactions(transactions.count) }
    let ids = Set(transactions.map(\.group))
    self.transactions = transactions
    guard ids != [nil] else {
      id = nil
      return
    }
    let computed = Self.id(of: transactions)
    guard !ids.contains(nil) else { throw .someUngrouped(computedID: computed) }
    guard ids.count == 1 else { throw .severalGroups(computedID: computed) }
    guard ids == [computed] else {
      throw transactions.count == 1 ? .othersMissing(computedID: computed) : .wrongID(computedID: computed)
    }
    id = computed
  }

  /// The group id of these transactions in this order, whatever their own `grp` is.
  ///
  /// SHA-512/256 of "TG" ‖ msgpack {"txlist": [the hash of each without `grp`]}.
  public static func id(of transactions: [Transaction]) -> [UInt8] {
    let list = MessagePack.array(transactions.map { .bytes($0.groupElement) })
    return SHA512_256.hash(
      Array("TG".utf8), MessagePack.map([MessagePack.Member(key: "txlist", value: list)]).encoded)
  }
}
