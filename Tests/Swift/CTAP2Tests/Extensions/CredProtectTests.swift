import CBOR
import CTAP2
import Recovery
import Testing

// Holds: EXT-7
@Suite struct CredProtectTests {
  // Holds: EXT-7
  @Test(arguments: 1...3)
  func `a level is stored, and returned in the authenticator data`(level: Int) async throws {
    var world = TestWorld()
    let registration = try await world.register(credProtect: level)
    #expect(registration.flags == 0xDD)  // UP, UV, BE, BS, AT, ED
    #expect(registration.extensions == ["credProtect": CBORValue(level)])
    #expect(try world.store.allCredentials().map { Int($0.policy.credProtect.rawValue) } == [level])
  }

  // Holds: MC-17
  @Test func `without a request for credProtect there is no output`() async throws {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential(changes: [(6, ["x": 1])]))
    let parsed = try #require(ParsedAuthenticatorData(answer.map?[2]?.bytes ?? []))
    #expect(parsed.flags == 0x59)
    #expect(parsed.extensions == nil)
  }

  static let refused: [RequestCase] = [
    RequestCase("level 0", 6, ["credProtect": 0], .invalidOption),
    RequestCase("level 4", 6, ["credProtect": 4], .invalidOption),
    RequestCase("level 257", 6, ["credProtect": 257], .invalidOption),
    RequestCase("a text", 6, ["credProtect": "1"], .cborUnexpectedType),
    RequestCase("a negative number", 6, ["credProtect": -1], .cborUnexpectedType),
    RequestCase("a boolean", 6, ["credProtect": true], .cborUnexpectedType),
  ]

  @Test(arguments: refused)
  func `an invalid credProtect is refused`(_ request: RequestCase) async {
    var world = TestWorld(isOpen: false)
    let answer = await world.makeCredential(Requests.makeCredential(changes: request.changes))
    #expect(answer.bytes == [request.status.rawValue])
    #expect(world.keySource.openings == 0)
  }

  @Test func `an authenticator without the extension ignores credProtect`() async throws {
    var world = TestWorld(extensions: [])
    let registration = try await world.register(credProtect: 3)
    #expect(registration.extensions == nil)
    #expect(try world.store.allCredentials().map(\.policy.byte) == [1])
  }
}
