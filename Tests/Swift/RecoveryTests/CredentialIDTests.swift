import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct CredentialIDTests {
  let keys: CredentialKeys

  init() throws { keys = try KeysAndRecovery.keys() }

  @Test(arguments: try KeysAndRecovery.load().credentials.array.filter { $0.sealed.optional != nil })
  func `a sealed id has the contract's bytes and opens again to its fields`(_ vector: Vector) throws {
    let parameters = try #require(KeysAndRecovery.parameters(of: vector))
    let rpIDHash = try #require(RPIDHash(bytes: vector.rpIdHash.bytes))
    let sealed = vector.sealed
    #expect(Hex(parameters.plaintext) == sealed.plaintext.hex)
    #expect(Hex([CredentialID.format] + rpIDHash.bytes) == sealed.associatedData.hex)

    let id = try keys.sealedID(parameters, rpIDHash: rpIDHash)
    #expect(id.count == 127)
    #expect(CredentialID.sealedLength == 127)
    #expect(Hex(id[1..<25]) == sealed.nonce.hex)
    #expect(Hex(id) == sealed.id.hex)

    let opened = try #require(keys.open(sealedID: id, rpIDHash: rpIDHash))
    #expect(opened == parameters)
    #expect(opened.epoch == vector.epoch.integer())
    #expect(opened.counter == vector.counter.optional?.integer())
  }

  // Holds: CTAP2-9
  @Test(arguments: try KeysAndRecovery.load().idsThatMustNotOpen.array)
  func `an id that must not open is refused`(_ vector: Vector) {
    #expect(keys.open(sealedID: vector.id.bytes, rpIDHash: RPIDHash(rpID: vector.rpId.text)) == nil)
  }

  // Holds: CTAP2-9
  @Test(arguments: [0, 1, 32, 64, 127, 1024])
  func `bytes that this phrase did not seal do not open, at any length`(_ count: Int) {
    let id = [UInt8](repeating: 1, count: count)
    #expect(keys.open(sealedID: id, rpIDHash: RPIDHash(rpID: "example.com")) == nil)
  }

  /// One fault in otherwise valid fields.
  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let spoil: @Sendable (inout [UInt8]) -> Void

    init(_ why: String, _ spoil: @escaping @Sendable (inout [UInt8]) -> Void) {
      testDescription = why
      self.spoil = spoil
    }
  }

  /// Invalid fields under a valid seal: Recovery §4.
  static let faults = [
    Fault("85 bytes") { $0.removeLast() },
    Fault("87 bytes") { $0.append(0) },
    Fault("kind 0") { $0[0] = 0 },
    Fault("kind 4") { $0[0] = 4 },
    Fault("algorithm 0") { $0[1] = 0 },
    Fault("algorithm 3") { $0[1] = 3 },
    Fault("credProtect level 0") { $0[2] = 0 },
    Fault("reserved policy bit") { $0[2] = 0x11 },
    Fault("epoch without its counter") { $0[4] = 1 },
    Fault("counter without its epoch") { $0[18] = 1 },
    Fault("one of the 12 zero bytes set") { $0[5] = 1 },
    Fault("the last of the 12 zero bytes set") { $0[16] = 1 },
    Fault("no user id") { $0.replaceSubrange(21..., with: [UInt8](repeating: 0, count: 65)) },
    Fault("user id longer than it is told to be") { $0[21] = 4 },
    Fault("user id of 65 bytes") { $0[21] = 65 },
    Fault("padding not zero") { $0[85] = 1 },
    Fault("u2f of algorithm 2") { fields in
      fields = u2f
      fields[1] = 2
    },
    Fault("u2f with a policy") { fields in
      fields = u2f
      fields[2] = 2
    },
    Fault("u2f with a user id") { fields in
      fields = u2f
      fields[21] = 1
      fields[22] = 0x61
    },
  ]

  @Test(arguments: faults)
  func `fields that are out of range or inconsistent are refused`(_ fault: Fault) throws {
    var plaintext = try #require(KeysAndRecovery.parameters(of: KeysAndRecovery.load().credentials[0])).plaintext
    #expect(CredentialParameters(plaintext: plaintext) != nil)
    fault.spoil(&plaintext)
    #expect(CredentialParameters(plaintext: plaintext) == nil)
  }

  private static let u2f =
    [3, 1, 1, 0, 0] + [UInt8](repeating: 0x77, count: 16) + [UInt8](repeating: 0, count: 65)

  @Test func `a valid U2F handle opens`() {
    #expect(CredentialParameters(plaintext: Self.u2f) == .u2f(salt: [UInt8](repeating: 0x77, count: 16), epoch: 0))
  }

  @Test func `parameters out of range are refused`() {
    let long = [UInt8](repeating: 1, count: 65)
    #expect(CredentialParameters.discoverable(userID: [], counter: 0, algorithm: .es256) == nil)
    #expect(CredentialParameters.discoverable(userID: long, counter: 0, algorithm: .es256) == nil)
    #expect(CredentialParameters.nonDiscoverable(userID: long, salt: Array(0..<16), epoch: 0, algorithm: .es256) == nil)
    #expect(CredentialParameters.nonDiscoverable(userID: [1], salt: Array(0..<15), epoch: 0, algorithm: .es256) == nil)
    #expect(CredentialParameters.u2f(salt: Array(0..<17), epoch: 0) == nil)
  }

  @Test(arguments: try KeysAndRecovery.load().algorandAddressUserId.array, CredentialIDForm.allCases)
  func `an Algorand address as user id gets a hash id, any other user id the set form`(
    _ vector: Vector, _ setting: CredentialIDForm
  ) {
    let form = CredentialID.form(forUserID: Array(vector.userIdText.text.utf8), setting: setting)
    #expect(form == (vector.address.isTrue ? .hash : setting))
  }

  @Test(arguments: UInt8.min...UInt8.max)
  func `a policy byte is read only in its valid form`(_ byte: UInt8) {
    let isValid = byte & 0xF0 == 0 && byte & 3 != 0
    #expect(CredentialPolicy(byte: byte)?.byte == (isValid ? byte : nil))
  }
}
