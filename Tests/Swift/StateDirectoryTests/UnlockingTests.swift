import CredentialDB
import CryptoPrimitives
import Foundation
import Recovery
import StateDirectory
import TestVectors
import Testing
import Vault

@Suite struct UnlockingTests {
  let temporary: TemporaryDirectory
  let directory: StateDirectory
  static let mainKey = SecretBytes(count: 64) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
  static let storeID = [UInt8](repeating: 0xA5, count: 16)

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try StateDirectory(opening: temporary.path)
    let root = SecretBytes(count: 96) { $0.initializeMemory(as: UInt8.self, repeating: 9) }
    let content = try VaultContent(mainKey: Self.mainKey, ed25519Root: root, storeID: Self.storeID, created: 1)
    var generator = SystemRandomNumberGenerator()
    let vault = try VaultFile(
      sealing: content, passphrase: secret("right"), cost: PassphraseCost(opsLimit: 1, memLimit: 8192),
      using: &generator)
    try CredentialDB.create(
      at: directory.storePath, keys: CredentialKeys(mainKey: Self.mainKey), state: StoreState(storeID: Self.storeID))
    try directory.createVault(vault.encoded)
  }

  private func secret(_ text: String) -> SecretBytes {
    var bytes = Array(text.utf8)
    return SecretBytes(consuming: &bytes)
  }

  private func openStore() throws -> CredentialDB {
    let content = try directory.unlock(passphrase: secret("right")).content
    return try directory.openStore(of: content, keys: CredentialKeys(mainKey: content.mainKey))
  }

  @Test func `a vault and its store are opened`() throws {
    try directory.check()
    let content = try directory.unlock(passphrase: secret("right")).content
    #expect(content.mainKey.isEqual(to: Self.mainKey))
    #expect(try openStore().state() == StoreState(storeID: Self.storeID))
  }

  @Test func `a wrong passphrase is an error of the passphrase, not of the file`() throws {
    let error = #expect(throws: StateDirectoryError.self) { try directory.unlock(passphrase: secret("wrong")) }
    #expect(error?.kind == .wrongPassphrase)
    #expect(error?.description == "the passphrase is wrong")
  }

  // Holds: FILE-1
  @Test func `a truncated vault is reported as damaged and not changed`() throws {
    let whole = try directory.readVault()
    for count in [1, 2, 20, whole.count / 2, whole.count - 1] {
      try temporary.write(Array(whole.prefix(count)), to: "vault")
      for look in [true, false] {
        let error = #expect(throws: StateDirectoryError.self) {
          if look { try directory.check() } else { _ = try directory.unlock(passphrase: secret("right")) }
        }
        #expect(error?.kind == .damaged)
        #expect(error?.description.hasPrefix("\(directory.vaultPath): ") == true)
      }
      #expect(temporary.bytes(of: "vault") == Array(whole.prefix(count)))
    }
  }

  // Holds: FILE-1
  @Test(.whole("it changes every byte"))
  func `a vault with one changed byte does not open and is not changed`() throws {
    let whole = try directory.readVault()
    for index in whole.indices {
      var changed = whole
      changed[index] ^= 1
      try temporary.write(changed, to: "vault")
      let error = #expect(throws: StateDirectoryError.self) { try directory.unlock(passphrase: secret("right")) }
      let isKnown = error?.kind == .wrongPassphrase || error?.description.contains(directory.vaultPath) == true
      #expect(isKnown, "byte \(index): \(String(describing: error))")
      #expect(temporary.bytes(of: "vault") == changed)
    }
  }

  @Test func `slots change in place, and a refused change writes nothing`() throws {
    let (whole, unlocked) = (try directory.readVault(), try directory.unlock(passphrase: secret("right")))
    let slot = try #require(directory.slots().first)
    #expect(slot.id == unlocked.slot.id)
    for (id, reason) in [(slot.id, "a passphrase must remain"), ([1], "there is no such slot")] {
      let error = #expect(throws: StateDirectoryError.self) {
        try directory.changeSlots { (file) throws(VaultError) in try file.removeSlot(id) }
      }
      #expect(error?.kind == .unchanged && error?.description.hasPrefix(reason) == true)
    }
    #expect(try directory.readVault() == whole)
    let cost = try PassphraseCost(opsLimit: 1, memLimit: 8192)
    let key = try cost.key(passphrase: secret("new"), salt: [UInt8](repeating: 1, count: 16))
    let (slots, warning) = try directory.changeSlots { (file) throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      try file.seal(
        unlocked, for: .passphrase(salt: [UInt8](repeating: 1, count: 16), cost: cost), key: key, using: &generator)
    }
    #expect(try warning == nil && slots == directory.slots() && slots[0].id != slot.id)
    #expect(try directory.unlock(passphrase: secret("new")).content.mainKey.isEqual(to: Self.mainKey))
    #expect(throws: StateDirectoryError.self) { try directory.unlock(passphrase: secret("right")) }
    #expect(temporary.names == ["credentials.sqlite", "vault"])
  }

  @Test func `a missing store is not created`() throws {
    let content = try directory.unlock(passphrase: secret("right")).content
    try FileManager.default.removeItem(atPath: directory.storePath)
    for look in [true, false] {
      let error = #expect(throws: StateDirectoryError.self) {
        if look {
          try directory.check()
        } else {
          _ = try directory.openStore(of: content, keys: CredentialKeys(mainKey: content.mainKey))
        }
      }
      #expect(error?.kind == .missing)
      #expect(
        error?.description
          == "the store \(directory.storePath) of the vault \(directory.vaultPath) is missing; put it back, "
          + "or make an empty one with: liquid-auth recover --new-store")
    }
    #expect(temporary.names == ["vault"])
  }

  // Holds: FILE-9
  @Test func `a truncated store is reported before unlocking and not changed`() throws {
    try directory.checkAtRest()
    let cut = try #require(temporary.bytes(of: "credentials.sqlite")).dropLast()
    try temporary.write(Array(cut), to: "credentials.sqlite")
    let error = #expect(throws: StateDirectoryError.self) { try directory.checkAtRest() }
    #expect(error?.kind == .unusableStore)
    #expect(error?.description.hasPrefix("the store \(directory.storePath) is damaged: ") == true)
    #expect(temporary.bytes(of: "credentials.sqlite") == Array(cut))
  }

  @Test func `a store of another phrase is refused by name`() throws {
    let other = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    try FileManager.default.removeItem(atPath: directory.storePath)
    try CredentialDB.create(at: directory.storePath, keys: other, state: StoreState(storeID: Self.storeID))
    let before = temporary.bytes(of: "credentials.sqlite")
    let error = #expect(throws: StateDirectoryError.self) { try openStore() }
    #expect(error?.kind == .unusableStore)
    #expect(error?.description.contains(directory.storePath) == true)
    #expect(temporary.bytes(of: "credentials.sqlite") == before)
  }

  // Holds: FILE-7
  @Test func `a store with another id is refused with both paths`() throws {
    try FileManager.default.removeItem(atPath: directory.storePath)
    try CredentialDB.create(
      at: directory.storePath, keys: CredentialKeys(mainKey: Self.mainKey),
      state: StoreState(storeID: [UInt8](repeating: 1, count: 16)))
    let error = #expect(throws: StateDirectoryError.self) { try openStore() }
    #expect(error?.kind == .unusableStore)
    #expect(error?.description.contains(directory.storePath) == true)
    #expect(error?.description.contains(directory.vaultPath) == true)
    #expect(error?.description.contains("liquid-auth recover --new-store") == true)
    #expect(error?.needsPreparation == true, "the store that is there must be moved away first")
  }

  @Test func `a store that others can read is refused`() throws {
    try temporary.set(mode: 0o644, of: "credentials.sqlite")
    let error = #expect(throws: StateDirectoryError.self) { try directory.check() }
    #expect(error?.kind == .notPrivate)
    #expect(error?.description.contains("chmod 600 '\(directory.storePath)'") == true)
  }
}
