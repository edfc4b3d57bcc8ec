import CBOR
import CryptoPrimitives
import Recovery
import Testing

@testable import CTAP2

/// The warning at a new site whose name resembles a known one, and the advice at the first passkey of all.
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

  // Holds: WORDS-3, IMPORT-8
  @Test func `an imported passkey does not switch the warning off, and its site is known`() async throws {
    var world = TestWorld()
    #expect(
      await world.makeCredential(Requests.makeCredential(rk: true, uv: true, rpID: "example.com")).status == .success)
    for (index, rpID) in ["exampel.com", "www.exampel.com", "github.com"].enumerated() {
      var scalar = [UInt8](repeating: 1, count: 32)
      let imported = CredentialSource(
        rpID: rpID, userID: [9], id: [UInt8](repeating: UInt8(index), count: 16), algorithm: .es256, counter: 0,
        created: 0, changed: 0, origin: .imported, importedKey: SecretBytes(consuming: &scalar))
      try world.store.save(try #require(imported), state: nil)
    }
    for rpID in ["exampel.com", "exampel.com", "github.co", "github.com"] {
      #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, rpID: rpID)).status == .success)
    }
    #expect(warnings(of: world).dropFirst() == ["example.com", nil, "github.com", "github.co"])
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

  // Holds: PAPER-5
  @Test func `the first stored passkey is recognized, also after a removal or a reset`() async throws {
    var world = TestWorld()
    let passkey = Requests.makeCredential(rk: true, uv: true)
    // A second factor is not stored.
    for (request, isFirst) in [
      (Requests.makeCredential(), false), (passkey, true), (passkey, false),
      (Requests.makeCredential(rk: true, uv: true, rpID: "other.example"), false),
    ] {
      #expect(await world.makeCredential(request).status == .success)
      #expect(world.person.shown.last?.prompt.isFirstPasskey == isFirst)
    }
    for source in try world.store.allCredentials() { try world.store.remove(source, changed: 1) }
    #expect(await world.makeCredential(passkey).status == .success)
    #expect(world.person.shown.last?.prompt.isFirstPasskey == true, "a removal leaves no passkey")
    try world.store.removeAll(state: world.store.state())
    #expect(await world.makeCredential(passkey).status == .success)
    #expect(world.person.shown.last?.prompt.isFirstPasskey == true)
    var state = try world.store.state()
    state.backup.folder = "/a"
    try world.store.removeAll(state: state)
    #expect(await world.makeCredential(passkey).status == .success)
    #expect(world.person.shown.last?.prompt.isFirstPasskey == false, "the folder has backups already")
  }

  // Holds: PAPER-5
  @Test(
    arguments: [
      (.makeCredential, true), (.getAssertion, false), ([.makeCredential, .getAssertion], true),
    ] as [(TokenPermissions, Bool)])
  func `the dialog for a token advises a backup too`(permissions: TokenPermissions, isFirst: Bool) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.askTokenByVerification(permissions, rpID: "example.com", in: &world)
    #expect(world.person.shown.map(\.prompt.isFirstPasskey) == [isFirst])
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    _ = try await platform.askTokenByVerification(permissions, rpID: "example.com", in: &world)
    #expect(world.person.shown.last?.prompt.isFirstPasskey == false)
  }
}
