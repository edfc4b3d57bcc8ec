import CBOR
import Recovery
import Testing

@testable import CTAP2

@Suite struct CredBlobTests {
  private static func register(
    _ blob: CBORValue, rk: Bool = true, name: String = "alice", in world: inout TestWorld
  ) async -> Answer {
    await world.makeCredential(
      Requests.makeCredential(
        rk: rk, uv: true, userID: Array(name.utf8), name: name, changes: Requests.registering(["credBlob": blob])))
  }

  private static let asking = Requests.signingIn(["credBlob": true])

  // Holds: EXT-9, EXT-10
  @Test(arguments: [0, 1, 32, 64])
  func `a discoverable credential stores its blob and returns it`(count: Int) async throws {
    var world = TestWorld()
    let blob = [UInt8](repeating: 0xB0, count: count)
    let made = try #require(await Self.register(.bytes(blob), in: &world).data)
    #expect(made.extensions == ["credBlob": true])
    #expect(try world.store.allCredentials().map(\.credBlob) == [blob])
    for ids in [[], [made.credentialID]] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: ids, changes: Self.asking))
      #expect(answer.data?.extensions == ["credBlob": .bytes(blob)])
    }
  }

  // Holds: EXT-12
  @Test func `a sign-in without consent does not return the blob`() async throws {
    var world = TestWorld()
    let made = try #require(await Self.register(.bytes([1, 2, 3]), in: &world).data)
    _ = await Self.register(.bytes([4]), name: "bob", in: &world)
    for ids in [[], [made.credentialID]] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: ids, up: false, changes: Self.asking))
      #expect(answer.data?.flags == 0x18)  // BE, BS; neither UP nor ED
      #expect(answer.data?.extensions == nil)
    }
    _ = await world.getAssertion(Requests.getAssertion(up: false, changes: Self.asking))
    #expect(await world.getNextAssertion().data?.extensions == nil)
    // With a token: the user was verified, but is not present for this request.
    let platform = try TestPlatform(.two)
    let token = try platform.token(
      try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world))
    let answer = await world.getAssertion(
      Requests.getAssertion(up: false, changes: Self.asking + token.getAssertion()))
    #expect(answer.data?.flags == 0x1C)  // UV, BE, BS
    #expect(answer.data?.extensions == nil)
    #expect(world.person.shown.count == 3, "two registrations and a token")
  }

  // Holds: CTAP2-15, EXT-9
  @Test func `more than 64 bytes are not stored, and the output is false`() async throws {
    var world = TestWorld()
    let made = try #require(await Self.register(.bytes([UInt8](repeating: 1, count: 65)), in: &world).data)
    #expect(made.extensions == ["credBlob": false])
    #expect(try world.store.allCredentials().map(\.credBlob) == [nil])
    let answer = await world.getAssertion(Requests.getAssertion(changes: Self.asking))
    #expect(answer.data?.extensions == ["credBlob": .bytes([])])
  }

  // Holds: CTAP2-15, EXT-9
  @Test func `a non-discoverable credential cannot store a blob`() async throws {
    var world = TestWorld()
    let made = try #require(await Self.register(.bytes([1, 2, 3]), rk: false, in: &world).data)
    #expect(made.extensions == ["credBlob": false])
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [made.credentialID], changes: Self.asking))
    #expect(answer.data?.extensions == ["credBlob": .bytes([])])
  }

  // Holds: EXT-10
  @Test func `a credential without a blob returns no bytes`() async throws {
    var world = TestWorld()
    _ = try await world.register()
    let answer = await world.getAssertion(Requests.getAssertion(changes: Self.asking))
    #expect(answer.data?.extensions == ["credBlob": .bytes([])])
  }

  @Test func `each account has its own blob, and a newer registration replaces it`() async throws {
    var world = TestWorld()
    for (name, blob) in [("alice", 1), ("bob", 2), ("alice", 3)] as [(String, UInt8)] {
      _ = await Self.register(.bytes([blob]), name: name, in: &world)
    }
    let first = await world.getAssertion(Requests.getAssertion(uv: true, changes: Self.asking))
    let second = await world.getNextAssertion()
    #expect(first.data?.extensions == ["credBlob": .bytes([3])])
    #expect(second.data?.extensions == ["credBlob": .bytes([2])])
  }

  static let refusedRegistrations: [RequestCase] = [
    RequestCase("a text", 6, ["credBlob": "blob"], .cborUnexpectedType),
    RequestCase("true, as in a sign-in", 6, ["credBlob": true], .cborUnexpectedType),
    RequestCase("a list of numbers", 6, ["credBlob": [1, 2, 3]], .cborUnexpectedType),
  ]

  // Holds: CTAP2-12
  @Test(arguments: refusedRegistrations)
  func `an invalid credBlob in a registration is refused`(_ request: RequestCase) async {
    var world = TestWorld(isOpen: false)
    let answer = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: request.changes))
    #expect(answer.bytes == [request.status.rawValue])
    #expect(world.keySource.openings == 0)
  }

  static let refusedSignIns: [RequestCase] = [
    RequestCase("false", 4, ["credBlob": false], .invalidOption),
    RequestCase("bytes, as in a registration", 4, ["credBlob": .bytes([1])], .cborUnexpectedType),
    RequestCase("a number", 4, ["credBlob": 1], .cborUnexpectedType),
  ]

  @Test(arguments: refusedSignIns)
  func `an invalid credBlob in a sign-in is refused`(_ request: RequestCase) async {
    var world = TestWorld(isOpen: false)
    let answer = await world.getAssertion(Requests.getAssertion(changes: request.changes))
    #expect(answer.bytes == [request.status.rawValue])
    #expect(world.keySource.openings == 0)
  }
}
