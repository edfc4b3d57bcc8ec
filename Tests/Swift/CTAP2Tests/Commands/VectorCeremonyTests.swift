import CBOR
import CTAP2
import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

/// The credentials of the vectors, made and used with complete commands.
@Suite struct VectorCeremonyTests {
  /// The cases that commands can request: those of U2F have no rp.id.
  private static func cases(_ kind: String) throws -> [Vector] {
    try KeysAndRecovery.load().credentials.array.filter { $0.kind.text == kind && $0.rpId.optional != nil }
  }

  /// The extensions that request a policy.
  private static func extensions(_ policy: UInt8) -> CBORMap {
    var extensions: CBORMap = ["credProtect": CBORValue(Int(policy & 0b11))]
    if policy & 0b100 != 0 { extensions["largeBlobKey"] = true }
    if policy & 0b1000 != 0 { extensions["thirdPartyPayment"] = true }
    return extensions
  }

  private func key(of vector: Vector) throws -> CredentialPublicKey {
    let bytes = vector.publicKey.bytes
    return vector.algorithm.text == "EdDSA"
      ? .edDSA(bytes) : .es256(try P256.PublicKey(x: Array(bytes[..<32]), y: Array(bytes[32...])))
  }

  @Test(arguments: try cases("discoverable"))
  func `a registration makes the vector's key and id`(vector: Vector) async throws {
    let counter = vector.counter.integer(UInt32.self)
    var world = TestWorld(state: StoreState(storeID: [], epoch: vector.epoch.integer()))
    let request = Requests.makeCredential(
      rk: true, uv: true, rpID: vector.rpId.text, userID: vector.userId.bytes,
      algorithms: [vector.algorithm.text == "EdDSA" ? -8 : -7],
      changes: Requests.registering(Self.extensions(vector.policy.bytes[0])))
    var answer: Answer?
    for _ in 0...counter & 0xFFFF { answer = await world.makeCredential(request) }
    let made = try #require(answer?.data)
    #expect(made.credentialID == (vector.sealed.id.optional ?? vector.hashId).bytes)
    #expect(made.coseKey == COSEKey(try key(of: vector)).map)
    #expect(try world.store.allCredentials().map(\.counter) == [counter])
    let derived = vector.sealed.optional == nil ? vector.withHashId : vector.withSealedId
    let isAskedFor = vector.policy.bytes[0] & 0b100 != 0
    #expect(answer?.map?[5] == (isAskedFor ? .bytes(derived.largeBlobKey.bytes) : nil))
  }

  @Test(arguments: try cases("discoverable") + cases("non-discoverable"))
  func `the vector's sealed id signs in with the vector's key on a new machine`(
    vector: Vector
  ) async throws {
    guard let id = vector.sealed.id.optional?.bytes else { return }
    var world = TestWorld()
    let answer = await world.getAssertion(
      Requests.getAssertion(allowing: [id], uv: true, rpID: vector.rpId.text))
    let data = try #require(answer.map?[2]?.bytes)
    let signature = try #require(answer.map?[3]?.bytes)
    #expect(try key(of: vector).isValidSignature(signature, for: data + Requests.clientDataHash))
    let isDiscoverable = vector.kind.text == "discoverable"
    #expect(answer.map?[4] == (isDiscoverable ? ["id": .bytes(vector.userId.bytes)] : nil))
    #expect(try world.store.allCredentials().map(\.id) == (isDiscoverable ? [id] : []))
    #expect(try world.store.state().epoch == vector.epoch.integer())
  }

  @Test func `a phone wallet's id signs in, without a user and without a record`() async throws {
    let vectors = try KeysAndRecovery.load()
    for id in vectors.phoneCandidates.ids.members.values {
      var world = TestWorld()
      let answer = await world.getAssertion(
        Requests.getAssertion(allowing: [id.bytes], rpID: vectors.phoneCandidates.rpId.text))
      #expect(answer.map?.pairs.map(\.key) == [1, 2, 3])
      #expect(world.store.writes == 0)
    }
  }
}
