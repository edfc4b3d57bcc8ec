import DeterministicKeys
import Foundation
import Messages
import Testing

@testable import AlgorandTransaction

@Suite struct GroupSummaryTests {
  private static func address(_ byte: UInt8) -> AlgorandAddress {
    AlgorandAddress(publicKey: [UInt8](repeating: byte, count: 32))
  }

  static let (alice, bob, carol) = (address(1), address(2), address(3))
  static let testnet = [UInt8](Data(base64Encoded: Network.testnet.genesisHash) ?? Data())

  /// A transaction with the given members, and others that every one has; zero members are omitted.
  static func transaction(
    _ type: String = "pay", from sender: AlgorandAddress = alice, fee: UInt64 = 1000, last: UInt64 = 1010,
    group: [UInt8] = [], _ members: [String: MessagePack]
  ) throws -> Transaction {
    let all = members.merging([
      "type": .text(type), "snd": .bytes(sender.publicKey), "fee": .unsigned(fee), "fv": .unsigned(10),
      "lv": .unsigned(last), "gh": .bytes(testnet), "grp": .bytes(group),
    ]) { given, _ in given }
    let there = all.filter { !$0.value.isZero }.sorted { $0.key < $1.key }
    return try Transaction(decoding: MessagePack.map(there.map { .init(key: $0.key, value: $0.value) }).encoded)
  }

  private static func payment(
    _ amount: UInt64, from sender: AlgorandAddress = alice, to receiver: AlgorandAddress? = bob, fee: UInt64 = 1000,
    _ others: [String: MessagePack] = [:]
  ) -> (AlgorandAddress, UInt64, String, [String: MessagePack]) {
    let members: [String: MessagePack] = ["amt": .unsigned(amount), "rcv": .bytes(receiver?.publicKey ?? [])]
    return (sender, fee, "pay", members.merging(others) { $1 })
  }

  private static func transfer(
    _ amount: UInt64, of asset: UInt64, from sender: AlgorandAddress = alice, to receiver: AlgorandAddress = bob,
    takenFrom holder: AlgorandAddress? = nil
  ) -> (AlgorandAddress, UInt64, String, [String: MessagePack]) {
    (
      sender, 1000, "axfer",
      [
        "aamt": .unsigned(amount), "xaid": .unsigned(asset), "arcv": .bytes(receiver.publicKey),
        "asnd": .bytes(holder?.publicKey ?? []),
      ]
    )
  }

  /// The summary of transactions in one group, or of independent ones.
  private static func summary(
    isGroup: Bool = true, signed: [Bool]? = nil, _ written: [(AlgorandAddress, UInt64, String, [String: MessagePack])]
  ) throws -> (GroupSummary, [Transaction]) {
    func transactions(_ id: [UInt8]) throws -> [Transaction] {
      try written.map { try transaction($2, from: $0, fee: $1, group: id, $3) }
    }
    let alone = try transactions([])
    let all = isGroup ? try transactions(TransactionGroup.id(of: alone)) : alone
    let summary = GroupSummary(
      try TransactionGroup(all), isSigned: signed ?? all.map { $0.sender == alice }, account: alice)
    return (summary, all)
  }

  private static func text(_ lines: [SummaryLine]) -> [String] {
    lines.map(\.text)
  }

  // MARK: Totals

