import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import AlgorandStatements
@testable import CTAP2
@testable import CTAP2Tests

/// The extension in its ceremonies; `LiquidRequestTests` has its single checks.
@Suite struct LiquidTests {
  private static func world(canVerify: Bool = true, isOpen: Bool = true) -> TestWorld {
    TestWorld(canVerify: canVerify, isOpen: isOpen, extensions: [CredProtect.self, LiquidExtension.self])
  }

  /// The changes that turn a valid request into one of the vectors.
  private static func changes(_ input: CBORValue, clientDataHash: Hex) -> (
    registration: [(CBORValue, CBORValue?)], signIn: [(CBORValue, CBORValue?)]
  ) {
    let hash = CBORValue.bytes(clientDataHash.bytes)
    return ([(1, hash), (6, ["liquid": input])], [(2, hash), (4, ["liquid": input])])
  }

  @Test(arguments: try LiquidVectors.load().accepted.array)
  func `the output is in the signed authenticator data, byte for byte`(
    _ vector: Vector
  ) async throws {
    var world = Self.world()
    let changes = Self.changes(try CBORDecoder.decode(vector.input.bytes), clientDataHash: vector.clientDataHash.hex)
    let registration: ParsedAuthenticatorData
    let data: [UInt8]
    let signature: [UInt8]
    if vector.command.text == "makeCredential" {
      let answer = await world.makeCredential(
        Requests.makeCredential(rk: true, uv: true, rpID: vector.rpId.text, changes: changes.registration))
      data = try #require(answer.map?[2]?.bytes)
      signature = try #require(answer.map?[3]?.map?["sig"]?.bytes)
      registration = try #require(ParsedAuthenticatorData(data))
    } else {
      registration = try await world.register(rpID: vector.rpId.text)
      let answer = await world.getAssertion(
        Requests.getAssertion(uv: true, rpID: vector.rpId.text, changes: changes.signIn))
      data = try #require(answer.map?[2]?.bytes)
      signature = try #require(answer.map?[3]?.bytes)
    }
    if let credentialID = vector.credentialId.optional?.hex { #expect(Hex(registration.credentialID) == credentialID) }
    #expect(Hex(data.suffix(vector.authDataExtensions.bytes.count)) == vector.authDataExtensions.hex)
    #expect(data[32] & 0x85 == 0x85)  // ED, UV, UP
    #expect(registration.verifies(signature, over: data + vector.clientDataHash.bytes))

    let shown = try #require(world.person.shown.last)
    #expect(shown.verification)
    #expect(shown.prompt.algorandAddress == (try LiquidVectors.load().address.text))
    #expect((shown.prompt.origin == nil) == (vector.clientDataJSON.optional == nil))
    if let origin = shown.prompt.origin { #expect(vector.clientDataJSON.text.contains("\"\(origin)\"")) }
  }

  // Holds: CTAP2-10
  @Test(arguments: try LiquidVectors.load().refused.array)
  func `an invalid input ends the command before any prompt`(_ vector: Vector) async throws {
    var world = Self.world(isOpen: false)
    let changes = Self.changes(try CBORDecoder.decode(vector.input.bytes), clientDataHash: vector.clientDataHash.hex)
    let uv: Bool? = vector.uv.optional?.isTrue == false ? nil : true
    let answer =
      vector.command.text == "makeCredential"
      ? await world.makeCredential(
        Requests.makeCredential(
          rk: true, uv: uv, up: vector.up.optional?.isTrue, rpID: vector.rpId.text, changes: changes.registration))
      : await world.getAssertion(
        Requests.getAssertion(up: vector.up.optional?.isTrue, uv: uv, rpID: vector.rpId.text, changes: changes.signIn))
    #expect(Hex(answer.bytes) == vector.status.hex)
    #expect(world.person.shown.isEmpty)
    #expect(world.keySource.openings == 0)
  }

  @Test func `each assertion of one sign-in has its own output`() async throws {
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

  // Holds: WALLET-18
  @Test func `the dialog says "first use" until the site has a passkey here`() async throws {
    var world = Self.world()
    let address = Array(
      try await world.authenticator.accountAddresses(0..<1, of: 0, for: .wallet(.showAccount(rpID: nil)))[0].text.utf8)
    let liquid: [(CBORValue, CBORValue?)] = [(6, ["liquid": true])]
    // A passkey of another user does not count.
    _ = try await world.register(userID: Array("bob".utf8))
    for _ in 0..<2 {
      _ = await world.makeCredential(
        Requests.makeCredential(rk: true, uv: true, userID: Array("bob".utf8), changes: liquid))
      #expect(world.person.shown.last?.prompt.isFirstUse == true)
    }
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: address, changes: liquid))
    #expect(world.person.shown.last?.prompt.isFirstUse == true)
    // From now on it is known, at registration and at sign-in.
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: address, changes: liquid))
    #expect(world.person.shown.last?.prompt.isFirstUse == false)
    _ = await world.getAssertion(Requests.getAssertion(uv: true, changes: [(4, ["liquid": true])]))
    #expect(world.person.shown.last?.prompt.isFirstUse == false)
    // Passkeys of another site, and removed ones, do not count.
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

