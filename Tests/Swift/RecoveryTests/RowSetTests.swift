import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The vectors in `store-rows.json`, computed by `Tests/EndToEnd/judges/store_rows.py`.
enum StoreRows {
  static func load() throws -> Vector { try Vector("store-rows") }

  /// The MAC of a row, computed by the code under test.
  static func mac(of row: Vector, by keys: CredentialKeys) throws -> [UInt8] {
    let (nonce, sealed) = (row.nonce.bytes, row.sealed.bytes)
    switch row.table.text {
    case "state": return keys.stateRowMAC(nonce: nonce, sealed: sealed)
    case "blobs": return keys.blobsRowMAC(nonce: nonce, sealed: sealed)
    default:
      let tags = row.rpTag.optional.map {
        CredentialRow.Tags(rpTag: $0.bytes, credentialTag: row.credentialTag.bytes, keyTag: row.keyTag.bytes)
      }
      let credential = CredentialRow(accountTag: row.accountTag.bytes, tags: tags, nonce: nonce, sealed: sealed)
      return keys.rowMAC(of: credential, sequence: row.sequence.integer())
    }
  }
}

@Suite struct RowSetTests {
  let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  @Test(arguments: try StoreRows.load().rows.array) func `each row has the MAC of the vectors`(row: Vector) throws {
    #expect(Hex(try StoreRows.mac(of: row, by: keys)) == row.mac.hex)
  }

  @Test(arguments: try StoreRows.load().sets.array)
  func `the sums of a set do not depend on the order of rows`(set: Vector) throws {
    let all = try StoreRows.load().rows.array.map {
      (mac: try StoreRows.mac(of: $0, by: keys), isCredential: $0.table.text == "credential")
    }
    let indices = set.rows.array.map { $0.integer(Int.self) }
    for order in [indices, indices.reversed()] {
      var rows = RowSet()
      // Adding and removing a row leaves the sum unchanged.
      for row in all { rows.add(row.mac, isCredential: row.isCredential) }
      for index in order { rows.add(all[index].mac, isCredential: all[index].isCredential) }
      for row in all { rows.remove(row.mac, isCredential: row.isCredential) }
      rows.history = set.history.optional.map { mark in
        let numbers: [UInt64] = [mark.generation.integer(), mark.last.integer()]
        return HistoryMark(bytes: numbers.flatMap(\.bigEndianBytes) + mark.hash.bytes)
      }
      #expect(Hex(rows.credentials.bytes) == set.credentials.hex)
      #expect(Hex(rows.others.bytes) == set.others.hex)
      #expect(Hex(try keys.seal(rows, nonce: set.nonce.bytes)) == set.sealed.hex)
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

  @Test func `an invalid sum of rows does not open`() throws {
    let set = try StoreRows.load().sets[0]
    var changed = set.sealed.bytes
    changed[70] ^= 1
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet(changed, nonce: set.nonce.bytes) }
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet([], nonce: set.nonce.bytes) }
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet(set.sealed.bytes, nonce: []) }
    // Sealed under the same key for another purpose.
    let nonce = [UInt8](repeating: 1, count: 24)
    let blobs = try keys.seal(largeBlobArray: [UInt8](repeating: 0, count: 64), nonce: nonce)
    #expect(throws: RecoveryError.notAuthentic) { try keys.openRowSet(blobs, nonce: nonce) }
    for count in [0, 63, 65, 111, 113] {
      let sealed = try XChaCha20Poly1305.seal(
        RowPadding.pad([UInt8](repeating: 0, count: count)), key: keys[.record], nonce: nonce, ad: Array("row-set".utf8)
      )
      #expect(throws: RecoveryError.malformed("two sums of 32 bytes, and the end of the history")) {
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
