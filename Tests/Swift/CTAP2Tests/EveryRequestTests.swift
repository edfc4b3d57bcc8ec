import CBOR
import CryptoPrimitives
import Recovery
import Testing

@testable import CTAP2

/// Every command with every subset of its members, with members of other types, and with unknown members.
@Suite struct EveryRequestTests {
  /// A complete request, and the members that it needs.
  struct Whole: Sendable, CustomTestStringConvertible {
    let code: UInt8
    let members: CBORMap
    let required: Set<CBORValue>
    var testDescription: String { AuthenticatorCommands[code]?.name ?? "\(code)" }
  }

  static let requests: [Whole] = [
    Whole(
      code: 0x01,
      members: Requests.makeCredential(
        rk: true, uv: true,
        changes: [
          (5, Requests.list([[1, 2, 3]])), (6, ["credProtect": 2, "hmac-secret": true]), (9, 2), (0x0B, ["none"]),
        ]),
      required: [1, 2, 3, 4]),
    Whole(
      code: 0x02,
      members: Requests.getAssertion(allowing: [[1, 2, 3]], uv: true, changes: [(4, ["credBlob": true]), (7, 2)]),
      required: [1, 2]),
    Whole(code: 0x04, members: [:], required: []),
    Whole(
      code: 0x06,
      members: [
        1: 2, 2: 0x09, 3: [1: 2, 3: -25, -1: 1, -2: .bytes([1]), -3: .bytes([2])], 6: .bytes([3]), 9: 4,
        10: "example.com",
      ], required: [1, 2, 3, 6, 9]),
    Whole(code: 0x07, members: [:], required: []),
    Whole(code: 0x08, members: [:], required: []),
    Whole(
      code: 0x0A, members: [1: 4, 2: [1: .bytes([UInt8](repeating: 1, count: 32))], 3: 2, 4: .bytes([1, 2])],
      required: [1, 2, 3, 4]),
    Whole(code: 0x0B, members: [:], required: []),
    Whole(
      code: 0x0C, members: [2: .bytes([0x80]), 3: 0, 4: 17, 5: .bytes([1]), 6: 2], required: [2, 3, 4, 5, 6]),
    Whole(code: 0x0D, members: [1: 3, 2: [1: 5], 3: 2, 4: .bytes([1])], required: [1, 3, 4]),
  ]

  /// One value of every type.
  private static let types: [CBORValue] = [7, -7, .bytes([1]), "text", [1], [1: 1], true]

  private func majorType(_ value: CBORValue) -> Int {
    switch value {
    case .unsigned: 0
    case .negative: 1
    case .bytes: 2
    case .text: 3
    case .array: 4
    case .map: 5
    case .bool: 6
    }
  }

