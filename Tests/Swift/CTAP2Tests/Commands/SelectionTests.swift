import CBOR
import CTAP2
import Testing

@Suite struct SelectionTests {
  // Holds: MGMT-30
  @Test func `a selection needs presence, and not the vault`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.send([0x0B]).bytes == [0x00])
    #expect(world.person.shown == [.init(prompt: UserPrompt(purpose: .select), verification: false)])
    #expect(world.keySource.openings == 0)
  }

  // Holds: MGMT-30
  @Test(arguments: [
    (UserInteractionError.declined, CTAPStatus.operationDenied), (.timedOut, .userActionTimeout),
    (.cancelled, .keepaliveCancel),
  ])
  func `a selection reports why there was no presence`(error: UserInteractionError, status: CTAPStatus) async {
    var world = TestWorld()
    world.person.will(.fail(error))
    #expect(await world.send([0x0B]).bytes == [status.rawValue])
  }

  @Test func `an answer without presence counts as a refusal`() async {
    var world = TestWorld()
    world.person.will(.answer(userPresent: false, userVerified: true))
    #expect(await world.send([0x0B]).bytes == [0x27])
  }
}

/// A selection after a sign-in whose list has no passkey of the vault: browsers send one before they report that.
@Suite struct UnservedSignInTests {
  private static func message(_ code: UInt8, _ parameters: CBORMap) -> [UInt8] {
    [code] + CBOREncoder.encode(.map(parameters))
  }

  private static func signIn(_ ids: [UInt8]..., up: Bool? = false, uv: Bool? = nil) -> [UInt8] {
    message(0x02, Requests.getAssertion(allowing: ids, up: up, uv: uv))
  }

  /// authenticatorSelection, and the two other forms in which platforms ask which key is meant.
  private static let selections: [[UInt8]] = [
    [0x0B], message(0x01, Requests.makeCredential(rpID: ".dummy")),
    message(0x01, Requests.makeCredential(rpID: "make.me.blink")),
    message(0x01, Requests.makeCredential(changes: [(8, .bytes([])), (9, 1)])),
  ]
  private static let unknown = signIn([1], [UInt8](repeating: 2, count: 32))

  /// The site that the dialog of a selection names.
  private func siteShown(by selection: [UInt8] = [0x0B], in world: inout TestWorld) async -> String? {
    _ = await world.send(selection)
    let prompt = world.person.shown.last?.prompt
    #expect(prompt?.purpose == .select)
    return prompt?.unservedSite
  }

  // Holds: PERSON-15
  @Test(arguments: selections)
  func `a selection names the site of the sign-in that found none of its passkeys`(selection: [UInt8]) async throws {
    var world = TestWorld()
    _ = try await world.register()
    #expect(await siteShown(by: selection, in: &world) == nil)
    for up in [false, nil] {
      let signIn = Self.signIn([1], [UInt8](repeating: 2, count: 32), up: up)
      #expect(await world.send(signIn).bytes == [0x2E])
      #expect(await siteShown(by: selection, in: &world) == "example.com")
    }
  }

  // Holds: PERSON-15
  @Test func `a passkey that only needs verification is not lacking`() async throws {
    var world = TestWorld()
    let id = try await world.register(credProtect: 3).credentialID
    #expect(await world.send(Self.signIn(id)).bytes == [0x2E])
    #expect(await siteShown(in: &world) == nil)
  }

  // Holds: PERSON-15
  @Test func `after another request, a selection names no site`() async throws {
    var world = TestWorld()
    let id = try await world.register().credentialID
    let others: [[UInt8]] = [
      [0x04], Self.signIn(id), Self.message(0x02, Requests.getAssertion(up: false, rpID: "example.org")),
      Self.message(0x01, Requests.makeCredential()),
    ]
    for other in others {
      #expect(await world.send(Self.unknown).bytes == [0x2E])
      _ = await world.send(other)
      #expect(await siteShown(in: &world) == nil, "\(other)")
    }

    #expect(await world.send(Self.unknown).bytes == [0x2E])
    _ = await world.send([0x0B], channel: 2)
    #expect(world.person.shown.last?.prompt == UserPrompt(purpose: .select), "another client")

    #expect(await world.send(Self.unknown).bytes == [0x2E])
    world.keySource.lock()
    #expect(await siteShown(in: &world) == nil, "the vault is locked")
  }
}
