import CBOR
import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

/// authenticatorClientPIN, in both protocols: CTAP §6.5.
@Suite struct ClientPINTests {
  static let versions = PINUVAuthProtocol.allCases

  private func retries(_ world: inout TestWorld) async -> CBORMap? { await world.send(0x06, [2: 0x01]).map }

  // MARK: Keys and retries

  // Holds: PIN-4
  @Test(arguments: versions) func `the key agreement key has five members and stays the same until a replug`(
    version: PINUVAuthProtocol
  ) async {
    var world = TestWorld(isOpen: false)
    let answer = await world.send(0x06, [1: .unsigned(version.rawValue), 2: 0x02])
    let key = answer.map?[1]?.map
    #expect(key?.count == 5)
    #expect(key?[1] == 2 && key?[3] == -25 && key?[-1] == 1)
    #expect(key?[-2]?.bytes?.count == 32 && key?[-3]?.bytes?.count == 32)
    #expect(await world.send(0x06, [1: .unsigned(version.rawValue), 2: 0x02]) == answer)
    #expect(world.keySource.openings == 0, "the vault is not needed")
    world.replug()
    #expect(await world.send(0x06, [1: .unsigned(version.rawValue), 2: 0x02]) != answer)
  }

  // Holds: PIN-6
  @Test func `retries are returned without a PIN, and while locked`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.send(0x06, [2: 0x01]).description == "00a10308")
    #expect(world.keySource.openings == 0)
  }

  // MARK: Setting and changing

  // Holds: INFO-6, PIN-8
  @Test(arguments: versions) func `a PIN is set once, and reported by getInfo`(version: PINUVAuthProtocol) async throws
  {
    var world = TestWorld()
    let platform = try TestPlatform(version)
    #expect(await world.send([0x04]).map?[4]?.map?["clientPin"] == false)
    #expect(try await platform.setPIN("1234", in: &world).bytes == [0x00])
    #expect(await world.send([0x04]).map?[4]?.map?["clientPin"] == true)
    #expect(try await platform.setPIN("5678", in: &world).status == .pinAuthInvalid)
    world.keySource.lock()
    #expect(await world.send([0x04]).map?[4]?.map?["clientPin"] == true, "also while locked")
    let hash = SHA256.hash(Array("1234".utf8)).prefix(16).withUnsafeBytes(SecretBytes.init(copying:))
    #expect(try world.store.state().settings.pin?.hash == hash)
  }

  static let policy: [([UInt8], CTAPStatus)] = [
    (Array("123".utf8), .pinPolicyViolation),
    (Array("éé".utf8), .pinPolicyViolation),
    (Array("éàüñ".utf8), .success),
    (Array("🔑🔑🔑🔑".utf8), .success),
    ([UInt8](repeating: 0x61, count: 63), .success),
    ([UInt8](repeating: 0x61, count: 64), .pinPolicyViolation),
    ([0xC3, 0x28, 0x61, 0x61, 0x61], .pinPolicyViolation),
    ([], .pinPolicyViolation),
    ([UInt8](repeating: 0x61, count: 80), .invalidParameter),
  ]

  // Holds: PIN-9, PIN-10
  @Test(arguments: policy) func `a PIN has at least four code points and at most 63 bytes`(
    pin: [UInt8], status: CTAPStatus
  ) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    #expect(try await platform.setPIN(pin, in: &world).status == status)
    #expect(try (world.store.state().settings.pin != nil) == (status == .success))
  }

  // Holds: PIN-8
  @Test(arguments: versions) func `setPIN with a wrong MAC is refused`(version: PINUVAuthProtocol) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(version)
    try await platform.agree(with: &world)
    let encrypted = try platform.padded(Array("1234".utf8))
    var mac = try platform.mac(encrypted)
    mac[0] ^= 1
    let answer = await world.send(
      0x06,
      [1: platform.number, 2: 0x03, 3: platform.keyAgreement, 4: .bytes(mac), 5: .bytes(encrypted)])
    #expect(answer.status == .pinAuthInvalid)
    #expect(try world.store.state().settings.pin == nil)
  }

  // Holds: PIN-11, PIN-14
  @Test(arguments: versions) func `changePIN needs the old PIN`(version: PINUVAuthProtocol) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(version)
    #expect(try await platform.changePIN("1234", to: "4321", in: &world).status == .pinNotSet)
    _ = try await platform.setPIN("1234", in: &world)
    #expect(try await platform.changePIN("9999", to: "4321", in: &world).status == .pinInvalid)
    #expect(await retries(&world) == [3: 7])
    #expect(try await platform.changePIN("1234", to: "43", in: &world).status == .pinPolicyViolation)
    #expect(await retries(&world) == [3: 8], "the old PIN was right")
    #expect(try await platform.changePIN("1234", to: "4321", in: &world).bytes == [0x00])
    #expect(try await platform.askToken(pin: "1234", in: &world).status == .pinInvalid)
    #expect(try await platform.askToken(pin: "4321", in: &world).status == .success)
  }

  // Holds: PIN-12
  @Test func `a change with a wrong MAC uses no try`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    try await platform.agree(with: &world)
    let (encrypted, hash) = (try platform.padded(Array("4321".utf8)), try platform.hash("1234"))
    let answer = await world.send(
      0x06,
      [
        1: platform.number, 2: 0x04, 3: platform.keyAgreement, 4: .bytes(try platform.mac(encrypted)),
        5: .bytes(encrypted), 6: .bytes(hash),
      ])
    #expect(answer.status == .pinAuthInvalid)
    #expect(await retries(&world) == [3: 8])
  }

  // Holds: PIN-7
  @Test(arguments: refusals) func `with verification, setting a PIN needs the passphrase`(
    error: UserInteractionError, status: CTAPStatus
  ) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    world.person.will(.fail(error))
    let answer = try await platform.setPIN("1234", in: &world)
    #expect(answer.status == (status == .uvInvalid ? .operationDenied : status == .uvBlocked ? .pinBlocked : status))
    #expect(world.person.shown == [.init(prompt: UserPrompt(purpose: .setPIN), verification: true)])
    #expect(try world.store.state().settings.pin == nil)
  }

  // Holds: CTAP2-17, PIN-7
  @Test(arguments: [
    (UserInteractionError.declined, CTAPStatus.operationDenied), (.timedOut, .userActionTimeout),
    (.cancelled, .keepaliveCancel),
  ])
  func `without verification, setting a PIN needs presence`(
    error: UserInteractionError, status: CTAPStatus
  ) async throws {
    var world = TestWorld(canVerify: false)
    let platform = try TestPlatform(.two)
    #expect(try await platform.setPIN("123", in: &world).status == .pinPolicyViolation)
    #expect(world.person.shown.isEmpty, "what cannot be is asked of nobody")
    world.person.will(.fail(error))
    #expect(try await platform.setPIN("1234", in: &world).status == status)
    #expect(world.person.shown == [.init(prompt: UserPrompt(purpose: .setPIN), verification: false)])
    #expect(world.store.writes == 0)
    #expect(try await platform.setPIN("1234", in: &world).status == .success)
    #expect(try world.store.state().settings.pin != nil)
  }

  // MARK: Wrong PINs

  // Holds: PIN-6, PIN-11, PIN-13, PIN-14, PIN-17
  @Test(arguments: versions) func `three wrong PINs need a power cycle, and eight block the PIN`(
    version: PINUVAuthProtocol
  ) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(version)
    _ = try await platform.setPIN("1234", in: &world)
    var statuses: [CTAPStatus?] = []
    for _ in 0..<5 { statuses.append(try await platform.askToken(pin: "9999", in: &world).status) }
    #expect(statuses == [.pinInvalid, .pinInvalid, .pinAuthBlocked, .pinAuthBlocked, .pinAuthBlocked])
    #expect(try await platform.askToken(pin: "1234", in: &world).status == .pinAuthBlocked, "the right one too")
    #expect(await retries(&world) == [3: 5, 4: true], "and no try is spent")
    world.replug()
    #expect(try await platform.askToken(pin: "1234", in: &world).status == .pinAuthBlocked, "a replug is none")
    #expect(await retries(&world) == [3: 5, 4: true])
    world.powerCycle()
    #expect(await retries(&world) == [3: 5])

    #expect(try await platform.askToken(pin: "1234", in: &world).status == .success)
    #expect(await retries(&world) == [3: 8], "a right one gives all tries back")
    statuses = []
    for _ in 0..<4 {
      world.powerCycle()
      for _ in 0..<2 { statuses.append(try await platform.askToken(pin: "9999", in: &world).status) }
    }
    #expect(statuses == [CTAPStatus?](repeating: .pinInvalid, count: 7) + [.pinBlocked])
    world.powerCycle()
    #expect(try await platform.askToken(pin: "1234", in: &world).status == .pinBlocked)
    #expect(try await platform.changePIN("1234", to: "4321", in: &world).status == .pinBlocked)
    #expect(await retries(&world) == [3: 0])
  }

  // Holds: PERSON-9, PIN-18
  @Test func `replugging the device gives no more tries after three wrong PINs`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    var statuses: [CTAPStatus?] = []
    for _ in 0..<8 {
      world.replug()
      statuses.append(try await platform.askToken(pin: "9999", in: &world).status)
    }
    #expect(statuses == [.pinInvalid, .pinInvalid] + [CTAPStatus?](repeating: .pinAuthBlocked, count: 6))
    #expect(await retries(&world) == [3: 5, 4: true])
    // A request over the control socket while the device is detached does not count as a power cycle.
    world.context = RequestContext(channel: 9, poweredUpAt: world.context.poweredUpAt, pluggedInAt: .zero)
    #expect(await retries(&world) == [3: 5, 4: true])
  }

  @Test func `a request that waited during a power cycle unlocks nothing`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let before = world.context
    world.powerCycle()
    for _ in 0..<3 { _ = try await platform.askToken(pin: "9999", in: &world) }
    let now = world.context
    world.context = before
    #expect(await retries(&world) == [3: 5, 4: true])
    world.context = now
    #expect(await retries(&world) == [3: 5, 4: true], "nor does it lose what the device of now remembers")
  }

  @Test func `a power cycle counts also for a request while the device is detached`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    for _ in 0..<3 { _ = try await platform.askToken(pin: "9999", in: &world) }
    world.clock.advance(by: .milliseconds(1))
    world.context = RequestContext(channel: 9, poweredUpAt: world.clock.now, pluggedInAt: .zero)
    #expect(await retries(&world) == [3: 5])
  }

  // Holds: PIN-14
  @Test func `a right PIN clears the count of wrong ones in a row`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    for _ in 0..<2 {
      for _ in 0..<2 { #expect(try await platform.askToken(pin: "9999", in: &world).status == .pinInvalid) }
      #expect(try await platform.askToken(pin: "1234", in: &world).status == .success)
    }
  }

  // Holds: PIN-13
  @Test func `a wrong PIN renews the key agreement key`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let before = await world.send(0x06, [1: 2, 2: 0x02])
    _ = try await platform.askToken(pin: "9999", in: &world)
    #expect(await world.send(0x06, [1: 2, 2: 0x02]) != before)
  }

  // Holds: PIN-13
  @Test func `a try is counted and stored before the PIN is compared`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    world.store.fill()
    #expect(try await platform.askToken(pin: "1234", in: &world).status == .other)
  }

  // MARK: Tokens

  // Holds: MC-11, MC-12, MC-16, GA-6, PIN-20
  @Test(arguments: versions) func `a token registers and signs in, once each`(version: PINUVAuthProtocol) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(version)
    _ = try await platform.setPIN("1234", in: &world)
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    let request = Requests.makeCredential(rk: true, changes: token.makeCredential())
    let made = await world.makeCredential(request)
    let data = try #require(made.map?[2]?.bytes)
    #expect(ParsedAuthenticatorData(data)?.flags == 0x5D, "UP, UV, BE, BS, AT")
    #expect(
      world.person.shown.map(\.verification) == [true, false],
      "the PIN was set; then it verified, and the person is there")
    #expect(await world.makeCredential(request).status == .pinAuthInvalid, "used up")

    let second = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    let assertion = await world.getAssertion(Requests.getAssertion(changes: second.getAssertion()))
    #expect(ParsedAuthenticatorData(try #require(assertion.map?[2]?.bytes))?.flags == 0x1D)
    #expect(assertion.map?[4]?.map?["name"] == "alice", "names, because the person is verified")
    #expect(
      await world.getAssertion(Requests.getAssertion(changes: second.getAssertion())).status == .pinAuthInvalid)
  }

  @Test func `a silent assertion keeps the token, and its UV flag is set`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    _ = await world.makeCredential(Requests.makeCredential(rk: true, changes: token.makeCredential()))
    let second = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    let shown = world.person.shown.count
    for _ in 0..<2 {
      let answer = await world.getAssertion(Requests.getAssertion(up: false, changes: second.getAssertion()))
      #expect(ParsedAuthenticatorData(try #require(answer.map?[2]?.bytes))?.flags == 0x1C)
    }
    #expect(world.person.shown.count == shown)
    #expect(await world.getAssertion(Requests.getAssertion(changes: second.getAssertion())).status == .success)
  }

  @Test(arguments: versions) func `verification gives a token with presence, in one dialog`(
    version: PINUVAuthProtocol
  ) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(version)
    let answer = try await platform.askTokenByVerification(
      [.makeCredential, .getAssertion], rpID: Requests.rpID, in: &world)
    let token = try platform.token(answer)
    var prompt = UserPrompt(purpose: .authorize([.makeCredential, .getAssertion]), rpID: Requests.rpID)
    prompt.isFirstPasskey = true
    #expect(world.person.shown == [.init(prompt: prompt, verification: true)])
    let made = await world.makeCredential(Requests.makeCredential(rk: true, changes: token.makeCredential()))
    #expect(ParsedAuthenticatorData(try #require(made.map?[2]?.bytes))?.flags == 0x5D)
    #expect(world.person.shown.count == 1)
  }

  // Holds: PROMPT-17
  @Test func `the dialog of a token for a sign-in has the accounts of the store`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    for (index, name) in ["alice", "bob", "carol", "dave", ""].enumerated() {
      let request = Requests.makeCredential(rk: true, uv: true, userID: [UInt8(index)], name: name)
      #expect(await world.makeCredential(request).status == .success)
      // The display name stands for a missing name.
      let newest = [
        ["alice"], ["bob", "alice"], ["carol", "bob", "alice"], ["dave", "carol", "bob"], ["Alice", "dave", "carol"],
      ]
      _ = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
      let prompt = try #require(world.person.shown.last?.prompt)
      #expect(prompt.storedAccounts == newest[index] && prompt.moreStoredAccounts == max(index - 2, 0))
      _ = try await platform.askTokenByVerification(.getAssertion, rpID: "other.example", in: &world)
      #expect(world.person.shown.last?.prompt.storedAccounts == [])
    }
    _ = try await platform.askTokenByVerification([.makeCredential, .getAssertion], rpID: Requests.rpID, in: &world)
    #expect(world.person.shown.last?.prompt.storedAccounts == [], "a registration is for another account")
    _ = try await platform.askTokenByVerification(.credentialManagement, rpID: Requests.rpID, in: &world)
    #expect(world.person.shown.last?.prompt.storedAccounts == [], "management is no sign-in")
  }

  // Holds: PIN-28
  @Test func `the presence of a token lasts 30 s, and the token longer`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    let token = try platform.token(
      try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world))
    world.clock.advance(by: .seconds(20))
    let silent = Requests.getAssertion(allowing: [[1]], up: false, changes: token.getAssertion())
    #expect(await world.getAssertion(silent).status == .noCredentials, "a first use")

    let made = await world.makeCredential(Requests.makeCredential())
    let data = try #require(made.map?[2]?.bytes)
    let id = try #require(ParsedAuthenticatorData(data)?.credentialID)
    #expect(await world.getAssertion(silent).status == .pinAuthInvalid, "a ceremony uses up what is there")

    let second = try platform.token(
      try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world))
    world.clock.advance(by: .seconds(20))
    #expect(
      await world.getAssertion(Requests.getAssertion(allowing: [id], up: false, changes: second.getAssertion())).status
        == .success)
    world.clock.advance(by: .seconds(11))
    let shown = world.person.shown.count
    let answer = await world.getAssertion(Requests.getAssertion(allowing: [id], changes: second.getAssertion()))
    #expect(ParsedAuthenticatorData(try #require(answer.map?[2]?.bytes))?.flags == 0x1D)
    #expect(world.person.shown.count == shown + 1, "presence is asked for again")

    let third = try platform.token(
      try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world))
    world.clock.advance(by: .seconds(30))
    let before = world.person.shown.count
    let atTheEnd = Requests.getAssertion(allowing: [id], changes: third.getAssertion())
    #expect(await world.getAssertion(atTheEnd).status == .success)
    #expect(world.person.shown.count == before, "the thirtieth second counts")
  }

  @Test func `the presence of a token spares only requests with the token their dialog`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.askTokenByVerification(.makeCredential, rpID: Requests.rpID, in: &world)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success)
    #expect(world.person.shown.map(\.prompt.purpose) == [.authorize(.makeCredential), .register])
  }

  static let lifetimes: [(Duration, Duration, CTAPStatus)] = [
    (.seconds(30), .zero, .success), (.seconds(31), .zero, .pinAuthInvalid),
    (.seconds(20), .seconds(570), .success), (.seconds(20), .seconds(581), .pinAuthInvalid),
  ]

  // Holds: GA-6, PIN-28, TIME-6
  @Test(arguments: lifetimes) func `a token must be used within 30 s, and lasts 10 minutes`(
    first: Duration, second: Duration, status: CTAPStatus
  ) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    world.clock.advance(by: first)
    let silent = Requests.getAssertion(allowing: [[1]], up: false, changes: token.getAssertion())
    let used = await world.getAssertion(silent).status
    if second > .zero {
      #expect(used == .noCredentials)
      world.clock.advance(by: second)
    }
    let answer = second > .zero ? await world.getAssertion(silent).status : used
    #expect(answer == (status == .success ? .noCredentials : status))
  }

  // Holds: PIN-16, PIN-26, PIN-29
  @Test func `a new token, a changed PIN, a replug or a lock each end the earlier token`() async throws {
    for event in 0..<4 {
      var world = TestWorld()
      let platform = try TestPlatform(.two)
      _ = try await platform.setPIN("1234", in: &world)
      let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
      switch event {
      case 0: _ = try await platform.askToken(pin: "1234", in: &world)
      case 1: _ = try await platform.changePIN("1234", to: "4321", in: &world)
      case 2: world.replug()
      default: world.keySource.lock()
      }
      let answer = await world.makeCredential(Requests.makeCredential(rk: true, changes: token.makeCredential()))
      #expect(answer.status == .pinAuthInvalid, "event \(event)")
    }
  }

  // Holds: MC-2, MC-11
  @Test func `a token is bound to its protocol, permission and relying party`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let other = try platform.token(
      try await platform.askToken(pin: "1234", .getAssertion, rpID: Requests.rpID, in: &world))
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: other.makeCredential())).status == .pinAuthInvalid)
    let foreign = try platform.token(
      try await platform.askToken(pin: "1234", .makeCredential, rpID: "other.example", in: &world))
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: foreign.makeCredential())).status == .pinAuthInvalid)
    let fitting = try platform.token(
      try await platform.askToken(pin: "1234", .makeCredential, rpID: Requests.rpID, in: &world))
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: fitting.makeCredential() + [(9, 1)])).status
        == .pinAuthInvalid)
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: fitting.makeCredential() + [(9, 3)])).status
        == .invalidParameter)
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: fitting.makeCredential() + [(9, nil)])).status
        == .missingParameter)
    #expect(await world.makeCredential(Requests.makeCredential(changes: fitting.makeCredential())).status == .success)
  }

  static let permissions: [(CBORMap, CTAPStatus)] = [
    ([9: 0, 10: "example.com"], .invalidParameter), ([9: 1], .missingParameter), ([9: 2], .missingParameter),
    ([9: 8, 10: "example.com"], .unauthorizedPermission), ([9: 0x80], .unauthorizedPermission),
    ([9: 0x44], .unauthorizedPermission), ([:], .missingParameter), ([9: 4], .success), ([9: 0x30], .success),
    ([9: "1"], .cborUnexpectedType),
  ]

  // Holds: PIN-22, PIN-23
  @Test(arguments: permissions) func `permissions are checked by the rules of the standard`(
    members: CBORMap, status: CTAPStatus
  ) async throws {
    for subcommand: CBORValue in [0x06, 0x09] {
      var world = TestWorld()
      let platform = try TestPlatform(.two)
      _ = try await platform.setPIN("1234", in: &world)
      try await platform.agree(with: &world)
      var request: CBORMap = [1: 2, 2: subcommand, 3: platform.keyAgreement, 6: .bytes(try platform.hash("1234"))]
      for pair in members.pairs { request[pair.key] = pair.value }
      #expect(await world.send(0x06, request).status == status)
      #expect(world.person.shown.dropFirst().isEmpty || status == .success)
    }
  }

  // Holds: PIN-19
  @Test func `getPinToken refuses permissions`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    for extra: (CBORValue, CBORValue) in [(9, 1), (10, "example.com")] {
      try await platform.agree(with: &world)
      var request: CBORMap = [1: 2, 2: 0x05, 3: platform.keyAgreement, 6: .bytes(try platform.hash("1234"))]
      request[extra.0] = extra.1
      #expect(await world.send(0x06, request).status == .invalidParameter)
    }
  }

  @Test func `the pcmr token lasts until the PIN is changed`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    let pcmr = TokenPermissions.persistentCredentialManagementReadOnly
    let first = try platform.token(try await platform.askToken(pin: "1234", pcmr, in: &world)).secret
    world.replug()
    let second = try platform.token(try await platform.askToken(pin: "1234", pcmr, in: &world)).secret
    #expect(first.isEqual(to: second))
    _ = try await platform.changePIN("1234", to: "4321", in: &world)
    let third = try platform.token(try await platform.askToken(pin: "4321", pcmr, in: &world)).secret
    #expect(!third.isEqual(to: first))
  }

  // MARK: Verification

  static let refusals: [(UserInteractionError, CTAPStatus)] = [
    (.declined, .operationDenied), (.unavailable, .operationDenied), (.timedOut, .userActionTimeout),
    (.cancelled, .keepaliveCancel),
    (.verificationFailed, .uvInvalid), (.verificationBlocked, .uvBlocked),
  ]

  @Test(arguments: refusals) func `a user who is not verified gets no token`(
    error: UserInteractionError, status: CTAPStatus
  ) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    world.person.will(.fail(error))
    let answer = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
    #expect(answer.bytes == [status.rawValue])
  }

  @Test func `without tries left no prompt is shown`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    world.person.hasTriesLeft(0)
    #expect(await world.send(0x06, [2: 0x07]).description == "00a10500")
    let answer = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
    #expect(answer.status == .uvBlocked)
    #expect(world.person.shown.isEmpty)
    world.person.hasTriesLeft(1)
    let last = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
    #expect(last.status == .success)
  }

  // Holds: PIN-27
  @Test func `without verification its subcommands are invalid`() async throws {
    var world = TestWorld(canVerify: false)
    let platform = try TestPlatform(.two)
    #expect(await world.send(0x06, [2: 0x07]).status == .invalidSubcommand)
    let answer = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
    #expect(answer.status == .invalidSubcommand)
  }

  // MARK: Malformed

  // Holds: PIN-2
  @Test(arguments: [0x00, 0x08, 0x0A, 0x3E, 0xFF]) func `other subcommands are invalid`(number: Int) async {
    var world = TestWorld()
    #expect(await world.send(0x06, [1: 2, 2: CBORValue(number)]).status == .invalidSubcommand)
  }

  // Holds: MSG-4, PIN-1, PIN-2
  @Test func `each missing member is reported before any prompt`() async throws {
    let needed: [(CBORValue, [CBORValue])] = [
      (0x02, [1]), (0x03, [1, 3, 4, 5]), (0x04, [1, 3, 4, 5, 6]), (0x05, [1, 3, 6]), (0x06, [1, 3, 9]),
      (0x09, [1, 3, 6, 9]),
    ]
    for (subcommand, keys) in needed {
      for missing in keys {
        var world = TestWorld(isOpen: false)
        let platform = try TestPlatform(.two)
        var request: CBORMap = [
          1: 2, 2: subcommand, 3: platform.keyAgreement, 4: .bytes([UInt8](repeating: 0, count: 32)),
          5: .bytes([UInt8](repeating: 0, count: 80)), 6: .bytes([UInt8](repeating: 0, count: 32)),
        ]
        if subcommand == 0x06 || subcommand == 0x09 { (request[9], request[10]) = (3, "example.com") }
        request[missing] = nil
        #expect(await world.send(0x06, request).status == .missingParameter, "\(subcommand) without \(missing)")
        #expect(world.keySource.openings == 0 && world.person.shown.isEmpty)
      }
    }
    var world = TestWorld()
    #expect(await world.send([0x06]).status == .missingParameter)
    #expect(await world.send(0x06, [1: 3, 2: 0x02]).status == .invalidParameter)
  }

  // MARK: Ceremonies of a protected device

  // Holds: GA-1
  @Test func `an empty pinUvAuthParam reports whether a PIN is set`() async throws {
    var world = TestWorld()
    let question = Requests.getAssertion(changes: [(6, .bytes([])), (7, 2)])
    #expect(await world.getAssertion(question).status == .pinNotSet)
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    #expect(await world.getAssertion(question).status == .pinInvalid)
    #expect(world.person.shown.map(\.prompt.purpose) == [.select, .setPIN, .select])
  }

  // Holds: MC-8, MC-11
  @Test func `with a PIN and without verification, a discoverable credential needs a token`() async throws {
    var world = TestWorld(canVerify: false)
    let platform = try TestPlatform(.two)
    let param: [(CBORValue, CBORValue?)] = [(8, .bytes([UInt8](repeating: 0, count: 32))), (9, 2)]
    #expect(await world.makeCredential(Requests.makeCredential(changes: param)).status == .pinNotSet)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true)).status == .success)
    _ = try await platform.setPIN("1234", in: &world)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true)).status == .puatRequired)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success, "makeCredUvNotRqd")
    #expect(await world.makeCredential(Requests.makeCredential(changes: param)).status == .pinAuthInvalid)
  }

  // Holds: PIN-30, MGMT-34, MGMT-35
  @Test func `a reset removes the PIN and all tokens`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    world.replug()
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    #expect(await world.send([0x07]).status == .success)
    #expect(try world.store.state().settings == AuthenticatorSettings())
    #expect(await world.send([0x04]).map?[4]?.map?["clientPin"] == false)
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: token.makeCredential())).status == .pinAuthInvalid)
    _ = try await platform.setPIN("1234", in: &world)
    for _ in 0..<3 { _ = try await platform.askToken(pin: "9999", in: &world) }
    #expect(await world.send([0x07]).status == .success)
    _ = try await platform.setPIN("1234", in: &world)
    for _ in 0..<2 { #expect(try await platform.askToken(pin: "9999", in: &world).status == .pinInvalid) }
    #expect(try await platform.askToken(pin: "1234", in: &world).status == .success, "the lock went too")
  }

  // MARK: The owner, and the history

  @Test func `a PIN can be changed to the same one, unless a change is forced`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    #expect(try await platform.changePIN("1234", to: "1234", in: &world).status == .success)
    var state = try world.store.state()
    state.settings.forcePINChange = true
    try world.store.setState(state)
    #expect(try await platform.changePIN("1234", to: "1234", in: &world).status == .pinPolicyViolation)
    #expect(try await platform.changePIN("1234", to: "4321", in: &world).status == .success)
  }

  @Test(arguments: [true, false])
  func `a PIN that the owner sets or removes ends the lock, a forced change and all tokens`(sets: Bool) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    _ = try await platform.askToken(pin: "1234", .persistentCredentialManagementReadOnly, in: &world)
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    for _ in 0..<3 { _ = try await platform.askToken(pin: "9999", in: &world) }
    var state = try world.store.state()
    state.settings.forcePINChange = true
    try world.store.setState(state)
    let vault = try #require(world.authenticator.currentVault)
    if sets {
      try world.authenticator.setPIN(Hex(Array("5678".utf8)).secret, in: vault)
    } else {
      try world.authenticator.removePIN(in: vault)
    }
    let settings = try world.store.state().settings
    #expect((settings.pin != nil) == sets)
    #expect(settings.persistentToken == nil && !settings.forcePINChange)
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: token.makeCredential())).status == .pinAuthInvalid)
    if !sets { #expect(try await platform.setPIN("5678", in: &world).status == .success) }
    #expect(try await platform.askToken(pin: "5678", in: &world).status == .success)
  }

  @Test func `a zero byte is no part of a PIN`() {
    #expect(throws: CTAPError(.pinPolicyViolation, "")) { try StoredPIN(Hex([0x31, 0x32, 0x33, 0x34, 0]).secret) }
  }

  @Test func `each change has its entry of the history in its transaction`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    _ = try await platform.changePIN("1234", to: "4321", in: &world)
    for _ in 0..<2 {
      _ = try await platform.askToken(pin: "4321", .persistentCredentialManagementReadOnly, in: &world)
    }
    let entries = world.expected.all.map { $0.historyEntry(at: 7) }
    #expect(entries.map { $0?.kind } == [.changePIN, .changePIN, .verify], "the token was made once")
    #expect(entries.map { $0?.verification } == [.passphrase, .pin, .pin])
  }

  @Test func `a failed verification falls back to the PIN, if there is one`() async throws {
    for hasPIN in [false, true] {
      for error in [UserInteractionError.verificationFailed, .verificationBlocked, .timedOut, .declined, .cancelled] {
        var world = TestWorld()
        if hasPIN { _ = try await TestPlatform(.two).setPIN("1234", in: &world) }
        world.person.will(.fail(error))
        let status = await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).status
        let falls = hasPIN && (error == .verificationFailed || error == .verificationBlocked)
        #expect(status == (falls ? .puatRequired : CTAPError(error).status))
      }
    }
  }

  @Test func `a replaced passkey is shown, even if the token already gave presence`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    for shown in [1, 3] {
      let answer = try await platform.askTokenByVerification(.makeCredential, rpID: Requests.rpID, in: &world)
      let token = try platform.token(answer)
      _ = await world.makeCredential(Requests.makeCredential(rk: true, changes: token.makeCredential()))
      #expect(world.person.shown.count == shown)
    }
    #expect(world.person.shown.last?.prompt.replacesPasskey == true)
  }
}
