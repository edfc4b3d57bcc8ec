import CBOR
import CryptoPrimitives
import Recovery
import Testing

@testable import CTAP2

// Holds: MGMT-11, MGMT-12, MGMT-13, MGMT-15, MGMT-16
/// authenticatorLargeBlobs: CTAP §6.10.
@Suite struct LargeBlobsTests {
  private static let initial = SerializedLargeBlobs.initial

  /// An array of `count` bytes, including its digest.
  private static func array(_ count: Int, byte: UInt8 = 0x55) -> [UInt8] {
    let content = [UInt8](repeating: byte, count: count - 16)
    return content + SHA256.hash(content).prefix(16)
  }

  private func get(_ count: Int = 1736, offset: Int = 0, in world: inout TestWorld) async -> [UInt8]? {
    await world.send(0x0C, [1: CBORValue(count), 3: CBORValue(offset)]).map?[1]?.bytes
  }

  /// Writes an array in fragments; without a token, the device must be unprotected.
  private func set(
    _ array: [UInt8], fragment: Int = 1736, token: TestToken? = nil, in world: inout TestWorld
  ) async -> Answer {
    var answer = Answer(bytes: [])
    for offset in stride(from: 0, to: array.count, by: fragment) {
      let part = Array(array[offset..<min(offset + fragment, array.count)])
      answer = await world.send(0x0C, Self.fragment(part, offset, array.count, token))
      guard answer.status == .success else { return answer }
    }
    return answer
  }

  private static func fragment(_ part: [UInt8], _ offset: Int, _ length: Int, _ token: TestToken?) -> CBORMap {
    var request: CBORMap = [2: .bytes(part), 3: CBORValue(offset)]
    if offset == 0 { request[4] = CBORValue(length) }
    if let token {
      let place = withUnsafeBytes(of: UInt32(offset).littleEndian) { Array($0) }
      request[5] = .bytes(
        token.param([UInt8](repeating: 0xFF, count: 32) + [0x0C, 0x00] + place + SHA256.hash(part)))
      request[6] = .unsigned(token.version.rawValue)
    }
    return request
  }

  private func token(_ permissions: TokenPermissions, in world: inout TestWorld) async throws -> TestToken {
    let platform = try TestPlatform(.two)
    return try platform.token(
      try await platform.askTokenByVerification(permissions, rpID: Requests.rpID, in: &world))
  }

  // Holds: RECORD-7
  @Test func `an array is one entry of the history, once it is complete or was denied`() async {
    var world = TestWorld(canVerify: false)
    #expect(await set(Self.array(4096), in: &world).bytes == [0x00])
    #expect(await get(in: &world) != nil)
    world.person.will(.fail(.declined))
    #expect(await set(Self.array(17), in: &world).bytes == [0x27])
    func entry(_ outcome: HistoryEntry.Outcome) -> HistoryEntry {
      HistoryEntry(time: 7, site: nil, kind: .replaceLargeBlobs, outcome: outcome, verification: .none)
    }
    #expect(world.reports.all.map { $0.historyEntry(at: 7) } == [nil, nil, entry(.done), nil, entry(.denied)])
  }

