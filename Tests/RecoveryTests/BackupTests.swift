import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct BackupTests {
  let vectors: Vector
  let keys: CredentialKeys

  init() throws {
    vectors = try KeysAndRecovery.load()
    keys = try KeysAndRecovery.keys()
  }

  /// The vectors' backup: epoch 1 and the record of their first row.
  private func backup() throws -> Backup {
    let accountTag = vectors.credentials[0].withSealedId.accountTag.bytes
    return Backup(epoch: 1, entries: [accountTag: try AccountEntry(plaintext: vectors.rows[0].plaintext.bytes)])
  }

  @Test func `a backup has the contract's bytes and opens again`() throws {
    let backup = try backup()
    #expect(Hex(backup.plaintext) == vectors.backup.plaintext.hex)
    #expect(Hex(Array("liquid-auth backup v1".utf8) + keys.fingerprint) == vectors.backup.associatedData.hex)
    #expect(Hex(try backup.file(keys: keys, nonce: vectors.backup.nonce.bytes)) == vectors.backup.file.hex)
    #expect(try Backup(file: vectors.backup.file.bytes, keys: keys) == backup)
  }

  @Test func `a backup of another phrase is recognized by its fingerprint`() throws {
    let others = CredentialKeys(mainKey: Hex([UInt8](repeating: 1, count: 64)).secret)
    #expect(throws: RecoveryError.anotherPhrase(fingerprint: vectors.fingerprint.bytes)) {
      try Backup(file: vectors.backup.file.bytes, keys: others)
    }
  }

  @Test func `every flipped bit and every truncation of a backup is refused`() throws {
    let file = vectors.backup.file.bytes
    for index in file.indices {
      var spoilt = file
      spoilt[index] ^= 1 << (index % 8)
      #expect(throws: RecoveryError.self) { try Backup(file: spoilt, keys: keys) }
      #expect(throws: RecoveryError.self) { try Backup(file: Array(file.prefix(index)), keys: keys) }
    }
  }

  /// Malformed content under a valid seal.
  @Test(
    arguments: [
      [:], [1: 1], [2: []], [1: 65_536, 2: []], [1: 1, 2: [[]]], [1: 1, 2: [1]],
      [1: 1, 2: [[.bytes([1]), .bytes([0xA0])]]],
      [1: 1, 2: [], 3: "blob"], [1: 1, 2: [], 4: 0],
    ] as [CBORMap])
  func `malformed content is refused`(_ content: CBORMap) throws {
    #expect(throws: RecoveryError.self) { try open(content: .map(content)) }
  }

  @Test func `a record under another account's tag is refused`() throws {
    let tag = CBORValue.bytes([UInt8](repeating: 7, count: 32))
    let content: CBORValue = [1: 1, 2: [[tag, .bytes(vectors.rows[0].plaintext.bytes)]]]
    #expect(throws: RecoveryError.columnsExchanged) { try open(content: content) }
  }

  @Test func `a duplicate account is refused`() throws {
    let tag = CBORValue.bytes([UInt8](repeating: 7, count: 32))
    let tombstone: CBORValue = [tag, .bytes(vectors.rows[1].plaintext.bytes)]
    #expect(try open(content: [1: 1, 2: [tombstone]]).entries.count == 1)
    #expect(throws: RecoveryError.self) { try open(content: [1: 1, 2: [tombstone, tombstone]]) }
  }

  @Test(
    arguments: [(1, "something else"), (2, 2), (3, nil), (4, nil), (5, nil), (5, "text"), (6, 0)]
      as [(CBORValue, CBORValue?)])
  func `a file that is not a backup of this version is refused`(_ key: CBORValue, _ value: CBORValue?) throws {
    var map = try #require(try CBORDecoder.decode(vectors.backup.file.bytes).map)
    map[key] = value
    #expect(throws: RecoveryError.self) { try Backup(file: CBOREncoder.encode(.map(map)), keys: keys) }
  }

  private func open(content: CBORValue) throws -> Backup {
    let nonce = vectors.backup.nonce.bytes
    let sealed = try XChaCha20Poly1305.seal(
      CBOREncoder.encode(content), key: keys[.backup], nonce: nonce, ad: vectors.backup.associatedData.bytes)
    let file: CBORValue = [
      1: "liquid-auth backup", 2: 1, 3: .bytes(keys.fingerprint), 4: .bytes(nonce), 5: .bytes(sealed),
    ]
    return try Backup(file: CBOREncoder.encode(file), keys: keys)
  }

  // MARK: - Merging

  /// An entry whose plaintext sorts by the one byte that the vector puts into its name.
  private func entry(_ vector: Vector) throws -> AccountEntry {
    let (counter, changed) = (vector.counter.integer(UInt32.self), vector.changedAt.integer(UInt64.self))
    guard !vector.deleted.isTrue else { return .tombstone(counter: counter, changed: changed) }
    let source = CredentialSource(
      rpID: "example.com", userID: [1], name: vector.plaintext.text, id: [1], algorithm: .es256,
      counter: counter, created: 1, changed: changed, origin: .registered)
    return .record(try #require(source))
  }

  @Test(arguments: try KeysAndRecovery.load().merge.array)
  func `the newer entry of an account wins, in either order`(_ vector: Vector) throws {
    let entries = try vector.entries.array.map(entry)
    let winner = entries[vector.winner.integer()]
    let tag = [UInt8](repeating: 7, count: 32)
    for pair in [entries, entries.reversed()] {
      var merged = Backup(epoch: 0, entries: [tag: pair[0]])
      merged.merge(Backup(epoch: 0, entries: [tag: pair[1]]))
      merged.merge(Backup(epoch: 0, entries: [tag: pair[0]]))
      #expect(merged.entries == [tag: winner])
    }
  }

  @Test func `merging takes the higher epoch, every account and the greater large-blob array`() throws {
    let (a, b) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
    let left = Backup(
      epoch: 3, entries: [a: .tombstone(counter: 1, changed: 1)], largeBlobArray: [0x80, 1])
    let right = Backup(
      epoch: 2, entries: [b: .tombstone(counter: 2, changed: 2)], largeBlobArray: [0x80, 2])
    var leftFirst = left
    leftFirst.merge(right)
    var rightFirst = right
    rightFirst.merge(left)
    #expect(leftFirst == rightFirst)
    #expect(leftFirst.epoch == 3)
    #expect(leftFirst.entries.count == 2)
    #expect(leftFirst.largeBlobArray == [0x80, 2])
  }
}
