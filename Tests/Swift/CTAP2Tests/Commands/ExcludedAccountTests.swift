import CBOR
import CTAP2
import Recovery
import TestSupport
import TestVectors
import Testing

/// The account in the dialog of a registration whose excludeList has a credential of ours: that of the credential.
@Suite struct ExcludedAccountTests {
  /// A registration of bob that lists one credential; its user.id can be that of another account.
  private func registeringBob(
    userID: String = "bob", rpID: String = Requests.rpID, excluding id: [UInt8]
  ) -> CBORMap {
    let bob: CBORValue = ["id": .bytes(Array(userID.utf8)), "name": "bob", "displayName": "Bob"]
    return Requests.makeCredential(rpID: rpID, changes: [(3, bob), (5, Requests.list([id]))])
  }

  /// Checks that the registration is refused, and which name and display name the dialog has.
  private func expect(_ names: [String?], for request: CBORMap, in world: inout TestWorld) async {
    #expect(await world.makeCredential(request).bytes == [0x19])
    let prompt = world.person.shown.last?.prompt
    #expect(prompt?.purpose == .alreadyRegistered)
    #expect([prompt?.accountName, prompt?.accountDisplayName] == names)
  }

  // Holds: MC-13
  @Test(arguments: [true, false], ["bob", "alice"])
  func `a record of the account has the names, for every id of it`(rk: Bool, userID: String) async throws {
    var world = TestWorld()
    _ = try await world.register()
    let id = try await world.register(rk: rk).credentialID
    await expect(["alice", "Alice"], for: registeringBob(userID: userID, excluding: id), in: &world)
  }

  // Holds: MC-13
  @Test(arguments: [true, false])
  func `without a record, the names of the request are those of its own account only`(rk: Bool) async throws {
    var world = TestWorld()
    let id = try await world.register(rk: rk).credentialID
    var second = TestWorld()
    await expect([nil, nil], for: registeringBob(excluding: id), in: &second)
    var third = TestWorld()
    await expect(["bob", "Bob"], for: registeringBob(userID: "alice", excluding: id), in: &third)
  }

  // Holds: MC-13
  @Test func `a key handle of U2F has no account, not even that of an empty user id`() async throws {
    var world = TestWorld()
    let message: [UInt8] =
      [0, 1, 0, 0, 0, 0, 64] + [UInt8](repeating: 7, count: 32) + RPIDHash(rpID: Requests.rpID).bytes + [0, 0]
    let outcome = world.authenticator.respond(
      toU2F: message, confirmation: Confirmation(userVerified: false), in: world.context)
    guard case .answer(let registered) = outcome, registered.count > 70 else {
      Issue.record("the registration failed: \(outcome)")
      return
    }
    let handle = Array(registered[67..<67 + Int(registered[66])])
    await expect([nil, nil], for: registeringBob(userID: "", excluding: handle), in: &world)
  }

  // Holds: MC-13
  @Test func `the account of a phone wallet's id is the Algorand address`() async throws {
    let vectors = try KeysAndRecovery.load().phoneCandidates
    var world = TestWorld()
    let request = registeringBob(rpID: vectors.rpId.text, excluding: vectors.ids["0"].bytes)
    await expect([vectors.address.text, nil], for: request, in: &world)
  }
}
