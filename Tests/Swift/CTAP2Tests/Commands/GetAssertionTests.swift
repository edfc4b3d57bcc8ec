import CBOR
import CryptoPrimitives
import Recovery
import Testing

@testable import CTAP2

/// Registrations, with the data that a relying party keeps.
extension TestWorld {
  /// Registers an account, and returns the attested data.
  mutating func register(
    rk: Bool = true, userID: [UInt8] = Requests.userID, name: String = "alice", rpID: String = Requests.rpID,
    credProtect: Int? = nil, algorithms: [Int] = [-7]
  ) async throws -> ParsedAuthenticatorData {
    let extensions: [(CBORValue, CBORValue?)] = credProtect.map { [(6, ["credProtect": CBORValue($0)])] } ?? []
    let answer = await makeCredential(
      Requests.makeCredential(
        rk: rk, uv: person.canVerify ? true : nil, rpID: rpID, userID: userID, name: name, algorithms: algorithms,
        changes: extensions))
    return try #require(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? []))
  }
}

@Suite struct GetAssertionTests {
  /// Checks an answer as a relying party does, and returns its parsed authenticator data.
  private func verify(_ answer: Answer, of registration: ParsedAuthenticatorData) throws -> ParsedAuthenticatorData {
    let members = try #require(answer.map)
    #expect(members[1] == ["id": .bytes(registration.credentialID), "type": "public-key"])
    let data = try #require(members[2]?.bytes)
    #expect(registration.verifies(try #require(members[3]?.bytes), over: data + Requests.clientDataHash))
    let parsed = try #require(ParsedAuthenticatorData(data))
    #expect(parsed.rpIDHash == registration.rpIDHash)
    #expect(parsed.signCount == [0, 0, 0, 0])
    return parsed
  }

  // Holds: PEERSIGNIN-1, GA-14, GA-16, GA-17
  @Test(arguments: [-7, -8])
  func `a credential id in allowList signs in with presence`(algorithm: Int) async throws {
    for rk in [true, false] {
      var world = TestWorld()
      let registration = try await world.register(rk: rk, algorithms: [algorithm])
      let answer = await world.getAssertion(Requests.getAssertion(allowing: [registration.credentialID]))
      let parsed = try verify(answer, of: registration)
      #expect(parsed.flags == 0x19)  // UP, BE, BS
      #expect(answer.map?[2]?.bytes?.count == 37)
      // user.id of a discoverable credential, no name without verification.
      #expect(answer.map?[4] == (rk ? ["id": .bytes(Requests.userID)] : nil))
      #expect(answer.map?.pairs.map(\.key) == (rk ? [1, 2, 3, 4] : [1, 2, 3]))
      #expect(world.person.shown.last?.verification == false)
    }
  }

  // Holds: MC-21
  @Test(arguments: [-7, -8])
  func `a credential with an empty user.id signs in, and the answer has no user`(algorithm: Int) async throws {
    var world = TestWorld()
    let registration = try await world.register(rk: false, userID: [], algorithms: [algorithm])
    for verified in [false, true] {
      let answer = await world.getAssertion(
        Requests.getAssertion(allowing: [registration.credentialID], uv: verified ? true : nil))
      _ = try verify(answer, of: registration)
      #expect(answer.map?.pairs.map(\.key) == [1, 2, 3])
    }
    #expect(world.store.writes == 0)
  }

