import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct CredentialRegistrationTests {
  let vectors: Vector

  init() throws { vectors = try KeysAndRecovery.load() }

  @Test func `a first registration has counter 0 and the sealed id of the vectors`() throws {
    let vector = vectors.credentials[0]
    let machine = try Machine()
    let source = try machine.register("alice")
    #expect(source.counter == 0)
    #expect(Hex(source.id) == vector.sealed.id.hex)
    #expect(Hex(try machine.vault.keys.privateKey(of: source).publicKey.bytes) == vector.publicKey.hex)
    #expect(source.origin == .registered)
    #expect(source.created == 1000)
    #expect(source.changed == 1000)
    #expect(source.name == "name of alice")
    #expect(try machine.entry("alice") == .record(source))
  }

  @Test func `with hash ids, the id is the hash of the public key`() throws {
    let source = try Machine(idForm: .hash).register("alice")
    #expect(Hex(source.id) == vectors.credentials[0].hashId.hex)
  }

  @Test func `a user id that is an Algorand address gets a hash id in either setting`() throws {
    let vector = vectors.credentials[4]
    let source = try Machine(idForm: .sealed).register(
      String(decoding: vector.userId.bytes, as: UTF8.self), at: "debug.liquidauth.com")
    #expect(Hex(source.id) == vector.hashId.hex)
  }

  @Test func `after a reset, the account gets a key of the next epoch`() throws {
    let vector = vectors.credentials[1]
    let machine = try Machine(epoch: 1, floor: 1)
    let credential = try machine.vault.makeDiscoverableCredential(
      CredentialRegistration(
        rpID: "example.com", user: PublicKeyCredentialUserEntity(id: vector.userId.bytes), algorithm: .es256,
        policy: try #require(CredentialPolicy(byte: vector.policy.bytes[0]))),
      known: 65_536, now: 1)
    let source = try #require(credential.record)
    #expect(source.counter == 65_537)
    #expect(Hex(source.id) == vector.sealed.id.hex)
  }

  @Test func `the same account on two machines gives the same key and id`() throws {
    #expect(try Machine().register("alice").id == Machine().register("alice").id)
  }

  @Test func `a second registration replaces the record of the account and ends its older ids`() throws {
    let machine = try Machine()
    let old = try machine.register("alice")
    let known = try machine.examine([], user: "alice").highestKnownCounter
    #expect(known == 0)
    let new = try machine.register("alice", known: known, now: 2000)
    #expect(new.counter == 1)
    #expect(try machine.store.allCredentials() == [new])
    #expect(try machine.find([old.id]) == [])
    #expect(try machine.find([new.id]) == [Credential(record: new)])
  }

  @Test func `a registration after a deletion takes the next counter after the tombstone`() throws {
    let machine = try Machine()
    let old = try machine.register("alice")
    try machine.store.remove(old, changed: 2000)
    let known = try machine.examine([], user: "alice").highestKnownCounter
    #expect(try machine.register("alice", known: known).counter == 1)
  }

  // Holds: PEERKEY-3
  /// "example.co" ‖ "malice" and "example.com" ‖ "alice" are the same text.
  @Test func `a key that another row has is skipped`() throws {
    let machine = try Machine()
    let alice = try machine.register("alice", at: "example.com")
    let malice = try machine.register("malice", at: "example.co")
    #expect(alice.counter == 0)
    #expect(malice.counter == 1)
    #expect(Hex(try Machine().register("malice", at: "example.co").id) == vectors.credentials[5].sealed.id.hex)
  }

  @Test func `registration fails when all counters of the epoch are used`() throws {
    let machine = try Machine()
    let error = #expect(throws: RecoveryError.self) { try machine.register("alice", known: 65_535) }
    #expect(error?.kind == .full)
    #expect(error?.description == "every counter of the account is used up")
    #expect(try machine.store.allCredentials().isEmpty)
  }

  @Test(arguments: [0, 65, 1000])
  func `a user id of invalid length is refused`(_ count: Int) throws {
    let error = #expect(throws: RecoveryError.self) { try Machine().register(String(repeating: "a", count: count)) }
    #expect(error?.kind == .userIDLength)
    #expect(error?.description == "user.id has \(count) bytes")
  }

  @Test func `a store that cannot write keeps its content`() throws {
    let machine = try Machine()
    machine.store.isFull = true
    #expect(throws: RecoveryError.self) { try machine.register("alice") }
    #expect(try machine.store.allCredentials().isEmpty)
  }

  @Test func `saving a record of a higher epoch raises the epoch`() throws {
    let machine = try Machine()
    #expect(try machine.register("alice", known: 0x0003_0007).counter == 0x0003_0008)
    #expect(try machine.store.state().epoch == 3)
    #expect(try machine.store.state().floor == 0)
  }

  // MARK: - Non-discoverable credentials

  @Test(arguments: try KeysAndRecovery.load().credentials.array.filter { $0.kind.text == "non-discoverable" })
  func `a non-discoverable credential is derived from its salt and not stored`(_ vector: Vector) throws {
    let salt = vector.salt.bytes
    var generator = Scripted(
      words: [UInt64(bigEndianBytes: salt[..<8]), UInt64(bigEndianBytes: salt[8...])])
    let parameters = try #require(KeysAndRecovery.parameters(of: vector))
    let machine = try Machine(epoch: vector.epoch.integer())
    let credential = try machine.vault.makeNonDiscoverableCredential(
      CredentialRegistration(
        rpID: vector.rpId.text, user: PublicKeyCredentialUserEntity(id: vector.userId.bytes),
        algorithm: parameters.algorithm, policy: parameters.policy),
      using: &generator)
    #expect(Hex(credential.id) == vector.sealed.id.hex)
    #expect(Hex(try machine.vault.keys.privateKey(of: credential).publicKey.bytes) == vector.publicKey.hex)
    #expect(credential.userHandle == nil)
    #expect(credential.record == nil)
    #expect(try machine.store.allCredentials().isEmpty)
    #expect(try machine.find([credential.id], at: credential.rpID, userVerified: true) == [credential])
  }

  @Test func `the same user registers twice and gets two keys`() throws {
    let machine = try Machine()
    let first = try machine.makeNonDiscoverable("ssh", salt: 1)
    let second = try machine.makeNonDiscoverable("ssh", salt: 2)
    #expect(first.id != second.id)
    #expect(
      try machine.vault.keys.privateKey(of: first).publicKey != machine.vault.keys.privateKey(of: second).publicKey)
  }

  @Test func `a non-discoverable credential refuses a user id of 65 bytes`() throws {
    let error = #expect(throws: RecoveryError.self) {
      try Machine().makeNonDiscoverable(String(repeating: "a", count: 65))
    }
    #expect(error?.kind == .userIDLength)
  }
}
