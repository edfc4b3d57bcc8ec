import AlgorandStatements
import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery
import Testing

@testable import CTAP2

/// Both phrases during the move to a new one: Recovery §14.
@Suite struct RotationTests {
  /// A vault with a new phrase, beside the vault of `TestWorld` as the previous one.
  struct World {
    var old: TestWorld
    let store: InMemoryCredentialStore
    let vault: OpenVault
    let person: ScriptedPerson
    var authenticator: Authenticator
    let context: RequestContext

    static let keys = CredentialKeys(mainKey: .random(count: 64))
    /// A valid root: the low three bits of the first byte are 0, and the top byte is 40.
    static let ed25519Root = SecretBytes(count: 96) { root in
      root.copyBytes(from: (0..<96).map { $0 == 31 ? 0x40 : UInt8($0) })
    }

    init(canVerify: Bool = true, _ prepare: (inout TestWorld) async throws -> Void = { _ in }) async throws {
      var old = TestWorld(canVerify: canVerify)
      try await prepare(&old)
      let store = InMemoryCredentialStore(
        keys: Self.keys, state: StoreState(storeID: [UInt8](repeating: 8, count: 16)))
      let vault = OpenVault(
        keys: Self.keys, ed25519Root: Self.ed25519Root, store: store, previous: old.keySource.current)
      let person = ScriptedPerson(canVerify: canVerify)
      let clock = old.clock
      (self.old, self.store, self.vault, self.person) = (old, store, vault, person)
      context = RequestContext(channel: 1, poweredUpAt: clock.now)
      authenticator = Authenticator(
        keySource: OpenKeySource(vault), interaction: person, extensions: SupportedExtensions.all,
        randomness: SeededGenerator(seed: 9), now: { clock.now }, wallClock: { TestWorld.wallClock + 5 },
        report: { _ in })
    }

    mutating func send(_ code: UInt8, _ parameters: CBORMap = [:]) async -> Answer {
      let message = [code] + (parameters.isEmpty ? [] : CBOREncoder.encode(.map(parameters)))
      return Answer(bytes: await authenticator.respond(to: message, in: context))
    }

    mutating func makeCredential(_ parameters: CBORMap) async -> Answer { await send(0x01, parameters) }
    mutating func getAssertion(_ parameters: CBORMap) async -> Answer { await send(0x02, parameters) }

    /// The last prompt.
    var prompt: UserPrompt? { person.shown.last?.prompt }
  }

  /// Checks an answer as a relying party does.
  private func expect(_ answer: Answer, of registration: ParsedAuthenticatorData) throws {
    let members = try #require(answer.map)
    #expect(members[1] == ["id": .bytes(registration.credentialID), "type": "public-key"])
    let data = try #require(members[2]?.bytes)
    #expect(registration.verifies(try #require(members[3]?.bytes), over: data + Requests.clientDataHash))
  }

  // MARK: Sign-in

  // Holds: ROTATE-6
  @Test(arguments: [true, false])
  func `a key of the previous phrase signs in by its id, and the dialog says so`(rk: Bool) async throws {
    var registration: ParsedAuthenticatorData?
    var world = try await World { old in registration = try await old.register(rk: rk) }
    let old = try #require(registration)
    try expect(await world.getAssertion(Requests.getAssertion(allowing: [old.credentialID])), of: old)
    #expect(world.prompt?.isOfPreviousPhrase == true)
    #expect(world.prompt?.accountName == (rk ? "alice" : nil))
    try expect(await world.getAssertion(Requests.getAssertion(allowing: [old.credentialID], up: false)), of: old)
    #expect(try world.store.allCredentials().isEmpty)
  }

