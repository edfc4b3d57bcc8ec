import CBOR
import Recovery
import Testing

@testable import CTAP2

// Holds: EXT-14
@Suite struct MinPINLengthTests {
  private static func world(listing rpIDs: [String], minimum: UInt8 = 6) -> TestWorld {
    var state = StoreState(storeID: [UInt8](repeating: 7, count: 16))
    state.settings.minimumPINLength = minimum
    state.settings.minimumPINLengthRPIDs = rpIDs
    return TestWorld(state: state)
  }

  private static let asking = Requests.registering(["minPinLength": true])

  // Holds: EXT-14
  @Test(arguments: [4, 63] as [UInt8])
  func `a relying party on the list gets the minimum PIN length`(minimum: UInt8) async throws {
    var world = Self.world(listing: ["other.example", "example.com"], minimum: minimum)
    let made = try #require(await world.makeCredential(Requests.makeCredential(changes: Self.asking)).data)
    #expect(made.extensions == ["minPinLength": .unsigned(UInt64(minimum))])
  }

  // Holds: EXT-14
  @Test(arguments: [[], ["other.example"], ["Example.com"], ["www.example.com"], ["com"]])
  func `another relying party gets no output`(rpIDs: [String]) async throws {
    var world = Self.world(listing: rpIDs)
    let made = try #require(await world.makeCredential(Requests.makeCredential(changes: Self.asking)).data)
    #expect(made.flags == 0x59)  // UP, BE, BS, AT; no ED
    #expect(made.extensions == nil)
  }

  @Test func `names are compared byte by byte`() async throws {
    var world = Self.world(listing: ["caf\u{E9}.example"])
    for (rpID, isReported) in [("caf\u{E9}.example", true), ("cafe\u{301}.example", false)] {
      let answer = await world.makeCredential(Requests.makeCredential(rpID: rpID, changes: Self.asking))
      #expect((answer.data?.extensions == ["minPinLength": 6]) == isReported)
    }
  }

  @Test func `minPinLength is ignored in a sign-in`() async throws {
    var world = Self.world(listing: ["example.com"])
    _ = try await world.register()
    let answer = await world.getAssertion(Requests.getAssertion(changes: Requests.signingIn(["minPinLength": true])))
    #expect(answer.status == .success)
    #expect(answer.data?.extensions == nil)
  }

  static let refused: [RequestCase] = [
    RequestCase("false", 6, ["minPinLength": false], .invalidOption),
    RequestCase("a number", 6, ["minPinLength": 4], .cborUnexpectedType),
    RequestCase("a text", 6, ["minPinLength": "true"], .cborUnexpectedType),
    RequestCase("a map", 6, ["minPinLength": [:]], .cborUnexpectedType),
  ]

  @Test(arguments: refused)
  func `an invalid minPinLength is refused`(_ request: RequestCase) async {
    var world = TestWorld(isOpen: false)
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: request.changes)).bytes == [request.status.rawValue])
    #expect(world.keySource.openings == 0)
  }
}
