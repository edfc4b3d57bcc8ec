import CBOR
import CTAP2
import Recovery
import Testing

@Suite struct LargeBlobKeyTests {
  private static let registering = Requests.registering(["largeBlobKey": true])
  private static let signingIn = Requests.signingIn(["largeBlobKey": true])

  // Holds: MC-23, GA-15, EXT-11
  @Test func `the key is next to the authenticator data, and not in them`() async throws {
    var world = TestWorld()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: Self.registering))
    let data = try #require(made.data)
    #expect(made.map?.pairs.map(\.key) == [1, 2, 3, 5])
    #expect(data.flags == 0x5D)  // UP, UV, BE, BS, AT; no ED
    let key = try #require(made.map?[5]?.bytes)
    #expect(key.count == 32)
    #expect(try world.store.allCredentials().map(\.policy.byte) == [0b101])

    for ids in [[], [data.credentialID]] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: ids, changes: Self.signingIn))
      #expect(answer.map?[7] == .bytes(key))
      #expect(answer.data?.flags == 0x19)  // UP, BE, BS
    }
  }

  // Holds: EXT-12
  @Test func `a sign-in without consent does not return the key`() async throws {
    var world = TestWorld()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: Self.registering))
    let id = try #require(made.data).credentialID
    for ids in [[], [id]] {
      let answer = await world.getAssertion(Requests.getAssertion(allowing: ids, up: false, changes: Self.signingIn))
      #expect(answer.status == .success)
      #expect(answer.map?.pairs.map(\.key).contains(7) == false)
      #expect(answer.data?.flags == 0x18)  // BE, BS
    }
    #expect(world.person.shown.count == 1)
    // Verification shows a dialog, which gives presence too.
    let answer = await world.getAssertion(Requests.getAssertion(up: false, uv: true, changes: Self.signingIn))
    #expect(answer.map?[7] == made.map?[5])
    #expect(world.person.shown.count == 2)
  }

  @Test func `each account has its own key`() async throws {
    var world = TestWorld()
    var keys: [CBORValue?] = []
    for name in ["alice", "bob"] {
      let made = await world.makeCredential(
        Requests.makeCredential(rk: true, uv: true, userID: Array(name.utf8), changes: Self.registering))
      keys.append(made.map?[5])
    }
    #expect(Set(keys).count == 2)
    let first = await world.getAssertion(Requests.getAssertion(uv: true, changes: Self.signingIn))
    let second = await world.getNextAssertion()
    #expect([second.map?[7], first.map?[7]] == keys)
  }

  @Test func `an id has the same key on another machine with the phrase`() async throws {
    var first = TestWorld()
    let made = await first.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: Self.registering))
    let id = try #require(made.data).credentialID
    var second = TestWorld()
    for ids in [[id], []] {
      let answer = await second.getAssertion(Requests.getAssertion(allowing: ids, changes: Self.signingIn))
      #expect(answer.map?[7] != nil)
      #expect(answer.map?[7] == made.map?[5])
    }
  }

  @Test func `a credential made without largeBlobKey has no key`() async throws {
    var world = TestWorld()
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true))
    #expect(made.map?[5] == nil)
    let answer = await world.getAssertion(Requests.getAssertion(changes: Self.signingIn))
    #expect(answer.status == .success)
    #expect(answer.map?[7] == nil)
  }

  @Test func `a sign-in without largeBlobKey does not return the key`() async throws {
    var world = TestWorld()
    _ = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: Self.registering))
    let answer = await world.getAssertion(Requests.getAssertion())
    #expect(answer.status == .success)
    #expect(answer.map?[7] == nil)
  }

  static let refused: [RequestCase] = [
    RequestCase("false", 0, ["largeBlobKey": false], .invalidOption),
    RequestCase("a text", 0, ["largeBlobKey": "true"], .cborUnexpectedType),
    RequestCase("a number", 0, ["largeBlobKey": 1], .cborUnexpectedType),
    RequestCase("bytes", 0, ["largeBlobKey": .bytes([1])], .cborUnexpectedType),
  ]

  // Holds: CTAP2-13, EXT-13
  @Test(arguments: refused)
  func `an invalid largeBlobKey is refused in a registration and in a sign-in`(_ request: RequestCase) async {
    let input = request.changes[0].1
    var world = TestWorld(isOpen: false)
    let made = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: [(6, input)]))
    #expect(made.bytes == [request.status.rawValue])
    let answer = await world.getAssertion(Requests.getAssertion(changes: [(4, input)]))
    #expect(answer.bytes == [request.status.rawValue])
    #expect(world.keySource.openings == 0)
  }

  // Holds: CTAP2-14, EXT-13
  @Test(arguments: [nil, false])
  func `a non-discoverable credential cannot have a key`(rk: Bool?) async {
    var world = TestWorld(isOpen: false)
    let answer = await world.makeCredential(Requests.makeCredential(rk: rk, uv: true, changes: Self.registering))
    #expect(answer.bytes == [0x2C])
    #expect(world.keySource.openings == 0)
  }
}
