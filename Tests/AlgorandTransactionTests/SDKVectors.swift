import AlgorandTransaction
import TestVectors

/// What py-algorand-sdk makes, and what is wrong with others: `Tests/judges/algorand_transactions.py` writes the file.
enum SDKVectors {
  static func load() throws -> Vector { try Vector("algorand-transactions") }
}

extension TransactionError {
  /// The case that a vector names, with what it names; `nil` for any other words.
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
