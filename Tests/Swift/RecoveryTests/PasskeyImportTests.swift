import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// The import of a list of passkeys.
@Suite struct `An import of passkeys` {
  let keys: CredentialKeys
  let store: InMemoryCredentialStore

  init() throws {
    keys = try KeysAndRecovery.keys()
    store = InMemoryCredentialStore(keys: keys)
  }

  /// - Parameter id: zeros follow it, up to 16 bytes.
  private func passkey(
    _ id: [UInt8] = [1], rpID: String = "example.com", user: String = "alice", key: UInt8 = 3, name: String? = "a",
    algorithm: COSEAlgorithm = .es256, credRandoms: SecretBytes? = nil
  ) throws -> CredentialSource {
    try .imported(
      rpID: rpID, userID: Array(user.utf8), name: name, displayName: nil,
      id: id + [UInt8](repeating: 0, count: max(0, 16 - id.count)), algorithm: algorithm, created: 5,
      key: Hex([UInt8](repeating: key, count: 32)).secret, credRandoms: credRandoms)
  }

  private func list(_ passkeys: CredentialSource...) -> [UInt8] {
    let list = PasskeyList()
    for passkey in passkeys { list.append(passkey) }
    return list.encoded
  }

  private func run(_ list: [UInt8], now: UInt64 = 100) throws -> [PasskeyImportOutcome] {
    try PasskeyImport(list: list, keys: keys).run(on: store, keys: keys, now: now)
  }

  // Holds: IMPORT-5
  @Test func `passkeys are stored with the time of the import, and a second import changes nothing`() throws {
    let passkeys = [try passkey(), try passkey([2], key: 4), try passkey([1], rpID: "example.net", algorithm: .edDSA)]
    let list = list(passkeys[0], passkeys[1], passkeys[2])
    #expect(try run(list) == [.added, .added, .added])
    var expected = passkeys
    for index in expected.indices { expected[index].changed = 100 }
    #expect(try store.allCredentials() == expected.reversed())
    let revision = try store.revision()
    #expect(try run(list, now: 200) == [.present, .present, .present])
    #expect(try store.revision() == revision)
  }

  // Holds: IMPORT-5
  @Test func `an id that is twice in a list, or here with another key, is not taken again`() throws {
    #expect(try run(list(passkey(), passkey(key: 4), passkey())) == [.added, .repeated, .repeated])
    #expect(try run(list(passkey(key: 4), passkey([2], key: 4))) == [.otherKey, .added])
    #expect(try store.allCredentials().map { $0.importedKey?.hex.bytes.first } == [4, 3])
  }

  // Holds: IMPORT-5
  @Test func `CredRandoms of a list are stored as they are, unless the phrase derives the same`() throws {
    let own = Hex([UInt8](0..<64)).secret
    let derived = keys.credRandoms(RPIDHash(rpID: "example.com"), id: try passkey([2]).id)
    #expect(try run(list(passkey(credRandoms: own), passkey([2], credRandoms: derived))) == [.added, .added])
    #expect(try store.allCredentials().map(\.credRandoms) == [nil, own])
    for (id, credRandoms) in [([1], own), ([2], derived)] as [([UInt8], SecretBytes)] {
      let record = try #require(try store.credential(id: passkey(id).id, rpIDHash: RPIDHash(rpID: "example.com")))
      let halves = [false, true].map { keys.credRandom(of: Credential(record: record), userVerified: $0).hex.bytes }
      #expect(Hex(halves.flatMap(\.self)) == credRandoms.hex)
    }
    let short = #expect(throws: RecoveryError.self) { try passkey(credRandoms: Hex([UInt8](0..<63)).secret) }
    #expect(short?.reason == "the CredRandoms do not have 64 bytes")
  }

  // Holds: IMPORT-5, ROTATE-11
  @Test func `a passkey that is here with other CredRandoms is not taken again`() throws {
    let (own, other) = (Hex([UInt8](0..<64)).secret, Hex([UInt8](1..<65)).secret)
    let derived = keys.credRandoms(RPIDHash(rpID: "example.com"), id: try passkey([2]).id)
    let stored = try passkey([3], rpID: "example.net").keepingCredRandoms(of: keys)
    try store.save(stored, state: nil)
    _ = try run(list(passkey(credRandoms: own), passkey([2])))
    let before = try store.revision()
    for (credRandoms, outcomes) in [
      (nil, [.present, .present, .present]), (own, [.present, .otherKey, .otherKey]),
      (other, [.otherKey, .otherKey, .otherKey]), (derived, [.otherKey, .present, .otherKey]),
      (stored.credRandoms, [.otherKey, .otherKey, .present]),
    ] as [(SecretBytes?, [PasskeyImportOutcome])] {
      let passkeys = try list(
        passkey(credRandoms: credRandoms), passkey([2], credRandoms: credRandoms),
        passkey([3], rpID: "example.net", credRandoms: credRandoms))
      #expect(try run(passkeys) == outcomes)
    }
    #expect(try store.revision() == before)
    // After its removal, it comes back with those of the list.
    let removed = try passkey(credRandoms: own)
    try store.remove(removed, changed: 5000)
    #expect(try run(list(passkey(credRandoms: other))) == [.added])
    #expect(try store.credential(id: removed.id, rpIDHash: removed.rpIDHash)?.credRandoms == other)
  }

