import AlgorandTransaction
import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@Suite struct RekeyingTests {
  static let old = AlgorandAddress(publicKey: [UInt8](repeating: 1, count: 32))
  static let new = AlgorandAddress(publicKey: [UInt8](repeating: 2, count: 32))
  static let parameters = TransactionParameters(
    fee: 1000, firstValid: 5, lastValid: 1005, genesisID: "test-v1", genesisHash: [UInt8](repeating: 9, count: 32))

  private func transaction(
    of account: AlgorandAddress = old, to key: AlgorandAddress = new,
    _ change: (inout TransactionParameters) -> Void = { _ in }
  ) throws -> Transaction {
    var parameters = Self.parameters
    change(&parameters)
    return try Transaction(rekeying: account, to: key, parameters)
  }

  // Holds: ROTATE-9
  @Test func `a rekeying is a payment of 0 ALGO to the same account, in canonical form`() throws {
    let one = String(repeating: "01", count: 32), two = String(repeating: "02", count: 32)
    let nine = String(repeating: "09", count: 32)
    #expect(
      Hex(try transaction().bytes).description
        == "89a3666565cd03e8a2667605a367656ea7746573742d7631a26768c420\(nine)a26c76cd03eda3726376c420\(one)"
        + "a572656b6579c420\(two)a3736e64c420\(one)a474797065a3706179")
    let made = try transaction()
    #expect(made.sender == Self.old && made.rekeyTo == Self.new && made.isRekeying(Self.old, to: Self.new))
    guard case .payment = made.content else {
      Issue.record("no payment")
      return
    }
  }

  // Holds: ROTATE-9
  @Test func `a transaction of another account, to another key or with anything more is not a rekeying`() throws {
    let made = try transaction()
    let third = AlgorandAddress(publicKey: [UInt8](repeating: 3, count: 32))
    #expect(!made.isRekeying(third, to: Self.new) && !made.isRekeying(Self.old, to: third))
    #expect(!made.isRekeying(Self.new, to: Self.old))
    let bytes = made.bytes
    let receiver = try #require(bytes.firstRange(of: Array("\u{a3}rcv".unicodeScalars.map { UInt8($0.value) })))
    let rekey = try #require(bytes.firstRange(of: Array("\u{a5}rekey".unicodeScalars.map { UInt8($0.value) })))
    let sevens = [UInt8](repeating: 7, count: 32)
    /// The same with one more member before a place.
    func with(_ key: String, _ value: [UInt8], at place: Int) -> [UInt8] {
      var changed = bytes
      changed[0] = 0x8A
      changed.insert(contentsOf: [0xA0 + UInt8(key.utf8.count)] + Array(key.utf8) + value, at: place)
      return changed
    }
    var toAnother = bytes
    toAnother[receiver.upperBound + 2] = 3
    var without = bytes
    without[0] = 0x88
    without.removeSubrange(rekey.lowerBound..<rekey.upperBound + 34)
    let others: [(String, [UInt8])] = [
      ("an amount", with("amt", [1], at: 1)), ("a remainder", with("close", [0xC4, 32] + sevens, at: 1)),
      ("a lease", with("lx", [0xC4, 32] + sevens, at: receiver.lowerBound)),
      ("a note", with("note", [0xC4, 1, 1], at: receiver.lowerBound)),
      (
        "a group",
        with("grp", [0xC4, 32] + sevens, at: try #require(bytes.firstRange(of: [0xA2, 0x6C, 0x76])).lowerBound)
      ),
      ("another receiver", toAnother), ("no rekey", without),
    ]
    for (name, changed) in others {
      #expect(try !Transaction(decoding: changed).isRekeying(Self.old, to: Self.new), "\(name)")
    }
  }

  @Test func `a fee of 0 and an empty name are left out, and contradictions are refused`() throws {
    #expect(try transaction { $0.fee = 0 }.fee == 0)
    #expect(try transaction { $0.genesisID = "" }.genesisID.isEmpty)
    #expect(throws: TransactionError.self) { try transaction { $0.lastValid = 4 } }
    #expect(throws: TransactionError.self) { try transaction { $0.genesisHash = [1] } }
    #expect(throws: TransactionError.self) { try transaction { $0.genesisHash = [] } }
    #expect(throws: TransactionError.self) { try transaction { $0.genesisID = "mainnet-v1.0" } }
  }
}
