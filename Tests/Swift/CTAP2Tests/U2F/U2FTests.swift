import CBOR
import CryptoPrimitives
import Recovery
import TestVectors
import Testing

@testable import CTAP2

/// U2F Raw Message Formats 1.2, and Recovery §10.
@Suite struct U2FTests {
  private static let challenge = [UInt8](repeating: 0xC1, count: 32)
  private static let application = SHA256.hash(Array(Requests.rpID.utf8))

  private static func registration(_ application: [UInt8] = application) -> [UInt8] {
    [0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x40] + challenge + application + [0x00, 0x00]
  }

  private static func authentication(
    _ handle: [UInt8], control: UInt8 = 0x03, application: [UInt8] = application
  ) -> [UInt8] {
    let data = challenge + application + [UInt8(handle.count)] + handle
    return [0x00, 0x02, control, 0x00, 0x00, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data
  }

  private func send(_ message: [UInt8], present: Bool = false, in world: inout TestWorld) -> U2FOutcome {
    world.authenticator.respond(
      toU2F: message, confirmation: present ? Confirmation(userVerified: false) : nil, in: world.context)
  }

  private static func credentialID(_ answer: Answer) throws -> [UInt8] {
    let data = try #require(answer.map?[2]?.bytes)
    return try #require(ParsedAuthenticatorData(data)).credentialID
  }

  /// The parts of a registration's answer; `nil` for any other answer.
  private struct Registration {
    let key: P256.PublicKey
    let handle, certificate, signature: [UInt8]

    init?(_ outcome: U2FOutcome) throws {
      guard case .answer(let bytes) = outcome, bytes.count > 70, bytes.suffix(2) == [0x90, 0x00], bytes[0] == 5,
        bytes[1] == 4
      else { return nil }
      key = try P256.PublicKey(x: Array(bytes[2..<34]), y: Array(bytes[34..<66]))
      let end = 67 + Int(bytes[66])
      handle = Array(bytes[67..<end])
      // A SEQUENCE with a length of two bytes.
      guard bytes[end] == 0x30, bytes[end + 1] == 0x82 else { return nil }
      let length = 4 + Int(bytes[end + 2]) << 8 + Int(bytes[end + 3])
      certificate = Array(bytes[end..<end + length])
      signature = Array(bytes[(end + length)..<(bytes.count - 2)])
    }
  }

  private func register(in world: inout TestWorld) throws -> Registration {
    try #require(try Registration(send(Self.registration(), present: true, in: &world)))
  }

  // Holds: ROTATE-6
  @Test func `a key handle of the previous phrase signs in, and new ones are of the present phrase`() async throws {
    var handle: [UInt8] = []
    var world = try await RotationTests.World { old in handle = try register(in: &old).handle }
    func send(_ message: [UInt8], present: Bool = false) -> U2FOutcome {
      world.authenticator.respond(
        toU2F: message, confirmation: present ? Confirmation(userVerified: false) : nil, in: world.context)
    }
    var prompt = UserPrompt(purpose: .signInSecondFactor, rpID: "")
    prompt.rpID = nil
    prompt.isOfPreviousPhrase = true
    #expect(send(Self.authentication(handle)) == .needsPresence(prompt))
    #expect(send(Self.authentication(handle, control: 0x07)) == .answer([0x69, 0x85]), "the handle is known")
    guard case .answer(let signed) = send(Self.authentication(handle), present: true) else {
      Issue.record("no answer")
      return
    }
    #expect(signed.first == 0x01 && signed.suffix(2) == [0x90, 0x00])
    let new = try #require(try Registration(send(Self.registration(), present: true)))
    #expect(TestPhrase.keys.open(sealedID: new.handle, rpIDHash: RPIDHash(rpID: Requests.rpID)) == nil)
    prompt.isOfPreviousPhrase = false
    #expect(send(Self.authentication(new.handle)) == .needsPresence(prompt))
  }

  // MARK: The vectors

  @Test func `the recorded messages are parsed`() throws {
    let vectors = try Vector("u2f-and-ctap2-messages").u2f
    var world = TestWorld()
    #expect(send(vectors.versionRequestApdu.bytes, in: &world) == .answer(vectors.versionResponse.bytes))
    let register = try U2FCommand(vectors.register.requestApdu.bytes)
    #expect(register.instruction == .register)
    #expect(register.data == vectors.register.challengeParam.bytes + vectors.register.applicationParam.bytes)
    let authenticate = try U2FCommand(vectors.authenticate.requestApduExample_keyHandle64x03.bytes)
    #expect(authenticate.instruction == .authenticate && authenticate.parameter == 0x03)
    let handle: [UInt8] = [64] + [UInt8](repeating: 3, count: 64)
    #expect(
      authenticate.data
        == [vectors.authenticate.challengeParam.bytes, vectors.authenticate.applicationParam.bytes, handle].flatMap(
          \.self))
    #expect(
      send(vectors.authenticate.requestApduExample_keyHandle64x03.bytes, in: &world) == .answer([0x6A, 0x80]))
  }

  static let versions: [[UInt8]] = [
    [0, 3, 0, 0], [0, 3, 0, 0, 0], [0, 3, 0, 0, 0, 0, 0], [0, 3, 0, 0, 0, 0, 0, 0, 0], [0, 3, 0, 0, 0xFF],
  ]

  // Holds: U2F-1
  @Test(arguments: versions) func `the version is returned for short and extended commands, with and without Le`(
    message: [UInt8]
  ) {
    var world = TestWorld(isOpen: false)
    #expect(send(message, in: &world) == .answer(Array("U2F_V2".utf8) + [0x90, 0x00]))
  }

  static let malformed: [([UInt8], [UInt8])] = [
    ([], [0x67, 0x00]), ([0, 3, 0], [0x67, 0x00]), ([1, 3, 0, 0], [0x6E, 0x00]), ([0x80, 3, 0, 0], [0x6E, 0x00]),
    ([0, 0, 0, 0], [0x6D, 0x00]), ([0, 4, 0, 0], [0x6D, 0x00]), ([0, 0x40, 0, 0], [0x6D, 0x00]),
    ([0, 3, 0, 0, 1, 0xAA], [0x67, 0x00]), ([0, 1, 0, 0], [0x67, 0x00]), ([0, 1, 0, 0, 2, 1], [0x67, 0x00]),
    ([0, 1, 0, 0, 2, 1, 2, 0, 0], [0x67, 0x00]), ([0, 1, 0, 0, 0, 0, 64, 1], [0x67, 0x00]),
    (Array(registration().dropLast(3)), [0x67, 0x00]), (registration() + [0], [0x67, 0x00]),
    (authentication([1, 2]) + [0], [0x67, 0x00]),
    ([0, 2, 3, 0, 0, 0, 65] + [UInt8](repeating: 1, count: 65), [0x67, 0x00]),
    (authentication([1, 2], control: 0), [0x6A, 0x80]), (authentication([1, 2]), [0x6A, 0x80]),
  ]

  // Holds: U2F-2, U2F-8
  @Test(arguments: malformed) func `malformed messages are refused without a prompt`(
    message: [UInt8], status: [UInt8]
  ) {
    var world = TestWorld()
    #expect(send(message, in: &world) == .answer(status))
    #expect(send(message, present: true, in: &world) == .answer(status))
  }

  @Test func `a short command can carry data`() throws {
    var world = TestWorld()
    let short = [0x00, 0x01, 0x03, 0x00, 0x40] + Self.challenge + Self.application
    for message in [short, short + [0x00]] {
      #expect(try Registration(send(message, present: true, in: &world)) != nil)
    }
  }

  // MARK: Registration

  // Holds: MGMT-32
  @Test(arguments: [
    SHA256.hash(Array(".dummy".utf8)), SHA256.hash(Array("make.me.blink".utf8)), [UInt8](repeating: 0x41, count: 32),
  ])
  func `a registration for a dummy site prompts for a selection`(_ application: [UInt8]) {
    var world = TestWorld(isOpen: false)
    #expect(send(Self.registration(application), in: &world) == .needsVault(UserPrompt(purpose: .select)))
    world.keySource.unlock()
    #expect(send(Self.registration(application), in: &world) == .needsPresence(UserPrompt(purpose: .select)))
  }

  // Holds: U2F-3, U2F-4
  @Test func `a registration needs vault and presence, and verifies, certificate included`() throws {
    var world = TestWorld(isOpen: false)
    #expect(send(Self.registration(), in: &world) == .needsVault(UserPrompt(purpose: .registerSecondFactor)))
    world.keySource.unlock()
    #expect(send(Self.registration(), in: &world) == .needsPresence(UserPrompt(purpose: .registerSecondFactor)))
    let made = try register(in: &world)
    #expect(made.handle.count == 127)
    let signed: [UInt8] = [[0x00], Self.application, Self.challenge, made.handle, [0x04], made.key.raw].flatMap(\.self)
    #expect(made.key.isValidSignature(made.signature, for: signed))

    let toBeSigned = U2FCertificate.toBeSigned(publicKey: made.key.raw)
    #expect(Array(made.certificate[4..<(4 + toBeSigned.count)]) == toBeSigned)
    // A SEQUENCE { id } of 12 bytes, then a BIT STRING with a length of one byte.
    let signature = Array(made.certificate[(4 + toBeSigned.count + 12 + 3)...])
    #expect(made.key.isValidSignature(signature, for: toBeSigned))
    #expect(world.store.writes == 0, "it lives in its handle alone")
  }

  @Test func `two registrations share nothing, and a handle works on another machine`() throws {
    var world = TestWorld()
    let (first, second) = (try register(in: &world), try register(in: &world))
    #expect(first.key != second.key && first.handle != second.handle && first.certificate != second.certificate)
    var other = TestWorld()
    #expect(
      send(Self.authentication(first.handle, control: 0x07), in: &other) == .answer([0x69, 0x85]), "another machine")
  }

  // MARK: Sign-in

  // Holds: U2F-5
  @Test func `check-only recognizes own handles, and never signs`() throws {
    var world = TestWorld()
    let made = try register(in: &world)
    let ours = Self.authentication(made.handle, control: 0x07)
    #expect(send(ours, in: &world) == .answer([0x69, 0x85]))
    #expect(send(ours, present: true, in: &world) == .answer([0x69, 0x85]))
    let elsewhere = Self.authentication(made.handle, control: 0x07, application: SHA256.hash([1]))
    #expect(send(elsewhere, in: &world) == .answer([0x6A, 0x80]))
    var edited = made.handle
    for index in edited.indices {
      edited[index] ^= 1
      #expect(send(Self.authentication(edited, control: 0x07), in: &world) == .answer([0x6A, 0x80]))
      edited[index] ^= 1
    }
  }

  @Test func `before the vault is open, no handle is recognized`() throws {
    var world = TestWorld(isOpen: false)
    for (control, outcome): (UInt8, U2FOutcome) in [
      (0x07, .waitsForVault(UserPrompt(purpose: .signInSecondFactor))),
      (0x03, .needsVault(UserPrompt(purpose: .signInSecondFactor))),
    ] {
      #expect(send(Self.authentication([1, 2, 3], control: control), in: &world) == outcome)
    }
  }

  // Holds: U2F-6, U2F-7
  @Test(arguments: [UInt8(0x03), 0x08]) func `a sign-in verifies, and its counter grows`(control: UInt8) throws {
    var world = TestWorld()
    let made = try register(in: &world)
    let message = Self.authentication(made.handle, control: control)
    if control == 0x03 {
      #expect(send(message, in: &world) == .needsPresence(UserPrompt(purpose: .signInSecondFactor)))
    }
    var counters: [UInt32] = []
    for _ in 0..<2 {
      guard case .answer(let bytes) = send(message, present: control == 0x03, in: &world) else {
        Issue.record("no answer")
        return
      }
      #expect(bytes.suffix(2) == [0x90, 0x00])
      #expect(bytes[0] == (control == 0x03 ? 1 : 0))
      counters.append(UInt32(bigEndianBytes: bytes[1..<5]))
      let signed: [UInt8] = [Self.application, Array(bytes[..<5]), Self.challenge].flatMap(\.self)
      #expect(made.key.isValidSignature(Array(bytes[5..<(bytes.count - 2)]), for: signed))
    }
    // Without consent, the counter does not get ahead of the clock.
    let seconds = UInt32(TestWorld.wallClock / 1000)
    #expect(counters == [seconds, control == 0x03 ? seconds + 1 : seconds])
  }

  // Holds: EXT-8, U2F-10
  @Test func `CTAP2 credentials work over U2F, as their credProtect allows`() async throws {
    for (rk, level, serves) in [
      (true, 1, true), (true, 2, true), (true, 3, false), (false, 1, true), (false, 3, false),
    ] {
      var world = TestWorld()
      let request = Requests.makeCredential(
        rk: rk, uv: true, changes: [(6, ["credProtect": CBORValue(level)])])
      let data = try #require(await world.makeCredential(request).map?[2]?.bytes)
      let made = try #require(ParsedAuthenticatorData(data))
      let outcome = send(Self.authentication(made.credentialID, control: 0x07), in: &world)
      #expect(outcome == .answer(serves ? [0x69, 0x85] : [0x6A, 0x80]), "rk \(rk), credProtect \(level)")
    }
  }

  @Test func `an EdDSA credential, and a passkey without its record, do not work over U2F`() async throws {
    var world = TestWorld()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, algorithms: [-8]))
    let id = try Self.credentialID(made)
    #expect(send(Self.authentication(id, control: 0x07), in: &world) == .answer([0x6A, 0x80]))
    let passkey = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    let passkeyID = try Self.credentialID(passkey)
    #expect(send(Self.authentication(passkeyID, control: 0x07), in: &world) == .answer([0x69, 0x85]))
    var empty = TestWorld()
    #expect(send(Self.authentication(passkeyID, control: 0x07), in: &empty) == .answer([0x6A, 0x80]))
  }

  @Test func `a ceremony is reported once, and check-only and VERSION never`() async throws {
    var world = TestWorld()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    let id = try Self.credentialID(made)
    let earlier = world.reports.all.count
    _ = send([0, 3, 0, 0], in: &world)
    _ = send(Self.authentication(id, control: 0x07), in: &world)
    _ = send(Self.authentication([1, 2, 3], control: 0x07), in: &world)
    _ = send(Self.authentication(id), in: &world)
    #expect(world.reports.all.count == earlier)
    _ = send(Self.authentication(id), present: true, in: &world)
    _ = try register(in: &world)
    _ = send(Self.authentication([1, 2, 3]), in: &world)
    _ = send([0, 9, 0, 0], in: &world)
    let reports = world.reports.all[earlier...]
    #expect(reports.map(\.command) == ["U2F_AUTHENTICATE", "U2F_REGISTER", "U2F_AUTHENTICATE", nil])
    #expect(reports.map(\.rpID) == ["example.com", nil, nil, nil])
    #expect(reports.map(\.status) == [.success, .success, .invalidCredential, .invalidCommand])
    #expect(reports.map(\.isUse) == [true, true, false, false])
    // A signature without presence.
    _ = send(Self.authentication(id, control: 0x08), in: &world)
    #expect(world.reports.all.last?.status == .success && world.reports.all.last?.isUse == false)
  }

  // Holds: U2F-9
  @Test func `a key handle signs in over CTAP2`() async throws {
    var world = TestWorld()
    let made = try register(in: &world)
    let answer = await world.getAssertion(Requests.getAssertion(allowing: [made.handle]))
    let data = try #require(answer.map?[2]?.bytes)
    #expect(data[32] == 0x01, "no backup flags: registration said nothing of them")
    #expect(
      made.key.isValidSignature(try #require(answer.map?[3]?.bytes), for: data + Requests.clientDataHash))
  }

  // Holds: MGMT-35, U2F-11
  @Test func `a reset invalidates the handles, and alwaysUv turns U2F off`() async throws {
    var world = TestWorld()
    let made = try register(in: &world)
    world.replug()
    #expect(await world.send([0x07]).status == .success)
    #expect(send(Self.authentication(made.handle, control: 0x07), in: &world) == .answer([0x6A, 0x80]))

    var state = try world.store.state()
    state.settings.alwaysUV = true
    try world.store.setState(state)
    #expect(send(Self.registration(), present: true, in: &world) == .answer([0x69, 0x86]))
    #expect(send(Self.authentication(made.handle), present: true, in: &world) == .answer([0x69, 0x86]))
    #expect(await world.send([0x04]).map?[1]?.array?.contains("U2F_V2") == false)
  }

  @Test func `a failing store is reported`() throws {
    var world = TestWorld()
    world.store.fail(with: RecoveryError(.store, "gone"))
    #expect(send(Self.registration(), present: true, in: &world) == .answer([0x6F, 0x00]))
  }
}