  // Holds: ROTATE-6
  @Test func `a passkey of the previous phrase signs in without an id until its account is moved`() async throws {
    var registrations: [ParsedAuthenticatorData] = []
    var world = try await World { old in
      registrations = [try await old.register(), try await old.register(userID: [2], name: "bob")]
    }
    // Both are of the previous phrase, the newest first.
    var answer = await world.getAssertion(Requests.getAssertion(uv: true))
    try expect(answer, of: registrations[1])
    #expect(answer.map?[5] == 2 && world.prompt?.accountCount == 2 && world.prompt?.isOfPreviousPhrase == true)
    try expect(await world.send(0x08), of: registrations[0])
    #expect(await world.send(0x08).status == .notAllowed)

    // Bob is moved: his new passkey comes first, and the old one does not come.
    let moved = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, userID: [2], name: "bob"))
    let bob = try #require(moved.data)
    answer = await world.getAssertion(Requests.getAssertion(uv: true))
    try expect(answer, of: bob)
    #expect(answer.map?[5] == 2 && world.prompt?.isOfPreviousPhrase == false)
    try expect(await world.send(0x08), of: registrations[0])
    // A site that did not take the new one still gets the old one by its id.
    try expect(
      await world.getAssertion(Requests.getAssertion(allowing: [registrations[1].credentialID])), of: registrations[1])
    // Removed again, it does not hide the old one any more.
    try world.store.remove(try #require(try world.store.allCredentials().first), changed: 1)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).map?[5] == 2)
  }

  // Holds: PROMPT-17
  @Test func `the dialog of a token for a sign-in names the accounts of both phrases`() async throws {
    var world = try await World { old in
      _ = try await old.register()
      _ = try await old.register(userID: [2], name: "bob")
    }
    #expect(
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [3], name: "carol")).status
        == .success)
    let platform = try TestPlatform(.two)
    let token: CBORMap = [
      1: platform.number, 2: 0x06, 3: platform.keyAgreement,
      9: .unsigned(TokenPermissions.getAssertion.rawValue), 10: .text(Requests.rpID),
    ]
    #expect(await world.send(0x06, token).status == .success)
    #expect(world.prompt?.storedAccounts == ["carol", "bob", "alice"])
    // Bob is moved, and has one account then.
    #expect(
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [2], name: "bob")).status
        == .success)
    #expect(await world.send(0x06, token).status == .success)
    #expect(world.prompt?.storedAccounts == ["bob", "carol", "alice"] && world.prompt?.moreStoredAccounts == 0)
  }

  // Holds: ROTATE-6
  @Test func `if an allowList has keys of both phrases, that of the present one signs`() async throws {
    var registration: ParsedAuthenticatorData?
    var world = try await World { old in registration = try await old.register(rk: false) }
    let old = try #require(registration)
    let new = try #require(await world.makeCredential(Requests.makeCredential()).data)
    let both = Requests.getAssertion(allowing: [old.credentialID, new.credentialID])
    try expect(await world.getAssertion(both), of: new)
    #expect(world.prompt?.isOfPreviousPhrase == false)
  }

  // Holds: ROTATE-6
  @Test func `a protected passkey of the previous phrase stays protected`() async throws {
    var registration: ParsedAuthenticatorData?
    var world = try await World { old in registration = try await old.register(credProtect: 3) }
    let old = try #require(registration)
    for ids in [[old.credentialID], []] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids)).status == .noCredentials)
      try expect(await world.getAssertion(Requests.getAssertion(allowing: ids, uv: true)), of: old)
    }
  }

  // Holds: ROTATE-6
  @Test func `a passkey of the previous phrase comes back into its own store`() async throws {
    var registration: ParsedAuthenticatorData?
    var world = try await World { old in
      registration = try await old.register()
      try old.store.removeAll(state: old.store.state())
    }
    let old = try #require(registration)
    try expect(await world.getAssertion(Requests.getAssertion(allowing: [old.credentialID])), of: old)
    #expect(try world.old.store.allCredentials().map(\.id) == [old.credentialID])
    #expect(try world.store.allCredentials().isEmpty)
  }

  // Holds: ROTATE-6
  @Test func `each phrase has its own secrets, and liquid signs with the present account`() async throws {
    var registration: ParsedAuthenticatorData?
    var world = try await World { old in
      let answer = await old.makeCredential(
        Requests.makeCredential(rk: true, uv: true, changes: Requests.registering(["largeBlobKey": true])))
      registration = answer.data
    }
    let id = try #require(registration?.credentialID)
    let answer = await world.getAssertion(
      Requests.getAssertion(
        allowing: [id], uv: true, changes: Requests.signingIn(["largeBlobKey": true, "liquid": true])))
    let expected = TestPhrase.keys.largeBlobKey(RPIDHash(rpID: Requests.rpID), id: id).withUnsafeBytes { Array($0) }
    #expect(answer.map?[7] == .bytes(expected))
    let address = try world.vault.algorandAccount().address.text
    #expect(try address != world.vault[.previous].algorandAccount().address.text)
    #expect(answer.data?.extensions?["liquid"]?.map?["address"] == .text(address))
  }

  @Test func `a foreign id is foreign to both phrases`() async throws {
    var world = try await World { old in _ = try await old.register(rpID: "other.example") }
    for ids in [[[UInt8](repeating: 1, count: 32)], [[UInt8](repeating: 1, count: 127)], []] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids)).status == .noCredentials)
    }
  }

  // MARK: Registration

  // Holds: ROTATE-7
  @Test(arguments: [true, false])
  func `an id of the previous phrase does not exclude a registration, and the dialog says so`(rk: Bool) async throws {
    var registration: ParsedAuthenticatorData?
    var world = try await World { old in registration = try await old.register(rk: rk) }
    let old = try #require(registration)
    let exclude: [(CBORValue, CBORValue?)] = [(5, Requests.list([old.credentialID]))]
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, userID: [9], changes: exclude))
    let new = try #require(answer.data)
    #expect(world.prompt?.movesFromPreviousPhrase == true && world.prompt?.purpose == .register)
    #expect(new.credentialID != old.credentialID)
    #expect(try world.store.allCredentials().map(\.id) == [new.credentialID])
    // The new one excludes the next registration.
    let both: [(CBORValue, CBORValue?)] = [(5, Requests.list([old.credentialID, new.credentialID]))]
    #expect(
      await world.makeCredential(Requests.makeCredential(uv: true, changes: both)).status == .credentialExcluded)
  }

  // Holds: ROTATE-7
  @Test func `the dialog names the move for an account that has a passkey of the previous phrase`() async throws {
    var world = try await World { old in _ = try await old.register() }
    for (userID, moves) in [(Requests.userID, true), ([2], false)] {
      #expect(
        await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: userID)).status == .success)
      #expect(world.prompt?.movesFromPreviousPhrase == moves)
      #expect(world.prompt?.resembles == nil)
    }
    #expect(await world.makeCredential(Requests.makeCredential(rpID: "other.example")).status == .success)
    #expect(world.prompt?.movesFromPreviousPhrase == false)
    // Sites of the previous phrase are known sites.
    #expect(await world.makeCredential(Requests.makeCredential(rpID: "examp1e.com")).status == .success)
    #expect(world.prompt?.resembles?.known == "example.com")
  }

  // Holds: ROTATE-7
  @Test func `the dialog of a token does not stand for that of a move`() async throws {
    var world = try await World { old in _ = try await old.register() }
    let platform = try TestPlatform(.two)
    for (userID, dialogs) in [([2], 1), (Requests.userID, 2)] as [([UInt8], Int)] {
      let before = world.person.shown.count
      try platform.agree(by: await world.send(0x06, [1: platform.number, 2: 0x02]))
      let members: CBORMap = [1: platform.number, 2: 0x06, 3: platform.keyAgreement, 9: 1, 10: .text(Requests.rpID)]
      let token = try platform.token(await world.send(0x06, members))
      let request = Requests.makeCredential(rk: true, userID: userID, changes: token.makeCredential())
      #expect(await world.makeCredential(request).status == .success)
      #expect(world.person.shown.count == before + dialogs)
    }
  }

  // MARK: Imported passkeys

  private static func imported() throws -> CredentialSource {
    var scalar = [UInt8](repeating: 1, count: 32)
    return try #require(
      CredentialSource(
        rpID: Requests.rpID, userID: [7], name: "carol", id: [UInt8](repeating: 5, count: 16), algorithm: .es256,
        counter: 0, created: 0, changed: 0, origin: .imported, importedKey: SecretBytes(consuming: &scalar)))
  }

  /// The output of hmac-secret for the salt.
  private static func output(
    _ passkey: CredentialSource, uv: Bool, in world: inout World, with platform: TestPlatform
  ) async throws -> [UInt8] {
    try platform.agree(by: await world.send(0x06, [1: platform.number, 2: 0x02]))
    let input = try platform.saltInput(salt)
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [passkey.id], uv: uv, changes: Requests.signingIn(["hmac-secret": .map(input)])))
    return try platform.decrypt(#require(answer.data?.extensions?["hmac-secret"]?.bytes))
  }

  private static let salt = [UInt8](repeating: 0x5A, count: 32)

  // Holds: ROTATE-10
  @Test func `an imported passkey signs from the present store, with the secrets of its record`() async throws {
    let passkey = try Self.imported()
    let kept = passkey.keepingCredRandoms(of: TestPhrase.keys)
    var world = try await World { old in try old.store.save(passkey, state: nil) }
    try world.store.save(kept, state: nil)
    for ids in [[passkey.id], []] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: ids, uv: true))
      #expect(answer.map?[1] == ["id": .bytes(passkey.id), "type": "public-key"])
      #expect(answer.map?[5] == nil, "it counts once")
      #expect(world.prompt?.isOfPreviousPhrase == false)
    }
    let platform = try TestPlatform(.two)
    for uv in [false, true] {
      let key = TestPhrase.keys.credRandom(RPIDHash(rpID: Requests.rpID), id: passkey.id, userVerified: uv)
      let output = try await Self.output(passkey, uv: uv, in: &world, with: platform)
      #expect(output == HMACSHA256.authenticate(Self.salt, key: key))
    }
    #expect(await world.send(0x07).status == .success)
    #expect(world.prompt?.purpose == .reset(importedPasskeys: 1, unsaved: 1, lastBackup: nil))
  }

  // Holds: ROTATE-10
  @Test func `a passkey that is imported after the beginning has the secrets of the new phrase`() async throws {
    let passkey = try Self.imported()
    var world = try await World()
    try world.store.save(passkey, state: nil)
    let key = World.keys.credRandom(RPIDHash(rpID: Requests.rpID), id: passkey.id, userVerified: true)
    let platform = try TestPlatform(.two)
    let output = try await Self.output(passkey, uv: true, in: &world, with: platform)
    #expect(output == HMACSHA256.authenticate(Self.salt, key: key))
  }

  // Holds: ROTATE-10
  @Test func `an imported passkey that was removed does not come back from the store of the old phrase`() async throws {
    let passkey = try Self.imported()
    var world = try await World { old in try old.store.save(passkey, state: nil) }
    for ids in [[passkey.id], []] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids, uv: true)).status == .noCredentials)
    }
    let exclude: [(CBORValue, CBORValue?)] = [(5, Requests.list([passkey.id]))]
    #expect(await world.makeCredential(Requests.makeCredential(uv: true, changes: exclude)).status == .success)
    #expect(world.prompt?.movesFromPreviousPhrase == false)
  }

  // MARK: The rest

  // Holds: ROTATE-8
  @Test func `a reset ends the keys of both phrases`() async throws {
    var registrations: [ParsedAuthenticatorData] = []
    var world = try await World { old in
      registrations = [try await old.register(), try await old.register(rk: false, userID: [2])]
    }
    let new = try #require(await world.makeCredential(Requests.makeCredential(uv: true)).data)
    #expect(await world.send(0x07).status == .success)
    #expect(world.prompt?.purpose == .reset(importedPasskeys: 0, unsaved: 1, lastBackup: nil))
    for id in registrations.map(\.credentialID) + [new.credentialID] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: [id])).status == .noCredentials)
    }
    #expect(try world.old.store.state().floor == 1 && world.store.state().floor == 1)
  }

  // Holds: ROTATE-8, EXPORT-3
  @Test func `an export is of the present phrase, and the dialog says so`() async throws {
    var world = try await World { old in _ = try await old.register() }
    let new = try #require(
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [2], name: "bob")).data)
    let export = try await world.authenticator.agreement(toExportOf: nil, from: world.vault)
    let record = try #require(try world.store.allCredentials().first)
    #expect(record.id == new.credentialID && export.accountTags == [World.keys.accountTag(of: record)])
    #expect(world.prompt?.purpose == .export(passkeys: 1, sites: nil))
    #expect(world.prompt?.leavesOutPreviousPhrase == true)
  }

  // Holds: ROTATE-8
  @Test func `getInfo and the list of passkeys are of the present phrase`() async throws {
    var world = try await World { old in _ = try await old.register() }
    #expect(await world.send(0x04).map?[0x14] == .unsigned(UInt64(OpenVault.defaultMaximumDiscoverableCredentials)))
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    #expect(await world.send(0x04).map?[0x14] == .unsigned(UInt64(OpenVault.defaultMaximumDiscoverableCredentials - 1)))
  }
}
