import CBOR
import Recovery
import Testing

@testable import CTAP2

/// Tokens and alwaysUv in makeCredential and getAssertion: CTAP §6.1.2 and §6.2.2, steps 1 to 12.
@Suite struct TokenCeremonyTests {
  private func world(canVerify: Bool = true, alwaysUV: Bool = false, pin: String? = nil) async throws -> TestWorld {
    var world = TestWorld(canVerify: canVerify)
    if let pin { _ = try await TestPlatform(.two).setPIN(pin, in: &world) }
    if alwaysUV {
      var state = try world.store.state()
      state.settings.alwaysUV = true
      try world.store.setState(state)
    }
    return world
  }

  private func token(
    _ permissions: TokenPermissions, rpID: String? = Requests.rpID, in world: inout TestWorld
  ) async throws -> TestToken {
    let platform = try TestPlatform(.two)
    return try platform.token(try await platform.askToken(pin: "1234", permissions, rpID: rpID, in: &world))
  }

  private func flags(_ answer: Answer) throws -> UInt8 {
    let data = try #require(answer.map?[2]?.bytes)
    return try #require(ParsedAuthenticatorData(data)).flags
  }

  @Test func `an empty pinUvAuthParam in a registration reports whether a PIN is set`() async throws {
    for (pin, status) in [(nil, CTAPStatus.pinNotSet), ("1234", .pinInvalid)] as [(String?, CTAPStatus)] {
      var world = try await world(pin: pin)
      let question = Requests.makeCredential(changes: [(8, .bytes([])), (9, 2)])
      #expect(await world.makeCredential(question).status == status)
      #expect(world.person.shown.last?.prompt.purpose == .select)
    }
  }

