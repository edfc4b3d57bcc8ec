import CBOR
import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

/// authenticatorCredentialManagement: CTAP §6.8.
@Suite struct CredentialManagementTests {
  /// A world with three passkeys, the last two for the same site, and a token with permission cm.
  private func managedWorld(
    _ version: PINUVAuthProtocol = .two, rpID: String? = nil
  ) async throws -> (TestWorld, TestToken, [ParsedAuthenticatorData]) {
    var world = TestWorld()
    let registrations = [
      try await world.register(userID: [1], name: "one", rpID: "one.example"),
      try await world.register(userID: [2], name: "two", rpID: "two.example", credProtect: 2),
      try await world.register(userID: [3], name: "three", rpID: "two.example", credProtect: 3, algorithms: [-8]),
    ]
    let token = try await token(.credentialManagement, rpID: rpID, version, in: &world)
    return (world, token, registrations)
  }

  private func token(
    _ permissions: TokenPermissions, rpID: String? = nil, _ version: PINUVAuthProtocol = .two, in world: inout TestWorld
  ) async throws -> TestToken {
    let platform = try TestPlatform(version)
    return try platform.token(try await platform.askTokenByVerification(permissions, rpID: rpID, in: &world))
  }

  private func descriptor(_ id: [UInt8]) -> CBORValue { ["id": .bytes(id), "type": "public-key"] }

  private static let two: CBORMap = [1: .bytes(RPIDHash(rpID: "two.example").bytes)]