  // Holds: PEERSIGNIN-1, GA-13, GA-16
  @Test func `with verification the answer includes the names`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    for ids in [[registration.credentialID], []] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: ids, uv: true))
      #expect(try verify(answer, of: registration).flags == 0x1D)  // UP, UV, BE, BS
      #expect(answer.map?[4] == ["id": .bytes(Requests.userID), "name": "alice", "displayName": "Alice"])
      #expect(answer.map?[5] == nil)
      let prompt = UserPrompt(
        purpose: .signIn, rpID: "example.com", accountName: "alice", accountDisplayName: "Alice")
      #expect(world.person.shown.last == .init(prompt: prompt, verification: true))
    }
  }

  // Holds: GA-12
  @Test func `a silent request shows no prompt, writes nothing, and sets neither UP nor UV`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    var other = TestWorld()
    let answer = await other.getAssertion(Requests.getAssertion(allowing: [registration.credentialID], up: false))
    #expect(try verify(answer, of: registration).flags == 0x18)  // BE, BS
    #expect(other.person.shown.isEmpty)
    #expect(other.store.writes == 0)

    // Without ids it finds what any program may find: credentials with credProtect 1.
    let found = await world.getAssertion(Requests.getAssertion(up: false))
    #expect(try verify(found, of: registration).flags == 0x18)
    #expect(found.map?[4] == ["id": .bytes(Requests.userID)])
  }

  // Holds: GA-15
  @Test func `userSelected is true for the only account of a site, so that no browser prompts again`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    #expect(await world.getAssertion(Requests.getAssertion()).map?[6] == true)
    #expect(await world.getAssertion(Requests.getAssertion(up: false)).map?[6] == nil)
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [registration.credentialID])).map?[6] == nil)
    _ = try await world.register(userID: [1])
    let several = await world.getAssertion(Requests.getAssertion())
    #expect(several.map?[5] == 2)
    #expect(several.map?[6] == nil)
  }

  @Test func `verification with up false sets both flags`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [registration.credentialID], up: false, uv: true))
    #expect(try verify(answer, of: registration).flags == 0x1D)
    #expect(world.person.shown.last?.verification == true)
  }

  // Holds: PEERSIGNIN-2, GA-7, GA-13
  @Test func `the first valid id of several signs, and only that one`() async throws {
    var world = TestWorld()
    let registrations = [
      try await world.register(rk: false), try await world.register(userID: [1]), try await world.register(rk: false),
    ]
    let ids = registrations.map(\.credentialID)
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
      let answer = await world.getAssertion(
        Requests.getAssertion(allowing: [[1], [UInt8](repeating: 3, count: 32)] + order.map { ids[$0] }))
      _ = try verify(answer, of: registrations[order[0]])
      #expect(answer.map?[5] == nil)
      #expect(await world.getNextAssertion().bytes == [0x30])
    }
  }

  // Holds: MSG-9
  @Test func `allowList entries of an unknown type are skipped`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    let id = CBORValue.bytes(registration.credentialID)
    let unknown: CBORValue = ["id": id, "type": "public-kez"]
    let none = await world.getAssertion(Requests.getAssertion(changes: [(3, .array([unknown]))]))
    #expect(none.bytes == [0x2E])
    let both: CBORValue = .array([unknown, ["id": id, "type": "public-key"]])
    #expect(await world.getAssertion(Requests.getAssertion(changes: [(3, both)])).status == .success)
  }

  // Holds: GA-8
  @Test func `an empty allowList counts as absent`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    _ = try verify(await world.getAssertion(Requests.getAssertion(changes: [(3, [])])), of: registration)
  }

  // Holds: CTAP2-9, GA-7
  @Test func `a credential signs for its own site only`() async throws {
    var world = TestWorld()
    for rk in [true, false] {
      let id = try await world.register(rk: rk).credentialID
      #expect(await world.getAssertion(Requests.getAssertion(allowing: [id], rpID: "example.org")).bytes == [0x2E])
    }
    #expect(await world.getAssertion(Requests.getAssertion(rpID: "example.org")).bytes == [0x2E])
  }

  // MARK: credProtect

  // Holds: GA-9
  @Test(arguments: [
    (1, true, true), (2, true, false), (3, false, false),
  ])
  func `credProtect hides a credential from requests without verification`(
    level: Int, sentID: Bool, noID: Bool
  ) async throws {
    var world = TestWorld()
    let id = try await world.register(credProtect: level).credentialID
    for up in [true, false] {
      let sent = await world.getAssertion(Requests.getAssertion(allowing: [id], up: up))
      #expect(sent.bytes.first == (sentID ? 0x00 : 0x2E))
      let found = await world.getAssertion(Requests.getAssertion(up: up))
      #expect(found.bytes.first == (noID ? 0x00 : 0x2E))
    }
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [id], uv: true)).status == .success)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == .success)
  }

  @Test func `the credProtect level is stored in a sealed id`() async throws {
    var world = TestWorld()
    for rk in [true, false] {
      let id = try await world.register(rk: rk, credProtect: 3).credentialID
      var other = TestWorld()
      #expect(await other.getAssertion(Requests.getAssertion(allowing: [id])).bytes == [0x2E])
      #expect(await other.getAssertion(Requests.getAssertion(allowing: [id], uv: true)).status == .success)
    }
  }

  // MARK: No credential found

  // Holds: GA-10
  @Test func `if no credential is found, no prompt is shown, so that another key can answer`() async throws {
    var world = TestWorld()
    for uv in [nil, true] as [Bool?] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: [[1]], uv: uv)).bytes == [0x2E])
    }
    #expect(await world.getAssertion(Requests.getAssertion()).bytes == [0x2E])
    #expect(world.person.shown.isEmpty)
  }

  @Test func `a request with uv verifies the user before it reports that no account exists`() async throws {
    var world = TestWorld()
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com", accountCount: 0)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).bytes == [0x2E])
    #expect(world.person.shown == [.init(prompt: prompt, verification: true)])
    world.person.will(.fail(.verificationFailed))
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).bytes == [0x27])
  }

  /// CTAP §6.2.2, step 6.2.3, as for a credential that is found: otherwise the status would show that there is none.
  @Test(arguments: [
    (UserInteractionError.verificationFailed, CTAPStatus.puatRequired), (.verificationBlocked, .puatRequired),
    (.declined, .operationDenied), (.timedOut, .userActionTimeout), (.cancelled, .keepaliveCancel),
  ])
  func `if a PIN is set, a failed verification asks for a token, also if no account exists`(
    error: UserInteractionError, status: CTAPStatus
  ) async throws {
    var world = TestWorld()
    _ = try await TestPlatform(.two).setPIN("1234", in: &world)
    world.person.will(.fail(error))
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == status)
    #expect(world.person.shown.last?.verification == true)
  }

  // Holds: GA-11
  @Test(arguments: [
    (UserInteractionError.declined, [UInt8(0x27)]), (.unavailable, [0x27]), (.timedOut, [0x2F]), (.cancelled, [0x2D]),
    (.verificationFailed, [0x27]), (.verificationBlocked, [0x32]),
  ])
  func `without consent nothing is signed or written`(error: UserInteractionError, answer: [UInt8]) async throws {
    var world = TestWorld()
    let id = try await world.register().credentialID
    var other = TestWorld()
    other.person.will(.fail(error))
    #expect(await other.getAssertion(Requests.getAssertion(allowing: [id], uv: true)).bytes == answer)
    #expect(other.store.writes == 0)
  }

  // MARK: Recovery

  @Test func `a sealed discoverable id is written back as a record with the first consent`() async throws {
    var world = TestWorld()
    let registration = try await world.register()
    var other = TestWorld()
    #expect(await other.getAssertion(Requests.getAssertion()).bytes == [0x2E])
    let answer = await other.getAssertion(Requests.getAssertion(allowing: [registration.credentialID]))
    _ = try verify(answer, of: registration)
    #expect(answer.map?[4] == ["id": .bytes(Requests.userID)])

    let record = try #require(try other.store.allCredentials().first)
    #expect(record.id == registration.credentialID)
    #expect(record.origin == .recovered)
    #expect(record.name == nil)
    _ = try verify(await other.getAssertion(Requests.getAssertion()), of: registration)
    #expect(other.store.writes == 1)
  }

  @Test func `the means of verification are used also if no credential is found`() async throws {
    var state = StoreState(storeID: [UInt8](repeating: 7, count: 16))
    state.settings.means = [.pam, .fingerprint]
    var world = TestWorld(state: state)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == .noCredentials)
    #expect(world.person.shown.map(\.verification) == [true])
    #expect(world.person.shown.map(\.prompt.means) == [[.pam, .fingerprint]])
  }

  @Test func `a non-discoverable credential has no record, before or after`() async throws {
    var world = TestWorld()
    let registration = try await world.register(rk: false)
    var other = TestWorld()
    let answer = await other.getAssertion(Requests.getAssertion(allowing: [registration.credentialID]))
    _ = try verify(answer, of: registration)
    #expect(other.store.writes == 0)
  }

  @Test func `an id of a higher epoch raises the epoch with consent, and never the floor`() async throws {
    for rk in [true, false] {
      var world = TestWorld(state: StoreState(storeID: [], epoch: 5))
      let id = try await world.register(rk: rk).credentialID
      var other = TestWorld()
      #expect(await other.getAssertion(Requests.getAssertion(allowing: [id], up: false)).status == .success)
      #expect(try other.store.state().epoch == 0)
      #expect(await other.getAssertion(Requests.getAssertion(allowing: [id])).status == .success)
      #expect(try other.store.state().epoch == 5)
      #expect(try other.store.state().floor == 0)
    }
  }

  // Holds: GA-17
  @Test func `a U2F credential signs in with a growing counter, and without BE and BS`() async throws {
    var world = TestWorld()
    let rpIDHash = RPIDHash(rpID: Requests.rpID)
    let parameters = try #require(CredentialParameters.u2f(salt: [UInt8](repeating: 5, count: 16), epoch: 0))
    let id = try TestPhrase.keys.sealedID(parameters, rpIDHash: rpIDHash)
    let publicKey = try TestPhrase.keys.privateKey(parameters, rpID: Requests.rpID).publicKey
    for expected in [UInt32(1_790_000_000), 1_790_000_001] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: [id]))
      let bytes = try #require(answer.map?[2]?.bytes)
      let data = try AuthenticatorData(parsing: bytes)
      #expect(data.flags == .userPresent)
      #expect(data.signCount == expected)
      #expect(answer.map?[4] == nil)
      let signature = try #require(answer.map?[3]?.bytes)
      #expect(publicKey.isValidSignature(signature, for: bytes + Requests.clientDataHash))
    }
    #expect(world.store.writes == 0)
  }

  @Test func `a write-back that fails fails the request`() async throws {
    var world = TestWorld()
    let id = try await world.register().credentialID
    var other = TestWorld()
    other.store.fill()
    #expect(await other.getAssertion(Requests.getAssertion(allowing: [id])).bytes == [0x7F])
    #expect(other.person.shown.count == 1)
    #expect(await other.getAssertion(Requests.getAssertion(allowing: [id], up: false)).status == .success)
  }

  @Test func `a store that cannot be read ends getAssertion before any prompt`() async throws {
    var world = TestWorld()
    world.store.fail(with: RecoveryError(.store, "cannot read the store"))
    for ids in [[], [[1]]] as [[[UInt8]]] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids)).bytes == [0x7F])
    }
    #expect(world.person.shown.isEmpty)
  }
}

