import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// `store-rows.json`, which Tests/judges/store_rows.py computed.
struct StoreRows: Decodable, Sendable {
  struct Row: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let table: String
    let accountTag, rpTag, credentialTag, keyTag: Hex?
    let sequence: Int64?
    let nonce: Hex
    let sealed: Hex
    let mac: Hex

    var testDescription: String { name }

    /// The MAC by the product.
    func mac(by keys: CredentialKeys) throws -> [UInt8] {
      switch table {
      case "state": return keys.stateRowMAC(nonce: nonce.bytes, sealed: sealed.bytes)
      case "blobs": return keys.blobsRowMAC(nonce: nonce.bytes, sealed: sealed.bytes)
      default:
        let tags = rpTag.map {
          CredentialRow.Tags(rpTag: $0.bytes, credentialTag: credentialTag?.bytes ?? [], keyTag: keyTag?.bytes ?? [])
        }
        let row = CredentialRow(
          accountTag: try #require(accountTag).bytes, tags: tags, nonce: nonce.bytes, sealed: sealed.bytes)
        return keys.rowMAC(of: row, sequence: try #require(sequence))
      }
    }
  }

  struct Set: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let rows: [Int]
    let credentials: Hex
    let others: Hex
    let nonce: Hex
    let sealed: Hex

    var testDescription: String { name }
  }

  let subkey: Hex
  let rows: [Row]
  let sets: [Set]

  static func load() throws -> StoreRows { try VectorFile("store-rows").decode(StoreRows.self) }
}

@Suite struct RowSetTests {
  let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  @Test(arguments: try StoreRows.load().rows) func `each row has its MAC`(row: StoreRows.Row) throws {
    #expect(Hex(try row.mac(by: keys)) == row.mac)
  }

  @Test(arguments: try StoreRows.load().sets)
  func `the sums of a set are the vector's, in whatever order rows come and go`(set: StoreRows.Set) throws {
    let all = try StoreRows.load().rows
    for order in [set.rows, set.rows.reversed()] {
      var rows = RowSet()
      // What comes and goes again leaves nothing.
      for row in all { rows.add(try row.mac(by: keys), isCredential: row.table == "credential") }
      for index in order { rows.add(try all[index].mac(by: keys), isCredential: all[index].table == "credential") }
      for row in all { rows.remove(try row.mac(by: keys), isCredential: row.table == "credential") }
      #expect(Hex(rows.credentials.bytes) == set.credentials)
      #expect(Hex(rows.others.bytes) == set.others)
      #expect(Hex(try keys.seal(rows, nonce: set.nonce.bytes)) == set.sealed)
      #expect(try keys.openRowSet(set.sealed.bytes, nonce: set.nonce.bytes) == rows)
    }
  }

  @Test func `the sum wraps around at 2^256`() {
    let (one, most) = ([UInt8](repeating: 0, count: 31) + [1], [UInt8](repeating: 0xFF, count: 32))
    var hash = MultisetHash()
    hash.add(most)
    #expect(hash.bytes == most)
    hash.add(one)
    #expect(hash == MultisetHash())
    hash.remove(one)
    #expect(hash.bytes == most)
    hash.remove(most)
    #expect(hash == MultisetHash())
  }

  @Test func `what is no sum of rows does not open`() throws {
    let set = try #require(try StoreRows.load().sets.first)
    var changed = set.sealed.bytes
    changed[70] ^= 1
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet(changed, nonce: set.nonce.bytes) }
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet([], nonce: set.nonce.bytes) }
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet(set.sealed.bytes, nonce: []) }
    // Sealed as large blobs, or as a state: under the same key, for another purpose.
    let nonce = [UInt8](repeating: 1, count: 24)
    let blobs = try keys.seal(largeBlobArray: [UInt8](repeating: 0, count: 64), nonce: nonce)
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet(blobs, nonce: nonce) }
    for count in [0, 63, 65] {
      let sealed = try XChaCha20Poly1305.seal(
        RowPadding.pad([UInt8](repeating: 0, count: count)), key: keys[.record], nonce: nonce, ad: Array("row-set".utf8)
      )
      #expect(throws: RecoveryError.malformed("two sums of 32 bytes")) {
        try keys.openRowSet(sealed, nonce: nonce)
      }
    }
  }
}

extension RowSet {
  fileprivate mutating func add(_ mac: [UInt8], isCredential: Bool) {
    if isCredential { credentials.add(mac) } else { others.add(mac) }
  }

  fileprivate mutating func remove(_ mac: [UInt8], isCredential: Bool) {
    if isCredential { credentials.remove(mac) } else { others.remove(mac) }
  }
}
