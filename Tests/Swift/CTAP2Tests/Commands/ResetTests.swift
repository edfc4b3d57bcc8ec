import CBOR
import CryptoPrimitives
import Recovery
import Testing

@testable import CTAP2

@Suite struct ResetTests {
  // Holds: MGMT-35
  @Test func `a reset empties the store and starts the next epoch`() async throws {
    var world = TestWorld()
    let before = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    #expect(before.status == .success)

    #expect(await world.send([0x07]).bytes == [0x00])
    #expect(try world.store.allCredentials().isEmpty)
    #expect(try world.store.state().epoch == 1)
    #expect(try world.store.state().floor == 1)
    #expect(
      world.person.shown.last
        == .init(prompt: UserPrompt(purpose: .reset(importedPasskeys: 0, unsaved: 1)), verification: true),
      "the open vault spares nobody the passphrase")

    // Credentials from before the reset are invalid here, and new ones have epoch 1.
    let id = try #require(ParsedAuthenticatorData(before.map?[2]?.bytes ?? [])).credentialID
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [id])).bytes == [0x2E])
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).status == .success)
    #expect(try world.store.allCredentials().map(\.counter) == [65_536])
  }

  // Holds: PIN-30
  @Test func `a reset ends the token in use`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    let token = try platform.token(try await platform.askTokenByVerification(.credentialManagement, in: &world))
    #expect(await world.send(0x0A, token.manage(0x01)).status == .success)
    #expect(await world.send([0x07]).bytes == [0x00])
    #expect(await world.send(0x0A, token.manage(0x01)).status == .pinAuthInvalid)
  }

  @Test func `the prompt counts the imported passkeys, which only a backup has`() async throws {
    var world = TestWorld()
    var scalar = [UInt8](repeating: 1, count: 32)
    let imported = CredentialSource(
      rpID: Requests.rpID, userID: [1], id: [UInt8](repeating: 2, count: 16), algorithm: .es256, counter: 0, created: 0,
      changed: 0, origin: .imported, importedKey: SecretBytes(consuming: &scalar))
    try world.store.save(try #require(imported), state: nil)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).status == .success)
    #expect(await world.send([0x07]).bytes == [0x00])
    #expect(world.person.shown.last?.prompt.purpose == .reset(importedPasskeys: 1, unsaved: 2))
  }

  // Holds: BACKUP-11
  @Test(arguments: [(UInt64(4), 2), (5, 1), (8, 1), (9, 0), (.max, 2)])
  func `the prompt counts the passkeys that were made or changed after the last backup`(
    _ written: UInt64, _ unsaved: Int
  ) async throws {
    var world = TestWorld()
    for (user, changed) in [(1, 5), (2, 0)] as [(UInt8, UInt64)] {
      let source = CredentialSource(
        rpID: Requests.rpID, userID: [user], id: [user], algorithm: .es256, counter: 0, created: changed == 0 ? 9 : 1,
        changed: changed, origin: changed == 0 ? .recovered : .registered)
      try world.store.save(try #require(source), state: nil)
    }
    try world.store.record(.written, at: written)
    // What a program without the passphrase recorded does not count.
    try world.store.recordOwnFile([UInt8](repeating: 1, count: 16), at: 9)
    #expect(await world.send([0x07]).bytes == [0x00])
    #expect(
      world.person.shown.last?.prompt.purpose
        == .reset(importedPasskeys: 0, unsaved: unsaved, lastBackup: written == .max ? nil : written))
  }

  // Holds: PERSON-9, MGMT-33, TIME-4
  @Test func `a reset is accepted for 10 s after power-up, and a replug does not extend that`() async {
    var world = TestWorld()
    world.clock.advance(by: .seconds(9))
    world.replug()
    world.clock.advance(by: .milliseconds(999))
    #expect(await world.send([0x07]).bytes == [0x00])
    world.clock.advance(by: .nanoseconds(1))
    #expect(await world.send([0x07]).bytes == [0x30])
    world.replug()
    #expect(await world.send([0x07]).bytes == [0x30])
    #expect(world.person.shown.count == 1)
    world.powerCycle()
    #expect(await world.send([0x07]).bytes == [0x00])
  }

  // Holds: MGMT-34
  @Test func `without verification, a reset needs presence`() async {
    var world = TestWorld(canVerify: false)
    #expect(await world.send([0x07]).bytes == [0x00])
    #expect(
      world.person.shown == [.init(prompt: UserPrompt(purpose: .reset(importedPasskeys: 0)), verification: false)])
  }

  // Holds: MGMT-34
  @Test func `a user who is present but not verified cannot reset`() async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    world.person.will(.answer(userPresent: true, userVerified: false))
    #expect(await world.send([0x07]).bytes == [0x27])
    #expect(try world.store.allCredentials().count == 1)
  }

  @Test func `a late reset does not even unlock the vault`() async {
    var world = TestWorld(isOpen: false)
    world.clock.advance(by: .seconds(11))
    #expect(await world.send([0x07]).bytes == [0x30])
    #expect(world.keySource.openings == 0)
  }

  // Holds: MGMT-34
  @Test(arguments: [
    (UserInteractionError.declined, [UInt8(0x27)]), (.timedOut, [0x2F]), (.cancelled, [0x2D]),
    (.verificationFailed, [0x27]),
  ])
  func `without consent a reset changes nothing`(error: UserInteractionError, answer: [UInt8]) async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    world.person.will(.fail(error))
    #expect(await world.send([0x07]).bytes == answer)
    #expect(try world.store.allCredentials().count == 1)
    #expect(try world.store.state().epoch == 0)
  }

  @Test func `a reset in the last epoch is refused before any prompt`() async {
    var world = TestWorld(state: StoreState(storeID: [], epoch: .max, floor: 3))
    #expect(await world.send([0x07]).bytes == [0x7F])
    #expect(world.person.shown.isEmpty)
  }

  @Test func `a reset fails if the store fails`() async {
    var world = TestWorld()
    world.store.fail(with: RecoveryError(.store, "cannot read the store"))
    #expect(await world.send([0x07]).bytes == [0x7F])
  }
}
