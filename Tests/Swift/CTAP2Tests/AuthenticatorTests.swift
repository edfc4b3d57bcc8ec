import AlgorandStatements
import CBOR
import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

@Suite struct AuthenticatorTests {
  static let commands: [UInt8] = [0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0A, 0x0B, 0x0C, 0x0D, 0x41]

  // Holds: CTAP2-3, MSG-5, MGMT-36
  @Test(arguments: [UInt8](0...255).filter { !commands.contains($0) })
  func `an unsupported command is invalid, with any parameters`(code: UInt8) async {
    var world = TestWorld(isOpen: false)
    #expect(await world.send([code]).bytes == [0x01])
    #expect(await world.send([code, 0xA0]).bytes == [0x01])
    #expect(await world.send([code, 0xFF]).bytes == [0x01])
    #expect(world.keySource.openings == 0)
  }

  // Holds: CTAP2-1
  @Test func `an empty message has an invalid length`() async {
    var world = TestWorld()
    #expect(await world.send([]).bytes == [0x03])
  }

  // Holds: CTAP2-2, MSG-7
  @Test func `a message of 1800 bytes is read, and a longer one is refused`() async {
    var world = TestWorld()
    // {1: h'00…'} of exactly 1800 bytes with the command: the member has the wrong type for getAssertion.
    let longest: [UInt8] = [0x02, 0xA1, 0x01, 0x59, 0x07, 0x02] + [UInt8](repeating: 0, count: 1794)
    #expect(await world.send(longest).bytes == [0x11])
    #expect(
      await world.send([0x02] + CBOREncoder.encode([1: .bytes([UInt8](repeating: 0, count: 1795))])).bytes == [0x39])
    #expect(await world.send([0x40] + [UInt8](repeating: 0, count: 1800)).bytes == [0x39])
  }

  /// getInfo, getPINRetries and getUVRetries; no other command, sub-command or malformed message.
  @Test func `a report needs no turn, and nothing else is a report`() {
    for report: [UInt8] in [
      [0x04], [0x04, 0xA0], [0x06, 0xA1, 0x02, 0x01], [0x06, 0xA1, 0x02, 0x07], [0x06, 0xA2, 0x01, 0x02, 0x02, 0x01],
    ] {
      #expect(Authenticator.isReport(report), "\(report)")
    }
    let others: [[UInt8]] =
      [
        [], [0x06], [0x06, 0xA0], [0x06, 0xA1, 0x02], [0x06, 0xA1, 0x02, 0x01, 0x00], [0x06, 0xA1, 0x02, 0x41, 0x01],
        [0x06, 0xA1, 0x01, 0x01], [0x06, 0x01], [0x06, 0xA1, 0x02, 0x18, 0x01],
      ] + [0x02, 0x03, 0x04, 0x05, 0x06, 0x08, 0x09].map { [0x06, 0xA1, 0x02, $0] }
      + Self.commands.filter { $0 != 0x04 }.map { [$0, 0xA1, 0x02, 0x01] }.filter { $0[0] != 0x06 }
    for message in others { #expect(!Authenticator.isReport(message), "\(message)") }
  }

  @Test func `a command without parameters reports the missing first member`() async {
    var world = TestWorld()
    #expect(await world.send([0x01]).bytes == [0x14])
    #expect(await world.send([0x02]).bytes == [0x14])
  }

  // Holds: MSG-1
  @Test(arguments: [UInt8(0x01), 0x02, 0x04, 0x07, 0x08, 0x0B])
  func `parameters that are not a canonical map are refused before any prompt`(code: UInt8) async throws {
    var world = TestWorld(isOpen: false)
    for parameters: [UInt8] in [[0x00], [0x80], [0x60], [0x40], [0xF5]] {
      #expect(await world.send([code] + parameters).bytes == [0x11])
    }
    for reject in try Vector("cbor-canonical").reject.array.map(\.["hex"].hex) where !reject.bytes.isEmpty {
      #expect(await world.send([code] + reject.bytes).bytes == [0x12], "\(reject)")
    }
    #expect(world.keySource.openings == 0)
    #expect(world.person.shown.isEmpty)
  }

  @Test func `every item of OpenSK's corpus gets an answer from every command`() async throws {
    let items = try Vector("opensk-ctap2-params-corpus").items.array.map(\.["hex"].bytes)
    #expect(items.count == 30)
    for code: UInt8 in [0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0B, 0x0A] {
      for item in items {
        var world = TestWorld()
        let answer = await world.send([code] + item)
        #expect(answer.status != nil)
        if answer.status != .success { #expect(answer.bytes.count == 1) }
      }
    }
  }

  // Holds: CTAP2-7
  @Test func `a request with any byte changed is answered, and only a complete answer is a success`() async {
    let request = [0x01] + CBOREncoder.encode(.map(Requests.makeCredential(uv: true)))
    for index in request.indices.dropFirst() {
      for flip: UInt8 in [0x01, 0x20, 0x80] {
        var changed = request
        changed[index] ^= flip
        var world = TestWorld()
        let answer = await world.send(changed)
        #expect(answer.status == .success ? answer.map?.count == 3 : answer.bytes.count == 1)
      }
    }
  }

  /// A value of any type, at most three levels deep.
  private func anyValue(_ generator: inout SeededGenerator, depth: Int = 3) -> CBORValue {
    let keys: [CBORValue] = [1, 2, -7, "id", "type", "alg", "rk", "uv", "public-key", "liquid", "credProtect"]
    switch generator.next() % (depth > 0 ? 8 : 6) {
    case 0: return .unsigned(generator.next() >> (generator.next() % 64))
    case 1: return .negative(generator.next() >> (generator.next() % 64))
    case 2: return .bytes([UInt8](repeating: 1, count: Int(generator.next() % 130)))
    case 3: return .text(String(repeating: "é", count: Int(generator.next() % 70)))
    case 4: return .bool(generator.next().isMultiple(of: 2))
    case 5: return keys[Int(generator.next() % UInt64(keys.count))]
    case 6: return .array((0..<generator.next() % 4).map { _ in anyValue(&generator, depth: depth - 1) })
    default:
      return .map(
        CBORMap(
          (0..<generator.next() % 4).map { _ in
            (keys[Int(generator.next() % UInt64(keys.count))], anyValue(&generator, depth: depth - 1))
          }))
    }
  }

  // Holds: CTAP2-7
  @Test func `2000 requests with random members are answered with a status of the standard`() async {
    var generator = SeededGenerator()
    var statuses: Set<CTAPStatus> = []
    for round in 0..<2000 {
      var world = TestWorld()
      var request =
        round.isMultiple(of: 2) ? Requests.makeCredential(uv: true) : Requests.getAssertion(allowing: [[1]], uv: true)
      for _ in 0...generator.next() % 2 {
        request[.unsigned(generator.next() % 13)] = anyValue(&generator)
      }
      let answer = await world.send(round.isMultiple(of: 2) ? 0x01 : 0x02, request)
      if let status = answer.status { statuses.insert(status) }
      #expect(answer.status == .success ? answer.map != nil : answer.bytes.count == 1, "round \(round): \(request)")
    }
    #expect(statuses.isSuperset(of: [.success, .cborUnexpectedType, .missingParameter, .noCredentials]))
  }

  @Test func `every prefix of a request is answered without a prompt`() async {
    let request = [0x01] + CBOREncoder.encode(.map(Requests.makeCredential(uv: true)))
    for count in 1..<request.count {
      var world = TestWorld(isOpen: false)
      #expect(await world.send(Array(request.prefix(count))).bytes == [count == 1 ? 0x14 : 0x12])
      #expect(world.keySource.openings == 0)
    }
  }

  @Test func `the first command that needs the vault opens it, and later ones use it`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success)
    #expect(await world.makeCredential(Requests.makeCredential()).status == .success)
    #expect(world.keySource.openings == 1)
  }

  @Test func `a command has no effect if the vault is locked during its prompt, though the user agrees`()
    async throws
  {
    var world = TestWorld()
    let id = try await world.register().credentialID
    let writes = world.store.writes
    let messages: [(UInt8, CBORMap)] = [
      (0x01, Requests.makeCredential(rk: true, uv: true)),
      (0x01, Requests.makeCredential(uv: true)),
      (0x02, Requests.getAssertion(allowing: [id])),
      (0x02, Requests.getAssertion(uv: true)),
      (0x07, CBORMap()),
    ]
    for (code, parameters) in messages {
      for isOpenedAgain in [false, true] {
        _ = try await world.keySource.open(for: nil, from: nil)
        let keySource = world.keySource
        world.person.will(
          .agreeAfter {
            keySource.lock()
            if isOpenedAgain { keySource.unlock() }
          })
        #expect(await world.send(code, parameters).bytes == [0x2D])
      }
    }
    #expect(world.store.writes == writes)
  }

  @Test(arguments: [
    (UserInteractionError.declined, [UInt8(0x27)]), (.unavailable, [0x27]), (.timedOut, [0x2F]), (.cancelled, [0x2D]),
    (.verificationFailed, [0x27]), (.verificationBlocked, [0x32]),
  ])
  func `a vault that does not open ends the command`(error: UserInteractionError, answer: [UInt8]) async {
    var world = TestWorld()
    world.keySource.lock(thenFailWith: error)
    #expect(await world.makeCredential(Requests.makeCredential()).bytes == answer)
    #expect(await world.getAssertion(Requests.getAssertion()).bytes == answer)
    #expect(world.person.shown.isEmpty)
  }

  @Test func `a cancelled task withdraws the prompt`() async {
    let world = TestWorld()
    world.person.will(.wait)
    let task = Task { [world] in
      var world = world
      return await world.makeCredential(Requests.makeCredential())
    }
    while world.person.shown.isEmpty { await Task.yield() }
    task.cancel()
    #expect(await task.value.bytes == [0x2D])
  }

  @Test func `a cancel before the prompt shows none`() async {
    let world = TestWorld()
    let task = Task { [world] in
      var world = world
      while !Task.isCancelled { await Task.yield() }
      return await world.makeCredential(Requests.makeCredential())
    }
    task.cancel()
    #expect(await task.value.bytes == [0x2D])
    #expect(world.person.shown.isEmpty)
  }

  @Test func `every message is reported with its command, rp.id and status`() async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential())
    world.person.will(.fail(.declined))
    _ = await world.makeCredential(Requests.makeCredential())
    _ = await world.send([0x40])
    _ = await world.send([0x04])
    let reports = world.reports.all
    #expect(
      reports.map(\.command) == [
        "authenticatorMakeCredential", "authenticatorMakeCredential", nil, "authenticatorGetInfo",
      ])
    #expect(reports.map(\.rpID) == ["example.com", "example.com", nil, nil])
    #expect(reports.map(\.status) == [.success, .operationDenied, .invalidCommand, .success])
    let error = try #require(reports[1].error)
    #expect(error.file.hasPrefix("CTAP2/"))
    #expect(!error.reason.isEmpty)
    #expect(reports[2].error?.reason == "command 0x40, which this key does not have")
  }

  // Holds: RECORD-1
  @Test func `the history keeps ceremonies, and nothing that asked nobody`() async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential())
    let errors: [UserInteractionError] = [
      .declined, .unavailable, .timedOut, .cancelled, .wrongPassphrase, .verificationFailed,
    ]
    for error in errors {
      world.person.will(.fail(error))
      _ = await world.makeCredential(Requests.makeCredential())
    }
    // Unknown, getInfo, malformed.
    for message in [[0x40], [0x04], [0x01], [0x02, 0xA0]] as [[UInt8]] { _ = await world.send(message) }
    let entries = world.reports.all.map { $0.historyEntry(at: 7) }
    #expect(
      entries.prefix(7).map { $0?.outcome } == [
        .done, .denied, .denied, .timedOut, .cancelled, .verificationFailed, .verificationFailed,
      ])
    #expect(entries.prefix(7).allSatisfy { $0?.kind == .register && $0?.site == "example.com" && $0?.time == 7 })
    #expect(entries.dropFirst(7).allSatisfy { $0 == nil })
  }

  // Holds: SESSION-6
  @Test func `only a request that the person agreed to, or was verified for, is use`() async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    let pin = try await platform.setPIN("1234", in: &world)
    #expect(pin.status == .success)
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    let id = try #require(await world.makeCredential(Requests.makeCredential(rk: true, uv: true, userID: [9])).data)
      .credentialID
    #expect(world.reports.all.map(\.isUse) == [false, false, true, true], "key agreement, PIN, two registrations")

    var before = world.reports.all.count
    var uses: [Bool] {
      defer { before = world.reports.all.count }
      return world.reports.all.dropFirst(before).map(\.isUse)
    }
    // Nobody is asked, and it succeeds.
    for _ in 0..<3 {
      #expect(await world.getAssertion(Requests.getAssertion(allowing: [id], up: false)).status == .success)
      #expect(await world.getAssertion(Requests.getAssertion(up: false)).status == .success)
      #expect(await world.getNextAssertion().status == .success)
      #expect(await world.send([0x04]).status == .success)
    }
    #expect(uses.allSatisfy { !$0 })
    // One agreement; the other account needs none.
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == .success)
    #expect(await world.getNextAssertion().status == .success)
    #expect(uses == [true, false])
    // A refusal.
    world.person.will(.fail(.declined))
    #expect(await world.getAssertion(Requests.getAssertion()).status == .operationDenied)
    #expect(uses == [false])
    // The PIN verifies the user; what the token lets a program read later does not.
    let token = try platform.token(
      try await platform.askToken(pin: "1234", .credentialManagement, in: &world))
    #expect(uses.last == true)
    #expect(await world.send(0x0A, token.manage(0x01)).status == .success)
    #expect(
      await world.send(0x0A, token.manage(0x04, [1: .bytes(SHA256.hash(Array(Requests.rpID.utf8)))])).status == .success
    )
    #expect(uses == [false, false])
  }

  @Test func `errors are equal by status`() {
    #expect(CTAPError(.invalidCBOR, "one") == CTAPError(.invalidCBOR, "another"))
    #expect(CTAPError(.invalidCBOR, "one") != CTAPError(.invalidLength, "one"))
  }

  // Holds: MSG-10
  @Test func `the status codes are those of the standard`() {
    let numbers: [UInt8] = [
      0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0A, 0x0B, 0x11, 0x12, 0x14, 0x15, 0x17, 0x18, 0x19, 0x21, 0x22, 0x23,
      0x24, 0x25, 0x26, 0x27, 0x28, 0x2B, 0x2C, 0x2D, 0x2E, 0x2F, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
      0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x40, 0x7F, 0xDF, 0xE0, 0xE1, 0xE2, 0xE3, 0xE4,
    ]
    #expect(CTAPStatus.allCases.map(\.rawValue) == numbers)
  }

  // Holds: PERSON-4
  @Test func `the passphrase that opens the vault for a request verifies the user for that request only`()
    async throws
  {
    var world = TestWorld(isOpen: false)
    world.keySource.askPerson()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    #expect(made.data.map { $0.flags & 0x05 } == 0x05)
    #expect(world.person.shown.map(\.verification) == [false])
    // The vault is open now, so the next request verifies by itself.
    _ = await world.getAssertion(Requests.getAssertion(uv: true))
    #expect(world.person.shown.map(\.verification) == [false, true])
    world.keySource.lock()
    let platform = try TestPlatform(.two)
    _ = try await platform.askTokenByVerification(.getAssertion, rpID: "example.com", in: &world)
    #expect(world.person.shown.map(\.verification) == [false, true, false])
    // The passphrase that opens the vault is not a consent.
    world.keySource.lock()
    world.person.will(.fail(.declined))
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).bytes == [0x27])
    world.keySource.lock()
    #expect(await world.getAssertion(Requests.getAssertion()).data.map { $0.flags & 0x05 } == 0x01)
  }

  // Holds: PERSON-4
  @Test func `a request that an Algorand account signs is shown before the passphrase is typed`() async throws {
    var world = TestWorld(isOpen: false)
    world.keySource.askPerson()
    let liquid: [(CBORValue, CBORValue?)] = [(6, ["liquid": true])]
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: liquid))
    #expect(made.data.map { $0.flags & 0x05 } == 0x05)
    #expect(world.person.shown.map(\.verification) == [true])
    world.keySource.lock()
    _ = try await world.authenticator.signAssociation(publicUserID: "a", data: [0x61], service: "s")
    #expect(world.person.shown.map(\.verification) == [true, true])
  }

  // Holds: PERSON-4
  @Test func `without verification set up, the passphrase that opens the vault verifies no user`() async {
    var world = TestWorld(canVerify: false, isOpen: false)
    world.keySource.askPerson()
    #expect(await world.makeCredential(Requests.makeCredential()).data.map { $0.flags & 0x05 } == 0x01)
    #expect(await world.makeCredential(Requests.makeCredential(uv: true)).bytes == [0x2C])
  }

  @Test func `the unlock request has the reason`() async throws {
    var reasons: [UnlockReason?] = []
    for (code, parameters): (UInt8, CBORMap) in [
      (0x01, Requests.makeCredential()), (0x02, Requests.getAssertion()), (0x07, [:]),
    ] {
      var world = TestWorld(isOpen: false)
      _ = await world.send(code, parameters)
      reasons += world.keySource.reasons
    }
    var world = TestWorld(isOpen: false)
    let platform = try TestPlatform(.two)
    _ = try await platform.askTokenByVerification(.getAssertion, rpID: "example.com", in: &world)
    reasons += world.keySource.reasons
    let prompts = reasons.map { reason -> UserPrompt? in if case .prompt(let prompt) = reason { prompt } else { nil } }
    #expect(prompts.map(\.?.purpose) == [.register, .signIn, .reset(importedPasskeys: 0), .authorize(.getAssertion)])
    #expect(prompts.map(\.?.rpID) == ["example.com", "example.com", nil, "example.com"])
  }
}