  @Test func `the totals of a group are sorted by asset, then the fees`() throws {
    let (summary, _) = try Self.summary([
      Self.payment(1_500_000), Self.transfer(3, of: 70, to: Self.bob), Self.transfer(4, of: 70, to: Self.carol),
      Self.transfer(1, of: 9), Self.payment(500_001), Self.transfer(5, of: 31_566_704, from: Self.bob, to: Self.alice),
      Self.payment(2, from: Self.carol, to: Self.bob),
    ])
    #expect(
      Self.text(summary.inShort) == [
        "Transactions: payment (3), asset transfer (4)", "You send: 2.000001 ALGO to \(Self.bob.grouped)",
        "You send: 1 smallest unit of asset 9 to \(Self.bob.grouped)",
        "You send: 7 smallest units of asset 70 to 2 receivers",
        "You receive: 5 smallest units of asset 31566704", "Fees: 0.005000 ALGO",
      ])
  }

  // Holds: WALLET-10
  @Test func `without a group only signed transactions count`() throws {
    let written = [Self.payment(1), Self.payment(2), Self.payment(4, from: Self.bob, to: Self.alice)]
    let (alone, _) = try Self.summary(isGroup: false, signed: [true, false, false], written)
    #expect(
      Self.text(alone.inShort) == [
        "Transactions: payment (3)", "You send: 0.000001 ALGO to \(Self.bob.grouped)", "Fees: 0.001000 ALGO",
      ])
    let (group, _) = try Self.summary(signed: [true, false, false], written)
    #expect(
      Self.text(group.inShort) == [
        "Transactions: payment (3)", "You send: 0.000003 ALGO to \(Self.bob.grouped)", "You receive: 0.000004 ALGO",
        "Fees: 0.002000 ALGO",
      ])
  }

  // Holds: WALLET-10
  @Test func `sixteen of the largest amounts are summed`() throws {
    let written = (0..<16).map { Self.payment(.max, fee: .max - $0) }
    let (summary, _) = try Self.summary(written)
    #expect(
      Self.text(summary.inShort) == [
        "Transactions: payment (16)", "! Fee: in all of them",
        "You send: 295147905179352.825840 ALGO to \(Self.bob.grouped)", "Fees: 295147905179352.825720 ALGO",
      ])
  }

  // Holds: WALLET-10
  @Test func `transactions that move nothing are in no total`() throws {
    let (summary, _) = try Self.summary([
      Self.payment(5, to: Self.alice), Self.payment(0), Self.transfer(0, of: 7, to: Self.alice),
    ])
    #expect(
      Self.text(summary.inShort) == [
        "Transactions: payment (2), asset transfer (1)", "Fees: 0.003000 ALGO",
      ])
  }

  @Test func `payments to the zero address are marked`() throws {
    let (summary, _) = try Self.summary([Self.payment(5, to: nil), Self.payment(6, to: nil)])
    #expect(
      Self.text(summary.inShort)[1...2] == ["! To: in all of them", "You send: 0.000011 ALGO to the zero address"])
  }

  // Holds: WALLET-10
  @Test func `clawbacks and other senders are separate from the account's own payments`() throws {
    let (summary, _) = try Self.summary(
      signed: [true, true, false],
      [
        Self.transfer(3, of: 7, to: Self.carol, takenFrom: Self.bob), Self.payment(9, from: Self.bob, to: Self.carol),
        Self.transfer(2, of: 7, from: Self.carol, to: Self.bob, takenFrom: Self.alice),
      ])
    #expect(
      Self.text(summary.inShort) == [
        "Transactions: asset clawback (2), payment (1)", "! Taken from: in transaction 1",
        "! Signer: in transaction 2", "You send: 2 smallest units of asset 7 to \(Self.bob.grouped)",
        "Others send, signed by you: 0.000009 ALGO to \(Self.carol.grouped)",
        "Others send, signed by you: 3 smallest units of asset 7 to \(Self.carol.grouped)", "Fees: 0.002000 ALGO",
        "! Taken from: in transaction 3 (not signed by you)",
      ])
  }

  @Test func `the summary says that application calls are not counted`() throws {
    let (summary, _) = try Self.summary([
      Self.payment(5), (Self.alice, 1000, "appl", ["apid": .unsigned(7)]),
    ])
    #expect(
      Self.text(summary.inShort) == [
        "Transactions: payment (1), application call (1)", "You send: 0.000005 ALGO to \(Self.bob.grouped)",
        "Fees: 0.002000 ALGO", "Not counted: what the called applications move",
      ])
  }

  @Test func `each warning names its transactions`() throws {
    let rekey: [String: MessagePack] = ["rekey": .bytes(Self.bob.publicKey)]
    let close: [String: MessagePack] = ["close": .bytes(Self.carol.publicKey)]
    let (summary, _) = try Self.summary([
      Self.payment(1, rekey), Self.payment(2, fee: 10_001), Self.payment(3, rekey.merging(close) { $1 }),
    ])
    #expect(
      Self.text(summary.inShort)[1...3] == [
        "! Rekey: in transactions 1, 3", "! Close account: in transaction 3", "! Fee: in transaction 2",
      ])
  }

  @Test func `a transaction with two warnings of one kind is named once`() throws {
    let many: [String: MessagePack] = [
      "apid": .unsigned(7), "apas": .array([MessagePack](repeating: .unsigned(7), count: 9)),
      "apaa": .array([MessagePack](repeating: .bytes([7]), count: 17)),
    ]
    let (summary, _) = try Self.summary([Self.payment(5), (Self.alice, 1000, "appl", many)])
    #expect(Self.text(summary.inShort)[1] == "! Over the limit: in transaction 2")
  }

  // MARK: One transaction, and common members

  @Test func `each network is named once`() throws {
    let hash = [UInt8](repeating: 7, count: 32)
    let members: [[String: MessagePack]] = [[:], ["gh": .bytes(hash)], [:]]
    let group = try TransactionGroup(members.map { try Self.transaction("pay", $0) })
    let summary = GroupSummary(group, isSigned: [true, true, true], account: Self.alice)
    #expect(Self.text(summary.networks) == ["Network: testnet-v1.0", "! Network: genesis hash \(hash.base64)"])
  }

  @Test func `the short form has kind, warnings, movement and fee`() throws {
    let others: [String: MessagePack] = [
      "note": .bytes(Array("n".utf8)), "lx": .bytes([UInt8](repeating: 9, count: 32)),
      "close": .bytes(Self.carol.publicKey), "rekey": .bytes(Self.bob.publicKey),
    ]
    let (summary, all) = try Self.summary(isGroup: false, [Self.payment(5, others)])
    #expect(
      Self.text(summary.inShort) == [
        "Transaction: payment", "! Close account: sends ALL that is left to \(Self.carol.grouped)",
        "! Rekey: gives control of the account to \(Self.bob.grouped)", "To: \(Self.bob.grouped)",
        "Amount: 0.000005 ALGO", "Fee: 0.001000 ALGO",
      ])
    #expect(summary.common.isEmpty)
    #expect(Self.text(summary.each[0])[1] == "From: \(Self.alice.grouped) (you)")
    #expect(summary.each[0].count == all[0].summary.count)
  }

  @Test func `the short form names a sender other than the account`() throws {
    let (summary, _) = try Self.summary(
      isGroup: false, signed: [true], [Self.payment(5, from: Self.bob, to: Self.carol)])
    let signer = "! Signer: your account \(Self.alice.grouped); valid only if the sender was rekeyed to it"
    #expect(
      Self.text(summary.inShort).prefix(3) == ["Transaction: payment", "From: \(Self.bob.grouped)", signer])
    #expect(Self.text(summary.each[0]).prefix(3) == ["Transaction: payment", "From: \(Self.bob.grouped)", signer])
  }

  @Test func `common members are shown once, and none is omitted`() throws {
    let written = [
      Self.payment(5, ["note": .bytes([1])]), Self.payment(6), Self.transfer(7, of: 8), Self.payment(9),
    ]
    for isGroup in [true, false] {
      let (summary, all) = try Self.summary(isGroup: isGroup, written)
      let id = all[0].group.map { ["Group: \($0.base64.prefix(12))..."] } ?? []
      #expect(
        Self.text(summary.common) == [
          "From: \(Self.alice.grouped) (you)", "Network: testnet-v1.0", "Valid: rounds 10 to 1010",
        ] + id)
      for (lines, transaction) in zip(summary.each, all) {
        #expect(Set(lines).isDisjoint(with: summary.common))
        let labels = (lines + summary.common).map(\.label.description).sorted()
        #expect(labels == transaction.summary.map(\.label.description).sorted())
        #expect(lines.first?.value == transaction.content.kind)
      }
    }
    let mixed = written + [Self.payment(1, from: Self.bob, to: Self.alice)]
    let (summary, _) = try Self.summary(mixed)
    #expect(summary.common.map(\.label.description) == ["Network", "Valid", "Group"])
    #expect(summary.each.allSatisfy { $0[1].label.description == "From" })
  }

  @Test func `equal amounts, receivers and fees stay with their transactions`() throws {
    let (summary, _) = try Self.summary([Self.payment(5), Self.payment(5)])
    for lines in summary.each {
      #expect(
        Self.text(lines) == [
          "Transaction: payment", "To: \(Self.bob.grouped)", "Amount: 0.000005 ALGO", "Fee: 0.001000 ALGO",
        ])
    }
  }
}
