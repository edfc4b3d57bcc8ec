import AlgorandTransaction
import TestVectors

/// What py-algorand-sdk makes, and what is wrong with others: `Tests/judges/algorand_transactions.py` writes the file.
struct SDKVectors: Decodable {
  struct Good: Decodable {
    let name: String
    let bytes: Hex
    let id: String
    let signed: Hex
    let signedByAnother: Hex
  }
  struct Group: Decodable {
    let name: String
    let transactions: [Hex]
    let id: Hex
  }
  struct SignedInAnotherWay: Decodable {
    let name: String
    let bytes: Hex
    let id: String
  }
  struct Malformed: Decodable {
    let name: String
    let bytes: Hex
    let error: [String]
  }
  struct MalformedGroup: Decodable {
    let name: String
    let transactions: [Hex]
    let error: String
    let computedID: Hex
  }

  let seed: Hex
  let address: String
  let anotherSeed: Hex
  let anotherAddress: String
  let transactions: [Good]
  let groups: [Group]
  let signedInOtherWays: [SignedInAnotherWay]
  let malformedForm: [Malformed]
  let malformedContent: [Malformed]
  let malformedSigned: [Malformed]
  let malformedGroups: [MalformedGroup]

  static func load() throws -> SDKVectors { try VectorFile("algorand-transactions").decode(SDKVectors.self) }
}

extension TransactionError {
  /// The case that a vector names, with what it names; `nil` for any other words.
  init?(vector words: [String]) {
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
