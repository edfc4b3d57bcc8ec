import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// Imported passkeys beside the derived ones of their accounts: Recovery §6.
@Suite struct `Imported passkeys` {
  private static let rp = RPIDHash(rpID: "example.com")

  private func imported(
    _ id: [UInt8] = [1, 2, 3], user: String = "alice", key: UInt8 = 3, name: String? = nil
  ) throws -> CredentialSource {
    try #require(
      CredentialSource(
        rpID: "example.com", userID: Array(user.utf8), name: name, id: id, algorithm: .es256, counter: 0, created: 1,
        changed: 1, origin: .imported, importedKey: Hex([UInt8](repeating: key, count: 32)).secret))
  }

  // Holds: IMPORT-1
  @Test func `the tag is a MAC over 05, the relying party and the id`() throws {
    let keys = try KeysAndRecovery.keys()
    let message = [5] + Self.rp.bytes + [1, 2, 3]
    #expect(try keys.accountTag(of: imported()) == keys.mac(.lookUp, message))
    // The example of the contract.
    let sealedID = try Machine().id("alice")
    #expect(
      Hex(keys.importedTag(Self.rp, id: sealedID))
        == Hex("8783188a3398d0bbe172c58d9882ca97a14510eb695a510687ed1fb0369fd571"))
    #expect(
      try keys.row(of: imported(), nonce: [UInt8](repeating: 1, count: 24)).accountTag == keys.mac(.lookUp, message))
  }

  // Holds: ROTATE-11
  @Test func `CredRandoms in a record are those of the passkey, with any phrase`() throws {
    let (old, new) = (try KeysAndRecovery.keys(), CredentialKeys(mainKey: .random(count: 64)))
    let passkey = try imported([UInt8](repeating: 9, count: 16))
    let kept = passkey.keepingCredRandoms(of: old)
    let values = [false, true].map { old.credRandom(Self.rp, id: passkey.id, userVerified: $0) }
    let both = values.flatMap { $0.withUnsafeBytes { Array($0) } }
    #expect(try #require(kept.credRandoms).hex == Hex(both) && both.count == 64)
    for (value, userVerified) in zip(values, [false, true]) {
      for keys in [old, new] {
        #expect(keys.credRandom(of: Credential(record: kept), userVerified: userVerified).isEqual(to: value))
      }
      #expect(old.credRandom(of: Credential(record: passkey), userVerified: userVerified).isEqual(to: value))
      #expect(!new.credRandom(of: Credential(record: passkey), userVerified: userVerified).isEqual(to: value))
    }
    #expect(kept.keepingCredRandoms(of: new) == kept, "a second move does not change them")
    #expect(kept != passkey && kept.hasSameSecrets(as: kept) && !kept.hasSameSecrets(as: passkey))
    #expect(!passkey.hasSameSecrets(as: kept) && passkey.hasSameSecrets(as: passkey))

    let derived = try Machine().register("alice")
    #expect(derived.keepingCredRandoms(of: old) == derived && !derived.hasSameSecrets(as: derived))

    let plaintext = AccountEntry.record(kept).plaintext
    #expect(try CBORDecoder.decode(plaintext).map?[14] == .bytes(both))
    #expect(try AccountEntry(plaintext: plaintext) == .record(kept))
    #expect(plaintext.count == AccountEntry.record(passkey).plaintext.count + 67)
  }

  // Holds: ROTATE-11
  @Test func `CredRandoms of another size, or of a derived passkey, are refused`() throws {
    let map = { (passkey: CredentialSource) in
      try #require(try CBORDecoder.decode(AccountEntry.record(passkey).plaintext).map)
    }
    for size in [0, 32, 63, 65, 128] {
      var members = try map(imported())
      members[14] = .bytes([UInt8](repeating: 1, count: size))
      #expect(throws: RecoveryError.self, "\(size) bytes") {
        try AccountEntry(plaintext: CBOREncoder.encode(.map(members)))
      }
    }
    for value in [0, .text("a"), .bool(true)] as [CBORValue] {
      var members = try map(imported())
      members[14] = value
      #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: CBOREncoder.encode(.map(members))) }
    }
    var members = try map(Machine().register("alice"))
    members[14] = .bytes([UInt8](repeating: 1, count: 64))
    #expect(throws: RecoveryError.self) { try AccountEntry(plaintext: CBOREncoder.encode(.map(members))) }
  }

  // Holds: IMPORT-1
  @Test func `a registration, a sign-in and a removal of the account do not change it, and vice versa`() throws {
    let machine = try Machine()
    let passkey = try imported()
    try machine.store.save(passkey, state: nil)
    let registered = try machine.register("alice")
    #expect(registered.counter == 0, "an imported passkey has no counter of its account")
    #expect(try machine.store.allCredentials() == [registered, passkey])

    // A sealed id of a higher counter is written back with consent; it replaces the derived passkey only.
    let later = try machine.id("alice", counter: 4)
    let credential = try #require(try machine.find([later]).first)
    try machine.vault.rememberUse(of: credential, userPresent: true, userVerified: true, now: 5000)
    #expect(try machine.store.allCredentials().map(\.id) == [later, passkey.id])
    #expect(try machine.entry("alice")?.counter == 4)

    try machine.vault.remove(#require(try machine.entry("alice")?.record), now: 6000)
    #expect(try machine.store.allCredentials() == [passkey])
    try machine.register("alice", known: 4)
    try machine.vault.remove(passkey, now: 7000)
    #expect(try machine.store.allCredentials().map(\.counter) == [5])
    #expect(
      try machine.store.entry(accountTag: machine.vault.keys.importedTag(Self.rp, id: passkey.id))
        == .tombstone(counter: 0, changed: 7000))
  }

  // Holds: IMPORT-1
  @Test func `its id is found in both lists, and does not change the next counter`() throws {
    let machine = try Machine()
    let passkey = try imported([UInt8](repeating: 9, count: 16))
    try machine.store.save(passkey, state: nil)
    #expect(try machine.find([passkey.id]).map(\.record) == [passkey])
    #expect(try machine.find([passkey.id], at: "example.net") == [])
    let findings = try machine.examine([passkey.id], user: "alice")
    #expect(findings.hits.map(\.id) == [passkey.id] && findings.highestKnownCounter == nil)
    // It is used, and nothing is written.
    let revision = try machine.store.revision()
    try machine.vault.rememberUse(
      of: #require(findings.hits.first), userPresent: true, userVerified: true, now: 5000)
    #expect(try machine.store.revision() == revision)
    #expect(findings.hits.first?.userHandle == Array("alice".utf8))
  }

  // Holds: IMPORT-1
  @Test func `two of one account stay apart, and the derived one comes first if it has the same id`() throws {
    let machine = try Machine()
    let registered = try machine.register("alice")
    let passkeys = [try imported([1]), try imported([2], key: 4), try imported(registered.id, key: 5)]
    for passkey in passkeys { try machine.store.save(passkey, state: nil) }
    #expect(try machine.store.allCredentials() == passkeys.reversed() + [registered])
    #expect(try machine.find([registered.id]).map(\.record) == [registered])
    try machine.vault.rename(passkeys[0], name: "renamed", displayName: nil, now: 8000)
    #expect(try machine.store.allCredentials().map(\.name) == [nil, nil, "renamed", "name of alice"])
  }
}