  /// Sends the request to a new authenticator, and checks that the answer is a status, alone or before a canonical map.
  private func answer(_ code: UInt8, _ members: CBORMap) async -> CTAPStatus? {
    var world = TestWorld()
    let answer = await world.send(code, members)
    #expect(answer.status != nil, "\(code): \(members)")
    if answer.status != .success { #expect(answer.bytes.count == 1, "\(code): \(members)") }
    if answer.bytes.count > 1 { #expect(answer.map != nil, "\(code): \(members)") }
    return answer.status
  }

  @Test func `every command has a request`() {
    #expect(Self.requests.map(\.code) == AuthenticatorCommands.all.map { $0.code }.sorted().filter { $0 != 0x41 })
  }

  @Test(arguments: requests) func `any subset of members gets an answer, and fails without the required ones`(
    request: Whole
  ) async {
    let pairs = request.members.pairs
    for subset in 0..<(1 << pairs.count) {
      let kept = CBORMap(pairs.indices.filter { subset >> $0 & 1 == 1 }.map { (pairs[$0].key, pairs[$0].value) })
      let status = await answer(request.code, kept)
      if !request.required.isSubset(of: kept.pairs.map(\.key)) { #expect(status != .success, "\(kept)") }
    }
  }

  @Test(arguments: requests) func `a member of another type is refused without a prompt`(request: Whole) async {
    for pair in request.members.pairs {
      for other in Self.types where majorType(other) != majorType(pair.value) {
        var members = request.members
        members[pair.key] = other
        var world = TestWorld(isOpen: false)
        let answer = await world.send(request.code, members)
        #expect(answer.status != .success, "\(request.code): \(pair.key) as \(other)")
        #expect(world.person.shown.isEmpty)
      }
    }
  }

  @Test(arguments: requests) func `an unknown member changes nothing`(request: Whole) async {
    let plain = await answer(request.code, request.members)
    for key: CBORValue in [0x70, -1, "later", .bytes([1])] {
      for value in Self.types {
        var members = request.members
        members[key] = value
        #expect(await answer(request.code, members) == plain, "\(request.code): \(key) as \(value)")
      }
    }
  }
}

/// Without verification and without the user's consent, no program can change anything.
@Suite struct NothingVerifiesTests {
  // Holds: CTAP2-17, MGMT-24
  @Test func `without consent, no request writes anything`() async throws {
    var world = TestWorld(canVerify: false)
    let made = try #require(await world.makeCredential(Requests.makeCredential(rk: true)).data)
    let (writes, shown) = (world.store.writes, world.person.shown.count)
    world.person.will(
      .fail(.declined), .fail(.declined), .fail(.declined), .fail(.declined), .fail(.declined), .fail(.declined))
    let platform = try TestPlatform(.two)
    let forged = TestToken(version: .two, secret: SecretBytes.random(count: 32))
    let id: CBORMap = ["id": .bytes(made.credentialID), "type": "public-key"]
    let user: CBORMap = ["id": .bytes(Requests.userID)]
    let statuses = [
      // Prompted for.
      try await platform.setPIN("1234", in: &world).status,
      await world.send(0x0D, [1: 2]).status, await world.send(0x0D, [1: 3, 2: [1: 20]]).status,
      await world.send(0x0C, [2: .bytes(SerializedLargeBlobs.initial), 3: 0, 4: 17]).status,
      await world.makeCredential(Requests.makeCredential(rk: true)).status, await world.send([0x07]).status,
      // Refused.
      try await platform.changePIN("1234", to: "4321", in: &world).status,
      try await platform.askToken(pin: "1234", in: &world).status,
      try await platform.askToken(pin: "1234", .credentialManagement, in: &world).status,
      try await platform.askToken(pin: "1234", .persistentCredentialManagementReadOnly, in: &world).status,
      try await platform.askTokenByVerification(.credentialManagement, in: &world).status,
      await world.send(0x0A, [1: 1]).status, await world.send(0x0A, forged.manage(1)).status,
      await world.send(0x0A, [1: 6, 2: [2: .map(id)]]).status,
      await world.send(0x0A, forged.manage(6, [2: .map(id)])).status,
      await world.send(0x0A, forged.manage(7, [2: .map(id), 3: .map(user)])).status,
      await world.send(0x41, forged.manage(6, [2: .map(id)])).status,
      await world.send(0x0D, forged.configure(3, [3: true])).status,
    ]
    #expect(
      statuses == [CTAPStatus?](repeating: .operationDenied, count: 6) + [
        .pinNotSet, .pinNotSet, .pinNotSet, .pinNotSet, .invalidSubcommand, .puatRequired, .pinAuthInvalid,
        .puatRequired, .pinAuthInvalid, .pinAuthInvalid, .pinAuthInvalid, .pinNotSet,
      ])
    #expect(world.store.writes == writes)
    #expect(world.person.shown.count == shown + 6)
  }
}

/// Every status that the authenticator returns.
@Suite struct EveryStatusTests {
  private typealias Operation = @Sendable (inout TestWorld) async throws -> CTAPStatus?

  private static func refused(_ error: UserInteractionError) -> Operation {
    { world in
      world.person.will(.fail(error))
      return await world.makeCredential(Requests.makeCredential()).status
    }
  }

  private static func wrongPINs(_ count: Int, powerCycling: Bool = false) -> Operation {
    { world in
      let platform = try TestPlatform(.two)
      _ = try await platform.setPIN("1234", in: &world)
      var status: CTAPStatus?
      for _ in 0..<count {
        if powerCycling { world.powerCycle() }
        status = try await platform.askToken(pin: "9999", in: &world).status
      }
      return status
    }
  }

  private static func token(by error: UserInteractionError) -> Operation {
    { world in
      world.person.will(.fail(error))
      let platform = try TestPlatform(.two)
      return try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world).status
    }
  }

  private static func send(_ message: [UInt8]) -> Operation { { await $0.send(message).status } }
  private static func send(_ code: UInt8, _ members: CBORMap) -> Operation { { await $0.send(code, members).status } }

  private static let deeds: [(CTAPStatus, Operation)] = [
    (.success, send([0x04])), (.invalidCommand, send([0x09])), (.invalidParameter, send(0x06, [1: 3, 2: 2])),
    (.invalidLength, send([])), (.invalidSequence, send(0x0C, [2: .bytes([1]), 3: 1])),
    (.cborUnexpectedType, send(0x01, [1: "x"])), (.invalidCBOR, send([0x01, 0xFF])),
    (.missingParameter, send([0x01, 0xA0])), (.largeBlobStorageFull, send(0x0C, [2: .bytes([1]), 3: 0, 4: 9000])),
    (
      .credentialExcluded,
      { world in
        let made = await world.makeCredential(Requests.makeCredential())
        let data = try #require(made.map?[2]?.bytes)
        let id = try #require(ParsedAuthenticatorData(data)).credentialID
        return await world.makeCredential(Requests.makeCredential(changes: [(5, Requests.list([id]))])).status
      }
    ),
    (.unsupportedAlgorithm, { await $0.makeCredential(Requests.makeCredential(algorithms: [-999])).status }),
    (.operationDenied, refused(.declined)),
    (
      .keyStoreFull,
      { world in
        world = TestWorld(canVerify: false)
        let rpIDs = CBORValue.array((0..<9).map { .text("\($0).example") })
        return await world.send(0x0D, [1: 3, 2: [2: rpIDs]]).status
      }
    ),
    (.unsupportedOption, { await $0.getAssertion(Requests.getAssertion(changes: [(5, ["rk": true])])).status }),
    (
      .invalidOption,
      { world in
        world = TestWorld(canVerify: false)
        return await world.getAssertion(Requests.getAssertion(uv: true)).status
      }
    ),
    (.keepaliveCancel, refused(.cancelled)),
    (.noCredentials, { await $0.getAssertion(Requests.getAssertion()).status }),
    (.userActionTimeout, refused(.timedOut)), (.notAllowed, send([0x08])), (.pinInvalid, wrongPINs(1)),
    (.pinBlocked, wrongPINs(8, powerCycling: true)),
    (.pinAuthInvalid, { await $0.getAssertion(Requests.getAssertion(changes: [(6, .bytes([1])), (7, 2)])).status }),
    (.pinAuthBlocked, wrongPINs(3)),
    (.pinNotSet, { try await TestPlatform(.two).askToken(pin: "1234", in: &$0).status }),
    (.puatRequired, send(0x0C, [2: .bytes([1]), 3: 0, 4: 17])),
    (.pinPolicyViolation, { try await TestPlatform(.two).setPIN("123", in: &$0).status }),
    (.requestTooLarge, send([UInt8](repeating: 0x01, count: 1801))), (.uvBlocked, token(by: .verificationBlocked)),
    (
      .integrityFailure,
      { world in
        world = TestWorld(canVerify: false)
        return await world.send(0x0C, [2: .bytes([UInt8](repeating: 0, count: 17)), 3: 0, 4: 17]).status
      }
    ),
    (.invalidSubcommand, send(0x06, [2: 0x99])), (.uvInvalid, token(by: .verificationFailed)),
    (
      .unauthorizedPermission,
      { try await TestPlatform(.two).askTokenByVerification([.init(rawValue: 8)], in: &$0).status }
    ),
    (
      .other,
      { world in
        world.store.fill()
        return await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).status
      }
    ),
  ]

  /// Statuses of the transport, of a sensor, of states that do not occur here, and the end of the range.
  private static let neverAnswered: Set<CTAPStatus> = [
    .timeout, .channelBusy, .lockRequired, .invalidChannel, .limitExceeded, .fpDatabaseFull, .processing,
    .invalidCredential, .userActionPending, .operationPending, .noOperations, .pinTokenExpired, .actionTimeout,
    .upRequired, .specLast,
  ]
  /// Statuses of the `liquid` extension; see `LiquidRequestTests`.
  private static let liquid: Set<CTAPStatus> = [
    .liquidClientDataForm, .liquidClientDataHash, .liquidOrigin, .liquidChallenge, .liquidReservedChallenge,
  ]

  @Test func `each status is returned as in the standard`() async throws {
    for (status, operation) in Self.deeds {
      var world = TestWorld()
      #expect(try await operation(&world) == status)
    }
    #expect(Set(Self.deeds.map(\.0)).union(Self.neverAnswered).union(Self.liquid) == Set(CTAPStatus.allCases))
  }
}
