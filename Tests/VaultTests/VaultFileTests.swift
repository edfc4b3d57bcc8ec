import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import Vault

/// The lowest cost of Argon2id, since these tests are about the file.
let cheap = Result { try PassphraseCost(opsLimit: 1, memLimit: 8192) }

@Suite struct `Vault file` {
  let vector: Vector
  let content: VaultContent
  var generator = SystemRandomNumberGenerator()

  init() throws {
    vector = try VaultVector.load()
    content = try VaultVector.content()
  }

  func makeVault(_ passphrase: String = "old") throws -> VaultFile {
    var generator = SystemRandomNumberGenerator()
    return try VaultFile(sealing: content, passphrase: secret(passphrase), cost: cheap.get(), using: &generator)
  }

  // MARK: The vector

  @Test func `the published vault is made byte for byte`() throws {
    // The vectors have no member for the vault's id, so it is cut from the file.
    var generator = ScriptedGenerator(
      Array(vector.file.bytes[5..<21]), vector.vaultKey.bytes, vector.argon2id.salt.bytes, vector.slotNonce.bytes,
      vector.payloadNonce.bytes)
    let slot = vector.argon2id
    let cost = try PassphraseCost(opsLimit: slot.opslimit.integer(), memLimit: slot.memlimit.integer())
    let vault = try VaultFile(
      sealing: content, passphrase: secret(vector.passphrase.text), cost: cost, using: &generator)
    #expect(Hex(vault.encoded) == vector.file.hex)
  }

  @Test func `the published vault opens to its content`() throws {
    let vault = try VaultFile(decoding: vector.file.bytes)
    #expect(Hex(vault.encoded) == vector.file.hex)
    let opened = try vault.open(passphrase: secret(vector.passphrase.text))
    #expect(hex(opened.mainKey) == hex(content.mainKey))
    #expect(hex(opened.ed25519Root) == hex(content.ed25519Root))
    #expect(Hex(opened.storeID).description == "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf")
    #expect(opened.created == 0x01a0_c450_6c00)
  }

  @Test(arguments: [0, 23, 24, 255, 65536, 1 << 40, UInt64.max])
  func `every creation time is read back`(created: UInt64) throws {
    let content = try VaultContent(
      mainKey: content.mainKey, ed25519Root: content.ed25519Root, storeID: content.storeID, created: created)
    var generator = SystemRandomNumberGenerator()
    let vault = try VaultFile(sealing: content, passphrase: secret(""), cost: cheap.get(), using: &generator)
    #expect(try VaultFile(decoding: vault.encoded).open(passphrase: secret("")).created == created)
  }

  @Test func `new slots cost three passes over 256 MiB`() {
    #expect(PassphraseCost.standard.opsLimit == 3)
    #expect(PassphraseCost.standard.memLimit == 268_435_456)
  }

  // MARK: Passphrases

  @Test(arguments: ["", "Old", "old ", "o\u{308}ld", "\u{f6}ld"])
  func `a passphrase is compared by its bytes as typed`(wrong: String) throws {
    let vault = try makeVault("o\u{308}ld.")
    #expect(throws: VaultError.wrongPassphrase) { try vault.open(passphrase: secret(wrong)) }
    #expect(throws: VaultError.wrongPassphrase) { try vault.open(passphrase: secret("\u{f6}ld.")) }
    #expect(try hex(vault.open(passphrase: secret("o\u{308}ld.")).mainKey) == hex(content.mainKey))
  }

