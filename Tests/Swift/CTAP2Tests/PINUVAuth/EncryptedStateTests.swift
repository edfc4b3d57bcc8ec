import CBOR
import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

/// encIdentifier and encCredStoreState of getInfo, read as by a platform that has the pcmr token.
@Suite struct EncryptedStateTests {
  /// Keys derived from the token 00 01 … 1F with Python's cryptography.
  static let keys: [(EncryptedState, String)] = [
    (.identifier, "24154dbe7ef3ce2d6add02c4e48dbb69"), (.credentialStore, "f71b2891a5b9d1e1c65d49eed539a041"),
  ]

  // Holds: INFO-8
  @Test(arguments: keys)
  func `each member has its own key, derived from the token`(_ member: EncryptedState, _ key: String) throws {
    let token = (0..<32).map { UInt8($0) }.withUnsafeBytes(SecretBytes.init(copying:))
    let state = [UInt8](repeating: 0xA5, count: 16)
    let encrypted = try member.encrypt(state, token: token)
    #expect(encrypted.count == 32)
    let key = try #require(Hex(key)).bytes.withUnsafeBytes(SecretBytes.init(copying:))
    let plaintext = try AESCBC.decrypt(
      Array(encrypted[16...]), key: key, initializationVector: Array(encrypted[..<16]))
    #expect(plaintext.withUnsafeBytes { Array($0) } == state)
    #expect(try member.encrypt(state, token: token)[..<16] != encrypted[..<16], "each time with a fresh iv")
  }

  @Test func `the states depend on the store's id and floor, as computed with Python`() throws {
    var state = StoreState(storeID: [UInt8](repeating: 7, count: 16))
    #expect(Hex(state.deviceIdentifier).description == "51d0c8435ac79c407be2431804d7c8b6")
    #expect(
      Hex(state.credentialStoreState(revision: [1, 2, 3])).description == "a072d74fb945939292e734165d2b56a9")
    state.epoch = 9
    #expect(Hex(state.deviceIdentifier).description == "51d0c8435ac79c407be2431804d7c8b6", "of another machine's epoch")
    state.floor = 1
    #expect(Hex(state.deviceIdentifier).description == "369118ba74c5f1e2c03f7dbcc12d2ff8")
  }

  /// Both states, as a platform reads them.
  private func read(_ world: inout TestWorld, with token: SecretBytes) async throws -> [[UInt8]] {
    let map = try #require(await world.send([0x04]).map)
    return try [(0x19, "encIdentifier"), (0x1E, "encCredStoreState")].map { number, name in
      let encrypted = try #require(map[CBORValue(number)]?.bytes)
      let key = HKDFSHA256.derive(
        key: token, salt: [UInt8](repeating: 0, count: 32), info: Array(name.utf8), count: 16)
      return try AESCBC.decrypt(Array(encrypted[16...]), key: key, initializationVector: Array(encrypted[..<16]))
        .withUnsafeBytes { Array($0) }
    }
  }

  private func token(in world: inout TestWorld) async throws -> SecretBytes {
    let platform = try TestPlatform(.two)
    return try platform.token(
      try await platform.askTokenByVerification(.persistentCredentialManagementReadOnly, in: &world)
    ).secret
  }

  // Holds: INFO-8
  @Test func `the members are absent while the vault is locked, and random without the token`() async throws {
    var world = TestWorld(isOpen: false)
    #expect(await world.send([0x04]).map?[0x19] == nil)
    #expect(await world.send([0x04]).map?[0x1E] == nil)
    world.keySource.unlock()
    // First without a token, then with one.
    for _ in 0..<2 {
      var seen: Set<[UInt8]> = []
      for _ in 0..<4 {
        let map = try #require(await world.send([0x04]).map)
        for member in [map[0x19], map[0x1E]] {
          let bytes = try #require(member?.bytes)
          #expect(bytes.count == 32)
          seen.formUnion([Array(bytes[..<16]), Array(bytes[16...])])
        }
      }
      #expect(seen.count == 16, "no block comes twice")
      _ = try await token(in: &world)
    }
    #expect(world.store.writes == 1, "only who asks for the token has one made")
  }

  // Holds: INFO-9
  @Test func `only a reset changes the identifier`() async throws {
    var world = TestWorld()
    let token = try await token(in: &world)
    let before = try await read(&world, with: token)[0]
    _ = try await world.register(rk: true)
    world.replug()
    world.keySource.lock()
    world.keySource.unlock()
    #expect(try await read(&world, with: token)[0] == before)
    var state = try world.store.state()
    state.epoch += 1
    try world.store.setState(state)
    #expect(try await read(&world, with: token)[0] == before, "a passkey of another machine's later epoch was used")

    let platform = try TestPlatform(.two)
    _ = try await platform.setPIN("1234", in: &world)
    #expect(try await read(&world, with: try await self.token(in: &world))[0] == before, "another PIN, another token")

    world.replug()
    #expect(await world.send([0x07]).bytes == [0x00])
    #expect(try await read(&world, with: try await self.token(in: &world))[0] != before)
  }

  // Holds: INFO-10
  @Test func `only changes of the passkeys change the credential store state`() async throws {
    var world = TestWorld()
    let token = try await token(in: &world)
    var seen = [try await read(&world, with: token)[1]]
    func look(_ what: Comment) async throws {
      let state = try await read(&world, with: token)[1]
      #expect(!seen.contains(state), what)
      seen.append(state)
    }
    func lookAgain(_ what: Comment) async throws {
      #expect(try await read(&world, with: token)[1] == seen.last, what)
    }
    let made = try await world.register(rk: true)
    try await look("made")
    try await lookAgain("nothing happened")
    _ = try await world.register(rk: false, userID: [9])
    try await lookAgain("a credential that is not discoverable")
    #expect(await world.getAssertion(Requests.getAssertion(allowing: [made.credentialID])).status == .success)
    try await lookAgain("a sign-in")

    let platform = try TestPlatform(.two)
    let manager = try platform.token(
      try await platform.askTokenByVerification(.credentialManagement, in: &world))
    let descriptor: CBORValue = ["id": .bytes(made.credentialID), "type": "public-key"]
    let user: CBORValue = ["id": .bytes(Requests.userID), "name": "another"]
    #expect(await world.send(0x0A, manager.manage(0x07, [2: descriptor, 3: user])).bytes == [0x00])
    try await look("renamed")
    #expect(await world.send(0x0A, manager.manage(0x06, [2: descriptor])).bytes == [0x00])
    let afterDeletion = try await read(&world, with: token)[1]
    #expect(afterDeletion != seen.last, "removed")
  }

  // Holds: INFO-10
  @Test func `a reset changes the state even of an empty store`() async throws {
    var world = TestWorld()
    let before = try await read(&world, with: try await token(in: &world))
    #expect(await world.send([0x07]).bytes == [0x00])
    let after = try await read(&world, with: try await token(in: &world))
    #expect(after[0] != before[0] && after[1] != before[1])
  }
}