  // Holds: WALLET-19
  @Test func `a passkey from the phrase alone is shown as first use once`() async throws {
    var elsewhere = Self.world()
    let address = try #require(elsewhere.keySource.current).algorandAccount().address.text
    let made = try await elsewhere.register(userID: Array(address.utf8))
    var world = Self.world()
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [made.credentialID], uv: true, changes: [(4, ["liquid": true])]))
    #expect(answer.status == .success)
    #expect(world.person.shown.last?.prompt.isFirstUse == true)
    // Only once: the use leaves a record with the user.id of a registration here. The answer has no user.
    #expect(answer.map?[4] == nil)
    let record = try #require(try world.store.allCredentials().first)
    #expect(record.id == made.credentialID && record.counter == 0 && record.origin == .recovered)
    #expect(record.userID == Array(address.utf8) && record.name == nil && record.policy == CredentialPolicy())
    let passkey = try await world.authenticator.accountPasskey(rpID: "example.com")
    #expect(passkey.id == made.credentialID && passkey.isStored)
    let second = await world.getAssertion(
      Requests.getAssertion(allowing: [made.credentialID], uv: true, changes: [(4, ["liquid": true])]))
    #expect(second.status == .success)
    #expect(world.person.shown.last?.prompt.isFirstUse == false)
  }

  // Holds: WALLET-20
  @Test func `a phone's passkey leaves a record only with counter 0 and a signature of the account`()
    async throws
  {
    let vectors = try KeysAndRecovery.load().phoneCandidates
    let liquid: [(CBORValue, CBORValue?)] = [(4, ["liquid": true])]
    for (counter, id) in vectors.ids.members {
      for (changes, leavesRecord) in [(liquid, counter == "0"), ([], false)] {
        var world = Self.world()
        let answer = await world.getAssertion(
          Requests.getAssertion(allowing: [id.bytes], uv: true, rpID: vectors.rpId.text, changes: changes))
        #expect(answer.status == .success)
        #expect(answer.map?[4] == nil, "no user handle")
        #expect(try world.store.allCredentials().map(\.id) == (leavesRecord ? [id.bytes] : []), "counter \(counter)")
      }
    }
  }

  // Holds: WALLET-20
  @Test(arguments: [ScriptedPerson.Operation.fail(.declined), .answer(userPresent: true, userVerified: false)])
  func `a refusal leaves no record of a phone's passkey`(_ operation: ScriptedPerson.Operation) async throws {
    let vectors = try KeysAndRecovery.load().phoneCandidates
    let id = vectors.ids["0"].bytes
    var world = Self.world()
    world.person.will(operation)
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [id], uv: true, rpID: vectors.rpId.text, changes: [(4, ["liquid": true])]))
    #expect(answer.status != .success)
    #expect(world.store.writes == 0)
  }

  // Holds: WALLET-20
  @Test func `a deleted account stays deleted when a phone's passkey is requested`() async throws {
    let vectors = try KeysAndRecovery.load().phoneCandidates
    let id = vectors.ids["0"].bytes
    var world = Self.world()
    _ = try await world.register(userID: Array(vectors.address.text.utf8), rpID: vectors.rpId.text)
    let record = try #require(try world.store.allCredentials().first)
    #expect(record.id == id)
    try world.store.remove(record, changed: 1)
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [id], uv: true, rpID: vectors.rpId.text, changes: [(4, ["liquid": true])]))
    #expect(answer.status == .noCredentials)
    #expect(try world.store.allCredentials().isEmpty)
  }

  @Test(arguments: [ScriptedPerson.Operation.fail(.declined), .answer(userPresent: true, userVerified: false)])
  func `without consent or verification there is no signature`(_ operation: ScriptedPerson.Operation) async {
    var world = Self.world()
    world.person.will(operation)
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, changes: [(6, ["liquid": true])]))
    #expect(answer.bytes == [0x27])
  }

  @Test func `without verification set up, the extension is refused before any prompt`() async {
    var world = Self.world(canVerify: false)
    let parameters = Requests.makeCredential(changes: [(6, ["liquid": true])])
    #expect(await world.makeCredential(parameters).bytes == [0x36])
    #expect(world.person.shown.isEmpty)
  }

  /// How a pinUvAuthToken is obtained.
  enum TokenGiver: CaseIterable, Sendable { case dialog, pin }

  private static func token(
    _ giver: TokenGiver, _ permission: TokenPermissions, in world: inout TestWorld
  ) async throws -> TestToken {
    let platform = try TestPlatform(.two)
    switch giver {
    case .dialog:
      return try platform.token(
        try await platform.askTokenByVerification(permission, rpID: Requests.rpID, in: &world))
    case .pin:
      return try platform.token(
        try await platform.askToken(pin: "1234", permission, rpID: Requests.rpID, in: &world))
    }
  }

  // Holds: PERSON-5
  @Test(arguments: TokenGiver.allCases)
  func `with a token, the dialog that shows the address verifies again`(_ giver: TokenGiver) async throws {
    var world = Self.world()
    if giver == .pin { _ = try await TestPlatform(.two).setPIN("1234", in: &world) }
    let vectors = try LiquidVectors.load()
    let made = try await Self.token(giver, .makeCredential, in: &world)
    var shown = world.person.shown.count
    let registration = await world.makeCredential(
      Requests.makeCredential(rk: true, changes: made.makeCredential() + [(6, ["liquid": true])]))
    #expect(try #require(registration.map?[2]?.bytes)[32] & 0x85 == 0x85)  // ED, UV, UP
    #expect(world.person.shown.dropFirst(shown).map(\.verification) == [true])
    #expect(world.person.shown.last?.prompt.algorandAddress == vectors.address.text)

    let used = try await Self.token(giver, .getAssertion, in: &world)
    shown = world.person.shown.count
    let signIn = await world.getAssertion(
      Requests.getAssertion(changes: used.getAssertion() + [(4, ["liquid": true])]))
    #expect(try #require(signIn.map?[2]?.bytes)[32] & 0x85 == 0x85)
    #expect(world.person.shown.dropFirst(shown).map(\.verification) == [true])
    #expect(world.person.shown.last?.prompt.algorandAddress == vectors.address.text)
  }

  static let noVerification: [(ScriptedPerson.Operation, CTAPStatus)] = [
    (.answer(userPresent: true, userVerified: false), .operationDenied), (.fail(.declined), .operationDenied),
    (.fail(.verificationFailed), .operationDenied), (.fail(.timedOut), .userActionTimeout),
  ]

  // Holds: PERSON-5
  @Test(arguments: TokenGiver.allCases, noVerification.indices)
  func `a token alone signs nothing for the account`(_ giver: TokenGiver, _ index: Int) async throws {
    let (operation, status) = Self.noVerification[index]
    var world = Self.world()
    if giver == .pin { _ = try await TestPlatform(.two).setPIN("1234", in: &world) }
    let token = try await Self.token(giver, .makeCredential, in: &world)
    world.person.will(operation)
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, changes: token.makeCredential() + [(6, ["liquid": true])]))
    #expect(answer.bytes == [status.rawValue])
    #expect(try #require(world.keySource.current).signatures.algorand == 0)
  }

  // Holds: PERSON-5
  @Test func `a PIN token without other verification is refused before any prompt, with a log entry`()
    async throws
  {
    var world = Self.world(canVerify: false)
    _ = try await TestPlatform(.two).setPIN("1234", in: &world)
    let token = try await Self.token(.pin, .makeCredential, in: &world)
    let shown = world.person.shown
    let answer = await world.makeCredential(
      Requests.makeCredential(rk: true, changes: token.makeCredential() + [(6, ["liquid": true])]))
    #expect(answer.bytes == [CTAPStatus.invalidOption.rawValue])
    let signIn = await world.getAssertion(
      Requests.getAssertion(changes: token.getAssertion() + [(4, ["liquid": true])]))
    #expect(signIn.bytes == [CTAPStatus.invalidOption.rawValue])
    #expect(world.person.shown == shown)
    for report in world.reports.all.suffix(2) {
      #expect(
        report.error?.reason
          == "liquid needs verification in its own dialog; a PIN is not enough: start the "
          + "authenticator with --verification passphrase")
    }
    // An error in the input is reported first, as in other authenticators.
    let faulty = await world.makeCredential(
      Requests.makeCredential(rk: true, changes: token.makeCredential() + [(6, ["liquid": 1])]))
    #expect(faulty.status == .cborUnexpectedType)
  }

  /// Input and hash of the client data of one origin.
  private static func clientData(_ type: String, _ origin: String) -> (input: CBORValue, hash: CBORValue) {
    let challenge = Base64URL.encode([UInt8](repeating: 7, count: 32))
    let json = Array(#"{"type":"\#(type)","challenge":"\#(challenge)","origin":"\#(origin)"}"#.utf8)
    return (["liquid": ["clientDataJSON": .bytes(json)]], .bytes(SHA256.hash(json)))
  }

  // Holds: POLICY-8
  @Test(arguments: ["login.example.com", "example.com", "deep.login.example.com"])
  func `a host with the policy deny gets no signature of the account, also where its relying party may`(
    _ host: String
  ) async throws {
    var world = Self.world()
    _ = try await world.register()
    var state = try world.store.state()
    // Of the names above a host, the nearest one with a policy decides.
    try state.policies.set(.allow, of: "example.com")
    if host != "example.com" { try state.policies.set(.deny, of: "login.example.com") }
    try world.store.setState(state)
    for (origin, isAllowed) in [
      ("https://\(host)", host == "example.com"), ("https://\(host):8443", host == "example.com"),
      ("https://other.example.com", true),
    ] {
      let (new, newHash) = Self.clientData("webauthn.create", origin)
      let (old, oldHash) = Self.clientData("webauthn.get", origin)
      for isRegistration in [true, false] {
        let (asked, signed) = (world.person.shown.count, try #require(world.keySource.current).signatures.algorand)
        let answer =
          isRegistration
          ? await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: [(1, newHash), (6, new)]))
          : await world.getAssertion(Requests.getAssertion(uv: true, changes: [(2, oldHash), (4, old)]))
        #expect(answer.status == (isAllowed ? .success : .operationDenied), "\(origin)")
        #expect(world.person.shown.count == asked + (isAllowed ? 1 : 0))
        #expect(try #require(world.keySource.current).signatures.algorand == signed + (isAllowed ? 1 : 0))
        let outcome = world.reports.all.last?.historyEntry(at: 7)?.outcome
        #expect((outcome == .deniedByPolicy) == !isAllowed)
      }
    }
    // Without the extension, the relying party decides.
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == .success)
  }

  @Test func `a request without the extension does not show the account`() async throws {
    var world = Self.world()
    let registration = try await world.register()
    #expect(registration.extensions == nil)
    #expect(world.person.shown.map(\.prompt.algorandAddress) == [nil])
    #expect(world.person.shown.map(\.prompt.origin) == [nil])
  }

  @Test func `getInfo lists the extension`() async {
    var world = Self.world()
    #expect(await world.send([0x04]).map?[2] == ["credProtect", "liquid"])
  }
}
