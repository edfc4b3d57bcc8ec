import AlgorandTransaction
import TestVectors

/// Transactions of py-algorand-sdk, and faulty ones with errors, from `Tests/EndToEnd/judges/algorand_transactions.py`.
enum SDKVectors {
  static func load() throws -> Vector { try Vector("algorand-transactions") }
}

extension TransactionError {
  /// The error that a vector names; `nil` for any other text.
  init?(_ vector: Vector) {
    let words = vector.error.array.map(\.text)
    let name = words.dropFirst().first ?? ""
    switch words.first {
    case "truncated": self = .truncated
    case "trailingBytes": self = .trailingBytes
    case "tooDeep": self = .tooDeep
    case "notShortest": self = .notShortest
    case "unsupportedValue": self = .unsupportedValue(UInt8(name) ?? 0)
    case "invalidText": self = .invalidText
    case "keyIsNoText": self = .keyIsNoText
    case "keysOutOfOrder": self = .keysOutOfOrder(name)
    case "duplicateMember": self = .duplicateMember(name)
    case "zeroMember": self = .zeroMember(name)
    case "notAMap": self = .notAMap
    case "missingMember": self = .missingMember(name)
    case "unknownMember": self = .unknownMember(name)
    case "wrongType": self = .wrongType(name)
    case "wrongLength": self = .wrongLength(name)
    case "outOfRange": self = .outOfRange(name)
    case "unknownType": self = .unknownType(name)
    case "notForWallets": self = .notForWallets(name)
    case "contradiction": self = .contradiction(name, words.last ?? "")
    default: return nil
    }
  }
}
