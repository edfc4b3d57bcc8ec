import CBOR
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

/// Requests of a browser on another computer.
@Suite struct HybridRequestTests {
  private static func world(canVerify: Bool = true) -> TestWorld {
    var world = TestWorld(canVerify: canVerify)
    world.comesFromAnotherComputer()
    return world
  }

  // Holds: HYBRID-1
  @Test(arguments: [nil, false, true] as [Bool?])
  func `verification is always the authenticator's own`(_ uv: Bool?) async throws {
    var world = Self.world()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: uv))
    #expect(try #require(made.data).flags & 0x05 == 0x05)
    let signedIn = await world.getAssertion(Requests.getAssertion(uv: uv))
    #expect(try #require(signedIn.data).flags & 0x05 == 0x05)
    #expect(world.person.shown.map(\.verification) == [true, true])
    let entries = world.reports.all.compactMap { $0.historyEntry(at: 0) }
    #expect(entries.map(\.door) == [.hybrid, .hybrid] && entries.map(\.kind) == [.register, .signIn])
  }

  @Test func `a request of this machine has no door in the history`() async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential())
    #expect(world.reports.all.compactMap { $0.historyEntry(at: 0) }.map(\.door) == [nil])
  }

  // Holds: HYBRID-8
  @Test func `without a way to verify, nobody is asked`() async {
    var world = Self.world(canVerify: false)
    #expect(await world.makeCredential(Requests.makeCredential()).bytes == [0x2C])
    #expect(await world.getAssertion(Requests.getAssertion()).bytes == [0x2C])
    #expect(world.person.shown.isEmpty)
  }

  // Holds: HYBRID-2
  @Test(arguments: [0x03, 0x05, 0x06, 0x07, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x40, 0x41, 0x50, 0x80, 0xFF] as [UInt8])
  func `every other command is invalid`(_ code: UInt8) async {
    var world = Self.world()
    #expect(await world.send([code]).bytes == [0x01])
    #expect(await world.send(code, [1: 1, 2: 1]).bytes == [0x01])
    #expect(world.person.shown.isEmpty && world.store.writes == 0)
  }

  static let refusals = [
    RequestCase("no presence", 5, ["up": false], .unsupportedOption),
    RequestCase("no presence, with verification", 5, ["up": false, "uv": true], .unsupportedOption),
    RequestCase("a pinUvAuthParam", [(6, .bytes([1])), (7, 2)], .invalidParameter),
    RequestCase("an empty pinUvAuthParam", [(6, .bytes([])), (7, 2)], .invalidParameter),
    RequestCase("a pinUvAuthParam without its protocol", 6, .bytes([1]), .invalidParameter),
    RequestCase("options that are no map", 5, [true], .cborUnexpectedType),
    RequestCase("uv a number", 5, ["uv": 1], .cborUnexpectedType),
  ]

  // Holds: HYBRID-2
  @Test(arguments: refusals) func `a request that could go without the person is refused`(_ refusal: RequestCase) async
  {
    var world = Self.world()
    _ = await world.makeCredential(Requests.makeCredential(rk: true))
    #expect(await world.getAssertion(Requests.getAssertion(changes: refusal.changes)).status == refusal.status)
    #expect(world.person.shown.count == 1)
  }

  // Holds: HYBRID-2
  @Test func `a registration with a pinUvAuthParam is refused`() async {
    var world = Self.world()
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: [(8, .bytes([1]))])).status == .invalidParameter)
    #expect(world.person.shown.isEmpty)
  }

  // Holds: HYBRID-2
  @Test func `a request of another computer may have one level more than one of this machine, but not two`() async {
    var world = Self.world()
    let inputs: CBORMap = ["prf": ["evalByCredential": [.bytes([1]): ["first": []]]]]
    let answer = await world.getAssertion(Requests.getAssertion(changes: Requests.signingIn(inputs)))
    #expect(answer.status == .invalidCBOR)
  }

  // Holds: HYBRID-1
  @Test func `of several accounts the newest signs in, once`() async throws {
    var world = Self.world()
    var ids: [[UInt8]] = []
    for name in ["alice", "bob"] {
      let made = await world.makeCredential(Requests.makeCredential(rk: true, userID: Array(name.utf8), name: name))
      ids.append(try #require(made.data).credentialID)
    }
    let answer = await world.getAssertion(Requests.getAssertion())
    #expect(answer.map?[1]?.map?["id"] == .bytes(ids[1]))
    #expect(answer.map?[5] == nil && answer.map?[6] == true)
    let prompt = try #require(world.person.shown.last?.prompt)
    #expect(prompt.accountName == "bob" && prompt.accountCount == 1 && prompt.moreStoredAccounts == 1)
    #expect(await world.getNextAssertion().bytes == [0x30])
    // With a list, the browser has chosen.
    let listed = await world.getAssertion(Requests.getAssertion(allowing: ids))
    #expect(listed.map?[1]?.map?["id"] == .bytes(ids[0]))
    #expect(world.person.shown.last?.prompt.accountName == "alice")
    #expect(world.person.shown.last?.prompt.moreStoredAccounts == 0)
  }

  @Test func `a sign-in of this machine cannot be continued from another computer`() async throws {
    var world = TestWorld()
    for name in ["alice", "bob"] { _ = try await world.register(userID: Array(name.utf8), name: name) }
    #expect(await world.getAssertion(Requests.getAssertion()).map?[5] == 2)
    world.comesFromAnotherComputer()
    #expect(await world.getNextAssertion().bytes == [0x30])
  }

  // Holds: HYBRID-2
  @Test func `the policy of the site applies`() async throws {
    var world = Self.world()
    var state = try world.store.state()
    try state.policies.set(.deny, of: Requests.rpID)
    try world.store.setState(state)
    #expect(await world.makeCredential(Requests.makeCredential()).bytes == [0x27])
    #expect(world.person.shown.isEmpty)
    let entries = world.reports.all.compactMap { $0.historyEntry(at: 0) }
    #expect(entries.map(\.outcome) == [.deniedByPolicy] && entries.map(\.door) == [.hybrid])
  }

  // Holds: HYBRID-2
  @Test(arguments: [
    (UserInteractionError.verificationFailed, CTAPStatus.operationDenied), (.verificationBlocked, .pinBlocked),
  ])
  func `if a PIN is set, a failed verification asks for no token`(
    error: UserInteractionError, status: CTAPStatus
  ) async throws {
    var world = TestWorld()
    _ = try await TestPlatform(.two).setPIN("1234", in: &world)
    let writes = world.store.writes
    world.comesFromAnotherComputer()
    world.person.will(.fail(error), .fail(error))
    #expect(await world.makeCredential(Requests.makeCredential()).status == status)
    #expect(await world.getAssertion(Requests.getAssertion()).status == status)
    #expect(world.store.writes == writes)
  }

  @Test func `hmac-secret and management of passkeys are ignored or missing`() async throws {
    var world = Self.world()
    let answer = await world.makeCredential(
      Requests.makeCredential(changes: Requests.registering(["hmac-secret": true, "credProtect": 2])))
    #expect(try #require(answer.data).extensions == ["credProtect": 2])
  }
}