  // Holds: RECORD-7
  @Test func `a removal and a rename are entries of the history, and lists are none`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let before = world.reports.all.count
    let ids = registrations.map { descriptor($0.credentialID) }
    _ = await world.send(0x0A, token.manage(0x01))
    _ = await world.send(0x0A, token.manage(0x02))
    let renamed = await world.send(0x0A, token.manage(0x07, [2: ids[1], 3: ["id": .bytes([2]), "name": "new"]]))
    #expect(renamed.bytes == [0x00])
    let wrong = await world.send(0x0A, token.manage(0x07, [2: ids[1], 3: ["id": .bytes([9]), "name": "new"]]))
    #expect(wrong.bytes == [0x02])
    #expect(await world.send(0x41, token.manage(0x06, [2: ids[0]])).bytes == [0x00])
    #expect(await world.send(0x0A, token.manage(0x06, [2: ids[0]])).bytes == [0x2E])
    let kept = world.reports.all.dropFirst(before).map { $0.historyEntry(at: 7) }
    #expect(
      kept == [
        nil, nil,
        HistoryEntry(time: 7, site: "two.example", kind: .renamePasskey, outcome: .done, verification: .token), nil,
        HistoryEntry(time: 7, site: "one.example", kind: .removePasskey, outcome: .done, verification: .token), nil,
      ])
  }

  // MARK: Reading

  @Test(arguments: PINUVAuthProtocol.allCases)
  func `getCredsMetadata returns the number of passkeys and the room for more`(version: PINUVAuthProtocol) async throws
  {
    var (world, token, _) = try await managedWorld(version)
    #expect(await world.send(0x0A, token.manage(0x01)).map == [1: 3, 2: 9997])
    world.store.pretendToHold(10_001)
    #expect(await world.send(0x0A, token.manage(0x01)).map == [1: 10_001, 2: 0])
  }

  // Holds: MGMT-5, MGMT-6
  @Test func `an empty store has a count of 0 and nothing to list`() async throws {
    var world = TestWorld()
    let token = try await token(.credentialManagement, in: &world)
    #expect(await world.send(0x0A, token.manage(0x01)).description == "00a2010002192710")
    #expect(await world.send(0x0A, token.manage(0x02)).bytes == [0x2E])
    #expect(await world.send(0x0A, token.manage(0x04, Self.two)).bytes == [0x2E])
    #expect(await world.send(0x0A, [1: 3]).bytes == [0x30])
  }

  // Holds: MGMT-10
  @Test func `each relying party is listed once, the total with the first`() async throws {
    var (world, token, _) = try await managedWorld()
    let hashes = ["one.example", "two.example"].map { RPIDHash(rpID: $0).bytes }
    #expect(
      await world.send(0x0A, token.manage(0x02)).map == [3: ["id": "one.example"], 4: .bytes(hashes[0]), 5: 2])
    #expect(await world.send(0x0A, [1: 3]).map == [3: ["id": "two.example"], 4: .bytes(hashes[1])])
    #expect(await world.send(0x0A, [1: 3]).bytes == [0x30])
  }

  // Holds: MGMT-10
  @Test func `relying parties are listed in the order of registration, the oldest first`() async throws {
    var world = TestWorld()
    let sites = ["m.example", "z.example", "a.example"]
    for (user, site) in zip(UInt8(1)..., sites + ["m.example"]) {
      _ = try await world.register(userID: [user], rpID: site)
    }
    let token = try await token(.credentialManagement, in: &world)
    var told = [await world.send(0x0A, token.manage(0x02)).map?[3]?.map?["id"]]
    for _ in 1..<sites.count { told.append(await world.send(0x0A, [1: 3]).map?[3]?.map?["id"]) }
    #expect(told == sites.map { .text($0) }, "a newer account leaves its site in its place")
    #expect(await world.send(0x0A, [1: 3]).bytes == [0x30])
  }

  @Test func `an enumeration reads one record per answer`() async throws {
    var (world, token, _) = try await managedWorld()
    let read = world.store.recordsRead
    #expect(await world.send(0x0A, token.manage(0x01)).map?[1] == 3)
    #expect(world.store.recordsRead == read)
    #expect(await world.send(0x0A, token.manage(0x02)).map?[5] == 2)
    #expect(world.store.recordsRead == read + 1)
    #expect(await world.send(0x0A, [1: 3]).status == .success)
    #expect(world.store.recordsRead == read + 2)
    #expect(await world.send(0x0A, token.manage(0x04, Self.two)).map?[9] == 2)
    #expect(world.store.recordsRead == read + 3)
    #expect(await world.send(0x0A, [1: 5]).status == .success)
    #expect(world.store.recordsRead == read + 4)
  }

  @Test func `a passkey is removed without reading all of them`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let read = world.store.recordsRead
    let id = descriptor(registrations[1].credentialID)
    #expect(await world.send(0x0A, token.manage(0x06, [2: id])).status == .success)
    #expect(world.store.recordsRead == read)
  }

  // Holds: MGMT-10
  @Test func `passkeys are listed in full, the newest first, the total with the first`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let first = await world.send(0x0A, token.manage(0x04, Self.two)).map
    #expect(
      first == [
        6: ["id": .bytes([3]), "name": "three", "displayName": "Alice"],
        7: descriptor(registrations[2].credentialID), 8: .map(registrations[2].coseKey), 9: 2, 0x0A: 3, 0x0C: false,
      ])
    let second = await world.send(0x0A, [1: 5]).map
    #expect(
      second == [
        6: ["id": .bytes([2]), "name": "two", "displayName": "Alice"],
        7: descriptor(registrations[1].credentialID), 8: .map(registrations[1].coseKey), 0x0A: 2, 0x0C: false,
      ])
    #expect(await world.send(0x0A, [1: 5]).bytes == [0x30])
  }

  // Holds: MGMT-10
  @Test func `a large-blob key and thirdPartyPayment are listed for the passkeys that have them`() async throws {
    var world = TestWorld()
    let source = CredentialSource(
      rpID: "two.example", userID: [9], id: [UInt8](repeating: 9, count: 32), algorithm: .es256, counter: 0,
      policy: CredentialPolicy(largeBlobKey: true, thirdPartyPayment: true), created: 0, changed: 0, origin: .recovered)
    try world.store.save(try #require(source), state: nil)
    let token = try await token(.credentialManagement, in: &world)
    let answer = try #require(await world.send(0x0A, token.manage(0x04, Self.two)).map)
    let key = TestPhrase.keys.largeBlobKey(RPIDHash(rpID: "two.example"), id: [UInt8](repeating: 9, count: 32))
    #expect(answer[0x0B] == .bytes(key.withUnsafeBytes { Array($0) }))
    #expect(answer[0x0C] == true)
    #expect(answer[6] == ["id": .bytes([9])])
  }

  @Test func `the command number of the drafts works too`() async throws {
    var (world, token, _) = try await managedWorld()
    #expect(await world.send(0x41, token.manage(0x01)).map == [1: 3, 2: 9997])
    #expect(await world.send(0x41, token.manage(0x04, Self.two)).map?[9] == 2)
    #expect(await world.send(0x41, [1: 5]).map?[6]?.map?["id"] == .bytes([2]))
    #expect(await world.send(0x41, [1: 1]).status == .puatRequired)
  }

  // MARK: The end of an enumeration

  private func begunEnumeration() async throws -> (TestWorld, TestToken) {
    var (world, token, _) = try await managedWorld()
    #expect(await world.send(0x0A, token.manage(0x04, Self.two)).status == .success)
    return (world, token)
  }

  // Holds: CTAP2-18, TIME-5
  @Test func `an enumeration waits for 30 s before each answer`() async throws {
    var (world, token) = try await begunEnumeration()
    world.clock.advance(by: .seconds(30))
    #expect(await world.send(0x0A, [1: 5]).status == .success)
    #expect(await world.send(0x0A, token.manage(0x02)).status == .success)
    world.clock.advance(by: .seconds(30) + .nanoseconds(1))
    #expect(await world.send(0x0A, [1: 3]).bytes == [0x30])
    #expect(await world.send(0x0A, [1: 3]).bytes == [0x30])
  }

  static let interruptions: [[UInt8]] = [
    [0x04], [0x0B], [0x40], [0x01], [0x08], [0x0A, 0xA1, 0x01, 0x03], [0x0A, 0xA1, 0x01, 0x01], [0x0A],
    [0x0A, 0xFF], [0x0A, 0x80], [0x0A, 0xA1, 0x01, 0x18, 0x63], [0x0A, 0xA1, 0x01, 0x61, 0x61],
    [0x0A] + [UInt8](repeating: 0, count: 1800),
  ]

  // Holds: CTAP2-18, MGMT-5
  @Test(arguments: interruptions)
  func `any other message ends an enumeration`(message: [UInt8]) async throws {
    var (world, _) = try await begunEnumeration()
    _ = await world.send(message)
    #expect(await world.send(0x0A, [1: 5]).bytes == [0x30])
  }

  // Holds: CTAP2-18, MGMT-5
  @Test func `a change, a lock, a replug or another client ends an enumeration`() async throws {
    for event in 0..<5 {
      var (world, _) = try await begunEnumeration()
      switch event {
      case 0: world.authenticator.forgetRemaining()
      case 1: world.keySource.lock()
      case 2:
        world.keySource.lock()
        world.keySource.unlock()
      case 3: world.replug()
      default: #expect(await world.send(0x0A, [1: 5], channel: 2).bytes == [0x30])
      }
      #expect(await world.send(0x0A, [1: 5]).bytes == [0x30], "event \(event)")
      #expect(world.keySource.openings == 0)
    }
  }

  // MARK: Removing and renaming

  // Holds: MGMT-7
  @Test func `a removed passkey is gone, and its id stays invalid`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let id = registrations[1].credentialID
    #expect(await world.send(0x0A, token.manage(0x06, [2: descriptor(id)])).bytes == [0x00])
    #expect(await world.send(0x0A, token.manage(0x06, [2: descriptor(id)])).bytes == [0x2E])
    #expect(await world.send(0x0A, token.manage(0x01)).map == [1: 2, 2: 9998])
    let entry = try world.store.account(rpIDHash: RPIDHash(rpID: "two.example"), userID: [2])
    #expect(entry == .tombstone(counter: 0, changed: TestWorld.wallClock + 1), "later than the passkey was made")
    #expect(
      await world.getAssertion(Requests.getAssertion(allowing: [id], uv: true, rpID: "two.example")).bytes == [0x2E])
  }

  // Holds: IMPORT-1
  @Test(arguments: [false, true])
  func `a removal by an id removes the imported passkey before the derived one with the same id`(
    isDerivedNewer: Bool
  ) async throws {
    var world = TestWorld()
    let derived = try await world.register(userID: [1], name: "one", rpID: "one.example").credentialID
    var seed = [UInt8](repeating: 3, count: 32)
    let planted = CredentialSource(
      rpID: "one.example", userID: [9], id: derived, algorithm: .edDSA, counter: 0, created: 0, changed: 0,
      origin: .imported, importedKey: SecretBytes(consuming: &seed))
    if isDerivedNewer {
      let rpIDHash = RPIDHash(rpID: "one.example")
      let record = try #require(try world.store.credential(id: derived, rpIDHash: rpIDHash))
      try world.store.remove(record, changed: 1)
      try world.store.save(try #require(planted), state: nil)
      try world.store.save(record, state: nil)
    } else {
      try world.store.save(try #require(planted), state: nil)
    }
    let token = try await token(.credentialManagement, in: &world)
    #expect(await world.send(0x0A, token.manage(0x06, [2: descriptor(derived)])).bytes == [0x00])
    #expect(try world.store.allCredentials().map(\.userID) == [[1]])
    #expect(await world.send(0x0A, token.manage(0x06, [2: descriptor(derived)])).bytes == [0x00])
    #expect(try world.store.allCredentials() == [])
  }

  /// Imports a passkey with this id and a key of its own.
  private func plant(_ id: [UInt8], rpID: String, userID: UInt8, in world: TestWorld) throws {
    var seed = [UInt8](rpID.utf8.prefix(1)) + [UInt8](repeating: userID, count: 31)
    let planted = CredentialSource(
      rpID: rpID, userID: [userID], id: id, algorithm: .edDSA, counter: 0, created: 0, changed: 0,
      origin: .imported, importedKey: SecretBytes(consuming: &seed))
    try world.store.save(try #require(planted), state: nil)
  }

  // Holds: IMPORT-1
  @Test(arguments: [nil, "one.example"] as [String?])
  func `an imported passkey with the id of another one does not keep it from being renamed`(_ rpID: String?)
    async throws
  {
    var world = TestWorld()
    let id = try await world.register(userID: [1], name: "one", rpID: "one.example").credentialID
    try plant(id, rpID: "a.example", userID: 1, in: world)
    try plant(id, rpID: "one.example", userID: 9, in: world)
    let token = try await token(.credentialManagement, rpID: rpID, in: &world)
    let rename = { (userID: UInt8) in
      token.manage(0x07, [2: descriptor(id), 3: ["id": .bytes([userID]), "name": "new"]])
    }
    let store = world.store
    let names = { try store.allCredentials().map { "\($0.rpID) \($0.userID) \($0.name ?? "")" } }
    #expect(await world.send(0x0A, rename(1)).bytes == [0x00])
    #expect(try names() == ["one.example [9] ", "a.example [1] ", "one.example [1] new"])
    #expect(await world.send(0x0A, rename(9)).bytes == [0x00])
    #expect(try names() == ["one.example [9] new", "a.example [1] ", "one.example [1] new"])
    #expect(await world.send(0x0A, rename(8)).bytes == [0x02])
  }

  // Holds: IMPORT-1
  @Test func `a token for a site removes the passkey of that site, whatever another site's passkey has as its id`()
    async throws
  {
    var world = TestWorld()
    let id = try await world.register(userID: [1], name: "one", rpID: "one.example").credentialID
    try plant(id, rpID: "a.example", userID: 1, in: world)
    let token = try await token(.credentialManagement, rpID: "one.example", in: &world)
    #expect(await world.send(0x0A, token.manage(0x06, [2: descriptor(id)])).bytes == [0x00])
    #expect(try world.store.allCredentials().map(\.rpID) == ["a.example"])
    #expect(await world.send(0x0A, token.manage(0x06, [2: descriptor(id)])).bytes == [0x33])
  }

  // Holds: MGMT-9
  @Test func `renaming a passkey changes its names only`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let id = registrations[1].credentialID
    let before = try #require(try world.store.credential(id: id, rpIDHash: RPIDHash(rpID: "two.example")))
    let params: CBORMap = [
      2: descriptor(id), 3: ["id": .bytes([2]), "name": .text(String(repeating: "ü", count: 40)), "displayName": ""],
    ]
    #expect(await world.send(0x0A, token.manage(0x07, params)).bytes == [0x00])
    var after = try #require(try world.store.credential(id: id, rpIDHash: RPIDHash(rpID: "two.example")))
    #expect(after.name == String(repeating: "ü", count: 32), "64 bytes")
    #expect(after.displayName == nil, "empty is removed")
    #expect(after.counter == before.counter && after.changed == before.changed + 1)
    #expect(try world.store.credentials(rpIDHash: RPIDHash(rpID: "two.example")).map(\.userID) == [[3], [2]])

    let bare: CBORMap = [2: descriptor(id), 3: ["id": .bytes([2]), "displayName": "Two"]]
    #expect(await world.send(0x0A, token.manage(0x07, bare)).bytes == [0x00])
    after = try #require(try world.store.credential(id: id, rpIDHash: RPIDHash(rpID: "two.example")))
    #expect(after.name == nil, "absent is removed")
    #expect(after.displayName == "Two")
  }

  // Holds: MGMT-7, MGMT-8
  @Test func `renaming a passkey needs its own user.id`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let writes = world.store.writes
    let params: CBORMap = [2: descriptor(registrations[1].credentialID), 3: ["id": .bytes([3]), "name": "other"]]
    #expect(await world.send(0x0A, token.manage(0x07, params)).bytes == [0x02])
    let unknown: CBORMap = [2: descriptor([1, 2, 3]), 3: ["id": .bytes([3]), "name": "other"]]
    #expect(await world.send(0x0A, token.manage(0x07, unknown)).bytes == [0x2E])
    #expect(world.store.writes == writes)
  }

  // MARK: Tokens

  // Holds: CTAP2-16, MGMT-1
  @Test func `missing members are reported in order: MAC, protocol, parameters`() async throws {
    let (_, token, registrations) = try await managedWorld()
    let id = descriptor(registrations[0].credentialID)
    let params: [(UInt8, CBORMap?)] = [
      (0x01, nil), (0x02, nil), (0x04, Self.two), (0x06, [2: id]), (0x07, [2: id, 3: ["id": .bytes([1])]]),
    ]
    for (subcommand, params) in params {
      var world = TestWorld(isOpen: false)
      var request = token.manage(subcommand, params)
      request[4] = nil
      #expect(await world.send(0x0A, request).status == .puatRequired, "\(subcommand)")
      request = token.manage(subcommand, params)
      request[3] = nil
      #expect(await world.send(0x0A, request).status == .missingParameter)
      request[3] = 3
      #expect(await world.send(0x0A, request).status == .invalidParameter)
      for key in params?.pairs.map(\.key) ?? [] {
        var fewer = params
        fewer?[key] = nil
        #expect(await world.send(0x0A, token.manage(subcommand, fewer)).status == .missingParameter)
        #expect(await world.send(0x0A, token.manage(subcommand)).status == .missingParameter)
      }
      #expect(world.keySource.openings == 0, "nobody is asked for a passphrase")
    }
  }

  // Holds: CTAP2-16, MGMT-2
  @Test func `a wrong MAC, another protocol or a missing permission is refused`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let id = descriptor(registrations[0].credentialID)
    let requests: [(UInt8, CBORMap?)] = [
      (0x01, nil), (0x02, nil), (0x04, Self.two), (0x06, [2: id]), (0x07, [2: id, 3: ["id": .bytes([1])]]),
    ]
    let writes = world.store.writes
    for (subcommand, params) in requests {
      var request = token.manage(subcommand, params)
      request[4] = .bytes(token.param([subcommand ^ 1]))
      #expect(await world.send(0x0A, request).status == .pinAuthInvalid)
      request = token.manage(subcommand, params)
      request[3] = 1
      #expect(await world.send(0x0A, request).status == .pinAuthInvalid)
    }
    let other = try await self.token(.authenticatorConfiguration, in: &world)
    for (subcommand, params) in requests {
      #expect(await world.send(0x0A, other.manage(subcommand, params)).status == .pinAuthInvalid)
    }
    #expect(world.store.writes == writes)
  }

  // Holds: MGMT-3
  @Test func `the MAC covers the received bytes, unknown members included`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let params: CBORMap = [
      2: [
        "id": .bytes(registrations[0].credentialID), "type": "public-key", "transports": ["usb"],
        "more": [-1, true, "é", 70_000],
      ],
      3: ["id": .bytes([1]), "icon": "https://one.example/i", "name": "renamed", "displayName": "e\u{301}"],
      24: .bytes([UInt8](repeating: 0, count: 300)),
    ]
    let encoded = CBOREncoder.encode(.map(params))
    #expect(encoded.count > 400)
    let message: [UInt8] =
      [0x0A, 0xA4, 0x01, 0x07, 0x02] + encoded + [0x03, 0x02, 0x04, 0x58, 0x20] + token.param([0x07] + encoded)
    #expect(await world.send(message).bytes == [0x00])
    #expect(try world.store.account(rpIDHash: RPIDHash(rpID: "one.example"), userID: [1])?.record?.name == "renamed")
  }

  // Holds: CTAP2-16, MGMT-4
  @Test func `a token bound to a relying party is valid for its passkeys only`() async throws {
    var (world, token, registrations) = try await managedWorld(rpID: "two.example")
    let ids = registrations.map { descriptor($0.credentialID) }
    #expect(await world.send(0x0A, token.manage(0x01)).bytes == [0x33])
    #expect(await world.send(0x0A, token.manage(0x02)).bytes == [0x33])
    #expect(
      await world.send(0x0A, token.manage(0x04, [1: .bytes(RPIDHash(rpID: "one.example").bytes)])).bytes == [0x33])
    #expect(await world.send(0x0A, token.manage(0x06, [2: ids[0]])).bytes == [0x33])
    #expect(await world.send(0x0A, token.manage(0x07, [2: ids[0], 3: ["id": .bytes([1])]])).bytes == [0x33])

    #expect(await world.send(0x0A, token.manage(0x04, Self.two)).map?[9] == 2)
    #expect(await world.send(0x0A, token.manage(0x07, [2: ids[1], 3: ["id": .bytes([2])]])).bytes == [0x00])
    #expect(await world.send(0x0A, token.manage(0x06, [2: ids[1]])).bytes == [0x00])
  }

  // Holds: PIN-24
  @Test(arguments: [true, false]) func `the owner can revoke the pcmr token`(isByPIN: Bool) async throws {
    var world = TestWorld(canVerify: !isByPIN)
    let platform = try TestPlatform(.two)
    let pcmr = TokenPermissions.persistentCredentialManagementReadOnly
    func ask() async throws -> TestToken {
      let answer =
        isByPIN
        ? try await platform.askToken(pin: "1234", pcmr, in: &world)
        : try await platform.askTokenByVerification(pcmr, in: &world)
      return try platform.token(answer)
    }
    if isByPIN { _ = try await platform.setPIN("1234", in: &world) }
    #expect(try !world.store.state().settings.hasPersistentToken)
    let token = try await ask()
    #expect(try world.store.state().settings.hasPersistentToken)
    #expect(await world.send(0x0A, token.manage(0x01)).status == .success)

    let vault = try await world.keySource.open(for: nil, from: nil)
    var settings = try vault.settings()
    settings.endPersistentToken()
    try vault.save(settings)
    #expect(await world.send(0x0A, token.manage(0x01)).status == .pinAuthInvalid)
    #expect(try !world.store.state().settings.hasPersistentToken)
    let fresh = try await ask()
    #expect(!fresh.secret.isEqual(to: token.secret), "who is let read again is given another one")
    #expect(await world.send(0x0A, fresh.manage(0x01)).status == .success)
    #expect(await world.send(0x0A, token.manage(0x01)).status == .pinAuthInvalid)
  }

  // Holds: PIN-29, MGMT-2
  @Test func `the pcmr token can read after a replug and a lock, and change nothing`() async throws {
    for version in PINUVAuthProtocol.allCases {
      var (world, _, registrations) = try await managedWorld(version)
      let token = try await token(.persistentCredentialManagementReadOnly, version, in: &world)
      world.replug()
      world.keySource.lock()
      #expect(await world.send(0x0A, token.manage(0x01)).status == .success)
      #expect(world.keySource.reasons == [.prompt(UserPrompt(purpose: .authorize(.credentialManagement)))])
      #expect(await world.send(0x0A, token.manage(0x02)).status == .success)
      #expect(await world.send(0x0A, [1: 3]).status == .success)
      #expect(await world.send(0x0A, token.manage(0x04, Self.two)).status == .success)
      #expect(await world.send(0x0A, [1: 5]).status == .success)
      let id = descriptor(registrations[0].credentialID)
      #expect(await world.send(0x0A, token.manage(0x06, [2: id])).bytes == [0x33])
      #expect(await world.send(0x0A, token.manage(0x07, [2: id, 3: ["id": .bytes([1])]])).bytes == [0x33])
    }
  }

  // Holds: PIN-16
  @Test func `a changed PIN ends the pcmr token`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let token = try platform.token(
      try await platform.askToken(pin: "1234", .persistentCredentialManagementReadOnly, in: &world))
    #expect(await world.send(0x0A, token.manage(0x01)).status == .success)
    _ = try await platform.changePIN("1234", to: "4321", in: &world)
    #expect(await world.send(0x0A, token.manage(0x01)).bytes == [0x33])
  }

  // MARK: Malformed

  // Holds: MSG-3
  @Test func `malformed requests are refused without a prompt`() async throws {
    let cases: [(CBORMap, CTAPStatus)] = [
      ([:], .missingParameter), ([1: 0], .invalidSubcommand), ([1: 8], .invalidSubcommand),
      ([1: "1"], .cborUnexpectedType), ([1: 1, 2: 1], .cborUnexpectedType), ([1: 1, 3: "2"], .cborUnexpectedType),
      ([1: 1, 4: 1], .cborUnexpectedType), ([1: 4, 2: [1: "hash"]], .cborUnexpectedType),
      ([1: 4, 2: [1: .bytes([1, 2, 3])]], .invalidLength), ([1: 6, 2: [2: .bytes([1])]], .cborUnexpectedType),
      ([1: 6, 2: [2: ["type": "public-key"]]], .missingParameter), ([1: 7, 2: [3: ["name": "n"]]], .missingParameter),
    ]
    for (request, status) in cases {
      var world = TestWorld(isOpen: false)
      #expect(await world.send(0x0A, request).status == status)
      #expect(world.keySource.openings == 0)
    }
  }

  @Test func `a failed write to the store is reported`() async throws {
    var (world, token, registrations) = try await managedWorld()
    let id = descriptor(registrations[0].credentialID)
    world.store.fill()
    #expect(await world.send(0x0A, token.manage(0x06, [2: id])).bytes == [0x7F])
    #expect(await world.send(0x0A, token.manage(0x01)).map?[1] == 3)
  }
}
