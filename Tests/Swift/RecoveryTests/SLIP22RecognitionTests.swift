import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// A Trezor's passkey that a site sends back: the example of SLIP-0022, recognised if the owner switched that on.
@Suite struct SLIP22RecognitionTests {
  static let seed = octets(
    "c76c4ac4f4e4a00d6b274d5c39c700bb4a7ddc04fbc6f78e85ca75007b5b495f"
      + "74a9043eeb77bdd53aa6fc3a0e31462270316fa04b8c19114c8798706cd02ac8"
  ).secret
  static let id = octets(
    "f1d0020013e65c865634ad8abddf7a66df56ae7d8c3afd356f76426801508b2e579bcb3496fe6396a6002e3cd6d80f6359dfa9961e24c544"
      + "bfc2f26acec1b8d878ba56727e1f6a7b5176c607552aea63a5abe5d826d69fab3063edfa0201d9a51013d69eddb2eff37acdd5963f"
  ).bytes

  /// Ids of the same phrase and site with members 9 and 10: ES256 on P-256, and EdDSA on Ed25519.
  static let withAlgorithm = octets(
    "f1d00200000102030405060708090a0b19e1e7fd172a635977dc2eaecacb1bfd95681c41acf91ae00d726aeec1bd44456af15af19910cc"
  ).bytes
  static let withOtherAlgorithm = octets(
    "f1d00200000102030405060708090a0b19e1e7fd172a635977dc2eaecacb1bfd95681c41adf91da5885b38c4a85d790a7ba0294c5f30d5"
  ).bytes

  private func vault(isOn: Bool, floor: UInt16 = 0) -> OpenVault {
    let keys = CredentialKeys(mainKey: SecretBytes(count: 64) { $0[0] = 1 })
    var state = StoreState(storeID: [UInt8](repeating: 1, count: 16), floor: floor)
    if isOn { state.slip22 = SLIP22Keys(seed: Self.seed) }
    return OpenVault(
      keys: keys, ed25519Root: SecretBytes(count: 96) { _ in }, store: InMemoryCredentialStore(keys: keys, state: state)
    )
  }

  @Test func `it signs at its site, with its user and its CredRandom`() throws {
    let vault = vault(isOn: true, floor: 3)
    let found = try vault.credentials(allowList: [Self.id], rpID: "example.com", userVerified: false)
    let credential = try #require(found.first)
    #expect(credential.provenance == .slip22 && credential.userHandle?.count == 32)
    #expect(
      try vault.keys.privateKey(of: credential).publicKey.bytes.prefix(4) == octets("51f0d4c3").bytes[...])
    for userVerified in [true, false] {
      #expect(
        vault.keys.credRandom(of: credential, userVerified: userVerified)
          == octets("36a9b5d71c13ed54594474b54073af1fb03ea91cd056588909dae43ae2f35dbf").secret)
    }
  }

  @Test func `it is excluded at a registration, and does not raise the counter`() throws {
    let found = try vault(isOn: true).examine(
      excludeList: [Self.id], rpID: "example.com", userID: [7], algorithms: [.es256], userVerified: true)
    #expect(found.hits.map(\.id) == [Self.id] && found.highestKnownCounter == nil)
  }

  @Test func `without the owner's switch, and at another site, it is unknown`() throws {
    #expect(
      try vault(isOn: false).credentials(allowList: [Self.id], rpID: "example.com", userVerified: true).isEmpty)
    #expect(try vault(isOn: true).credentials(allowList: [Self.id], rpID: "example.org", userVerified: true).isEmpty)
  }

  @Test func `an id that names another algorithm is unknown`() throws {
    let ids = [Self.withAlgorithm, Self.withOtherAlgorithm]
    let found = try vault(isOn: true).credentials(allowList: ids, rpID: "example.com", userVerified: true)
    #expect(found.map(\.id) == [Self.withAlgorithm])
  }

  @Test func `the state row keeps the keys, and a reset and another phrase do not`() throws {
    var state = StoreState(storeID: [UInt8](repeating: 1, count: 16))
    state.slip22 = SLIP22Keys(seed: Self.seed)
    let plaintext = state.plaintext(version: 3)
    #expect(try StoreState.read(plaintext).state == state)
    #expect(state.ofNewPhrase(storeID: state.storeID).slip22 == nil)
    try state.reset()
    #expect(state.slip22 == nil)
  }
}

private func octets(_ text: String) -> Hex { Hex(text) ?? Hex([]) }
