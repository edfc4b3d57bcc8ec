import CBOR
import CTAP2
import CryptoPrimitives
import Recovery
import TestVectors
import Testing

@Suite struct MakeCredentialTests {
  // Holds: MC-23, MC-24, MC-27, GA-8
  @Test func `a non-discoverable credential is stored in its id only, and attested by its own key`() async throws {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential())
    let members = try #require(answer.map)
    #expect(members.pairs.map(\.key) == [1, 2, 3])
    #expect(members[1] == "packed")

    let data = try #require(members[2]?.bytes)
    let parsed = try #require(ParsedAuthenticatorData(data))
    #expect(parsed.rpIDHash == SHA256.hash(Array("example.com".utf8)))
    #expect(parsed.flags == 0x59)  // UP, BE, BS, AT
    #expect(parsed.signCount == [0, 0, 0, 0])
    #expect(Hex(parsed.aaguid).description == "83e27e5d962b474dbe2c9c194dd147a9")
    #expect(parsed.credentialID.count == 127)
    #expect(parsed.coseKey.pairs.map(\.key) == [1, 3, -1, -2, -3])
    #expect(data.count == 259)  // 37 and 16 + 2 + 127 + 77

    let statement = try #require(members[3]?.map)
    #expect(statement.pairs.map(\.key) == ["alg", "sig"])
    #expect(statement["alg"] == -7)
    #expect(parsed.verifies(try #require(statement["sig"]?.bytes), over: data + Requests.clientDataHash))

