import CBOR
import CryptoPrimitives
import Recovery
import Testing

@testable import CTAP2

/// The owner's policies in every command that uses a key.
@Suite struct PolicyTests {
  private func world(
    _ policy: SitePolicy?, standard: SitePolicy = .allow, canVerify: Bool = true, pin: String? = nil,
    isOpen: Bool = true
  ) async throws -> TestWorld {
    var world = TestWorld(canVerify: canVerify)
    if let pin { _ = try await TestPlatform(.two).setPIN(pin, in: &world) }
    try set(policy, standard: standard, in: world)
    if !isOpen { world.keySource.lock() }
    return world
  }

  private func set(_ policy: SitePolicy?, standard: SitePolicy = .allow, in world: TestWorld) throws {
    var state = try world.store.state()
    try state.policies.set(policy, of: Requests.rpID)
    state.policies.standard = standard
    try world.store.setState(state)
  }

  /// The id of a new passkey, which was made before the policy.
  private func passkey(in world: inout TestWorld) async throws -> [UInt8] {
    let answer = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    return try #require(answer.data).credentialID
  }

  private func outcome(of world: TestWorld) -> HistoryEntry.Outcome? {
    world.reports.all.last?.historyEntry(at: 7)?.outcome
  }

  // MARK: - deny

  // Holds: POLICY-3
  @Test func `deny refuses a registration without a prompt`() async throws {
    var world = try await world(.deny)
    for request in [
      Requests.makeCredential(), Requests.makeCredential(rk: true, uv: true),
      Requests.makeCredential(changes: [(5, Requests.list([[1], [2]]))]),
    ] {
      #expect(await world.makeCredential(request).status == .operationDenied)
      #expect(outcome(of: world) == .deniedByPolicy)
    }
    #expect(world.reports.all.last?.error?.reason == "denied by policy")
    #expect(world.person.shown.isEmpty)
    #expect(try world.store.credentialCount() == 0)
    #expect(await world.makeCredential(Requests.makeCredential(rpID: "other.example")).status == .success)
    #expect(world.person.shown.count == 1)
  }