  // Holds: IMPORT-5
  @Test func `a passkey that the phrase derives stays as it is, and its account does not matter`() throws {
    let machine = try Machine()
    let registered = try machine.register("alice")
    let hash = try machine.vault.recover(rpID: "hash.example", userID: Array("alice".utf8), now: 5)
    let list = list(
      try passkey(registered.id), try passkey(machine.id("bob")), try passkey(hash.id, rpID: "hash.example"),
      try passkey([9], user: "alice"))
    let outcomes = try PasskeyImport(list: list, keys: keys).run(on: machine.store, keys: keys, now: 100)
    #expect(outcomes == [.derived, .derived, .otherKey, .added])
    #expect(try machine.store.allCredentials().map(\.id) == [passkey([9]).id, hash.id, registered.id])
  }

  // Holds: IMPORT-5
  @Test func `a passkey that was removed here comes back, later than its removal`() throws {
    _ = try run(list(passkey()))
    try store.remove(passkey(), changed: 5000)
    #expect(try run(list(passkey()), now: 300) == [.added])
    #expect(try store.allCredentials().map(\.changed) == [5001])
  }

  // Holds: IMPORT-5
  @Test func `an import after which the store would exceed its limit changes nothing`() throws {
    let list = list(try passkey(), try passkey([2]), try passkey([3]))
    func run(limit: Int) throws -> [PasskeyImportOutcome] {
      try PasskeyImport(list: list, keys: keys).run(on: store, keys: keys, now: 100, limit: limit)
    }
    for limit in [0, 2] {
      let error = #expect(throws: RecoveryError.self) { try run(limit: limit) }
      #expect(
        error?.kind == .full
          && error?.reason
            == "the passkeys would exceed the limit of this machine: 3 are new, and at most \(limit) can be added"
      )
      #expect(try store.credentialCount() == 0)
    }
    #expect(try run(limit: 3) == [.added, .added, .added])
    #expect(try run(limit: 1) == [.present, .present, .present], "nothing is added")
  }

  // Holds: IMPORT-5
  @Test func `a full disk leaves everything as it was`() throws {
    store.isFull = true
    #expect(throws: RecoveryError.self) { try run(list(passkey(), passkey([2]))) }
    #expect(try store.allCredentials() == [])
    store.isFull = false
    #expect(try run(list(passkey(), passkey([2]))) == [.added, .added])
  }

  // Holds: IMPORT-5
  @Test func `a list that the command does not write is refused with the number of the passkey`() throws {
    var map = try #require(try CBORDecoder.decode(AccountEntry.record(passkey()).plaintext).map)
    func refusal(_ key: CBORValue, _ value: CBORValue?) throws -> String? {
      var changed = map
      changed[key] = value
      let plaintext = CBOREncoder.encode(.map(changed))
      let list = CBOREncoder.encode([
        .bytes(AccountEntry.record(try passkey([7])).plaintext), .bytes(plaintext),
      ])
      return #expect(throws: RecoveryError.self) { try PasskeyImport(list: list, keys: keys) }?.description
    }
    let content = "passkey 2 of 2: its content is invalid: "
    let wrongLength =
      "invalid CBOR: a user.id or CredRandoms of a wrong length, or secrets of a passkey that was not imported"
    for (key, value, reason) in [
      (7, 1, content + "it is not the record of an imported passkey"),
      (10, 1, content + "it is not the record of an imported passkey"),
      (13, .bytes([UInt8](repeating: 0, count: 32)), "passkey 2 of 2: the private key cannot be used"),
      (13, .bytes([UInt8](repeating: 1, count: 31)), "passkey 2 of 2: the private key cannot be used"),
      (5, .bytes([]), "passkey 2 of 2: the credential id is empty"),
      (
        5, .bytes([UInt8](repeating: 0, count: 129)),
        "passkey 2 of 2: the credential id has 129 bytes, and can have at most 128"
      ),
      (
        5, .bytes([UInt8](repeating: 0, count: 15)), "passkey 2 of 2: the credential id has fewer than 16 bytes"
      ),
      (1, "", "passkey 2 of 2: the site is empty"),
      (1, "Example.com", "passkey 2 of 2: the site is not a domain name in lower case"),
      (
        3, .text(String(repeating: "a", count: 256)), "passkey 2 of 2: the name has 256 bytes, and can have at most 255"
      ),
      (
        4, .text(String(repeating: "a", count: 256)),
        "passkey 2 of 2: the display name has 256 bytes, and can have at most 255"
      ),
      (
        12, .bytes([UInt8](repeating: 0, count: 65)),
        "passkey 2 of 2: the credBlob has 65 bytes, and can have at most 64"
      ),
      (2, .bytes([]), content + wrongLength),
      (14, .bytes([UInt8](repeating: 1, count: 63)), content + wrongLength),
      (14, .bytes([UInt8](repeating: 1, count: 65)), content + wrongLength),
      (14, "", content + "invalid CBOR: a member of a newer version"),
      (15, 0, content + "invalid CBOR: a member of a newer version"),
    ] as [(CBORValue, CBORValue?, String)] {
      #expect(try refusal(key, value) == reason)
    }
    map[11] = 0
    #expect(try refusal(13, nil) == content + "it is not the record of an imported passkey")
    for list: [UInt8] in [
      [], [0x80, 0], [0xA0], [0x81, 1], [0x81], CBOREncoder.head(ofArray: 10_001), [0x81, 0x41, 0xFF],
    ] { #expect(throws: RecoveryError.self, "\(list)") { try PasskeyImport(list: list, keys: keys) } }
    #expect(try run([0x80]) == [])
  }
}
