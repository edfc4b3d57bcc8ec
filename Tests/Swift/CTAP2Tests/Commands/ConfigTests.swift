import CBOR
import Recovery
import TestVectors
import Testing

@testable import CTAP2

/// authenticatorConfig: CTAP §6.11.
@Suite struct ConfigTests {
  private func settings(_ world: TestWorld) throws -> AuthenticatorSettings { try world.store.state().settings }

  /// A world with a PIN and without verification, and a token with permission acfg.
  private func worldWithPIN(_ version: PINUVAuthProtocol = .two) async throws -> (TestWorld, TestToken) {
    var world = TestWorld(canVerify: false)
    let platform = try TestPlatform(version)
    _ = try await platform.setPIN("123456", in: &world)
    let token = try await token(platform, in: &world)
    return (world, token)
  }

  private func token(_ platform: TestPlatform, in world: inout TestWorld) async throws -> TestToken {
    try platform.token(try await platform.askToken(pin: "123456", .authenticatorConfiguration, in: &world))
  }

  private func options(_ world: inout TestWorld) async -> CBORMap? { await world.send([0x04]).map?[4]?.map }

  // Holds: RECORD-7
  @Test func `a change of settings is an entry of the history, and what changes nothing is none`() async throws {
    var (world, token) = try await worldWithPIN()
    let before = world.reports.all.count
    #expect(await world.send(0x0D, token.configure(0x03, [1: 6])).bytes == [0x00])
    #expect(await world.send(0x0D, token.configure(0x03, [1: 6])).bytes == [0x00])
    var unprotected = TestWorld(canVerify: false)
    unprotected.person.will(.fail(.declined))
    #expect(await unprotected.send(0x0D, [1: 2]).bytes == [0x27])
    #expect(await unprotected.send(0x0D, [1: 2]).bytes == [0x00])
    func entry(_ outcome: HistoryEntry.Outcome, _ verification: HistoryEntry.Verification) -> HistoryEntry {
      HistoryEntry(time: 7, site: nil, kind: .changeSettings, outcome: outcome, verification: verification)
    }
    #expect(world.reports.all.dropFirst(before).map { $0.historyEntry(at: 7) } == [entry(.done, .token), nil])
    #expect(unprotected.reports.all.map { $0.historyEntry(at: 7) } == [entry(.denied, .none), entry(.done, .none)])
  }

  // MARK: toggleAlwaysUv

  // Holds: INFO-7, MC-7, MGMT-25
  @Test(arguments: PINUVAuthProtocol.allCases)
  func `alwaysUv is toggled, and getInfo reports it`(version: PINUVAuthProtocol) async throws {
    var (world, token) = try await worldWithPIN(version)
    #expect(await options(&world)?["alwaysUv"] == false)
    #expect(await world.send(0x0D, token.configure(0x02)).bytes == [0x00])
    #expect(await options(&world)?["alwaysUv"] == true)
    #expect(await options(&world)?["makeCredUvNotRqd"] == false)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .puatRequired)
    world.keySource.lock()
    #expect(await options(&world)?["alwaysUv"] == true, "also while locked")
    world.keySource.unlock()

    let platform = try TestPlatform(version)
    let second = try await self.token(platform, in: &world)
    #expect(await world.send(0x0D, second.configure(0x02)).bytes == [0x00])
    #expect(await options(&world)?["alwaysUv"] == false)
    #expect(await options(&world)?["makeCredUvNotRqd"] == true)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success)
  }

  // Holds: MC-7
  @Test func `a token from verification authorizes authenticatorConfig`() async throws {
    var world = TestWorld()
    #expect(await options(&world)?["uvAcfg"] == true)
    let platform = try TestPlatform(.two)
    let token = try platform.token(try await platform.askTokenByVerification(.authenticatorConfiguration, in: &world))
    #expect(await world.send(0x0D, token.configure(0x02)).bytes == [0x00])
    #expect(try settings(world).alwaysUV)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success)
    #expect(world.person.shown.last?.verification == true)
  }

  // Holds: MGMT-25
  @Test func `without verification, only toggleAlwaysUv ends alwaysUv`() async throws {
    var world = TestWorld(canVerify: false)
    #expect(await world.send(0x0D, [1: 2]).bytes == [0x00])
    #expect(try settings(world).alwaysUV)
    #expect(await world.send(0x0D, [1: 3, 2: [1: 6]]).status == .puatRequired)
    #expect(await world.send(0x0D, [1: 2]).bytes == [0x00])
    #expect(try !settings(world).alwaysUV)
    #expect(await world.send(0x0D, [1: 3, 2: [1: 6]]).bytes == [0x00])
    #expect(await world.send([0x04]).map?[0x0D] == 6)
  }

  // MARK: setMinPINLength

