import AlgorandTransaction
import DeterministicKeys
import Foundation

/// A payment as a dApp encodes it: canonical msgpack, written by hand.
struct WrittenTransaction {
  var sender: AlgorandAddress
  var receiver: AlgorandAddress
  var amount: UInt64 = 1_500_000
  var closeRemainderTo: AlgorandAddress?
  var rekeyTo: AlgorandAddress?
  var note: String?
  var network = (
    name: Network.testnet.genesisID, hash: [UInt8](Data(base64Encoded: Network.testnet.genesisHash) ?? Data())
  )
  var group: [UInt8]?

  var bytes: [UInt8] {
    let members: [(String, [UInt8]?)] = [
      ("amt", Self.number(amount)), ("close", closeRemainderTo.map { Self.binary($0.publicKey) }),
      ("fee", Self.number(1000)), ("fv", Self.number(10)), ("gen", Self.text(network.name)),
      ("gh", Self.binary(network.hash)),
      ("grp", group.map(Self.binary)), ("lv", Self.number(1010)), ("note", note.map { Self.binary(Array($0.utf8)) }),
      ("rcv", Self.binary(receiver.publicKey)), ("rekey", rekeyTo.map { Self.binary($0.publicKey) }),
      ("snd", Self.binary(sender.publicKey)), ("type", Self.text("pay")),
    ]
    let there = members.compactMap { member in member.1.map { Self.text(member.0) + $0 } }
    return [0x80 | UInt8(there.count)] + there.joined()
  }

  /// The same transactions as one group.
  static func group(_ transactions: [WrittenTransaction]) throws -> [WrittenTransaction] {
    let id = TransactionGroup.id(of: try transactions.map { try Transaction(decoding: $0.bytes) })
    return transactions.map { transaction in
      var grouped = transaction
      grouped.group = id
      return grouped
    }
  }

  private static func number(_ number: UInt64) -> [UInt8] {
    switch number {
    case 0..<128: [UInt8(number)]
    case 0..<0x1_0000: [0xCD, UInt8(number >> 8), UInt8(number & 0xFF)]
    default: [0xCE] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
  }

  /// A text of fewer than 32 bytes, or of at least 256.
  private static func text(_ text: String) -> [UInt8] {
    let count = text.utf8.count
    return (count < 32 ? [0xA0 | UInt8(count)] : [0xDA, UInt8(count >> 8), UInt8(count & 0xFF)]) + text.utf8
  }

  private static func binary(_ bytes: [UInt8]) -> [UInt8] {
    bytes.count < 256
      ? [0xC4, UInt8(bytes.count)] + bytes : [0xC5, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
  }
}
