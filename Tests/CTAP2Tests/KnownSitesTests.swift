import CBOR
import Recovery
import Testing

@testable import CTAP2

/// The warning at a new site whose name resembles a known one.
@Suite struct KnownSitesTests {
  private func warnings(of world: TestWorld) -> [String?] { world.person.shown.map { $0.prompt.resembles?.known } }

  // Holds: WORDS-3
  @Test func `a registration at a new site that resembles a known one warns, until it has a passkey`() async throws {
    var world = TestWorld()
    for rpID in ["example.com", "exampel.com", "exampel.com", "www.example.com", "other.example"] {
      #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, rpID: rpID)).status == .success)
    }
    #expect(warnings(of: world) == [nil, "example.com", nil, nil, nil])
    #expect(world.person.shown.map(\.prompt.needsReading) == [false, true, true, false, false], "the third replaces")
    #expect(await world.getAssertion(Requests.getAssertion(uv: true, rpID: "exampel.com")).status == .success)
    #expect(warnings(of: world).last == .some(nil), "a passkey signs only at the site where it was made")
  }

  // Holds: WORDS-3
  @Test func `a site with a policy is known`() async throws {
    var world = TestWorld()
    var state = try world.store.state()
    try state.policies.set(.alwaysVerify, of: "github.com")
    try world.store.setState(state)
    for rpID in ["github.co", "github.com", "github.example"] {
      _ = await world.makeCredential(Requests.makeCredential(rpID: rpID))
    }
    #expect(warnings(of: world) == ["github.com", nil, "github.com"])
  }

  // Holds: WORDS-3
  @Test func `the dialog for a token warns, and then no other dialog is needed`() async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    let platform = try TestPlatform(.two)
    let token = try platform.token(
      try await platform.askTokenByVerification(.makeCredential, rpID: "examp1e.com", in: &world))
    let made = await world.makeCredential(
      Requests.makeCredential(rpID: "examp1e.com", changes: token.makeCredential()))
    #expect(made.status == .success)
    #expect(warnings(of: world) == [nil, "example.com"])
    _ = try await platform.askTokenByVerification(.getAssertion, rpID: "examp1e.com", in: &world)
    #expect(warnings(of: world).last == .some(nil))
  }
}
