import DeterministicKeys
import Testing

@testable import AlgorandTransaction

// Holds: TXN-7
/// The limits of go-algorand's consensus version 41, each at the limit and one beyond it.
@Suite struct NetworkLimitsTests {
  private static let account = AlgorandAddress(publicKey: [UInt8](repeating: 1, count: 32))

  struct Case: Sendable, CustomTestStringConvertible {
    let key: String
    let limit: Int
    let told: String
    /// The member with so many elements, bytes or rounds.
    let value: @Sendable (Int) -> MessagePack
    var testDescription: String { told }
  }

  private static func list(_ element: MessagePack) -> @Sendable (Int) -> MessagePack {
    { .array([MessagePack](repeating: element, count: $0)) }
  }

  private static let box = MessagePack.map([MessagePack.Member(key: "n", value: .bytes([7]))])
  private static let asset = MessagePack.map([MessagePack.Member(key: "s", value: .unsigned(7))])

  static let cases = [
    Case(key: "note", limit: 1024, told: "a note of 1025 bytes") { .bytes([UInt8](repeating: 7, count: $0)) },
    Case(key: "lv", limit: 1000, told: "valid for 1001 rounds") { .unsigned(10 + UInt64($0)) },
    Case(key: "apaa", limit: 16, told: "17 arguments", value: list(.bytes([7]))),
    Case(key: "apaa", limit: 2048, told: "arguments of 2049 bytes in all") {
      .array([.bytes([7]), .bytes([UInt8](repeating: 7, count: $0 - 1))])
    },
    Case(key: "apat", limit: 8, told: "9 references", value: list(.bytes(account.publicKey))),
    Case(key: "apfa", limit: 8, told: "9 references", value: list(.unsigned(7))),
    Case(key: "apas", limit: 8, told: "9 references", value: list(.unsigned(7))),
    Case(key: "apbx", limit: 8, told: "9 references", value: list(box)),
    Case(key: "al", limit: 16, told: "an access list of 17 elements", value: list(asset)),
  ]

  @Test(arguments: cases) func `what the network does not accept is a warning with its limit`(item: Case) throws {
    #expect(try warnings([item.key: item.value(item.limit)]) == [])
    let told = "! Over the limit: \(item.told); the network accepts at most \(item.limit)"
    #expect(try warnings([item.key: item.value(item.limit + 1)]) == [told])
  }

  @Test func `the references of all lists count together`() throws {
    let four = Self.list(.unsigned(7))(4)
    #expect(try warnings(["apas": four, "apfa": four]) == [])
    #expect(
      try warnings(["apas": four, "apfa": four, "apbx": .array([Self.box])])
        == ["! Over the limit: 9 references; the network accepts at most 8"])
  }

  /// The warnings in the short form, which a prompt always shows, of an application call with these members.
  private func warnings(_ members: [String: MessagePack]) throws -> [String] {
    let all: [String: MessagePack] = [
      "type": .text("appl"), "snd": .bytes(Self.account.publicKey), "fee": .unsigned(1000), "fv": .unsigned(10),
      "lv": .unsigned(1010), "gh": .bytes(GroupSummaryTests.testnet), "apid": .unsigned(7),
    ].merging(members) { $1 }
    let encoded = MessagePack.map(all.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value) }).encoded
    let group = try TransactionGroup([Transaction(decoding: encoded)])
    return GroupSummary(group, isSigned: [true], account: Self.account).inShort.filter(\.isWarning).map(\.text)
  }
}
