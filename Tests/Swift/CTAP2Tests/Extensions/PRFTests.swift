import CBOR
import CTAP2
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

/// prf for a browser on another computer.
@Suite struct PRFTests {
  private static let one = [UInt8](repeating: 0xA1, count: 32)
  private static let two = [UInt8](repeating: 0xB2, count: 32)

  private static func world() -> TestWorld {
    var world = TestWorld()
    world.comesFromAnotherComputer()
    return world
  }

  private static func results(_ answer: Answer, _ member: CBORValue) -> CBORMap? {
    answer.map?[member]?.map?["prf"]?.map?["results"]?.map
  }

  private func signIn(_ input: CBORMap, in world: inout TestWorld, allowing ids: [[UInt8]] = []) async -> Answer {
    await world.getAssertion(
      Requests.getAssertion(allowing: ids, changes: Requests.signingIn(["prf": .map(input)])))
  }

  // Holds: HYBRID-1
  @Test func `the secret is that of hmac-secret with verification`() async throws {
    let vectors = try KeysAndRecovery.load()
    let salt = vectors.hmacSecretOutput.salt1.bytes
    var world = Self.world()
    let made = await world.makeCredential(
      Requests.makeCredential(rk: true, changes: Requests.registering(["prf": CBORValue.map(CBORMap())])))
    #expect(made.data?.credentialID == vectors.credentials[0].sealed.id.bytes)
    #expect(made.map?[6] == ["prf": ["enabled": true]])
    #expect(made.data?.extensions == nil, "the output is not signed")
    #expect(world.person.shown.last?.prompt.extras == [])

    let answer = await signIn(["eval": ["first": .bytes(salt)]], in: &world)
    let output = vectors.hmacSecretOutput.outputWithUV.bytes
    #expect(answer.map?[8] == ["prf": ["results": ["first": .bytes(output)]]])
    #expect(answer.data?.extensions == nil)
    #expect(world.person.shown.last?.prompt.extras == .secret)
  }

  @Test func `a registration evaluates too`() async throws {
    var world = Self.world()
    let input: CBORMap = ["eval": ["first": .bytes(Self.one), "second": .bytes(Self.two)]]
    let made = await world.makeCredential(
      Requests.makeCredential(rk: true, changes: Requests.registering(["prf": .map(input)])))
    #expect(world.person.shown.last?.prompt.extras == .secret)
    let results = Self.results(made, 6)
    let atFirst = try #require(results)
    #expect(atFirst["first"] != atFirst["second"] && atFirst.count == 2)
    #expect(Self.results(await signIn(input, in: &world), 8) == atFirst)
  }

  @Test func `the salts of a named credential come first, and another id has none of them`() async throws {
    var world = Self.world()
    let made = await world.makeCredential(Requests.makeCredential(rk: true))
    let id = try #require(made.data).credentialID
    let plain = Self.results(await signIn(["eval": ["first": .bytes(Self.two)]], in: &world), 8)
    func by(_ named: [UInt8]) -> CBORMap {
      ["eval": ["first": .bytes(Self.one)], "evalByCredential": [.bytes(named): ["first": .bytes(Self.two)]]]
    }
    #expect(Self.results(await signIn(by(id), in: &world, allowing: [id]), 8) == plain)
    #expect(Self.results(await signIn(by([1, 2]), in: &world, allowing: [id]), 8) != plain)
    var onlyOther = by([1, 2])
    onlyOther["eval"] = nil
    let answer = await signIn(onlyOther, in: &world, allowing: [id])
    #expect(answer.status == .success && answer.map?[8] == nil)
  }

  private static func eval(_ salts: CBORMap) -> CBORValue { .map(["eval": .map(salts)]) }
  private static func byID(_ id: CBORValue, _ salts: CBORMap) -> CBORValue {
    var named = CBORMap()
    named[id] = .map(salts)
    return .map(["evalByCredential": .map(named)])
  }

  static let malformed: [(CBORValue, UInt8)] = [
    (.unsigned(1), 0x11), (.map(["eval": .unsigned(1)]), 0x11), (eval(["second": .bytes(one)]), 0x14),
    (eval(["first": .text("text")]), 0x11), (eval(["first": .bytes([1])]), 0x03),
    (eval(["first": .bytes(one), "second": .bytes([1])]), 0x03), (.map(["evalByCredential": .array([])]), 0x11),
    (byID(.text("text"), ["first": .bytes(one)]), 0x11), (byID(.bytes([1]), ["first": .bytes(one + one)]), 0x03),
  ]

  @Test(arguments: malformed)
  func `a malformed input is refused before anybody is asked`(_ input: CBORValue, _ status: UInt8) async {
    var world = Self.world()
    #expect(
      await world.makeCredential(
        Requests.makeCredential(changes: Requests.registering(["prf": input]))
      ).bytes == [status])
    #expect(
      await world.getAssertion(
        Requests.getAssertion(changes: Requests.signingIn(["prf": input]))
      ).bytes == [status])
    #expect(world.person.shown.isEmpty)
  }

  @Test func `through the device, prf does not exist`() async {
    var world = TestWorld()
    let answer = await world.makeCredential(
      Requests.makeCredential(changes: Requests.registering(["prf": 1])))
    #expect(answer.status == .success && answer.map?[6] == nil)
  }
}
