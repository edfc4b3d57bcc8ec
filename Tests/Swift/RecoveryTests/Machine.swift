import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// A machine with the vectors' phrase and its own store.
struct Machine {
  let store: InMemoryCredentialStore
  let vault: OpenVault

  init(epoch: UInt16 = 0, floor: UInt16 = 0, idForm: CredentialIDForm = .sealed) throws {
    let keys = try KeysAndRecovery.keys()
    store = InMemoryCredentialStore(
      keys: keys,
      state: StoreState(storeID: Array(0xA0...0xAF), epoch: epoch, floor: floor, credentialIDForm: idForm))
    vault = OpenVault(
      keys: keys, ed25519Root: try KeysAndRecovery.load().input.ed25519Root.hex.secret, store: store)
  }

  /// Registers a discoverable credential and keeps its record, as makeCredential does.
  @discardableResult
  func register(
    _ userID: String, at rpID: String = "example.com", algorithm: COSEAlgorithm = .es256,
    credProtect: CredProtectLevel = .userVerificationOptional, known: UInt32? = nil, now: UInt64 = 1000
  ) throws -> CredentialSource {
    let credential = try vault.makeDiscoverableCredential(
      CredentialRegistration(
        rpID: rpID, user: PublicKeyCredentialUserEntity(id: Array(userID.utf8), name: "name of \(userID)"),
        algorithm: algorithm, policy: CredentialPolicy(credProtect: credProtect)),
      known: known, now: now)
    try vault.save(credential)
    return try #require(credential.record)
  }

  /// Makes a non-discoverable credential with a salt of 16 equal bytes.
  func makeNonDiscoverable(_ userID: String, at rpID: String = "example.com", salt: UInt8 = 7) throws -> Credential {
    var generator = Repeating(byte: salt)
    return try vault.makeNonDiscoverableCredential(
      CredentialRegistration(
        rpID: rpID, user: PublicKeyCredentialUserEntity(id: Array(userID.utf8)), algorithm: .es256),
      using: &generator)
  }

  /// The id of a discoverable credential of this phrase, which is not registered here.
  func id(
    _ userID: String, at rpID: String = "example.com", counter: UInt32 = 0, form: CredentialIDForm = .sealed,
    algorithm: COSEAlgorithm = .es256, policy: CredentialPolicy = CredentialPolicy()
  ) throws -> [UInt8] {
    let parameters = try #require(
      CredentialParameters.discoverable(
        userID: Array(userID.utf8), counter: counter, algorithm: algorithm, policy: policy))
    let publicKey = try vault.keys.privateKey(parameters, rpID: rpID).publicKey
    return try vault.keys.id(form, parameters, rpIDHash: RPIDHash(rpID: rpID), publicKey: publicKey)
  }

  func find(_ ids: [[UInt8]], at rpID: String = "example.com", userVerified: Bool = false) throws -> [Credential] {
    try vault.credentials(allowList: ids, rpID: rpID, userVerified: userVerified)
  }

  func examine(
    _ ids: [[UInt8]], at rpID: String = "example.com", user: String, algorithms: [COSEAlgorithm] = [.es256],
    credProtect: CredProtectLevel = .userVerificationOptional, userVerified: Bool = false
  ) throws -> ExcludeListFindings {
    try vault.examine(
      excludeList: ids, rpID: rpID, userID: Array(user.utf8), algorithms: algorithms,
      policy: CredentialPolicy(credProtect: credProtect), userVerified: userVerified)
  }

  func entry(_ userID: String, at rpID: String = "example.com") throws -> AccountEntry? {
    try store.account(rpIDHash: RPIDHash(rpID: rpID), userID: Array(userID.utf8))
  }
}

/// A generator that repeats one byte.
struct Repeating: RandomNumberGenerator {
  let byte: UInt8

  mutating func next() -> UInt64 { UInt64(byte) * 0x0101_0101_0101_0101 }
}

/// A generator that returns given words, for the salts of the vectors.
struct Scripted: RandomNumberGenerator {
  var words: [UInt64]

  mutating func next() -> UInt64 { words.removeFirst() }
}
