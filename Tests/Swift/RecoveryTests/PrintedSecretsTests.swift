import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  private static let secret = Hex(PrintedForms.secret.bytes.prefix(64))
  private static let half = Hex(PrintedForms.secret.bytes.prefix(32))

  @Test func `the keys of a phrase print nothing`() {
    let keys = CredentialKeys(mainKey: Self.secret.secret)
    for purpose in Subkey.allCases where purpose != .fingerprint {
      #expect(PrintedForms.leaks(of: keys, Self.secret, keys[purpose].hex) == [], "\(purpose)")
    }
    let digests = StoreDigests(keys: keys, challenge: Self.half.bytes)
    #expect(PrintedForms.leaks(of: digests, Self.secret, keys[.credentialKey].hex) == [])
  }

  @Test func `an open vault and the keys of its accounts print nothing`() throws {
    let machine = try Machine()
    let source = try machine.register("alice")
    let input = try KeysAndRecovery.load().input
    let roots = (input.mainKey.hex, input.ed25519Root.hex)
    let vault: OpenVault = machine.vault
    #expect(PrintedForms.leaks(of: vault, roots.0, roots.1) == [])
    let account = try machine.vault.algorandAccount()
    #expect(PrintedForms.leaks(of: account, account.key.node.hex, roots.1) == [])
    let key = try machine.vault.associationKey(publicUserID: "alice")
    #expect(PrintedForms.leaks(of: key, key.key.scalar.hex) == [])
    let passkey = try machine.vault.keys.privateKey(of: source)
    guard case .es256(let scalar) = passkey.key else { throw CryptoError.libraryFailure }
    #expect(PrintedForms.leaks(of: passkey, scalar.scalar.hex) == [])
  }

  @Test func `a secret of one unlocking prints nothing, and is dropped at the end and by the next one`() {
    let unlocking = Unlocking()
    let secret: Unlocking.Secret = unlocking.keep(Self.half.secret)
    #expect(secret.bytes?.hex == Self.half)
    #expect(PrintedForms.leaks(of: secret, Self.half) == [])
    #expect(PrintedForms.leaks(of: unlocking, Self.half) == [])
    let next = unlocking.keep(Self.secret.secret)
    #expect(secret.bytes == nil && next.bytes?.hex == Self.secret)
    unlocking.end()
    #expect(next.bytes == nil && unlocking.keep(Self.half.secret).bytes == nil)
  }

  @Test(arguments: COSEAlgorithm.allCases)
  func `a passkey's private key prints nothing`(_ algorithm: COSEAlgorithm) throws {
    let key = try CredentialPrivateKey(secret: Self.half.secret, algorithm: algorithm)
    #expect(PrintedForms.leaks(of: key, Self.half) == [])
  }

  @Test func `an imported passkey prints neither its private key nor its CredRandoms`() throws {
    let source = try #require(
      CredentialSource(
        rpID: "example.com", userID: [1], id: [2], algorithm: .es256, counter: 0, created: 1, changed: 1,
        origin: .imported, importedKey: Self.half.secret, credRandoms: Self.secret.secret))
    #expect(PrintedForms.leaks(of: source, Self.secret) == [])
    #expect(PrintedForms.leaks(of: AccountEntry.record(source), Self.secret) == [])
  }

  @Test func `a passkey of a Trezor prints neither its key nor its CredRandom`() throws {
    let parameters = CredentialParameters.discoverable(
      userID: [1], counter: 0, algorithm: .es256, policy: CredentialPolicy())
    var credential = Credential(
      id: [2], rpID: "example.com", parameters: try #require(parameters), provenance: .slip22,
      derivedKey: try CredentialPrivateKey(secret: Self.half.secret, algorithm: .es256))
    credential.slip22CredRandom = Self.half.secret
    #expect(PrintedForms.leaks(of: credential, Self.half) == [])
  }

  @Test func `the state of a store prints nothing of its secrets`() throws {
    var settings = AuthenticatorSettings()
    var state = StoreState(storeID: [UInt8](repeating: 7, count: 16))
    let counter = try #require(StoreCounter(index: 1, auth: Self.half.secret, value: 2))
    let pin = StoredPIN(hash: Hex(Self.half.bytes.prefix(16)).secret, length: 4)
    settings.pin = pin
    settings.persistentToken = Self.half.secret
    state.settings = settings
    state.counter = counter
    let pairing = Pairing(origin: "https://a.example", rpID: "a.example", id: "p", credential: Self.half.secret)
    try state.pairings.keep(pairing)
    let nodes = Hex([[UInt8]](repeating: Self.half.bytes, count: 4).joined())
    state.slip22 = SLIP22Keys(nodes.secret)
    for value in [pin, counter, settings, pairing, state, StateSecrets(of: state)] as [Any] {
      #expect(PrintedForms.leaks(of: value, Self.half) == [])
    }
  }
}