  @Test func `with a token, uv counts as false`() async throws {
    var world = try await world(canVerify: false, pin: "1234")
    let token = try await token(.makeCredential, in: &world)
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: token.makeCredential()))
    #expect(try flags(made) & 0x04 == 0x04, "by the token")
    #expect(world.person.shown.map(\.prompt.purpose) == [.setPIN, .register])
    #expect(world.person.shown.last?.verification == false)
  }

  @Test func `alwaysUv needs a token if there is no other verification`() async throws {
    for pin in [nil, "1234"] {
      var world = try await world(canVerify: false, alwaysUV: true, pin: pin)
      #expect(await world.makeCredential(Requests.makeCredential()).status == .puatRequired)
      let missing = pin == nil ? "no PIN is set" : "the request has no token"
      #expect(world.reports.all.last?.error?.reason == "alwaysUv is on, and \(missing)")
      #expect(await world.getAssertion(Requests.getAssertion()).status == .puatRequired)
      #expect(await world.getAssertion(Requests.getAssertion(allowing: [[1]], up: false)).status == .noCredentials)
      #expect(world.person.shown.map(\.prompt.purpose) == (pin == nil ? [] : [.setPIN]))
    }
  }

  @Test func `alwaysUv verifies with the passphrase in the same dialog`() async throws {
    var world = try await world(alwaysUV: true)
    #expect(try flags(await world.makeCredential(Requests.makeCredential())) & 0x05 == 0x05)
    #expect(world.person.shown.map(\.verification) == [true])
    #expect(await world.send([0x04]).map?[4]?.map?["makeCredUvNotRqd"] == false)
  }

  @Test func `alwaysUv protects large blobs, even without a PIN`() async throws {
    var world = try await world(canVerify: false, alwaysUV: true)
    #expect(await world.send(0x0C, [2: .bytes([1]), 3: 0, 4: 17]).status == .puatRequired)
  }

  @Test func `a sign-in accepts only a token with its permission and site`() async throws {
    var world = try await world(pin: "1234")
    let other = try await token(.makeCredential, in: &world)
    #expect(
      await world.getAssertion(Requests.getAssertion(changes: other.getAssertion())).status == .pinAuthInvalid)
    let foreign = try await token(.getAssertion, rpID: "other.example", in: &world)
    #expect(
      await world.getAssertion(Requests.getAssertion(changes: foreign.getAssertion())).status == .pinAuthInvalid)
    let fitting = try await token(.getAssertion, in: &world)
    #expect(await world.getAssertion(Requests.getAssertion(changes: fitting.getAssertion())).status == .noCredentials)
    var without = try await self.world(canVerify: false)
    #expect(
      await without.getAssertion(Requests.getAssertion(changes: fitting.getAssertion())).status == .pinNotSet)
  }

  @Test func `a token without a site is bound to the first site that uses it`() async throws {
    var world = try await world(pin: "1234")
    let platform = try TestPlatform(.two)
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    func silent(_ rpID: String) -> CBORMap {
      Requests.getAssertion(allowing: [[1]], up: false, rpID: rpID, changes: token.getAssertion())
    }
    #expect(await world.getAssertion(silent("first.example")).status == .noCredentials)
    #expect(await world.getAssertion(silent("second.example")).status == .pinAuthInvalid)
    #expect(await world.getAssertion(silent("first.example")).status == .noCredentials)
  }

  @Test func `an excluded credential is reported at once if the token gave presence`() async throws {
    var world = try await world()
    let made = await world.makeCredential(Requests.makeCredential())
    let data = try #require(made.map?[2]?.bytes)
    let id = try #require(ParsedAuthenticatorData(data)).credentialID
    let platform = try TestPlatform(.two)
    let answer = try await platform.askTokenByVerification(.makeCredential, rpID: Requests.rpID, in: &world)
    let token = try platform.token(answer)
    let shown = world.person.shown.count
    let again = await world.makeCredential(
      Requests.makeCredential(changes: token.makeCredential() + [(5, Requests.list([id]))]))
    #expect(again.status == .credentialExcluded)
    #expect(world.person.shown.count == shown)
  }

  /// The token has verified the user, so only presence is asked for (CTAP §6.1.2, step 12).
  @Test(arguments: [
    (ScriptedPerson.Operation.agree, CTAPStatus.credentialExcluded), (.fail(.declined), .credentialExcluded),
    (.fail(.timedOut), .credentialExcluded), (.fail(.cancelled), .keepaliveCancel),
  ])
  func `a credential with credProtect 3 excludes a registration with a token, whatever the user answers`(
    operation: ScriptedPerson.Operation, status: CTAPStatus
  ) async throws {
    var world = try await world(canVerify: false, pin: "1234")
    let registering = try await token(.makeCredential, in: &world)
    let made = await world.makeCredential(
      Requests.makeCredential(changes: registering.makeCredential() + Requests.registering(["credProtect": 3])))
    let data = try #require(made.map?[2]?.bytes)
    let id = try #require(ParsedAuthenticatorData(data)).credentialID
    let again = try await token(.makeCredential, in: &world)
    world.person.will(operation)
    let answer = await world.makeCredential(
      Requests.makeCredential(changes: again.makeCredential() + [(5, Requests.list([id]))]))
    #expect(answer.status == status)
    #expect(world.person.shown.last?.prompt.purpose == .alreadyRegistered)
    #expect(world.person.shown.last?.verification == false)
  }

  /// CTAP §6.2.2: step 9, which uses up the token, is for requests with presence.
  @Test func `a sign-in without presence that verifies by the passphrase leaves the token`() async throws {
    var world = try await world(pin: "1234")
    let made = await world.makeCredential(Requests.makeCredential())
    let data = try #require(made.map?[2]?.bytes)
    let id = try #require(ParsedAuthenticatorData(data)).credentialID
    let token = try await token(.getAssertion, in: &world)
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [id], up: false, uv: true)).status == .success)
    #expect(world.person.shown.last?.verification == true)
    let byToken = Requests.getAssertion(allowing: [id], changes: token.getAssertion())
    #expect(await world.getAssertion(byToken).status == .success)
    #expect(await world.getAssertion(byToken).status == .pinAuthInvalid)
  }

  @Test func `a long rpID is stored whole`() async throws {
    var world = try await world()
    let rpID = String(repeating: "a", count: 40) + ".example"
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, rpID: rpID)).status == .success)
    #expect(try world.store.allCredentials().map(\.rpID) == [rpID])
  }
}