  @Test mutating func `a new passphrase rewrites only its slot`() throws {
    let before = try makeVault("old")
    var after = before
    try after.changePassphrase(from: secret("old"), to: secret("new"), cost: cheap.get(), using: &generator)

    #expect(after.slots != before.slots)
    let members = (try map(before), try map(after))
    for key in [1, 2, 4, 5] as [CBORValue] { #expect(members.0[key] == members.1[key]) }
    #expect(throws: VaultError.wrongPassphrase) { try after.open(passphrase: secret("old")) }
    #expect(try hex(after.open(passphrase: secret("new")).ed25519Root) == hex(content.ed25519Root))
  }

  @Test mutating func `a wrong old passphrase changes nothing`() throws {
    let before = try makeVault("old")
    var after = before
    #expect(throws: VaultError.wrongPassphrase) {
      try after.changePassphrase(from: secret("no"), to: secret("new"), cost: cheap.get(), using: &generator)
    }
    #expect(throws: VaultError.wrongPassphrase) {
      try after.replaceStoreID(with: [UInt8](repeating: 9, count: 16), passphrase: secret("no"), using: &generator)
    }
    #expect(after == before)
  }

  @Test mutating func `a new store id is sealed into the content under a new nonce`() throws {
    let before = try makeVault("old")
    var after = before
    let storeID = [UInt8](repeating: 9, count: 16)
    let told = try after.replaceStoreID(with: storeID, passphrase: secret("old"), using: &generator)
    #expect(told.storeID == storeID)

    let opened = try VaultFile(decoding: after.encoded).open(passphrase: secret("old"))
    #expect(opened.storeID == storeID)
    #expect(opened.created == content.created)
    #expect(hex(opened.mainKey) == hex(content.mainKey))
    #expect(after.slots == before.slots)
    #expect(try map(after)[4] != map(before)[4])
  }

  @Test mutating func `the passphrase of a vault with damaged content cannot be changed`() throws {
    var bytes = try makeVault("old").encoded
    bytes[bytes.count - 1] ^= 1
    var vault = try VaultFile(decoding: bytes)
    #expect(throws: VaultError.damaged("the passphrase is right, but the sealed content does not open")) {
      try vault.changePassphrase(from: secret("old"), to: secret("new"), cost: cheap.get(), using: &generator)
    }
    #expect(vault.encoded == bytes)
  }

  // MARK: Slots of other types

  @Test mutating func `slots of unknown types stay as they are`() throws {
    var members = try map(try makeVault("old"))
    let foreign: CBORValue = [
      1: 200, 2: "a token's name", 5: .bytes([UInt8](repeating: 1, count: 24)),
      6: .bytes([UInt8](repeating: 2, count: 48)),
    ]
    members[3] = .array([foreign] + (members[3]?.array ?? []))
    var vault = try VaultFile(decoding: CBOREncoder.encode(.map(members)))
    #expect(vault.slots.map(\.protector).first == .unknown(type: 200))

    try vault.changePassphrase(from: secret("old"), to: secret("new"), cost: cheap.get(), using: &generator)
    let again = try VaultFile(decoding: vault.encoded)
    #expect(try map(again)[3]?.array?.first == foreign)
    #expect(try hex(again.open(passphrase: secret("new")).mainKey) == hex(content.mainKey))
  }

  @Test func `a slot that needs too much memory does not stop the next`() throws {
    let slots = try makeVault().slots + makeVault("other").slots
    let tried = try VaultFile.first(slots) { slot throws(VaultError) -> String? in
      if slot == slots[0] { throw .outOfMemory }
      return "key"
    }
    #expect(tried == (1, "key"))
    #expect(throws: VaultError.outOfMemory) {
      _ = try VaultFile.first(slots) { slot throws(VaultError) -> String? in
        if slot == slots[0] { throw .outOfMemory }
        return nil
      }
    }
    #expect(throws: VaultError.wrongPassphrase) {
      _ = try VaultFile.first(slots) { _ throws(VaultError) -> String? in nil }
    }
  }

  @Test func `a vault without a passphrase slot does not open`() throws {
    var members = try map(try makeVault())
    members[3] = [
      [1: 2, 5: .bytes([UInt8](repeating: 1, count: 24)), 6: .bytes([UInt8](repeating: 2, count: 48))]
    ]
    let vault = try VaultFile(decoding: CBOREncoder.encode(.map(members)))
    #expect(throws: VaultError.wrongPassphrase) { try vault.open(passphrase: secret("old")) }
  }

  private func map(_ vault: VaultFile) throws -> CBORMap {
    try #require(try CBORDecoder.decode(vault.encoded).map)
  }
}
