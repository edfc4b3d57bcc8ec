import ControlDoor
import CryptoPrimitives
import Recovery
import Testing

@testable import liquid_authenticator

@Suite struct StoredCredentialsTests {
  let vault: OpenVault

  init() {
    let keys = CredentialKeys(mainKey: SecretBytes(count: 64) { $0.copyBytes(from: (0..<64).map { UInt8($0) }) })
    vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
  }

  private static let recovery = CredentialRecovery(rpID: "a.example", userHandle: [7], counter: 2, credProtect: 3)
  private static let reference = CredentialReference(rpID: "a.example", credentialID: [1])

  @Test(arguments: [-7, -8] as [Int64])
  func `a credential is recovered from what its owner knows`(_ algorithm: Int64) throws {
    var recovery = Self.recovery
    recovery.algorithm = algorithm
    let found = try vault.recover(recovery, now: 5)
    let publicKey = try #require(found.publicKey)
    #expect(found.credentialID == SHA256.hash(publicKey))
    #expect(publicKey.count == (algorithm == -7 ? 64 : 32))
    #expect(
      found
        == CredentialDescription(
          rpID: "a.example", userID: [7], credentialID: found.credentialID, algorithm: algorithm, counter: 2, policy: 3,
          created: 5, changed: 5, source: 1, publicKey: publicKey))
    #expect(try vault.description(of: found.reference) == found)
    var listed = found
    listed.publicKey = nil
    #expect(try vault.page(start: 0) == CredentialPage(credentials: [listed]))
  }

  @Test func `recovery goes only over a lower counter`() throws {
    _ = try vault.recover(Self.recovery, now: 5)
    for counter in 0...2 as ClosedRange<UInt32> {
      var recovery = Self.recovery
      recovery.counter = counter
      #expect(throws: ControlFailure(.notAllowed, "")) { try vault.recover(recovery, now: 6) }
    }
    var next = Self.recovery
    next.counter = 3
    #expect(try vault.recover(next, now: 6).counter == 3)
    #expect(try vault.page(start: 0).credentials.count == 1)
  }

  @Test func `a deletion is not undone by recovery`() throws {
    let found = try vault.recover(Self.recovery, now: 5)
    try vault.remove(found.reference, now: 6)
    #expect(throws: ControlFailure(.notAllowed, "")) { try vault.recover(Self.recovery, now: 7) }
    #expect(try vault.page(start: 0).credentials.isEmpty)
    #expect(
      try vault.store.account(rpIDHash: RPIDHash(rpID: "a.example"), userID: [7])
        == .tombstone(counter: 2, changed: 6))
  }

  @Test func `names change one by one, and an empty one goes`() throws {
    let reference = try vault.recover(Self.recovery, now: 5).reference
    try vault.rename(reference, CredentialNames(name: "alice"), now: 6)
    try vault.rename(reference, CredentialNames(displayName: "Alice"), now: 7)
    var found = try vault.description(of: reference)
    #expect((found.name, found.displayName) == ("alice", "Alice"))
    #expect((found.created, found.changed, found.counter) == (5, 7, 2))
    try vault.rename(reference, CredentialNames(name: "", displayName: "Al"), now: 8)
    found = try vault.description(of: reference)
    #expect((found.name, found.displayName) == (nil, "Al"))
  }

  @Test func `a clock that went back does not make a change older`() throws {
    let reference = try vault.recover(Self.recovery, now: 5_000).reference
    try vault.rename(reference, CredentialNames(name: "alice"), now: 6)
    #expect(try vault.description(of: reference).changed == 5_001)
    try vault.remove(reference, now: 6)
    #expect(
      try vault.store.account(rpIDHash: RPIDHash(rpID: "a.example"), userID: [7])?.changed == 5_002)
  }

  @Test func `a record from the end of time is changed and removed as any other`() throws {
    let reference = try vault.recover(Self.recovery, now: .max).reference
    try vault.rename(reference, CredentialNames(name: "alice"), now: 6)
    #expect(try vault.description(of: reference).changed == .max)
    try vault.remove(reference, now: 6)
    #expect(try vault.page(start: 0).credentials.isEmpty)
  }

  @Test func `what is not there cannot be shown, renamed or removed`() throws {
    let found = try vault.recover(Self.recovery, now: 5)
    for reference in [Self.reference, CredentialReference(rpID: "b.example", credentialID: found.credentialID)] {
      #expect(throws: ControlFailure(.noCredentials, "")) { try vault.description(of: reference) }
      #expect(throws: ControlFailure(.noCredentials, "")) {
        try vault.rename(reference, CredentialNames(name: "x"), now: 6)
      }
      #expect(throws: ControlFailure(.noCredentials, "")) { try vault.remove(reference, now: 6) }
    }
    #expect(try vault.description(of: found.reference) == found)
  }

  @Test func `a store that cannot be written says so`() throws {
    let found = try vault.recover(Self.recovery, now: 5)
    let store = try #require(vault.store as? InMemoryCredentialStore)
    store.isFull = true
    #expect(throws: ControlFailure(.unavailable, "")) {
      try vault.rename(found.reference, CredentialNames(name: "x"), now: 6)
    }
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.remove(found.reference, now: 6) }
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.acceptBeforeReset() }
    var next = Self.recovery
    next.counter = 3
    #expect(throws: ControlFailure(.unavailable, "")) { try vault.recover(next, now: 6) }
  }

  @Test func `a reset is taken back`() throws {
    var state = try vault.store.state()
    try state.reset()
    try vault.store.setState(state)
    #expect(state.floor == 1)
    try vault.acceptBeforeReset()
    let after = try vault.store.state()
    #expect((after.epoch, after.floor) == (1, 0))
  }
}
