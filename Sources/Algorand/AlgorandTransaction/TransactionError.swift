/// Why bytes are refused as a transaction, or transactions as a group: the only error of this module.
///
/// A node hashes its own encoding of the decoded transaction. So a signature over another form is useless to an honest
/// dApp, and members that a decoder skips would be signed unseen. Both are refused.
public enum TransactionError: Error, Hashable, Sendable {
  // MARK: Not canonical msgpack

  /// The bytes end in the middle of a value.
  case truncated
  /// Bytes follow the value.
  case trailingBytes
  /// More than ``Transaction/maximumSize`` bytes.
  case tooLong
  /// Arrays and maps are nested deeper than in any transaction.
  case tooDeep
  /// A number or length takes more bytes than it needs.
  case notShortest
  /// The first byte of a value of a kind that Algorand does not use: nil, negative, floating point or an extension.
  case unsupportedValue(UInt8)
  /// A text that is not UTF-8.
  case invalidText
  /// A key that is not a text.
  case keyIsNoText
  /// A key that sorts before the preceding one.
  case keysOutOfOrder(String)
  /// A duplicate key.
  case duplicateMember(String)
  /// A member that holds zero, `false`, or nothing; the canonical form leaves it out.
  case zeroMember(String)

  // MARK: Not a transaction

  /// The value is not a map.
  case notAMap
  /// A required member is missing.
  case missingMember(String)
  /// A member that this kind of transaction does not have, or an unknown one.
  case unknownMember(String)
  /// A member of the wrong type.
  case wrongType(String)
  /// A member of the wrong length.
  case wrongLength(String)
  /// A member outside the limits of the protocol.
  case outOfRange(String)
  /// An unknown `type`.
  case unknownType(String)
  /// A `type` that no wallet signs: state proofs (`stpf`) and heartbeats (`hb`) are made by nodes.
  case notForWallets(String)
  /// Two members that exclude each other.
  case contradiction(String, String)

  // MARK: Groups

  /// The list is empty.
  case noTransaction
  /// There are more than ``TransactionGroup/maximumCount``.
  case tooManyTransactions(Int)
  /// Some transactions have a group id, and some do not.
  case someUngrouped(computedID: [UInt8])
  /// The transactions have different group ids.
  case severalGroups(computedID: [UInt8])
  /// A single transaction of a group; the others are missing, so the effect of the group is unknown.
  case othersMissing(computedID: [UInt8])
  /// The transactions, or their order, do not match their group id.
  case wrongID(computedID: [UInt8])

  /// The id of the group of exactly these transactions, 32 bytes.
  ///
  /// `nil` if the error is not about a group, or if there are no transactions or too many.
  public var computedID: [UInt8]? {
    switch self {
    case .someUngrouped(let id), .severalGroups(let id), .othersMissing(let id), .wrongID(let id): id
    default: nil
    }
  }
}

extension TransactionError: CustomStringConvertible {
  /// What is wrong, in one line; names from outside are quoted, without invisible characters.
  public var description: String {
    computedID.map { "\(reason); alone and in this order they are group \($0.base64)" } ?? reason
  }

  private var reason: String {
    switch self {
    case .truncated: "not canonical msgpack: it ends too early"
    case .trailingBytes: "not canonical msgpack: bytes follow the transaction"
    case .tooLong: "longer than \(Transaction.maximumSize) bytes"
    case .tooDeep: "not canonical msgpack: it is nested too deeply"
    case .notShortest: "not canonical msgpack: a number or length is longer than needed"
    case .unsupportedValue(let head): "not canonical msgpack: a value that starts with \([head].hexadecimal)"
    case .invalidText: "not canonical msgpack: a text that is not UTF-8"
    case .keyIsNoText: "not canonical msgpack: a key that is not a text"
    case .keysOutOfOrder(let key): "not canonical msgpack: the key \(key.quotedName) is out of order"
    case .duplicateMember(let key): "not canonical msgpack: the member \(key.quotedName) is a duplicate"
    case .zeroMember(let key): "not canonical msgpack: the member \(key.quotedName) is empty"
    case .notAMap: "not a transaction: it is not a map"
    case .missingMember(let name): "not a transaction: the member \(name.quotedName) is missing"
    case .unknownMember(let name): "the member \(name.quotedName) is unknown"
    case .wrongType(let name): "not a transaction: the member \(name.quotedName) has a wrong type"
    case .wrongLength(let name): "not a transaction: the member \(name.quotedName) has a wrong length"
    case .outOfRange(let name): "the member \(name.quotedName) is out of range"
    case .unknownType(let type): "the type \(type.quotedName) is unknown"
    case .notForWallets(let type): "transactions of type \(type.quotedName) are made by nodes; wallets do not sign them"
    case .contradiction(let one, let other):
      "the members \(one.quotedName) and \(other.quotedName) contradict each other"
    case .noTransaction: "not a transaction"
    case .tooManyTransactions(let count):
      "\(count) transactions; a group has at most \(TransactionGroup.maximumCount)"
    case .someUngrouped: "some transactions belong to a group, and some do not"
    case .severalGroups: "the transactions belong to different groups"
    case .othersMissing: "the transaction belongs to a group, and the others are missing"
    case .wrongID: "the transactions do not match their group id"
    }
  }
}