// Holds: MSG-3, MSG-4, MSG-6, GA-2
@Suite struct GetAssertionRequestTests {
  private static let good: CBORValue = ["id": .bytes([1]), "type": "public-key"]

  static let refused: [RequestCase] = [
    RequestCase("no rpId", 1, nil, .missingParameter),
    RequestCase("rpId bytes", 1, .bytes([1]), .cborUnexpectedType),
    RequestCase("rpId empty", 1, "", .invalidLength),
    RequestCase("no clientDataHash", 2, nil, .missingParameter),
    RequestCase("clientDataHash a text", 2, "x", .cborUnexpectedType),
    RequestCase("clientDataHash of 31 bytes", 2, .bytes([UInt8](repeating: 0, count: 31)), .invalidLength),
    RequestCase("clientDataHash of 64 bytes", 2, .bytes([UInt8](repeating: 0, count: 64)), .invalidLength),
    RequestCase("allowList a map", 3, [:], .cborUnexpectedType),
    RequestCase("an allowed text", 3, [good, "x"], .cborUnexpectedType),
    RequestCase("an allowed entry without id", 3, [good, ["type": "public-key"]], .missingParameter),
    RequestCase("an allowed entry without type", 3, [good, ["id": .bytes([1])]], .missingParameter),
    RequestCase("an allowed id a text", 3, [good, ["id": "x", "type": "public-key"]], .cborUnexpectedType),
    RequestCase("an allowed type a number", 3, [good, ["id": .bytes([1]), "type": 1]], .cborUnexpectedType),
    RequestCase(
      "transports a map", 3, [["id": .bytes([1]), "type": "public-key", "transports": [:]]], .cborUnexpectedType),
    RequestCase("extensions an array", 4, [], .cborUnexpectedType),
    RequestCase("options an array", 5, [], .cborUnexpectedType),
    RequestCase("up a number", 5, ["up": 1], .cborUnexpectedType),
    RequestCase("uv a text", 5, ["uv": "true"], .cborUnexpectedType),
    RequestCase("rk true", 5, ["rk": true], .unsupportedOption),
    RequestCase("rk false", 5, ["rk": false], .unsupportedOption),
    RequestCase("rk a number", 5, ["rk": 1], .cborUnexpectedType),
    RequestCase("pinUvAuthParam a text", 6, "x", .cborUnexpectedType),
    RequestCase("pinUvAuthProtocol a text", 7, "1", .cborUnexpectedType),
    RequestCase("pinUvAuthParam without protocol", 6, .bytes([1]), .missingParameter),
    RequestCase("pinUvAuthProtocol 0", [(6, .bytes([1])), (7, 0)], .invalidParameter),
    RequestCase("pinUvAuthProtocol 3", [(6, .bytes([1])), (7, 3)], .invalidParameter),
  ]

