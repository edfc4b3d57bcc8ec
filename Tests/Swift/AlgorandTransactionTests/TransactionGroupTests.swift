import TestVectors
import Testing

@testable import AlgorandTransaction

@Suite struct TransactionGroupTests {
  private let vectors: Vector
  init() throws { vectors = try SDKVectors.load() }

  @Test func `a whole group in its order is accepted`() throws {
    #expect(vectors.groups.array.map(\.transactions.array.count) == [1, 2, 16])
    for vector in vectors.groups.array {
      let transactions = try vector.transactions.array.map { try Transaction(decoding: $0.bytes) }
      #expect(try TransactionGroup(transactions).id == vector.id.bytes)
      #expect(TransactionGroup.id(of: transactions) == vector.id.bytes)
    }
  }

  @Test func `transactions without a group are independent`() throws {
    let transactions = try vectors.transactions.array.prefix(16).map { try Transaction(decoding: $0["bytes"].bytes) }
    for count in [1, 2, 16] {
      let group = try TransactionGroup(Array(transactions.prefix(count)))
      #expect(group.id == nil)
      #expect(group.transactions == Array(transactions.prefix(count)))
    }
  }

  // Holds: TXN-4
  @Test func `a faulty group is refused with its computed id`() throws {
    #expect(vectors.malformedGroups.array.count == 13)
    for vector in vectors.malformedGroups.array {
      let transactions = try vector.transactions.array.map { try Transaction(decoding: $0.bytes) }
      let id = vector.computedID.bytes
      let expected: TransactionError? =
        switch vector.error.text {
        case "empty": .noTransaction
        case "tooMany": .tooManyTransactions(17)
        case "someUngrouped": .someUngrouped(computedID: id)
        case "severalGroups": .severalGroups(computedID: id)
        case "othersMissing": .othersMissing(computedID: id)
        case "wrongID": .wrongID(computedID: id)
        default: nil
        }
      let error = #expect(throws: TransactionError.self, "\(vector)") { try TransactionGroup(transactions) }
      #expect(error == expected, "\(vector)")
      #expect(error?.computedID ?? [] == id, "\(vector)")
      #expect(error?.description.contains(id.base64) ?? false, "\(vector)")
    }
  }

  // Holds: TXN-4
  @Test func `a changed byte of any transaction changes the group id`() throws {
    let vector = try #require(vectors.groups.array.last)
    let transactions = try vector.transactions.array.map { try Transaction(decoding: $0.bytes) }
    for (index, member) in vector.transactions.array.enumerated() {
      // The first byte of the amount, after the map's head and the key.
      var bytes = member.bytes
      #expect(Array(bytes[1...4]) == [0xA3] + Array("amt".utf8))
      bytes[5] ^= 0x20
      var others = transactions
      others[index] = try Transaction(decoding: bytes)
      #expect(throws: TransactionError.wrongID(computedID: TransactionGroup.id(of: others))) {
        try TransactionGroup(others)
      }
    }
  }
}