    #expect(world.store.writes == 0)
    let prompt = UserPrompt(
      purpose: .register, rpID: "example.com", accountName: "alice", accountDisplayName: "Alice")
    #expect(world.person.shown == [.init(prompt: prompt, verification: false)])
  }

  // Holds: PEERSIGNIN-1, MC-27
  @Test func `a discoverable credential is stored as a record without a key`() async throws {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    let parsed = try #require(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? []))
    #expect(parsed.flags == 0x5D)  // UP, UV, BE, BS, AT
    #expect(world.person.shown.map(\.verification) == [true])

    let record = try #require(try world.store.allCredentials().first)
    #expect(record.rpID == "example.com")
    #expect(record.userID == Array("alice".utf8))
    #expect(record.name == "alice")
    #expect(record.displayName == "Alice")
    #expect(record.id == parsed.credentialID)
    #expect(record.algorithm == .es256)
    #expect(record.counter == 0)
    #expect(record.policy.byte == 1)
    #expect(record.created == TestWorld.wallClock)
    #expect(record.changed == TestWorld.wallClock)
    #expect(record.origin == .registered)
    #expect(record.importedKey == nil)
    #expect(world.store.writes == 1)
  }

  @Test func `the prompt says if the account's passkey is replaced`() async {
    var world = TestWorld()
    for (rk, replaces) in [(true, false), (false, false), (true, true)] {
      #expect(await world.makeCredential(Requests.makeCredential(rk: rk, uv: true)).status == .success)
      #expect(world.person.shown.last?.prompt.replacesPasskey == replaces)
    }
  }

  // Holds: MGMT-32
  @Test(arguments: [".dummy", "make.me.blink"])
  func `a registration for a dummy site prompts for a selection, and succeeds`(_ rpID: String) async throws {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential(rpID: rpID))
    #expect(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? [])?.credentialID.count == 127)
    #expect(world.person.shown.map(\.prompt.purpose) == [.select])
    #expect(world.store.writes == 0)
  }

  @Test func `only a plain registration for a dummy site prompts for a selection`() async {
    let requests = [
      Requests.makeCredential(rk: true, uv: true, rpID: ".dummy"), Requests.makeCredential(uv: true, rpID: ".dummy"),
      Requests.makeCredential(rpID: ".dummy", changes: [(6, ["credProtect": 2])]),
      Requests.makeCredential(rpID: "make.me.blink.example"),
    ]
    for request in requests {
      var world = TestWorld()
      #expect(await world.makeCredential(request).status == .success)
      #expect(world.person.shown.map(\.prompt.purpose) == [.register])
    }
  }

  // Holds: MC-24
  @Test func `EdDSA keys and signatures have their own form`() async throws {
    for rk in [false, true] {
      var world = TestWorld()
      let answer = await world.makeCredential(Requests.makeCredential(rk: rk, uv: true, algorithms: [-8]))
      let data = try #require(answer.map?[2]?.bytes)
      let parsed = try #require(ParsedAuthenticatorData(data))
      #expect(parsed.coseKey.pairs.map(\.key) == [1, 3, -1, -2])
      #expect(data.count == 224)  // 37 and 16 + 2 + 127 + 42
      #expect(answer.map?[3]?.map?["alg"] == -8)
      let signature = try #require(answer.map?[3]?.map?["sig"]?.bytes)
      #expect(signature.count == 64)
      #expect(parsed.verifies(signature, over: data + Requests.clientDataHash))
    }
  }

  static let choices: [([Int], Int64)] = [
    ([-257, -8, -7], -8), ([-7, -8], -7), ([-65_535, 0, -7], -7), ([-7, -7], -7),
  ]

  // Holds: MC-4
  @Test(arguments: choices)
  func `the first supported algorithm of the list is used`(list: [Int], chosen: Int64) async {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential(algorithms: list))
    #expect(answer.map?[3]?.map?["alg"]?.int == chosen)
  }

  static let preferences: [([CBORValue], String)] = [
    ([], "packed"), (["packed"], "packed"), (["none"], "none"), (["none", "packed"], "none"),
    (["packed", "none"], "packed"), (["tpm"], "packed"), (["tpm", "none", "packed"], "none"), (["None", ""], "packed"),
    ([7, "none"], "none"),
  ]

  // Holds: MC-26
  @Test(arguments: preferences)
  func `the attestation format is the first supported one of attestationFormatsPreference`(
    preference: [CBORValue], format: String
  ) async throws {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential(changes: [(0x0B, .array(preference))]))
    #expect(answer.map?[1] == .text(format))
    #expect(answer.map?[3]?.map?.isEmpty == (format == "none"))
    #expect(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? [])?.credentialID.count == 127)
  }

  // Holds: MC-18
  @Test func `a second registration of an account has another key and id, and invalidates the first`() async throws {
    var world = TestWorld()
    let answers = [
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true)),
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true)),
    ]
    let parsed = try answers.map { try #require(ParsedAuthenticatorData($0.map?[2]?.bytes ?? [])) }
    #expect(parsed[0].credentialID != parsed[1].credentialID)
    #expect(parsed[0].coseKey != parsed[1].coseKey)
    #expect(try world.store.allCredentials().map(\.counter) == [1])
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [parsed[0].credentialID])).bytes == [0x2E])
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [parsed[1].credentialID])).status == .success)
  }

  @Test func `two non-discoverable registrations of one account have different keys and ids`() async throws {
    var world = TestWorld()
    let answers = [
      await world.makeCredential(Requests.makeCredential()), await world.makeCredential(Requests.makeCredential()),
    ]
    let parsed = try answers.map { try #require(ParsedAuthenticatorData($0.map?[2]?.bytes ?? [])) }
    #expect(parsed[0].credentialID != parsed[1].credentialID)
    #expect(parsed[0].coseKey != parsed[1].coseKey)
    for parsed in parsed {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: [parsed.credentialID])).status == .success)
    }
  }

  @Test func `with hash ids, the id of a discoverable credential is the hash of its key`() async throws {
    var world = TestWorld(state: StoreState(storeID: [], credentialIDForm: .hash))
    let answer = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    let parsed = try #require(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? []))
    let (x, y) = (parsed.coseKey[-2]?.bytes ?? [], parsed.coseKey[-3]?.bytes ?? [])
    #expect(parsed.credentialID == SHA256.hash(x, y))
    let other = await world.makeCredential(Requests.makeCredential())
    #expect(ParsedAuthenticatorData(other.map?[2]?.bytes ?? [])?.credentialID.count == 127)
  }

  // Holds: MC-22
  @Test(arguments: [
    (String(repeating: "x", count: 65), String(repeating: "x", count: 64)),
    (String(repeating: "é", count: 40), String(repeating: "é", count: 32)),
    (String(repeating: "x", count: 62) + "漢", String(repeating: "x", count: 62)),
    (String(repeating: "x", count: 61) + "漢", String(repeating: "x", count: 61) + "漢"), ("", ""),
  ])
  func `names are cut to 64 bytes between characters`(name: String, kept: String) async throws {
    var world = TestWorld()
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, name: name)).status == .success)
    let record = try #require(try world.store.allCredentials().first)
    #expect(record.name.map { Array($0.utf8) } == Array(kept.utf8))
  }

  @Test func `a record that cannot be written fails the request`() async throws {
    var world = TestWorld()
    world.store.fill()
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).bytes == [0x7F])
    #expect(world.person.shown.count == 1)
    #expect(try world.store.allCredentials().isEmpty)
    #expect(world.reports.all.last?.error?.reason.contains("no space left") == true)
  }

  @Test func `a store that cannot be read ends makeCredential before any prompt`() async {
    var world = TestWorld()
    world.store.fail(with: RecoveryError(.store, "cannot read the store"))
    #expect(await world.makeCredential(Requests.makeCredential()).bytes == [0x7F])
    #expect(world.person.shown.isEmpty)
  }

  // Holds: MC-19
  @Test func `an epoch without free counters is reported as a full store`() async throws {
    var world = TestWorld()
    let last = CredentialSource(
      rpID: Requests.rpID, userID: Requests.userID, id: [1], algorithm: .es256, counter: 65_535, created: 0, changed: 0,
      origin: .registered)
    try world.store.save(try #require(last), state: nil)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).bytes == [0x28])
  }

  // Holds: MC-15
  @Test(arguments: [
    (UserInteractionError.declined, [UInt8(0x27)]), (.unavailable, [0x27]), (.timedOut, [0x2F]), (.cancelled, [0x2D]),
    (.verificationFailed, [0x27]), (.verificationBlocked, [0x32]),
  ])
  func `without consent nothing is made`(error: UserInteractionError, answer: [UInt8]) async throws {
    var world = TestWorld()
    world.person.will(.fail(error))
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).bytes == answer)
    #expect(world.store.writes == 0)
  }

  // Holds: PEERSIGNIN-2
  @Test func `presence does not replace verification, nor verification presence`() async {
    var world = TestWorld()
    world.person.will(.answer(userPresent: true, userVerified: false), .answer(userPresent: false, userVerified: true))
    #expect(await world.makeCredential(Requests.makeCredential(uv: true)).bytes == [0x27])
    #expect(await world.makeCredential(Requests.makeCredential(uv: true)).bytes == [0x27])
  }

  @Test func `a user who was verified without a request is reported as verified`() async throws {
    var world = TestWorld()
    world.person.will(.answer(userPresent: true, userVerified: true))
    let answer = await world.makeCredential(Requests.makeCredential())
    #expect(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? [])?.flags == 0x5D)
  }
}