  // Holds: CTAP2-4, CTAP2-5, MSG-8, GA-2, GA-3
  @Test(arguments: refused)
  func `an invalid getAssertion request is refused before any prompt, locked or not`(of request: RequestCase) async {
    for isOpen in [true, false] {
      var world = TestWorld(isOpen: isOpen)
      let answer = await world.getAssertion(Requests.getAssertion(changes: request.changes))
      #expect(answer.bytes == [request.status.rawValue])
      #expect(world.person.shown.isEmpty)
      #expect(world.keySource.openings == 0)
    }
  }

  static let served: [RequestCase] = [
    RequestCase("an unknown member", 8, 0, .success),
    RequestCase("an unknown extension", 4, ["x": 1, "credProtect": "x"], .success),
    RequestCase("unknown options", 5, ["x": 1], .success),
    RequestCase("up true", 5, ["up": true], .success),
    RequestCase("uv false", 5, ["uv": false], .success),
    RequestCase("pinUvAuthProtocol alone", 7, 9, .success),
  ]

  // Holds: CTAP2-6, MSG-6
  @Test(arguments: served)
  func `a getAssertion with unknown or default members succeeds`(_ request: RequestCase) async throws {
    var world = TestWorld()
    _ = try await world.register()
    #expect(await world.getAssertion(Requests.getAssertion(changes: request.changes)).status == .success)
  }

  // Holds: GA-4
  @Test func `uv without verification set up is an invalid option`() async {
    var world = TestWorld(canVerify: false)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).bytes == [0x2C])
  }

  // Holds: GA-1
  @Test func `an empty pinUvAuthParam prompts for the selection of a key`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.getAssertion(Requests.getAssertion(changes: [(6, .bytes([]))])).bytes == [0x35])
    world.person.will(.fail(.declined))
    #expect(await world.getAssertion(Requests.getAssertion(changes: [(6, .bytes([])), (7, 1)])).bytes == [0x27])
    #expect(world.person.shown.map(\.prompt.purpose) == [.select, .select])
    #expect(world.keySource.openings == 0)
  }
}
