import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct CredentialRecoveryTests {
  private func use(
    _ credential: Credential, on machine: Machine, user: PublicKeyCredentialUserEntity? = nil, present: Bool = true
  ) throws {
    try machine.vault.rememberUse(
      of: credential, user: user, userPresent: present, userVerified: false, now: 5000)
  }

  // MARK: - Written back

  @Test func `the first use of a sealed id with consent writes its record back`() throws {
    let made = try Machine().register("alice", credProtect: .userVerificationOptionalWithCredentialIDList)
    let machine = try Machine()
    let credential = try #require(try machine.find([made.id]).first)
    try use(credential, on: machine)

    let record = try #require(try machine.entry("alice")?.record)
    #expect(record.id == made.id)
    #expect(record.origin == .recovered)
    #expect(record.counter == 0)
    #expect(record.policy == made.policy)
    #expect(record.name == nil)
    #expect(record.created == 5000)
    #expect(record.changed == 0 && record.lastChange == 5000)
    #expect(try machine.find([made.id]) == [Credential(record: record)])
  }

  /// The backup of the machine on which the passkey was made, merged into another one.
  @discardableResult
  private func merge(_ theirs: Machine, into ours: Machine) throws -> MergeReport {
    let made = try BackupWriter.file(of: theirs.store, keys: theirs.vault.keys, nonce: randomBytes(24))
    return try BackupMerge(BackupReader(file: made.file, keys: ours.vault.keys), now: 9000).run(on: ours.store)
  }

  @Test(arguments: [true, false])
  func `names and credBlob come back after a sign-in or recovery before the restore`(isSignIn: Bool) throws {
    let (first, second) = (try Machine(idForm: isSignIn ? .sealed : .hash), try Machine())
    var made = try first.register("alice")
    made.credBlob = [1, 2, 3]
    try first.store.save(made, state: nil)
    if isSignIn {
      try use(#require(second.find([made.id]).first), on: second)
    } else {
      try second.vault.recover(rpID: "example.com", userID: Array("alice".utf8), now: 5000)
    }
    let recovered = try #require(try second.entry("alice")?.record)
    #expect(recovered.name == nil && recovered.created == 5000 && recovered.changed == 0)

    // The recovered record changes nothing on the first machine, and its backup has nothing more.
    let back = try merge(second, into: first)
    #expect(back.kept == 1 && !back.changesStore && !back.backupHasMore)
    #expect(try merge(first, into: second).changed == 1)
    for machine in [first, second] { #expect(try machine.entry("alice") == .record(made)) }
    #expect(made.name == "name of alice" && made.lastChange == 1000)
  }

  @Test func `a removal wins over a record that was written back later`() throws {
    let (first, second) = (try Machine(), try Machine())
    let made = try first.register("alice")
    try use(#require(second.find([made.id]).first), on: second)
    try first.vault.remove(made, now: 2000)
    #expect(try merge(first, into: second).removed.count == 1)
    #expect(try second.entry("alice") == .tombstone(counter: 0, changed: 2000))
  }

  @Test func `the owner's change of a recovered record wins over an older one`() throws {
    let (first, second) = (try Machine(), try Machine())
    let made = try first.register("alice")
    try use(#require(second.find([made.id]).first), on: second)
    try second.vault.rename(
      #require(second.entry("alice")?.record), name: "renamed", displayName: nil, now: 6000)
    #expect(try merge(second, into: first).changed == 1)
    let record = try #require(try first.entry("alice")?.record)
    #expect(record.name == "renamed" && record.changed == 6000 && record.lastChange == 6000)
  }

  @Test func `a use without user presence writes nothing`() throws {
    let machine = try Machine()
    let credential = try #require(try machine.find([machine.id("alice", counter: 4 << 16)]).first)
    try use(credential, on: machine, present: false)
    #expect(try machine.entry("alice") == nil)
    #expect(try machine.store.state().epoch == 0)
  }

  @Test func `phone ids and non-discoverable ones are never written back`() throws {
    let vectors = try KeysAndRecovery.load().phoneCandidates
    let machine = try Machine()
    let phone = try machine.find([vectors.ids["5"].bytes], at: vectors.rpId.text)
    let key = try machine.makeNonDiscoverable("bob")
    for credential in phone + [key] { try use(credential, on: machine) }
    #expect(phone.count == 1)
    #expect(try machine.store.allCredentials().isEmpty)
  }

  @Test func `an id of a higher epoch raises the epoch, not the floor`() throws {
    let machine = try Machine(epoch: 1, floor: 1)
    let elsewhere = try Machine(epoch: 4).makeNonDiscoverable("bob")
    try use(try #require(try machine.find([elsewhere.id]).first), on: machine)
    #expect(try machine.store.state() == StoreState(storeID: Array(0xA0...0xAF), epoch: 4, floor: 1))

    try use(try #require(try machine.find([machine.id("alice", counter: 6 << 16)]).first), on: machine)
    #expect(try machine.store.state() == StoreState(storeID: Array(0xA0...0xAF), epoch: 6, floor: 1))
    #expect(try machine.entry("alice")?.counter == 6 << 16)
  }

  @Test func `a written-back record replaces only a lower counter and keeps the names`() throws {
    let machine = try Machine()
    try machine.register("alice", known: 3)
    let user = PublicKeyCredentialUserEntity(id: Array("alice".utf8), name: "another", displayName: "Alice")
    let equal = try machine.id("alice", counter: 4, policy: CredentialPolicy(largeBlobKey: true))
    try use(try #require(try machine.find([equal]).first), on: machine, user: user)
    #expect(try machine.entry("alice")?.record?.origin == .registered)

    let higher = try machine.id("alice", counter: 9)
    try use(try #require(try machine.find([higher]).first), on: machine, user: user)
    let record = try #require(try machine.entry("alice")?.record)
    #expect(record.counter == 9)
    #expect(record.origin == .recovered)
    #expect(record.name == "name of alice")
    #expect(record.displayName == "Alice")
  }

  @Test func `names are taken from the request only for the same user`() throws {
    let machine = try Machine()
    let hit = try #require(try machine.examine([machine.id("alice")], user: "bob").hits.first)
    try use(hit, on: machine, user: PublicKeyCredentialUserEntity(id: Array("bob".utf8), name: "Bob"))
    #expect(try machine.entry("alice")?.record?.name == nil)
    #expect(try machine.entry("bob") == nil)
  }

  @Test func `a hash id in an excludeList is written back with the policy and names of the request`() throws {
    let machine = try Machine()
    let id = try machine.id("alice", counter: 2, form: .hash, algorithm: .edDSA)
    let findings = try machine.examine(
      [id], user: "alice", algorithms: [.es256, .edDSA], credProtect: .userVerificationOptionalWithCredentialIDList)
    let user = PublicKeyCredentialUserEntity(id: Array("alice".utf8), name: "a", displayName: "Alice")
    try use(try #require(findings.hits.first), on: machine, user: user)
    let record = try #require(try machine.entry("alice")?.record)
    #expect(record.id == id)
    #expect(record.counter == 2)
    #expect(record.algorithm == .edDSA)
    #expect(record.policy.credProtect == .userVerificationOptionalWithCredentialIDList)
    #expect(record.name == "a")
    #expect(record.displayName == "Alice")
  }

  @Test func `a record that cannot be written back is an error and changes nothing`() throws {
    let machine = try Machine()
    let credential = try #require(try machine.find([machine.id("alice", counter: 3 << 16)]).first)
    machine.store.isFull = true
    #expect(throws: RecoveryError.self) { try use(credential, on: machine) }
    #expect(try machine.entry("alice") == nil)
    #expect(try machine.store.state().epoch == 0)
  }

  @Test func `the use of a row changes nothing`() throws {
    let machine = try Machine()
    let source = try machine.register("alice")
    try use(Credential(record: source), on: machine)
    #expect(try machine.store.allCredentials() == [source])
  }

  // MARK: - By the owner

  @Test func `recover writes the record of a hash id again`() throws {
    let machine = try Machine()
    let source = try machine.vault.recover(
      rpID: "example.com", userID: Array("alice".utf8), counter: 0, algorithm: .es256,
      credProtect: .userVerificationRequired, now: 5000)
    #expect(Hex(source.id) == (try KeysAndRecovery.load()).credentials[0].hashId.hex)
    #expect(source.origin == .recovered)
    #expect(source.policy == CredentialPolicy(credProtect: .userVerificationRequired))
    #expect(try machine.entry("alice") == .record(source))
  }

  @Test func `recover accepts EdDSA and counters of later epochs`() throws {
    let machine = try Machine()
    let source = try machine.vault.recover(
      rpID: "ssh:", userID: [0], counter: 2 << 16 | 3, algorithm: .edDSA, now: 5000)
    #expect(source.counter == 2 << 16 | 3)
    #expect(try machine.store.state().epoch == 2)
    let parameters = try #require(
      CredentialParameters.discoverable(userID: [0], counter: source.counter, algorithm: .edDSA))
    #expect(source.id == (try machine.vault.keys.privateKey(parameters, rpID: "ssh:").publicKey.hashID))
  }

  @Test(arguments: [false, true])
  func `recover does not replace a newer record`(_ isDeleted: Bool) throws {
    let machine = try Machine()
    let source = try machine.register("alice", known: 4)
    if isDeleted { try machine.store.remove(source, changed: 2000) }
    let before = try machine.entry("alice")
    for counter: UInt32 in [0, 5] {
      let error = #expect(throws: RecoveryError.self) {
        try machine.vault.recover(rpID: "example.com", userID: Array("alice".utf8), counter: counter, now: 5000)
      }
      #expect(error?.kind == .notReplaced)
      #expect(
        error?.description
          == (isDeleted
            ? "the account's passkey with counter 5 was removed here, and is not restored; register again at the site, or give the "
              + "--counter of a later registration"
            : "the account has a passkey here already, with counter 5; it is not replaced"))
    }
    #expect(try machine.entry("alice") == before)
    try machine.vault.recover(rpID: "example.com", userID: Array("alice".utf8), counter: 6, now: 5000)
    #expect(try machine.entry("alice")?.counter == 6)
  }

  @Test(arguments: [0, 65])
  func `recover refuses a user handle of invalid length`(_ count: Int) throws {
    let error = #expect(throws: RecoveryError.self) {
      try Machine().vault.recover(rpID: "example.com", userID: [UInt8](repeating: 1, count: count), now: 1)
    }
    #expect(error?.kind == .userIDLength)
    #expect(error?.description == "the user handle has \(count) bytes; it must have 1 to 64")
  }

  @Test func `recover fails if the store cannot write`() throws {
    let machine = try Machine()
    machine.store.isFull = true
    let error = #expect(throws: RecoveryError.self) {
      try machine.vault.recover(rpID: "example.com", userID: [1], now: 1)
    }
    #expect(error?.kind == .store)
  }

  @Test func `a rename keeps the counter and outranks the old record`() throws {
    let machine = try Machine()
    let source = try machine.register("alice")
    var renamed = source
    renamed.rename(name: "Alice", displayName: nil, now: 2000)
    #expect(renamed.counter == source.counter)
    #expect(renamed.id == source.id)
    #expect(renamed.created == source.created)
    #expect(renamed.changed == 2000)
    #expect(AccountEntry.record(renamed).outranks(.record(source)))
    #expect(!AccountEntry.record(source).outranks(.record(renamed)))
  }
}