// MARK: - excludeList

@Suite struct ExcludeListTests {
  /// Registers once, and returns the credential id.
  private func register(in world: inout TestWorld, rk: Bool = true, credProtect: Int? = nil) async throws -> [UInt8] {
    let extensions: [(CBORValue, CBORValue?)] = credProtect.map { [(6, ["credProtect": CBORValue($0)])] } ?? []
    let answer = await world.makeCredential(Requests.makeCredential(rk: rk, uv: true, changes: extensions))
    return try #require(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? [])).credentialID
  }

  private func excluding(_ ids: [UInt8]..., uv: Bool? = nil, rpID: String = Requests.rpID) -> CBORMap {
    Requests.makeCredential(uv: uv, rpID: rpID, changes: [(5, Requests.list(ids))])
  }

  // Holds: CTAP2-20, MC-19
  @Test func `a full store refuses a new account, and accepts a new registration of a known one`() async throws {
    var world = TestWorld()
    _ = try await register(in: &world)
    world.store.pretendToHold(10_000)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [1])).bytes == [0x28])
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).status == .success)
    #expect(await world.makeCredential(Requests.makeCredential(userID: [1])).status == .success, "nothing is stored")
    world.store.pretendToHold(9_999)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [1])).status == .success)
  }

  // Holds: MC-13
  @Test(arguments: [
    ScriptedPerson.Operation.agree, .fail(.declined), .fail(.timedOut), .fail(.verificationFailed),
    .fail(.verificationBlocked), .answer(userPresent: false, userVerified: false),
  ])
  func `an own credential excludes, whatever the user answers`(operation: ScriptedPerson.Operation) async throws {
    for rk in [true, false] {
      var world = TestWorld()
      let id = try await register(in: &world, rk: rk)
      let writes = world.store.writes
      world.person.will(operation)
      #expect(await world.makeCredential(excluding(id)).bytes == [0x19])
      #expect(world.person.shown.count == 2)
      #expect(world.person.shown.last?.prompt.purpose == .alreadyRegistered)
      #expect(world.person.shown.last?.verification == false)
      #expect(world.store.writes == writes)
    }
  }

  // Holds: MC-13
  @Test func `a cancelled prompt is answered as a CANCEL`() async throws {
    var world = TestWorld()
    let id = try await register(in: &world)
    world.person.will(.fail(.cancelled))
    #expect(await world.makeCredential(excluding(id)).bytes == [0x2D])
  }

  // Holds: MSG-9
  @Test func `credentials of other sites, unknown ids and unknown types exclude nothing`() async throws {
    var world = TestWorld()
    let id = try await register(in: &world)
    #expect(await world.makeCredential(excluding(id, rpID: "example.org")).status == .success)
    #expect(await world.makeCredential(excluding([1], [], [UInt8](repeating: 1, count: 300))).status == .success)
    let unknown: CBORValue = [["id": .bytes(id), "type": "public-kez"]]
    #expect(await world.makeCredential(Requests.makeCredential(changes: [(5, unknown)])).status == .success)
  }

  // Holds: MC-14
  @Test func `a credential with credProtect 3 excludes only with verification`() async throws {
    for rk in [true, false] {
      var world = TestWorld()
      let id = try await register(in: &world, rk: rk, credProtect: 3)
      #expect(await world.makeCredential(excluding(id)).status == .success)
      #expect(world.person.shown.last?.prompt.purpose == .register)

      #expect(await world.makeCredential(excluding(id, uv: true)).bytes == [0x19])
      #expect(world.person.shown.last?.verification == true)

      world.person.will(.fail(.verificationFailed))
      #expect(await world.makeCredential(excluding(id, uv: true)).bytes == [0x27])
      world.person.will(.fail(.timedOut))
      #expect(await world.makeCredential(excluding(id, uv: true)).bytes == [0x2F])
    }
  }

  @Test func `an excluded id without a record is written back with consent, with the names of the request`()
    async throws
  {
    var world = TestWorld()
    let id = try await register(in: &world)
    var other = TestWorld()
    other.person.will(.fail(.declined))
    #expect(await other.makeCredential(excluding(id)).bytes == [0x19])
    #expect(try other.store.allCredentials().isEmpty)

    #expect(await other.makeCredential(excluding(id)).bytes == [0x19])
    let record = try #require(try other.store.allCredentials().first)
    #expect(record.id == id)
    #expect(record.origin == .recovered)
    #expect(record.name == "alice")
    #expect(record.displayName == "Alice")
  }

  @Test func `a hash id is written back too, with the request's credProtect`() async throws {
    let state = StoreState(storeID: [], credentialIDForm: .hash)
    var world = TestWorld(state: state)
    let id = try await register(in: &world)
    #expect(id.count == 32)
    var other = TestWorld(state: state)
    let request = Requests.makeCredential(changes: [(5, Requests.list([id])), (6, ["credProtect": 2])])
    #expect(await other.makeCredential(request).bytes == [0x19])
    let record = try #require(try other.store.allCredentials().first)
    #expect(record.id == id)
    #expect(record.policy.credProtect == .userVerificationOptionalWithCredentialIDList)
  }

  @Test func `an own id that was replaced raises the next counter`() async throws {
    var world = TestWorld()
    let ids = [
      try await register(in: &world), try await register(in: &world), try await register(in: &world),
    ]
    #expect(try world.store.allCredentials().map(\.counter) == [2])
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, changes: [(5, Requests.list([ids[0]]))]))
    #expect(answer.status == .success)
    #expect(try world.store.allCredentials().map(\.counter) == [3])
  }
}