  // Holds: POLICY-3
  @Test func `deny refuses every sign-in, and a silent one as if there were no passkey`() async throws {
    var world = TestWorld()
    let id = try await passkey(in: &world)
    try set(.deny, in: world)
    let before = world.person.shown.count
    for ids in [[], [id], [[1, 2, 3]]] {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids)).status == .operationDenied)
      #expect(outcome(of: world) == .deniedByPolicy)
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids, uv: true)).status == .operationDenied)
      #expect(await world.getAssertion(Requests.getAssertion(allowing: ids, up: false)).status == .noCredentials)
      #expect(outcome(of: world) == nil, "silent requests are no entries of the history")
      #expect(
        await world.getAssertion(Requests.getAssertion(allowing: ids, up: false, uv: true)).status == .noCredentials)
    }
    #expect(world.person.shown.count == before)
    try set(nil, in: world)
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [id])).status == .success)
  }

  // Holds: POLICY-3
  @Test func `a refusal by policy has the status of the error that the port returns`() async throws {
    for (error, status) in [
      (.timedOut, .userActionTimeout), (.cancelled, .keepaliveCancel), (.declined, .operationDenied),
    ] as [(UserInteractionError, CTAPStatus)] {
      var world = try await world(.deny)
      world.person.refusesByPolicy(with: error)
      #expect(await world.makeCredential(Requests.makeCredential()).status == status)
      #expect(outcome(of: world) == .deniedByPolicy)
      #expect(world.person.refused.map(\.rpID) == [Requests.rpID])
    }
  }

  // Holds: POLICY-3
  @Test func `getNextAssertion does not continue after a denied sign-in`() async throws {
    var world = TestWorld()
    _ = try await passkey(in: &world)
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [9], name: "bob"))
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).map?[5] == 2)
    try set(.deny, in: world)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == .operationDenied)
    #expect(await world.getNextAssertion().status == .notAllowed)
  }

  // Holds: POLICY-3
  @Test func `deny refuses a token for the site without a prompt, and tries no PIN`() async throws {
    var world = try await world(.deny, pin: "1234")
    let platform = try TestPlatform(.two)
    let before = world.person.shown.count
    for permission in [TokenPermissions.makeCredential, .getAssertion, [.getAssertion, .credentialManagement]] {
      #expect(
        try await platform.askToken(pin: "9999", permission, rpID: Requests.rpID, in: &world).status
          == .operationDenied)
      #expect(outcome(of: world) == .deniedByPolicy)
      #expect(
        try await platform.askTokenByVerification(permission, rpID: Requests.rpID, in: &world).status
          == .operationDenied)
    }
    #expect(try world.store.state().settings.pin?.retries == 8)
    #expect(world.person.shown.count == before)
    // Management is no sign-in, and a token without a site is refused when it is used.
    #expect(
      try await platform.askToken(pin: "1234", .credentialManagement, rpID: Requests.rpID, in: &world).status
        == .success)
    let token = try platform.token(
      try await platform.askToken(pin: "1234", .makeCredential, rpID: "other.example", in: &world))
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: token.makeCredential())).status == .operationDenied)
  }

  // Holds: POLICY-3
  @Test func `a token for no site is given, and refused when it is used`() async throws {
    var world = try await world(nil, standard: .deny, pin: "1234")
    let platform = try TestPlatform(.two)
    let token = try platform.token(try await platform.askToken(pin: "1234", in: &world))
    let request = Requests.makeCredential(changes: token.makeCredential())
    #expect(await world.makeCredential(request).status == .operationDenied)
  }

  // Holds: POLICY-3
  @Test func `with an origin, a request is no selection of a key`() async throws {
    let world = try await world(nil, standard: .deny)
    let vault = try #require(world.authenticator.currentVault)
    #expect(try vault.policy(rpID: ".dummy") == .allow)
    #expect(try vault.policy(rpID: ".dummy", origin: "https://a.example") == .deny)
    #expect(try vault.policy(rpID: nil, origin: "https://a.example") == .deny)
  }

  // Holds: POLICY-3
  @Test func `a locked vault is opened first, and the request is refused then`() async throws {
    var world = try await world(.deny, isOpen: false)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .operationDenied)
    #expect(world.keySource.reasons.count == 1 && world.person.shown.isEmpty)
    #expect(outcome(of: world) == .deniedByPolicy)
  }

  // Holds: POLICY-3
  @Test func `deny for every other site allows those that are listed, and the selection of a key`() async throws {
    var world = try await world(.allow, standard: .deny)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success)
    #expect(await world.makeCredential(Requests.makeCredential(rpID: "other.example")).status == .operationDenied)
    #expect(await world.makeCredential(Requests.makeCredential(rpID: "www.example.com")).status == .operationDenied)
    for rpID in [".dummy", "make.me.blink"] {
      #expect(await world.makeCredential(Requests.makeCredential(rpID: rpID)).status == .success)
    }
    #expect(await world.send([0x0B]).status == .success)
    #expect(world.person.shown.map(\.prompt.purpose) == [.register, .select, .select, .select])
    #expect(world.person.shown.allSatisfy { !$0.verification })
  }

  // MARK: - always-verify

  // Holds: POLICY-4
  @Test func `always-verify verifies a registration and a sign-in that ask for presence only`() async throws {
    var world = try await world(.alwaysVerify)
    let made = await world.makeCredential(Requests.makeCredential())
    let data = try #require(made.data)
    #expect(data.flags & 0x05 == 0x05)
    let signed = await world.getAssertion(Requests.getAssertion(allowing: [data.credentialID]))
    #expect(signed.map?[2]?.bytes?[32] == 0x1D)
    #expect(world.person.shown.map(\.verification) == [true, true])
    #expect(world.reports.all.map { $0.historyEntry(at: 7)?.verification } == [.passphrase, .passphrase])
    // Another site decides for itself.
    let other = await world.makeCredential(Requests.makeCredential(rpID: "other.example"))
    #expect(try #require(other.data).flags & 0x05 == 0x01)
    // A request without presence has neither flag, as under alwaysUv.
    let silent = await world.getAssertion(Requests.getAssertion(allowing: [data.credentialID], up: false))
    #expect(silent.map?[2]?.bytes?[32] == 0x18)
    #expect(await world.send([0x04]).map?[4]?.map?["alwaysUv"] == false, "getInfo does not show policies")
    #expect(world.person.shown.count == 3)
  }

  // Holds: POLICY-4
  @Test func `always-verify gives nothing if the verification fails`() async throws {
    var world = try await world(.alwaysVerify)
    world.person.will(.fail(.verificationFailed), .answer(userPresent: true, userVerified: false))
    #expect(await world.makeCredential(Requests.makeCredential()).status == .operationDenied)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .operationDenied)
  }

  // Holds: POLICY-4
  @Test func `a token with a PIN satisfies always-verify, and without verification it is required`() async throws {
    var world = try await world(.alwaysVerify, canVerify: false, pin: "1234")
    #expect(await world.makeCredential(Requests.makeCredential()).status == .puatRequired)
    let cause = "the policy of the site is always-verify"
    #expect(world.reports.all.last?.error?.reason == "\(cause), and the request has no token")
    #expect(await world.getAssertion(Requests.getAssertion()).status == .puatRequired)
    let platform = try TestPlatform(.two)
    let token = try platform.token(
      try await platform.askToken(pin: "1234", .makeCredential, rpID: Requests.rpID, in: &world))
    let made = await world.makeCredential(Requests.makeCredential(changes: token.makeCredential()))
    #expect(try #require(made.data).flags & 0x05 == 0x05)
    #expect(world.person.shown.last?.verification == false)
    var unset = try await self.world(.alwaysVerify, canVerify: false)
    #expect(await unset.makeCredential(Requests.makeCredential()).status == .puatRequired)
    #expect(unset.reports.all.last?.error?.reason == "\(cause), and no PIN is set")
    #expect(unset.person.shown.isEmpty)
  }

  // Holds: POLICY-4
  @Test func `always-verify for every other site leaves those that are listed, and the selection of a key`()
    async throws
  {
    var world = try await world(.allow, standard: .alwaysVerify)
    #expect(try #require(await world.makeCredential(Requests.makeCredential()).data).flags & 0x05 == 0x01)
    let other = await world.makeCredential(Requests.makeCredential(rpID: "other.example"))
    #expect(try #require(other.data).flags & 0x05 == 0x05)
    _ = await world.makeCredential(Requests.makeCredential(rpID: ".dummy"))
    #expect(world.person.shown.map(\.verification) == [false, true, false])
  }

  // MARK: - U2F

  private static let challenge = [UInt8](repeating: 0xC1, count: 32)
  private static func registration(_ appID: String) -> [UInt8] {
    [0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x40] + challenge + SHA256.hash(Array(appID.utf8)) + [0x00, 0x00]
  }
  private static func authentication(_ appID: String, _ handle: [UInt8], control: UInt8 = 0x03) -> [UInt8] {
    let data = challenge + SHA256.hash(Array(appID.utf8)) + [UInt8(handle.count)] + handle
    return [0x00, 0x02, control, 0x00, 0x00, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data
  }

  private func send(_ message: [UInt8], present: Bool = false, in world: inout TestWorld) -> U2FOutcome {
    world.authenticator.respond(
      toU2F: message, confirmation: present ? Confirmation(userVerified: false) : nil, in: world.context)
  }

  // Holds: POLICY-5
  @Test(arguments: [Requests.rpID, "https://\(Requests.rpID)"]) func `deny and always-verify refuse U2F`(
    appID: String
  ) async throws {
    var world = TestWorld()
    guard case .answer(let made) = send(Self.registration(appID), present: true, in: &world) else {
      Issue.record("no registration")
      return
    }
    let handle = Array(made[67..<67 + Int(made[66])])
    let refused = U2FOutcome.answer(U2FOutcome.refused)
    for policy in [SitePolicy.deny, .alwaysVerify] {
      try set(policy, in: world)
      for present in [false, true] {
        #expect(send(Self.registration(appID), present: present, in: &world) == refused)
        #expect(send(Self.authentication(appID, handle), present: present, in: &world) == refused)
        #expect(outcome(of: world) == (policy == .deny ? .deniedByPolicy : nil))
      }
      #expect(send(Self.authentication(appID, handle, control: 0x08), in: &world) == refused)
      #expect(
        send(Self.authentication(appID, handle, control: 0x07), in: &world)
          == (policy == .deny ? .answer([0x6A, 0x80]) : refused))
    }
    try set(nil, in: world)
    guard case .answer(let signed) = send(Self.authentication(appID, handle), present: true, in: &world) else {
      Issue.record("no signature")
      return
    }
    #expect(signed.suffix(2) == [0x90, 0x00] && signed.count > 70)
  }

  // Holds: POLICY-5
  @Test func `deny for every other site refuses U2F for a site whose name is not known, but not the selection`()
    async throws
  {
    var world = try await world(.allow, standard: .deny)
    guard case .needsPresence = send(Self.registration(Requests.rpID), in: &world) else {
      Issue.record("refused")
      return
    }
    #expect(send(Self.registration("other.example"), in: &world) == .answer(U2FOutcome.refused))
    #expect(
      send(Self.registration("make.me.blink"), in: &world) == .needsPresence(UserPrompt(purpose: .select)))
  }
}