  // Holds: CTAP2-19, MGMT-26
  @Test func `the minimum PIN length only grows`() async throws {
    var (world, token) = try await worldWithPIN()
    let lengths: [(CBORValue, CTAPStatus)] = [
      (3, .pinPolicyViolation), (4, .success), (6, .success), (6, .success), (5, .pinPolicyViolation),
      (64, .pinPolicyViolation), (256, .pinPolicyViolation), (.unsigned(.max), .pinPolicyViolation),
    ]
    for (length, status) in lengths {
      #expect(await world.send(0x0D, token.configure(0x03, [1: length])).status == status, "\(length)")
    }
    #expect(
      world.reports.all.last?.error?.reason
        == "the minimum is 6 and can only be raised, up to 63; a reset restores 4")
    #expect(await world.send([0x04]).map?[0x0D] == 6)
    #expect(await world.send([0x04]).map?[0x0C] == false, "the PIN has six characters")
    #expect(await world.send(0x0D, token.configure(0x03, [1: 63])).status == .success)
  }

  // Holds: PIN-16, PIN-21, MGMT-29
  @Test func `a PIN that is now too short must be changed`() async throws {
    var (world, token) = try await worldWithPIN()
    let platform = try TestPlatform(.two)
    let pcmr = try platform.token(
      try await platform.askToken(pin: "123456", .persistentCredentialManagementReadOnly, in: &world))
    #expect(await world.send(0x0D, token.configure(0x03, [1: 7])).bytes == [0x00])
    #expect(await world.send([0x04]).map?[0x0C] == true)
    #expect(await world.send(0x0D, token.configure(0x02)).bytes == [0x33], "what the old PIN allowed ends")
    #expect(await world.send(0x0A, pcmr.manage(0x01)).bytes == [0x33])
    #expect(try await platform.askToken(pin: "123456", in: &world).status == .pinInvalid)
    #expect(
      try await platform.askToken(pin: "123456", .authenticatorConfiguration, in: &world).status == .pinPolicyViolation)
    #expect(try await platform.changePIN("123456", to: "654321", in: &world).status == .pinPolicyViolation)
    #expect(try await platform.changePIN("123456", to: "7654321", in: &world).bytes == [0x00])
    #expect(await world.send([0x04]).map?[0x0C] == false)
    #expect(
      try await platform.askToken(pin: "7654321", .authenticatorConfiguration, in: &world).status == .success)
  }

  // Holds: PIN-15, MGMT-27
  @Test func `a PIN change can be forced if a PIN is set`() async throws {
    var (world, token) = try await worldWithPIN()
    #expect(await world.send(0x0D, token.configure(0x03, [3: false])).bytes == [0x00])
    #expect(await world.send([0x04]).map?[0x0C] == false)
    #expect(await world.send(0x0D, token.configure(0x03, [3: true])).bytes == [0x00])
    #expect(await world.send([0x04]).map?[0x0C] == true)
    let platform = try TestPlatform(.two)
    #expect(try await platform.changePIN("123456", to: "123456", in: &world).status == .pinPolicyViolation)

    var without = TestWorld(canVerify: false)
    #expect(await without.send(0x0D, [1: 3, 2: [1: 6, 3: true]]).status == .pinNotSet)
    #expect(try settings(without) == AuthenticatorSettings(), "all or nothing")
    #expect(await without.send(0x0D, [1: 3, 2: [1: 3, 3: true]]).status == .pinPolicyViolation)
  }

  // Holds: MGMT-28
  @Test func `the list of relying parties is replaced, up to the limit in getInfo`() async throws {
    var (world, token) = try await worldWithPIN()
    let most = try #require(await world.send([0x04]).map?[0x10]?.unsigned)
    let list = (0..<most).map { CBORValue.text("\($0).example") }
    #expect(await world.send(0x0D, token.configure(0x03, [2: .array(list)])).bytes == [0x00])
    #expect(try settings(world).minimumPINLengthRPIDs == list.compactMap(\.text))
    let writes = world.store.writes
    #expect(await world.send(0x0D, token.configure(0x03, [1: 6, 2: .array(list + ["x"])])).status == .keyStoreFull)
    #expect(world.store.writes == writes)
    #expect(await world.send(0x0D, token.configure(0x03, [1: 5])).bytes == [0x00])
    #expect(try settings(world).minimumPINLengthRPIDs.count == Int(most), "without a list the old one stays")
    #expect(await world.send(0x0D, token.configure(0x03, [2: []])).bytes == [0x00])
    #expect(try settings(world).minimumPINLengthRPIDs.isEmpty)
  }

  // MARK: Tokens

  // Holds: CTAP2-16, MGMT-22
  @Test func `authenticatorConfig on a protected device needs a token with permission acfg`() async throws {
    for canVerify in [true, false] {
      var world = TestWorld(canVerify: canVerify)
      let platform = try TestPlatform(.two)
      _ = try await platform.setPIN("123456", in: &world)
      let token = try await token(platform, in: &world)
      let writes = world.store.writes
      for (subcommand, params) in [(0x02, nil), (0x03, [1: 6])] as [(UInt8, CBORMap?)] {
        var request = token.configure(subcommand, params)
        request[4] = nil
        #expect(await world.send(0x0D, request).status == .puatRequired)
        request = token.configure(subcommand, params)
        request[3] = nil
        #expect(await world.send(0x0D, request).status == .missingParameter)
        request[3] = 3
        #expect(await world.send(0x0D, request).status == .invalidParameter)
        request[3] = 1
        #expect(await world.send(0x0D, request).status == .pinAuthInvalid)
        // The MAC of credentialManagement is not that of authenticatorConfig.
        #expect(await world.send(0x0D, token.manage(subcommand, params)).status == .pinAuthInvalid)
      }
      let other = try platform.token(try await platform.askToken(pin: "123456", .credentialManagement, in: &world))
      let before = world.store.writes
      #expect(await world.send(0x0D, other.configure(0x02)).status == .pinAuthInvalid)
      #expect(world.store.writes == before && before == writes + 2, "only the PIN's tries were written")
    }
  }

  @Test func `a request without a token does not prompt for the passphrase`() async throws {
    var world = TestWorld(isOpen: false)
    #expect(await world.send(0x0D, [1: 2]).status == .puatRequired)
    #expect(world.keySource.openings == 0)
  }

  @Test func `authenticatorConfig unlocks the vault if the device is not protected`() async throws {
    var world = TestWorld(canVerify: false, isOpen: false)
    #expect(await world.send(0x0D, [1: 2]).bytes == [0x00])
    #expect(world.keySource.reasons == [.prompt(UserPrompt(purpose: .authorize(.authenticatorConfiguration)))])
  }

  // MARK: Presence, without verification

  static let changes: [(params: CBORMap?, change: UserPrompt.Change?)] = [
    (nil, .alwaysUV(true)), ([1: 20], .minimumPINLength(from: 4, to: 20, rpIDs: nil)), ([1: 4], nil), ([:], nil),
    ([2: ["a.example"]], .minimumPINLength(from: 4, to: 4, rpIDs: ["a.example"])), ([2: []], nil),
    ([1: 5, 2: ["b.example"]], .minimumPINLength(from: 4, to: 5, rpIDs: ["b.example"])),
  ]

  // Holds: CTAP2-17, MGMT-24
  @Test(arguments: changes.indices)
  func `without verification, the user agrees to each change`(_ index: Int) async throws {
    let (params, change) = Self.changes[index]
    var request: CBORMap = [1: params == nil ? 2 : 3]
    request[2] = params.map { .map($0) }
    let refusals: [(UserInteractionError, CTAPStatus)] = [
      (.declined, .operationDenied), (.timedOut, .userActionTimeout), (.cancelled, .keepaliveCancel),
    ]
    let shown = change.map { ScriptedPerson.Shown(prompt: UserPrompt(purpose: .change($0)), verification: false) }
    for (error, status) in refusals {
      var world = TestWorld(canVerify: false)
      world.person.will(.fail(error))
      #expect(await world.send(0x0D, request).status == (change == nil ? .success : status))
      #expect(try settings(world) == AuthenticatorSettings())
      #expect(world.person.shown == [shown].compactMap(\.self))
    }
    var world = TestWorld(canVerify: false)
    #expect(await world.send(0x0D, request).bytes == [0x00])
    #expect(world.person.shown == [shown].compactMap(\.self))
    #expect(try (settings(world) == AuthenticatorSettings()) == (change == nil))
    guard params == nil else { return }
    #expect(await world.send(0x0D, request).bytes == [0x00])
    #expect(world.person.shown.last?.prompt.purpose == .change(.alwaysUV(false)))
    #expect(try settings(world) == AuthenticatorSettings())
  }

  // Holds: MGMT-24
  @Test func `a refused change shows no prompt`() async {
    let refused: [CBORMap] = [[1: 3], [1: 64], [3: true], [2: .array((0..<9).map { .text("\($0)") })], [4: true]]
    for params in refused {
      var world = TestWorld(canVerify: false)
      #expect(await world.send(0x0D, [1: 3, 2: .map(params)]).status != .success)
      #expect(world.person.shown.isEmpty)
    }
  }

  // MARK: Malformed

  // Holds: CTAP2-19, MGMT-23
  @Test func `unsupported and malformed requests are refused`() async throws {
    let cases: [(CBORMap, CTAPStatus)] = [
      ([:], .missingParameter), ([1: 0], .invalidParameter), ([1: 1], .invalidParameter), ([1: 4], .invalidParameter),
      ([1: 0xFF], .invalidParameter), ([1: "2"], .cborUnexpectedType), ([1: 3, 2: 6], .cborUnexpectedType),
      ([1: 3, 2: [1: "6"]], .cborUnexpectedType), ([1: 3, 2: [1: -6]], .cborUnexpectedType),
      ([1: 3, 2: [2: "one.example"]], .cborUnexpectedType), ([1: 3, 2: [2: ["one.example", 2]]], .cborUnexpectedType),
      ([1: 3, 2: [3: 1]], .cborUnexpectedType), ([1: 3, 2: [1: 6, 4: true]], .invalidParameter),
      ([1: 3, 2: [4: 1]], .cborUnexpectedType), ([1: 2, 3: "2"], .cborUnexpectedType),
    ]
    for (request, status) in cases {
      var world = TestWorld(canVerify: false)
      #expect(await world.send(0x0D, request).status == status)
      #expect(try settings(world) == AuthenticatorSettings())
    }
  }
}
