import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct CredentialRecognitionTests {
  let vectors: Vector
  let address: String

  init() throws {
    vectors = try KeysAndRecovery.load()
    address = vectors.phoneCandidates.address.text
  }

  // MARK: - (a) Rows

  @Test(arguments: CredentialIDForm.allCases)
  func `an id with a row is found only at its relying party`(_ form: CredentialIDForm) throws {
    let machine = try Machine(idForm: form)
    let source = try machine.register("alice")
    #expect(try machine.find([source.id]) == [Credential(record: source)])
    #expect(try machine.find([source.id], at: "example.org") == [])
    #expect(try machine.find([source.id])[0].userHandle == Array("alice".utf8))
  }

  @Test(arguments: CredentialIDForm.allCases)
  func `a credential with a row is found below the floor`(_ form: CredentialIDForm) throws {
    let machine = try Machine(idForm: form)
    let source = try machine.register("alice")
    var state = try machine.store.state()
    state.floor = 5
    try machine.store.setState(state)
    #expect(try machine.find([source.id]) == [Credential(record: source)])
  }

  @Test func `credentials are found in the order of the list`() throws {
    let machine = try Machine()
    let alice = try machine.register("alice")
    let bob = try machine.register("bob")
    let key = try machine.makeNonDiscoverable("carol")
    let found = try machine.find([key.id, [1, 2, 3], bob.id, alice.id])
    #expect(found.map(\.id) == [key.id, bob.id, alice.id])
  }

  // MARK: - (b) Sealed ids

  @Test(
    arguments: try KeysAndRecovery.load().credentials.array.filter {
      $0.sealed.optional != nil && $0.rpId.optional != nil
    })
  func `a sealed id is found with the phrase alone`(_ vector: Vector) throws {
    let (id, rpID) = (vector.sealed.id.bytes, vector.rpId.text)
    let found = try Machine().find([id], at: rpID, userVerified: true)
    #expect(found.map(\.parameters) == [KeysAndRecovery.parameters(of: vector)])
    #expect(found.map(\.provenance) == [.sealedID])
    #expect(found.map(\.userHandle) == [vector.kind.text == "discoverable" ? vector.userId.bytes : nil])
  }

  @Test(arguments: try KeysAndRecovery.load().idsThatMustNotOpen.array)
  func `an id that does not open is not found`(_ vector: Vector) throws {
    let machine = try Machine()
    #expect(try machine.find([vector.id.bytes], at: vector.rpId.text, userVerified: true) == [])
    #expect(try machine.examine([vector.id.bytes], at: vector.rpId.text, user: "alice").highestKnownCounter == nil)
  }

  @Test func `ids of other lengths are not found`() throws {
    let machine = try Machine()
    for count in [0, 1, 31, 33, 126, 128, 1023] {
      #expect(try machine.find([[UInt8](repeating: 1, count: count)]) == [])
    }
    #expect(try machine.find([]) == [])
  }

  @Test func `sealed ids from before a reset are found only after the owner accepts them`() throws {
    let machine = try Machine()
    let (alice, key) = (try machine.id("alice"), try machine.makeNonDiscoverable("bob"))
    var state = try machine.store.state()
    try state.reset()
    try machine.store.removeAll(state: state)
    #expect(try machine.find([alice, key.id]) == [])
    #expect(try machine.find([machine.id("alice", counter: 0x1_0000)]).count == 1)
    state.acceptBeforeReset()
    try machine.store.setState(state)
    #expect(try machine.find([alice, key.id]).count == 2)
  }

  @Test func `a deleted credential is not found; a newer registration from elsewhere is`() throws {
    let machine = try Machine()
    let source = try machine.register("alice")
    try machine.store.remove(source, changed: 2000)
    #expect(try machine.find([source.id]) == [])
    #expect(try machine.find([machine.id("alice", counter: 1)]).count == 1)
  }

  // MARK: - credProtect

  @Test func `without user verification, level 3 is not found and level 2 is`() throws {
    let machine = try Machine()
    for level in CredProtectLevel.allCases {
      let isFound = level != .userVerificationRequired
      let row = try machine.register("row", credProtect: level)
      let policy = CredentialPolicy(credProtect: level)
      let sealed = try machine.id("sealed", policy: policy)
      let hash = try machine.id("hash", form: .hash)
      for id in [row.id, sealed] {
        #expect(try !machine.find([id]).isEmpty == isFound)
        #expect(try machine.find([id], userVerified: true).count == 1)
      }
      let findings = try machine.examine([hash], user: "hash", credProtect: level)
      #expect(!findings.hits.isEmpty == isFound)
      #expect(findings.highestKnownCounter == 0)
      #expect(try machine.examine([hash], user: "hash", credProtect: level, userVerified: true).hits.count == 1)
    }
  }

  @Test func `a raised level applies to an id with the lower one`() throws {
    let machine = try Machine()
    var source = try machine.register("alice")
    source.policy = CredentialPolicy(credProtect: .userVerificationRequired)
    try machine.store.save(source, state: nil)
    #expect(try machine.find([source.id]) == [])
    #expect(try machine.find([source.id], userVerified: true).count == 1)
  }

  @Test func `candidates do not bypass a row that requires verification`() throws {
    let machine = try Machine()
    let source = try machine.register(
      address, at: "debug.liquidauth.com", credProtect: .userVerificationRequired)
    #expect(Hex(source.id) == vectors.phoneCandidates.ids["0"].hex)
    #expect(try machine.find([source.id], at: "debug.liquidauth.com") == [])
    let findings = try machine.examine([source.id], at: "debug.liquidauth.com", user: address)
    #expect(findings == ExcludeListFindings(hits: [], highestKnownCounter: 0))
  }

  // MARK: - (c) Phone wallets

  @Test func `the sixteen ids of phone wallets are found, without a user handle`() throws {
    let machine = try Machine()
    #expect(vectors.phoneCandidates.ids.members.count == 16)
    for (counter, id) in vectors.phoneCandidates.ids.members {
      let found = try machine.find([id.bytes], at: vectors.phoneCandidates.rpId.text)
      #expect(found.map(\.provenance) == [.phone])
      #expect(found.map(\.parameters.counter) == [UInt32(counter)])
      #expect(found.map(\.userHandle) == [nil])
      #expect(try found.map { Hex(try machine.vault.keys.privateKey(of: $0).publicKey.hashID) } == [id.hex])
    }
    #expect(try machine.find([machine.id(address, at: "debug.liquidauth.com", counter: 16, form: .hash)]) == [])
    #expect(try machine.find([vectors.phoneCandidates.ids["0"].bytes], at: "example.com") == [])
  }

  @Test func `phone ids have epoch 0: they are found only while the floor is 0`() throws {
    let id = vectors.phoneCandidates.ids["3"].bytes
    #expect(try Machine(epoch: 1, floor: 1).find([id], at: vectors.phoneCandidates.rpId.text) == [])
    #expect(try Machine(epoch: 1, floor: 0).find([id], at: vectors.phoneCandidates.rpId.text).count == 1)
  }

  @Test func `a record of the account hides older phone ids`() throws {
    let machine = try Machine()
    let rpID = vectors.phoneCandidates.rpId.text
    let ids = (0..<3).map { vectors.phoneCandidates.ids["\($0)"].bytes }
    let source = try machine.register(address, at: rpID, known: 0)
    #expect(source.id == ids[1])
    #expect(try machine.find(ids, at: rpID).map(\.id) == [ids[1]])
    #expect(try machine.find([ids[0]], at: rpID) == [])
    #expect(try machine.find([ids[2]], at: rpID).count == 1)
    try machine.store.remove(source, changed: 2000)
    #expect(try machine.find([ids[1]], at: rpID) == [])
    #expect(try machine.find([ids[2]], at: rpID).count == 1)
  }

  @Test func `phone candidates are tried only if no other id of the list is found`() throws {
    let machine = try Machine()
    let rpID = vectors.phoneCandidates.rpId.text
    let phone = vectors.phoneCandidates.ids["0"].bytes
    let key = try machine.makeNonDiscoverable("bob", at: rpID)
    #expect(try machine.find([phone, key.id], at: rpID).map(\.id) == [key.id])
    #expect(try machine.find([phone, [UInt8](repeating: 0, count: 32)], at: rpID).map(\.id) == [phone])
  }

  // MARK: - excludeList

  @Test func `an excludeList matches rows, sealed ids and phone ids`() throws {
    let machine = try Machine()
    let rpID = vectors.phoneCandidates.rpId.text
    let source = try machine.register("alice", at: rpID)
    let sealed = try machine.id("bob", at: rpID)
    let phone = vectors.phoneCandidates.ids["0"].bytes
    #expect(try machine.examine([sealed, source.id], at: rpID, user: "carol").hits.map(\.id) == [sealed, source.id])
    #expect(try machine.examine([phone], at: rpID, user: "carol").hits.map(\.provenance) == [.phone])
    #expect(try machine.examine([phone], at: rpID, user: "carol").highestKnownCounter == nil)
    #expect(
      try machine.examine([[1]], at: rpID, user: "carol") == ExcludeListFindings(hits: [], highestKnownCounter: nil))
  }

  @Test(
    arguments: [
      (0, 0, true), (0, 15, true), (0, 16, false), (0, 7 << 16 | 15, true), (0, 8 << 16, false),
      (2, 0, false), (2, 2 << 16, true), (2, 9 << 16 | 3, true), (2, 10 << 16, false),
      (65_534, 0xFFFF_000F, true), (65_535, 0xFFFF_0000, true),
    ] as [(UInt16, UInt32, Bool)])
  func `a hash id of the user is found in the eight epochs from the floor`(
    _ floor: UInt16, _ counter: UInt32, _ isFound: Bool
  ) throws {
    let machine = try Machine(epoch: floor, floor: floor)
    let id = try machine.id("alice", counter: counter, form: .hash)
    let findings = try machine.examine([id], user: "alice")
    #expect(findings.hits.map(\.provenance) == (isFound ? [.hashID] : []))
    #expect(findings.highestKnownCounter == (isFound ? counter : nil))
    #expect(try machine.examine([id], user: "bob") == ExcludeListFindings(hits: [], highestKnownCounter: nil))
    #expect(try machine.find([id]) == [])
  }

  @Test func `a hash id is found for the requested algorithms`() throws {
    let machine = try Machine()
    let id = try machine.id("alice", form: .hash, algorithm: .edDSA)
    #expect(try machine.examine([id], user: "alice", algorithms: [.es256]).hits.isEmpty)
    #expect(try machine.examine([id], user: "alice", algorithms: []).hits.isEmpty)
    #expect(try machine.examine([id], user: "alice", algorithms: [.es256, .edDSA]).hits.map(\.algorithm) == [.edDSA])
  }

  @Test func `an id of both user and phone is a hash id of the user`() throws {
    let machine = try Machine()
    let id = vectors.phoneCandidates.ids["0"].bytes
    let findings = try machine.examine([id], at: vectors.phoneCandidates.rpId.text, user: address)
    #expect(findings.hits.map(\.provenance) == [.hashID])
    #expect(findings.highestKnownCounter == 0)
  }

  private func imported(_ id: [UInt8], at rpID: String) throws -> CredentialSource {
    try .imported(
      rpID: rpID, userID: [9], name: nil, displayName: nil, id: id, algorithm: .es256, created: 1,
      key: Hex([UInt8](repeating: 3, count: 32)).secret)
  }

  // Holds: IMPORT-8
  @Test func `an imported passkey does not hide the id of a phone wallet or of the user`() throws {
    let rpID = vectors.phoneCandidates.rpId.text
    let phone = vectors.phoneCandidates.ids["0"].bytes
    let machine = try Machine()
    let (planted, other) = (try imported(phone, at: rpID), try imported([UInt8](repeating: 8, count: 32), at: rpID))
    try machine.store.save(planted, state: nil)
    try machine.store.save(other, state: nil)
    #expect(try machine.find([phone], at: rpID).map(\.provenance) == [.phone])
    #expect(try machine.find([phone, other.id], at: rpID).map(\.provenance) == [.phone, .record(other)])
    #expect(try machine.examine([phone], at: rpID, user: "carol").hits.map(\.provenance) == [.phone])
    let own = try machine.examine([other.id, phone], at: rpID, user: address)
    #expect(own.hits.map(\.provenance) == [.record(other), .hashID] && own.highestKnownCounter == 0)
    // After a reset, no candidate is valid.
    var state = try machine.store.state()
    state.floor = 1
    try machine.store.setState(state)
    #expect(try machine.find([phone], at: rpID).map(\.provenance) == [.record(planted)])
  }

  // Holds: IMPORT-8
  @Test func `a removed passkey does not take the place of an imported one, but its counter counts`() throws {
    let machine = try Machine(idForm: .hash)
    let source = try machine.register("alice")
    try machine.store.remove(source, changed: 2000)
    let passkey = try imported(source.id, at: "example.com")
    try machine.store.save(passkey, state: nil)
    let findings = try machine.examine([source.id], user: "alice")
    #expect(findings.hits.map(\.provenance) == [.record(passkey)] && findings.highestKnownCounter == 0)
  }

  /// Recovery §12: a site chooses rp.id and user.id so that its key equals that of another account.
  @Test func `a hash id of another account's key does not match`() throws {
    let machine = try Machine()
    let alice = try machine.register("alice", at: "example.com")
    let id = try machine.vault.keys.privateKey(of: alice).publicKey.hashID
    #expect(
      try machine.examine([id], at: "example.co", user: "malice")
        == ExcludeListFindings(hits: [], highestKnownCounter: nil))
    #expect(try Machine().examine([id], at: "example.co", user: "malice").hits.count == 1)
  }

  @Test func `dead ids raise the next counter of their own account only`() throws {
    let machine = try Machine(floor: 2)
    let dead = try machine.id("alice", counter: 1 << 16 | 5)
    let findings = try machine.examine([dead, machine.id("bob", counter: 3 << 16)], user: "alice")
    #expect(findings.hits.map(\.parameters.userID) == [Array("bob".utf8)])
    #expect(findings.highestKnownCounter == 65_541)
  }

  @Test func `the row or tombstone of the account sets its known counter without any list`() throws {
    let machine = try Machine()
    let source = try machine.register("alice", known: 41)
    #expect(try machine.examine([], user: "alice") == ExcludeListFindings(hits: [], highestKnownCounter: 42))
    try machine.store.remove(source, changed: 2000)
    #expect(try machine.examine([], user: "alice") == ExcludeListFindings(hits: [], highestKnownCounter: 42))
  }
}
