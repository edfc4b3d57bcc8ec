import CBOR
import CTAP2
import Recovery
import Testing

@Suite struct ThirdPartyPaymentTests {
  private static let asking = Requests.signingIn(["thirdPartyPayment": true])

  struct Choice: Sendable {
    let input: Bool?
    let rk: Bool
  }
  static let choices = [nil, false, true].flatMap { input in [false, true].map { Choice(input: input, rk: $0) } }

  // Holds: EXT-15
  @Test(arguments: choices)
  func `a sign-in returns the registered value, even on another machine with the phrase`(choice: Choice) async throws {
    var world = TestWorld()
    let extensions: CBORMap = choice.input.map { ["thirdPartyPayment": .bool($0)] } ?? ["x": 1]
    let made = try #require(
      await world.makeCredential(
        Requests.makeCredential(rk: choice.rk, uv: true, changes: Requests.registering(extensions))
      ).data)
    #expect(made.extensions == nil)

    let request = Requests.getAssertion(allowing: [made.credentialID], changes: Self.asking)
    var machines = [world, TestWorld()]
    for index in machines.indices {
      let answer = await machines[index].getAssertion(request)
      #expect(answer.data?.extensions == ["thirdPartyPayment": .bool(choice.input == true)])
    }
    for machine in machines where choice.rk {
      #expect(try machine.store.allCredentials().map(\.policy.thirdPartyPayment) == [choice.input == true])
    }
  }

  @Test func `thirdPartyPayment false is ignored`() async throws {
    var world = TestWorld()
    _ = try await world.register()
    let answer = await world.getAssertion(
      Requests.getAssertion(changes: Requests.signingIn(["thirdPartyPayment": false])))
    #expect(answer.data?.extensions == nil)
    #expect(answer.status == .success)
  }

  // Holds: CTAP2-13
  @Test(arguments: [1, "true", .bytes([1]), [:]] as [CBORValue])
  func `a value that is not a boolean is refused`(input: CBORValue) async {
    var world = TestWorld(isOpen: false)
    let extensions: CBORMap = ["thirdPartyPayment": input]
    let made = await world.makeCredential(Requests.makeCredential(changes: Requests.registering(extensions)))
    let answer = await world.getAssertion(Requests.getAssertion(changes: Requests.signingIn(extensions)))
    #expect(made.bytes == [0x11])
    #expect(answer.bytes == [0x11])
    #expect(world.keySource.openings == 0)
  }
}
