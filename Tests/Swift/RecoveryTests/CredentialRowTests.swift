import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct CredentialRowTests {
  let vectors: Vector
  let keys: CredentialKeys

  init() throws {
    vectors = try KeysAndRecovery.load()
    keys = try KeysAndRecovery.keys()
  }

  /// The record of the vectors' first row.
  private func alice() throws -> CredentialSource {
    let first = vectors.credentials[0]
    let source = CredentialSource(
      rpID: first.rpId.text, userID: first.userId.bytes, name: "alice@example.com", displayName: "Alice",
      id: first.sealed.id.bytes, algorithm: .es256, counter: 0, created: 1_790_000_000_000,
      changed: 1_790_000_000_000, origin: .registered)
    return try #require(source)
  }

  @Test func `a record is sealed into the contract's bytes and opens again`() throws {
    let vector = vectors.rows[0]
    let source = try alice()
    #expect(Hex(AccountEntry.record(source).plaintext) == vector.plaintext.hex)
    #expect(Hex(RowPadding.pad(vector.plaintext.bytes)) == vector.padded.hex)

    let row = try keys.row(of: source, nonce: vector.nonce.bytes)
    let tags = vectors.credentials[0].withSealedId
    #expect(Hex(Array("record".utf8) + row.accountTag) == vector.associatedData.hex)
    #expect(Hex(row.sealed) == vector.sealed.hex)
    #expect(
      row.tags
        == CredentialRow.Tags(
          rpTag: tags.rpTag.bytes, credentialTag: tags.credentialTag.bytes, keyTag: tags.keyTag.bytes))
    #expect(try keys.open(row) == .record(source))
  }

  @Test func `a tombstone has a counter and no relying party`() throws {
    let vector = vectors.rows[1]
    let accountTag = vectors.credentials[0].withSealedId.accountTag.bytes
    let row = try keys.tombstoneRow(
      accountTag: accountTag, counter: 0, changed: 0x1_A0C4_5156_60, nonce: vector.nonce.bytes)
    #expect(Hex(AccountEntry.tombstone(counter: 0, changed: 0x1_A0C4_5156_60).plaintext) == vector.plaintext.hex)
    #expect(Hex(row.sealed) == vector.sealed.hex)
    #expect(row.tags == nil)
    #expect(try keys.open(row) == .tombstone(counter: 0, changed: 0x1_A0C4_5156_60))
  }

  @Test func `the state row is sealed into the contract's bytes and opens again`() throws {
    let vector = vectors.rows[2]
    let state = StoreState(storeID: Array(0xA0...0xAF), epoch: 1, floor: 1)
    #expect(Hex(state.plaintext) == vector.plaintext.hex)
    let sealed = try keys.seal(state, version: 1, nonce: vector.nonce.bytes)
    #expect(Hex(sealed) == vector.sealed.hex)
    let opened = try keys.openState(sealed, nonce: vector.nonce.bytes)
    #expect(opened.state == state && opened.version == 1)
  }

  @Test func `member 20 of the state marks a store with sums of rows`() throws {
    let state = StoreState(storeID: Array(0xA0...0xAF))
    let plaintext = state.plaintext(version: 2)
    #expect(Hex(plaintext) == Hex("a40150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf0200030014f5"))
    let read = try StoreState.read(plaintext)
    #expect(read.state == state && read.version == 2)
  }

  @Test func `member 4 of the state is the form of new ids, omitted for sealed ids`() throws {
    let state = StoreState(storeID: Array(0xA0...0xAF), epoch: 2, floor: 0, credentialIDForm: .hash)
    #expect(Hex(state.plaintext) == Hex("a40150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf020203000401"))
    #expect(try StoreState(plaintext: state.plaintext) == state)
  }

  // Holds: MC-20
  @Test func `every member of a record survives sealing`() throws {
    let policy = try #require(CredentialPolicy(byte: 0x0F))
    let source = try #require(
      CredentialSource(
        rpID: "e\u{301}xample", userID: [UInt8](repeating: 0xFF, count: 64), name: "", displayName: "\u{E9}",
        id: [9], algorithm: .edDSA, counter: .max, policy: policy, created: 0,
        changed: .max, origin: .imported, credBlob: [1, 2, 3], importedKey: Hex([UInt8](0..<32)).secret))
    let opened = try keys.open(keys.row(of: source, nonce: [UInt8](repeating: 1, count: 24)))
    #expect(opened == .record(source))
    #expect(opened.record?.importedKey?.hex == Hex([UInt8](0..<32)))
  }

  @Test func `the policy of a record is read without the record`() throws {
    let nonce = [UInt8](repeating: 1, count: 24)
    let policies = (UInt8.min...0x0F).compactMap { CredentialPolicy(byte: $0) }
    #expect(policies.count == 12)
    for policy in policies {
      var derived = try alice()
      derived.policy = policy
      let imported = try #require(
        CredentialSource(
          rpID: "example.com", userID: [1], id: [9], algorithm: .edDSA, counter: 0, policy: policy, created: 0,
          changed: 0, origin: .imported, credBlob: [1, 2, 3], importedKey: Hex([UInt8](0..<32)).secret,
          credRandoms: Hex([UInt8](0..<64)).secret))
      for source in [derived, imported] {
        #expect(try keys.policy(of: keys.row(of: source, nonce: nonce)) == policy)
      }
    }
    var row = try keys.row(of: alice(), nonce: nonce)
    row.sealed[0] ^= 1
    #expect(throws: RecoveryError.notAuthentic) { try keys.policy(of: row) }
    let removal = try keys.tombstoneRow(accountTag: row.accountTag, counter: 0, changed: 1, nonce: nonce)
    #expect(throws: RecoveryError.self, "a tombstone has none") { try keys.policy(of: removal) }
    let others: [[UInt8]] = [
      [0xA1, 8, 0], [0xA1, 8, 0x10], [0xA1, 8, 0x19, 1, 1], [0xA1, 8], [0xA1, 8, 0x41, 1], [0x80], [],
    ]
    for encoding in others {
      #expect(throws: RecoveryError.self, "\(encoding)") { try AccountEntry.policy(plaintext: encoding) }
    }
  }

  @Test func `the private key is the last member of a record, and at no other place`() throws {
    let source = try #require(
      CredentialSource(
        rpID: "example.com", userID: [1], name: "a", id: [9], algorithm: .edDSA, counter: 0, created: 0, changed: 0,
        origin: .imported, credBlob: [1, 2, 3], importedKey: Hex([UInt8](0..<32)).secret))
    let plaintext = AccountEntry.record(source).plaintext
    let map = try #require(try CBORDecoder.decode(plaintext).map)
    #expect(map[13] == .bytes([UInt8](0..<32)) && map.count == 12)
    #expect(CBOREncoder.encode(.map(map)) == plaintext)
    #expect(try AccountEntry(plaintext: plaintext) == .record(source))
    for (key, value) in [(14, 0), (-1, 0), ("name", "x"), (13, 5), (13, "key"), (13, []), (13, nil), (1, nil)]
      as [(CBORValue, CBORValue?)]
    {
      var changed = map
      changed[key] = value
      #expect(throws: RecoveryError.self, "\(key)") {
        try AccountEntry(plaintext: CBOREncoder.encode(.map(changed)))
      }
    }
    let removal: CBORValue = [7: 0, 10: 1, 13: .bytes([UInt8](0..<32))]
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: CBOREncoder.encode(removal)) }
    let member: [UInt8] = [13, 0x58, 32] + [UInt8](0..<32)
    #expect(plaintext.suffix(35) == member[...])
    var twice = plaintext + member
    twice[0] += 1
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: twice) }
    for count in 0..<plaintext.count {
      #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: Array(plaintext.prefix(count))) }
    }
  }

  // Holds: ROTATE-11
  @Test func `CredRandoms follow the private key of a record, and are at no other place`() throws {
    let both = [UInt8](0..<64)
    let source = try #require(
      CredentialSource(
        rpID: "example.com", userID: [1], id: [9], algorithm: .edDSA, counter: 0, created: 0, changed: 0,
        origin: .imported, importedKey: Hex([UInt8](0..<32)).secret, credRandoms: Hex(both).secret))
    let plaintext = AccountEntry.record(source).plaintext
    let map = try #require(try CBORDecoder.decode(plaintext).map)
    #expect(map[13] == .bytes([UInt8](0..<32)) && map[14] == .bytes(both) && map.count == 11)
    #expect(CBOREncoder.encode(.map(map)) == plaintext)
    #expect(try AccountEntry(plaintext: plaintext) == .record(source))
    for (key, value) in [(15, 0), (15, .bytes(both)), (13, 5), (13, nil), (14, []), (1, nil)]
      as [(CBORValue, CBORValue?)]
    {
      var changed = map
      changed[key] = value
      #expect(throws: RecoveryError.self, "\(key)") {
        try AccountEntry(plaintext: CBOREncoder.encode(.map(changed)))
      }
    }
    let member: [UInt8] = [14, 0x58, 64] + both
    #expect(plaintext.suffix(67) == member[...])
    var twice = plaintext + member
    twice[0] += 1
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: twice) }
    // The head has fewer members than follow, or more.
    for head in [0xA0, 0xA1, plaintext[0] - 1, plaintext[0] + 1] {
      #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: [head] + plaintext.dropFirst()) }
    }
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: [0xA1, 13, 0x41, 0, 14, 0x41, 0]) }
    for count in 0..<plaintext.count {
      #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: Array(plaintext.prefix(count))) }
    }
  }

  @Test func `records differ if their names only look alike`() throws {
    var composed = try alice()
    composed.name = "\u{E9}"
    var decomposed = composed
    decomposed.name = "e\u{301}"
    #expect(composed != decomposed)
  }

  @Test(arguments: 0..<300)
  func `removing the padding restores the content`(_ count: Int) throws {
    let plaintext = [UInt8](repeating: 0x80, count: count)
    let padded = RowPadding.pad(plaintext)
    #expect(padded.count.isMultiple(of: 128))
    #expect(padded.count - count <= 128)
    #expect(RowPadding.unpad(padded) == plaintext)
    #expect(RowPadding.unpad(padded + [UInt8](repeating: 0, count: 128)) == nil)
    #expect(RowPadding.unpad(padded.dropLast()) == nil)
  }

  @Test func `zero bytes alone have no padding`() {
    #expect(RowPadding.unpad([]) == nil)
    #expect(RowPadding.unpad([UInt8](repeating: 0, count: 128)) == nil)
    #expect(RowPadding.unpad([UInt8](repeating: 1, count: 128)) == nil)
  }

  // MARK: - Rows that must not open

  @Test func `every flipped bit of a row is refused`() throws {
    let row = try keys.row(of: alice(), nonce: vectors.rows[0].nonce.bytes)
    for index in row.sealed.indices {
      var spoilt = row
      spoilt.sealed[index] ^= 1 << (index % 8)
      #expect(throws: RecoveryError.notAuthentic) { try keys.open(spoilt) }
    }
    for index in row.nonce.indices {
      var spoilt = row
      spoilt.nonce[index] ^= 1
      #expect(throws: RecoveryError.notAuthentic) { try keys.open(spoilt) }
    }
  }

  @Test(arguments: [0, 15, 16, 127, 143])
  func `a truncated row is refused`(_ count: Int) throws {
    var row = try keys.row(of: alice(), nonce: vectors.rows[0].nonce.bytes)
    row.sealed = Array(row.sealed.prefix(count))
    #expect(throws: RecoveryError.notAuthentic) { try keys.open(row) }
  }

  @Test func `a row under another account's tag does not open`() throws {
    var row = try keys.row(of: alice(), nonce: vectors.rows[0].nonce.bytes)
    row.accountTag[0] ^= 1
    #expect(throws: RecoveryError.notAuthentic) { try keys.open(row) }
  }

  @Test func `a row with another row's columns is refused`() throws {
    let row = try keys.row(of: alice(), nonce: vectors.rows[0].nonce.bytes)
    let other = [UInt8](repeating: 7, count: 32)
    var spoilt = row
    spoilt.tags?.rpTag = other
    #expect(throws: RecoveryError.columnsExchanged) { try keys.open(spoilt) }
    spoilt = row
    spoilt.tags?.credentialTag = other
    #expect(throws: RecoveryError.columnsExchanged) { try keys.open(spoilt) }
    spoilt = row
    spoilt.tags = nil
    #expect(throws: RecoveryError.columnsExchanged) { try keys.open(spoilt) }
    var tombstone = try keys.tombstoneRow(accountTag: row.accountTag, counter: 0, changed: 1, nonce: row.nonce)
    tombstone.tags = row.tags
    #expect(throws: RecoveryError.columnsExchanged) { try keys.open(tombstone) }
  }

  @Test func `a record does not open as a state`() throws {
    let row = try keys.row(of: alice(), nonce: vectors.rows[0].nonce.bytes)
    #expect(throws: RecoveryError.notAuthentic) { try keys.openState(row.sealed, nonce: row.nonce) }
  }

  @Test func `another phrase opens nothing`() throws {
    let row = try keys.row(of: alice(), nonce: vectors.rows[0].nonce.bytes)
    let others = CredentialKeys(mainKey: Hex([UInt8](repeating: 1, count: 64)).secret)
    #expect(throws: RecoveryError.notAuthentic) { try others.open(row) }
  }

  /// Content that no version writes.
  @Test(
    arguments: [
      (1, nil), (2, nil), (5, nil), (6, nil), (7, nil), (8, nil), (9, nil), (10, nil), (11, nil),
      (2, .bytes([])), (2, .bytes([UInt8](repeating: 1, count: 65))), (1, .bytes([1])), (3, 7), (5, "id"),
      (6, -9), (7, .unsigned(1 << 32)), (7, -1), (8, 0), (8, 0x11), (8, 256), (11, 3), (12, "blob"),
      (13, .bytes([1])), (14, 0), ("name", "x"), (-1, 0),
    ] as [(CBORValue, CBORValue?)])
  func `a malformed record is refused`(_ key: CBORValue, _ value: CBORValue?) throws {
    var map = try #require(try CBORDecoder.decode(vectors.rows[0].plaintext.bytes).map)
    map[key] = value
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: CBOREncoder.encode(.map(map))) }
  }

  @Test(arguments: ["", "a0", "a10700", "a10a00", "a3070008010a00", "80", "f6", "a207000a1b000001a0c451566000"])
  func `a malformed tombstone is refused`(_ hex: String) throws {
    let plaintext = try #require(Hex(hex)).bytes
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: plaintext) }
  }

  @Test(arguments: [
    "a0", "a2020103 01", "a3014fa0a1a2a3a4a5a6a7a8a9aaabacadae02010301",
    "a30150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf021a000100000301", "a30150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf02010320",
    "a40150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf020103010402", "a40150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf020103010500",
    "a40150a0a1a2a3a4a5a6a7a8a9aaabacadaeaf020103011401",
  ])
  func `a malformed state is refused`(_ hex: String) throws {
    let plaintext = try #require(Hex(hex.filter { $0 != " " })).bytes
    #expect(throws: RecoveryError.self) { try StoreState(plaintext: plaintext) }
  }
}

extension StoreState {
  /// The content of the state row in a store without sums of rows.
  var plaintext: [UInt8] { plaintext(version: 1) }

  init(plaintext: [UInt8]) throws { self = try Self.read(plaintext).state }
}
