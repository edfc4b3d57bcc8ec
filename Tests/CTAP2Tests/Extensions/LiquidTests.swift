import CBOR
import CTAP2
import DeterministicKeys
import TestVectors
import Testing

/// The extension inside its ceremonies; its checks one by one are in `LiquidRequestTests`.
@Suite struct LiquidTests {
  private static func world(canVerify: Bool = true, isOpen: Bool = true) -> TestWorld {
    TestWorld(canVerify: canVerify, isOpen: isOpen, extensions: [CredProtect.self, LiquidExtension.self])
  }

  /// The changes that make a good request one of the vectors'.
  private static func changes(_ input: CBORValue, clientDataHash: Hex) -> (
    registration: [(CBORValue, CBORValue?)], signIn: [(CBORValue, CBORValue?)]
  ) {
    let hash = CBORValue.bytes(clientDataHash.bytes)
    return ([(1, hash), (6, ["liquid": input])], [(2, hash), (4, ["liquid": input])])
  }

  @Test(arguments: try LiquidVectors.load().accepted)
  func `the output stands in the signed authenticator data, byte for byte`(
    _ vector: LiquidVectors.Accepted
  ) async throws {
    var world = Self.world()
    let changes = Self.changes(try CBORDecoder.decode(vector.input.bytes), clientDataHash: vector.clientDataHash)
    let registration: ParsedAuthenticatorData
    let data: [UInt8]
    let signature: [UInt8]
    if vector.command == "makeCredential" {
      let answer = await world.makeCredential(
        Requests.makeCredential(rk: true, uv: true, rpID: vector.rpId, changes: changes.registration))
      data = try #require(answer.map?[2]?.bytes)
      signature = try #require(answer.map?[3]?.map?["sig"]?.bytes)
      registration = try #require(ParsedAuthenticatorData(data))
    } else {
      registration = try await world.register(rpID: vector.rpId)
      let answer = await world.getAssertion(
        Requests.getAssertion(uv: true, rpID: vector.rpId, changes: changes.signIn))
      data = try #require(answer.map?[2]?.bytes)
      signature = try #require(answer.map?[3]?.bytes)
    }
    if let credentialID = vector.credentialId { #expect(Hex(registration.credentialID) == credentialID) }
    #expect(Hex(data.suffix(vector.authDataExtensions.bytes.count)) == vector.authDataExtensions)
    #expect(data[32] & 0x85 == 0x85)  // ED, UV, UP
    #expect(registration.verifies(signature, over: data + vector.clientDataHash.bytes))

    let shown = try #require(world.person.shown.last)
    #expect(shown.verification)
    #expect(shown.prompt.algorandAddress == (try LiquidVectors.load().address))
    #expect((shown.prompt.origin == nil) == (vector.clientDataJSON == nil))
    if let origin = shown.prompt.origin { #expect(vector.clientDataJSON?.contains("\"\(origin)\"") == true) }
  }

  @Test(arguments: try LiquidVectors.load().refused)
  func `a refused input ends the command before anybody is asked`(_ vector: LiquidVectors.Refused) async throws {
    var world = Self.world(isOpen: false)
    let changes = Self.changes(try CBORDecoder.decode(vector.input.bytes), clientDataHash: vector.clientDataHash)
    let uv: Bool? = vector.uv == false ? nil : true
    let answer =
      vector.command == "makeCredential"
      ? await world.makeCredential(
        Requests.makeCredential(rk: true, uv: uv, up: vector.up, rpID: vector.rpId, changes: changes.registration))
      : await world.getAssertion(
        Requests.getAssertion(up: vector.up, uv: uv, rpID: vector.rpId, changes: changes.signIn))
    #expect(Hex(answer.bytes) == vector.status)
    #expect(world.person.shown.isEmpty)
    #expect(world.keySource.openings == 0)
  }

  @Test func `every assertion of one sign-in has an output of its own`() async throws {
    var world = Self.world()
    for name in ["alice", "bob"] {
      _ = try await world.register(userID: Array(name.utf8), name: name)
    }
    let first = await world.getAssertion(Requests.getAssertion(uv: true, changes: [(4, ["liquid": true])]))
    let second = await world.getNextAssertion()
    let signatures = try [first, second].map { answer in
      let data = try #require(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? []))
      return try #require(data.extensions?["liquid"]?.map?["signature"]?.bytes)
    }
    #expect(Set(signatures).count == 2)
    #expect(world.person.shown.count == 3)
  }

  @Test func `a site without a passkey here is said to be used first, until it has one`() async throws {
    var world = Self.world()
    let address = Array(
      try await world.authenticator.accountAddresses(0..<1, of: 0, for: .tellAccount(rpID: nil))[0].text.utf8)
    let liquid: [(CBORValue, CBORValue?)] = [(6, ["liquid": true])]
    // Another passkey of the site is not the account's.
    _ = try await world.register(userID: Array("bob".utf8))
    for _ in 0..<2 {
      _ = await world.makeCredential(
        Requests.makeCredential(rk: true, uv: true, userID: Array("bob".utf8), changes: liquid))
      #expect(world.person.shown.last?.prompt.isFirstUse == true)
    }
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: address, changes: liquid))
    #expect(world.person.shown.last?.prompt.isFirstUse == true)
    // By registration and by sign-in.
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: address, changes: liquid))
    #expect(world.person.shown.last?.prompt.isFirstUse == false)
    _ = await world.getAssertion(Requests.getAssertion(uv: true, changes: [(4, ["liquid": true])]))
    #expect(world.person.shown.last?.prompt.isFirstUse == false)
    // Another site's passkeys vouch for nothing, nor does one that is gone.
    _ = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, rpID: "example.org", userID: address, changes: liquid))
    #expect(world.person.shown.last?.prompt.isFirstUse == true)
    for record in try world.store.credentials(rpIDHash: RPIDHash(rpID: "example.org")) {
      try world.store.remove(record, changed: 1)
    }
    _ = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, rpID: "example.org", userID: address, changes: liquid))
    #expect(world.person.shown.last?.prompt.isFirstUse == true)
  }

  @Test func `a passkey that came from the phrase alone is used first here too`() async throws {
    var elsewhere = Self.world()
    let address = try #require(elsewhere.keySource.current).algorandAccount().address.text
    let made = try await elsewhere.register(userID: Array(address.utf8))
    var world = Self.world()
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [made.credentialID], uv: true, changes: [(4, ["liquid": true])]))
    #expect(answer.status == .success)
    #expect(world.person.shown.last?.prompt.isFirstUse == true)
  }

  @Test(arguments: [ScriptedPerson.Deed.fail(.declined), .answer(userPresent: true, userVerified: false)])
  func `who does not agree, or is not verified, gives no signature`(_ deed: ScriptedPerson.Deed) async {
    var world = Self.world()
    world.person.will(deed)
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, changes: [(6, ["liquid": true])]))
    #expect(answer.bytes == [0x27])
  }

  @Test func `without verification set up there is nothing that could sign`() async {
    var world = Self.world(canVerify: false)
    let parameters = Requests.makeCredential(changes: [(6, ["liquid": true])])
    #expect(await world.makeCredential(parameters).bytes == [0x36])
    #expect(world.person.shown.isEmpty)
  }

  @Test func `a request without the extension is told nothing of the account`() async throws {
    var world = Self.world()
    let registration = try await world.register()
    #expect(registration.extensions == nil)
    #expect(world.person.shown.map(\.prompt.algorandAddress) == [nil])
    #expect(world.person.shown.map(\.prompt.origin) == [nil])
  }

  @Test func `getInfo tells of it`() async {
    var world = Self.world()
    #expect(await world.send([0x04]).map?[2] == ["credProtect", "liquid"])
  }
}