  // Holds: MGMT-14
  @Test func `a new device has an empty array and its digest`() async {
    var world = TestWorld()
    #expect(
      await world.send(0x0C, [1: 100, 3: 0]).description
        == "00a10151" + "80" + "76be8b528d0075f7aae98d6fa57a6d3c")
    #expect(await get(1, in: &world) == [0x80])
    #expect(await get(5, offset: 15, in: &world) == Array(Self.initial[15...]))
    #expect(await get(5, offset: 17, in: &world) == [])
  }

  @Test(arguments: [17, 1736, 1737, 4096, 8192]) func `an array is written and read in fragments`(count: Int) async {
    var world = TestWorld(canVerify: false)
    let array = Self.array(count)
    #expect(await set(array, in: &world).bytes == [0x00])
    var read: [UInt8] = []
    while read.count < count { read += await get(offset: read.count, in: &world) ?? [] }
    #expect(read == array)
    world.replug()
    #expect(await get(17, in: &world) == Array(array.prefix(17)), "durable")
  }

  // Holds: MGMT-20
  @Test func `an array replaces the old one only if it is complete and its digest is right`() async {
    var world = TestWorld(canVerify: false)
    _ = await set(Self.array(17), in: &world)
    var wrong = Self.array(100)
    wrong[99] ^= 1
    #expect(await set(wrong, in: &world).status == .integrityFailure)
    #expect(await get(in: &world) == Self.array(17))
    let array = Self.array(100, byte: 0x66)
    #expect(await world.send(0x0C, [2: .bytes(Array(array[..<50])), 3: 0, 4: 100]).status == .success)
    #expect(await get(in: &world) == Self.array(17), "reading in between is allowed")
    #expect(await world.send(0x0C, [2: .bytes(Array(array[50...])), 3: 50]).status == .success)
    #expect(await get(in: &world) == array)
  }

  static let refusals: [(CBORMap, CTAPStatus)] = [
    ([1: 17], .invalidParameter), ([3: 0], .invalidParameter), ([1: 1, 2: .bytes([]), 3: 0], .invalidParameter),
    ([1: 1, 3: 0, 4: 1], .invalidParameter), ([1: 1, 3: 0, 5: .bytes([1])], .invalidParameter),
    ([1: 1, 3: 0, 6: 2], .invalidParameter), ([1: 1737, 3: 0], .invalidLength), ([1: 1, 3: 18], .invalidParameter),
    ([1: 1, 3: .unsigned(.max)], .invalidParameter), ([1: "1", 3: 0], .cborUnexpectedType),
    ([2: 1, 3: 0], .cborUnexpectedType),
    ([2: .bytes([UInt8](repeating: 0, count: 1737)), 3: 0, 4: 1737], .invalidLength),
    ([2: .bytes([1]), 3: 0], .invalidParameter), ([2: .bytes([1]), 3: 0, 4: 16], .invalidParameter),
    ([2: .bytes([1]), 3: 0, 4: 0], .invalidParameter), ([2: .bytes([1]), 3: 0, 4: 8193], .largeBlobStorageFull),
    ([2: .bytes([1]), 3: 1, 4: 17], .invalidParameter), ([2: .bytes([1]), 3: 1], .invalidSequence),
    ([2: .bytes([UInt8](repeating: 0, count: 18)), 3: 0, 4: 17], .invalidParameter), ([:], .invalidParameter),
  ]

  @Test(arguments: refusals) func `an invalid authenticatorLargeBlobs request is refused`(
    request: CBORMap, status: CTAPStatus
  ) async {
    var world = TestWorld(canVerify: false)
    #expect(await world.send(0x0C, request).bytes == [status.rawValue])
    #expect(await get(in: &world) == Self.initial)
  }

  // Holds: MGMT-17
  @Test func `a write is continued only by its client, at its offset, before a replug`() async {
    let array = Self.array(100)
    let (first, second) = (
      CBORMap([(2, .bytes(Array(array[..<50]))), (3, 0), (4, 100)]),
      CBORMap([(2, .bytes(Array(array[50...]))), (3, 50)])
    )
    for event in 0..<4 {
      var world = TestWorld(canVerify: false)
      #expect(await world.send(0x0C, first).status == .success)
      var channel: UInt64 = 1
      var next = second
      switch event {
      case 0: channel = 2
      case 1: world.replug()
      case 2: next[3] = 49
      default: next[3] = 51
      }
      #expect(await world.send(0x0C, next, channel: channel).status == .invalidSequence, "event \(event)")
    }
  }

  // Holds: MGMT-17
  @Test func `a write in progress that is forgotten cannot go on`() async {
    var world = TestWorld(canVerify: false)
    let array = Self.array(100)
    #expect(await world.send(0x0C, Self.fragment(Array(array[..<50]), 0, 100, nil)).status == .success)
    world.authenticator.forgetLargeBlobWrite()
    #expect(await world.send(0x0C, Self.fragment(Array(array[50...]), 50, 100, nil)).status == .invalidSequence)
  }

  // Holds: MGMT-17
  @Test(arguments: [true, false])
  func `a lock ends a write that the user agreed to`(isOpenedAgain: Bool) async {
    var world = TestWorld(canVerify: false)
    let array = Self.array(100)
    #expect(await world.send(0x0C, Self.fragment(Array(array[..<50]), 0, 100, nil)).status == .success)
    world.keySource.lock()
    if isOpenedAgain { world.keySource.unlock() }
    let last = Self.fragment(Array(array[50...]), 50, 100, nil)
    #expect(await world.send(0x0C, last).bytes == [CTAPStatus.invalidSequence.rawValue])
    #expect(world.keySource.reasons.isEmpty, "nobody is asked to unlock for it")
    #expect(await get(in: &world) == Self.initial)
    #expect(world.store.writes == 0)
    // A write from the beginning, with its own prompt.
    #expect(await set(array, fragment: 50, in: &world).bytes == [0x00])
    #expect(world.person.shown.count == 2)
    #expect(await get(in: &world) == array)
  }

  // Holds: CONTROL-13
  @Test func `the owner's write ends one in progress`() async throws {
    var world = TestWorld(canVerify: false)
    let (theirs, ours) = (Self.array(100), Self.array(100, byte: 0x66))
    let vault = try await world.keySource.open(for: nil, from: nil)
    for whole in [ours, Array(ours.dropLast())] {
      #expect(await world.send(0x0C, [2: .bytes(Array(theirs[..<50])), 3: 0, 4: 100]).status == .success)
      try? world.authenticator.replaceLargeBlobArray(whole, changedFrom: nil, in: vault)
      let last = await world.send(0x0C, [2: .bytes(Array(theirs[50...])), 3: 50]).status
      #expect(last == (whole == ours ? .invalidSequence : .success), "a write that was refused ends nothing")
      #expect(await get(in: &world) == (whole == ours ? ours : theirs))
    }
  }

  @Test func `the owner replaces the array only if it was not changed since it was read`() async throws {
    var world = TestWorld(canVerify: false)
    let (theirs, ours) = (Self.array(100), Self.array(100, byte: 0x66))
    let vault = try await world.keySource.open(for: nil, from: nil)
    _ = await set(theirs, in: &world)
    for digest in [Array(Self.initial.suffix(16)), [], theirs] {
      #expect(throws: CTAPError(.notAllowed, "")) {
        try world.authenticator.replaceLargeBlobArray(ours, changedFrom: digest, in: vault)
      }
    }
    #expect(await get(in: &world) == theirs)
    try world.authenticator.replaceLargeBlobArray(ours, changedFrom: Array(theirs.suffix(16)), in: vault)
    #expect(await get(in: &world) == ours)
  }

  // Holds: MGMT-18
  @Test func `a write on a protected device needs a token with permission lbw over fragment and offset`() async throws {
    var world = TestWorld()
    let array = Self.array(2000)
    #expect(await set(array, in: &world).status == .puatRequired)
    let token = try await token([.largeBlobWrite], in: &world)
    var request = Self.fragment(Array(array[..<1736]), 0, 2000, token)
    request[6] = nil
    #expect(await world.send(0x0C, request).status == .missingParameter)
    request[6] = 1
    #expect(await world.send(0x0C, request).status == .pinAuthInvalid)
    request[6] = 3
    #expect(await world.send(0x0C, request).status == .invalidParameter)
    request = Self.fragment(Array(array[..<1736]), 0, 2000, token)
    request[2] = .bytes(Array(array[1..<1736]) + [0])
    #expect(await world.send(0x0C, request).status == .pinAuthInvalid, "another fragment")
    #expect(await set(array, token: token, in: &world).status == .success)

    let other = try await self.token([.makeCredential], in: &world)
    #expect(await set(array, token: other, in: &world).status == .pinAuthInvalid)
    #expect(await get(17, in: &world) == Array(array.prefix(17)))
  }

  // Holds: CTAP2-17, MGMT-19
  @Test func `without verification, the user agrees once for the whole array`() async throws {
    var world = TestWorld(canVerify: false)
    let array = Self.array(4000)
    let refusals: [(UserInteractionError, CTAPStatus)] = [
      (.declined, .operationDenied), (.timedOut, .userActionTimeout),
    ]
    for (error, status) in refusals {
      world.person.will(.fail(error))
      #expect(await set(array, in: &world).status == status)
      for offset in [50, 1736] {
        let next = Self.fragment(Array(array[offset..<offset + 50]), offset, 4000, nil)
        #expect(await world.send(0x0C, next).status == .invalidSequence)
      }
    }
    #expect(await get(in: &world) == Self.initial)
    #expect(world.store.writes == 0)
    #expect(await set(array, in: &world).bytes == [0x00])
    #expect(await set(Self.array(17), in: &world).bytes == [0x00])
    let shown = [(17, 4000), (17, 4000), (17, 4000), (4000, 17)].map { from, to in
      ScriptedPerson.Shown(
        prompt: UserPrompt(purpose: .change(.largeBlobs(from: from, to: to))), verification: false)
    }
    #expect(world.person.shown == shown, "the first fragment alone asks")

    // Reading and refused requests show no prompt.
    let refused: CBORMap = [2: .bytes([UInt8](repeating: 0, count: 18)), 3: 0, 4: 17]
    #expect(await world.send(0x0C, refused).status == .invalidParameter)
    #expect(await get(in: &world) == Self.array(17))
    #expect(world.person.shown.count == shown.count)
  }

  // Holds: MGMT-19
  @Test func `a write that the user agreed to needs a token once a PIN is set`() async throws {
    var world = TestWorld(canVerify: false)
    let array = Self.array(100)
    #expect(await world.send(0x0C, Self.fragment(Array(array[..<50]), 0, 100, nil)).status == .success)
    _ = try await TestPlatform(.two).setPIN("1234", in: &world)
    #expect(await world.send(0x0C, Self.fragment(Array(array[50...]), 50, 100, nil)).status == .puatRequired)
    #expect(await get(in: &world) == Self.initial)
  }

  // Holds: MC-16, MGMT-21
  @Test func `permission lbw outlasts a registration`() async throws {
    var world = TestWorld()
    let token = try await token([.makeCredential, .largeBlobWrite], in: &world)
    #expect(
      await world.makeCredential(Requests.makeCredential(rk: true, changes: token.makeCredential())).status == .success)
    #expect(await set(Self.array(17), token: token, in: &world).status == .success)
  }

  // Holds: MGMT-35
  @Test func `a full disk changes nothing, and a reset empties the array`() async {
    var world = TestWorld(canVerify: false)
    _ = await set(Self.array(17), in: &world)
    world.replug()
    #expect(await world.send([0x07]).status == .success)
    #expect(await get(in: &world) == Self.initial)
    world.store.fill()
    #expect(await set(Self.array(17), in: &world).status == .other)
    #expect(await get(in: &world) == Self.initial)
  }
}
