import CBOR
import Recovery
import Testing

@testable import CTAP2

/// All extensions in one request.
@Suite struct ExtensionsTogetherTests {
  private static let blob = CBORValue.bytes([1, 2, 3])

  private func registering(_ platform: TestPlatform, in world: inout TestWorld) async throws -> CBORMap {
    let salts = try await platform.saltInput([UInt8](repeating: 0xA1, count: 64), in: &world)
    return Requests.makeCredential(
      rk: true, uv: true,
      changes: Requests.registering([
        "credProtect": 2, "credBlob": Self.blob, "largeBlobKey": true, "minPinLength": true, "hmac-secret": true,
        "hmac-secret-mc": .map(salts), "thirdPartyPayment": true, "liquid": true, "unknown": [1],
      ]))
  }

  @Test func `each extension has its own output`() async throws {
    let platform = try TestPlatform(.two)
    var world = TestWorld()
    let made = await world.makeCredential(try await registering(platform, in: &world))
    #expect(made.map?.pairs.map(\.key) == [1, 2, 3, 5])
    let outputs = try #require(made.data?.extensions)
    #expect(outputs.pairs.map(\.key) == ["liquid", "credBlob", "credProtect", "hmac-secret", "hmac-secret-mc"])
    #expect(outputs["credProtect"] == 2)
    #expect(outputs["credBlob"] == true)
    #expect(try world.store.allCredentials().map(\.policy.byte) == [0b1110])

    let salts = try await platform.saltInput([UInt8](repeating: 0xA1, count: 64), in: &world)
    let answer = await world.getAssertion(
      Requests.getAssertion(
        uv: true,
        changes: Requests.signingIn([
          "credProtect": 2, "credBlob": true, "largeBlobKey": true, "minPinLength": true,
          "hmac-secret": .map(salts), "thirdPartyPayment": true, "liquid": true, "unknown": [1],
        ])))
    #expect(answer.map?[7] == made.map?[5])
    let told = try #require(answer.data?.extensions)
    #expect(told.pairs.map(\.key) == ["liquid", "credBlob", "hmac-secret", "thirdPartyPayment"])
    #expect(told["credBlob"] == Self.blob)
    #expect(told["thirdPartyPayment"] == true)
    let secrets = try #require(told["hmac-secret"]?.bytes)
    #expect(try platform.decrypt(secrets) == platform.decrypt(try #require(outputs["hmac-secret-mc"]?.bytes)))
  }

  /// The largest registration that a browser makes of what getInfo offers.
  // Holds: MSG-7
  @Test func `a list as long as getInfo allows fits into a message, beside long names, PRF and a token`() async throws {
    let platform = try TestPlatform(.two)
    var world = TestWorld()
    let told = try #require(await world.send([0x04]).map)
    let (longest, count, size) = (try #require(told[5]?.int), try #require(told[7]?.int), try #require(told[8]?.int))
    let (rpID, name) = (String(repeating: "r", count: 225), String(repeating: "n", count: 64))
    let token = try platform.token(
      try await platform.askTokenByVerification([.makeCredential], rpID: rpID, in: &world))
    let salts = try platform.saltInput([UInt8](repeating: 0xA1, count: 64))
    let ids = [[UInt8]](repeating: [UInt8](repeating: 1, count: Int(size)), count: Int(count))
    let request = Requests.makeCredential(
      rk: true, algorithms: [-7, -8],
      changes: Requests.registering(["credProtect": 3, "hmac-secret": true, "hmac-secret-mc": .map(salts)])
        + token.makeCredential() + [
          (2, ["id": .text(rpID), "name": .text(name)]),
          (3, ["id": .bytes([UInt8](repeating: 1, count: 64)), "name": .text(name), "displayName": .text(name)]),
          (5, Requests.list(ids)),
        ])
    #expect(1 + CBOREncoder.encode(.map(request)).count <= longest)
    #expect(await world.makeCredential(request).status == .success)
  }

  // Holds: CTAP2-7
  @Test func `a request with any byte changed is answered, and only a complete answer is a success`() async throws {
    let platform = try TestPlatform(.one)
    var world = TestWorld()
    let request = [0x01] + CBOREncoder.encode(.map(try await registering(platform, in: &world)))
    for index in request.indices.dropFirst() {
      for flip: UInt8 in [0x01, 0x20, 0x80] {
        var changed = request
        changed[index] ^= flip
        let answer = await world.send(changed)
        #expect(answer.status == .success ? [3, 4].contains(answer.map?.count) : answer.bytes.count == 1)
        #expect(answer.status != .success || answer.data != nil)
      }
    }
  }
}
