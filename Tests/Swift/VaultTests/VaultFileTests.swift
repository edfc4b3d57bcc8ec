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
    #expect(try Hex(vault.encoded) == Vector("vault-slots").sealedFile.hex)
  }

  @Test func `the published vault opens to its content`() throws {
    let vault = try VaultFile(decoding: vector.file.bytes)
    #expect(Hex(vault.encoded) == vector.file.hex)
    let opened = try vault.open(passphrase: secret(vector.passphrase.text)).content
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
    #expect(try VaultFile(decoding: vault.encoded).open(passphrase: secret("")).content.created == created)
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
    #expect(try hex(vault.open(passphrase: secret("o\u{308}ld.")).content.mainKey) == hex(content.mainKey))
  }

  @Test mutating func `a new passphrase rewrites only its slot`() throws {
    let before = try makeVault("old")
    var after = before
    try change(&after, from: "old", to: "new")

    #expect(after.slots != before.slots)
    let members = (try map(before), try map(after))
    for key in [1, 2, 4, 5] as [CBORValue] { #expect(members.0[key] == members.1[key]) }
    #expect(throws: VaultError.wrongPassphrase) { try after.open(passphrase: secret("old")) }
    #expect(try hex(after.open(passphrase: secret("new")).content.ed25519Root) == hex(content.ed25519Root))
  }

  @Test mutating func `a wrong old passphrase changes nothing`() throws {
    let before = try makeVault("old")
    var after = before
    #expect(throws: VaultError.wrongPassphrase) { try change(&after, from: "no", to: "new") }
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

    let opened = try VaultFile(decoding: after.encoded).open(passphrase: secret("old")).content
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
    #expect(throws: VaultError.damaged("the passphrase or key is right, but the sealed content does not open")) {
      try change(&vault, from: "old", to: "new")
    }
    #expect(vault.encoded == bytes)
  }

  // MARK: Slots of other types

  @Test mutating func `slots of unknown types stay as they are`() throws {
    var members = try map(try makeVault("old"))
    let foreign = Self.foreignSlot
    members[3] = .array([foreign] + (members[3]?.array ?? []))
    var vault = try VaultFile(decoding: CBOREncoder.encode(.map(members)))
    #expect(vault.slots.map(\.protector).first == .unknown(type: 200))

    try change(&vault, from: "old", to: "new")
    let again = try VaultFile(decoding: vault.encoded)
    #expect(try map(again)[3]?.array?.first == foreign)
    #expect(try hex(again.open(passphrase: secret("new")).content.mainKey) == hex(content.mainKey))
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

  @Test mutating func `one passphrase replaces all others, in the place of the first`() throws {
    let foreign = Self.foreignSlot
    var members = try map(try makeVault("old"))
    members[3] = .array((members[3]?.array ?? []) + [foreign] + (members[3]?.array ?? []))
    var vault = try VaultFile(decoding: CBOREncoder.encode(.map(members)))
    try change(&vault, from: "old", to: "new")
    #expect(vault.slots.map(\.protector.type) == [1, 200])
    #expect(throws: VaultError.wrongPassphrase) { try vault.open(passphrase: secret("old")) }
    #expect(try vault.open(passphrase: secret("new")).slot.id == vault.slots[0].id)
  }

  @Test mutating func `a slot of an unknown type is not made`() throws {
    let before = try makeVault("old")
    var after = before
    let unlocked = try before.open(passphrase: secret("old"))
    #expect(throws: VaultError.damaged("a slot of type 9 cannot be made")) {
      try after.seal(unlocked, for: .unknown(type: 9), key: secret([UInt8](repeating: 1, count: 32)), using: &generator)
    }
    #expect(after == before)
  }

  @Test mutating func `a slot is not sealed in another vault`() throws {
    let unlocked = try makeVault("old").open(passphrase: secret("old"))
    var other = try makeVault("other")
    let before = other
    let key = secret([UInt8](repeating: 1, count: 32))
    let error = #expect(throws: VaultError.self) {
      try other.seal(
        unlocked, for: .passphrase(salt: [UInt8](repeating: 2, count: 16), cost: cheap.get()), key: key,
        using: &generator)
    }
    #expect(error?.isDamaged == true)
    #expect(other == before)
  }

  @Test func `a slot is removed, but not the last passphrase`() throws {
    var members = try map(try makeVault("old"))
    members[3] = .array([Self.foreignSlot] + (members[3]?.array ?? []))
    var vault = try VaultFile(decoding: CBOREncoder.encode(.map(members)))
    let (foreign, passphrase) = (vault.slots[0].id, vault.slots[1].id)
    #expect(throws: VaultError.noSuchSlot) { try vault.removeSlot([UInt8](repeating: 0, count: 24)) }
    #expect(throws: VaultError.lastSlot) { try vault.removeSlot(passphrase) }
    #expect(vault.slots.count == 2)
    try vault.removeSlot(foreign)
    #expect(vault.slots.map(\.id) == [passphrase])
    #expect(throws: VaultError.lastSlot) { try vault.removeSlot(passphrase) }
    #expect(try vault.open(passphrase: secret("old")).slot.id == passphrase)
  }

  @Test func `the members of a protector are read again`() throws {
    let protector = VaultSlot.Protector.passphrase(salt: [UInt8](repeating: 3, count: 16), cost: try cheap.get())
    #expect(try VaultSlot.Protector(protector.members) == protector)
    #expect(try VaultSlot.Protector([1: 7, 2: "anything"]) == .unknown(type: 7))
    for members in [[:], [1: 256], [1: "1"], [1: 1], [1: 1, 2: .bytes([1]), 3: 1, 4: 8192]] as [CBORMap] {
      #expect(throws: VaultError.self) { try VaultSlot.Protector(members) }
    }
  }

  // MARK: The keyring's slots

  /// The vault of the vectors, with these slots behind its own.
  private func vault(with slots: [UInt8]...) throws -> VaultFile {
    var members = try #require(try CBORDecoder.decode(vector.file.bytes).map)
    members[3] = .array((members[3]?.array ?? []) + (try slots.map { try CBORDecoder.decode($0) }))
    return try VaultFile(decoding: CBOREncoder.encode(.map(members)))
  }

  // Holds: PROTECT-3
  @Test func `the slots of the vectors are made byte for byte, and open the vault`() throws {
    let slots = try Vector("vault-slots")
    let unlocked = try VaultFile(decoding: vector.file.bytes).open(passphrase: secret(vector.passphrase.text))
    for case let (index, slot) in zip(0..., [slots.secretService[0], slots.secretService[1]]) {
      let protector = VaultSlot.Protector.secretService(id: slot.id.bytes, autoUnlock: index == 1)
      #expect(protector.unlocksAtStart == (index == 1))
      #expect(protector.publicData.map { Hex($0) } == slot.id.hex)
      var made = try VaultFile(decoding: vector.file.bytes)
      var generator = ScriptedGenerator(slot.nonce.bytes)
      try made.seal(unlocked, for: protector, key: secret(slot.key.bytes), using: &generator)
      let read = try vault(with: slot.slot.bytes)
      #expect(made == read)
      #expect(Hex(made.encoded) == Hex(read.encoded))
      #expect(read.slots[1].protector == protector)
      #expect(try VaultSlot.Protector(protector.members) == protector)
      let opened = try read.open(slot: read.slots[1].id, key: secret(slot.key.bytes))
      #expect(opened.slot.id == slot.nonce.bytes)
      #expect(hex(opened.content.mainKey) == hex(content.mainKey))
      #expect(throws: VaultError.wrongKey) {
        try read.open(slot: read.slots[1].id, key: secret([UInt8](repeating: 0, count: 32)))
      }
      #expect(throws: VaultError.wrongKey) { try read.open(slot: read.slots[0].id, key: secret(slot.key.bytes)) }
      #expect(throws: VaultError.noSuchSlot) { try read.open(slot: [1], key: secret(slot.key.bytes)) }
    }
  }

  // Holds: PROTECT-3
  @Test func `a malformed slot is kept as it is, opens nothing, and does not close the others`() throws {
    let slots = try Vector("vault-slots")
    let key = slots.secretService[0].key.bytes
    for index in 0..<11 {
      let (name, bytes) = (slots.malformed[index].name.text, slots.malformed[index].slot.bytes)
      var file = try vault(with: bytes, slots.secretService[1].slot.bytes)
      let read = file.slots
      #expect(read[1].protector == .damaged(type: 4), "\(name)")
      #expect(read[1].protector.publicData == nil && !read[1].protector.unlocksAtStart, "\(name)")
      #expect(throws: VaultError.wrongKey, "\(name)") { try file.open(slot: read[1].id, key: secret(key)) }
      _ = try file.open(slot: read[2].id, key: secret(slots.secretService[1].key.bytes))
      try change(&file, from: vector.passphrase.text, to: "another")
      #expect(Array(file.slots.dropFirst()) == Array(read.dropFirst()), "\(name)")
      #expect(Hex(CBOREncoder.encode(try map(file)[3]?.array?[1] ?? 0)) == Hex(bytes), "\(name)")
      try file.removeSlot(read[1].id)
      #expect(file.slots.dropFirst().map(\.id) == [read[2].id], "\(name)")
    }
  }

  // Holds: PROTECT-3
  @Test func `a malformed slot of the TPM is kept, and the others open the vault`() throws {
    let slots = try Vector("vault-slots")
    for index in 0..<14 {
      let (name, bytes) = (slots.malformedTPM[index].name.text, slots.malformedTPM[index].slot.bytes)
      let file = try vault(with: bytes, slots.tpm[0].slot.bytes)
      #expect(file.slots[1].protector == .damaged(type: 2), "\(name)")
      #expect(file.slots[1].protector.publicData == nil && file.slots[1].protector.name == "TPM")
      #expect(try file.open(slot: file.slots[2].id, key: secret(slots.tpm[0].key.bytes)).slot == file.slots[2])
    }
  }

  // Holds: PROTECT-3
  @Test func `the slots of the TPM are made byte for byte, and open the vault`() throws {
    let slots = try Vector("vault-slots")
    let unlocked = try VaultFile(decoding: vector.file.bytes).open(passphrase: secret(vector.passphrase.text))
    let expected: [(TPMSlot.Conditions, autoUnlock: Bool, data: [UInt8])] = [
      (.init(hasPIN: false, pcrs: []), true, [0, 0, 0, 0]),
      (.init(hasPIN: true, pcrs: [0, 7, 23]), false, [1, 0x81, 0, 0x80]),
      (.init(hasPIN: false, pcrs: [8]), false, [0, 0, 1, 0]), (.init(hasPIN: true, pcrs: []), false, [1, 0, 0, 0]),
    ]
    for (index, (conditions, autoUnlock, data)) in expected.enumerated() {
      let (slot, object) = (slots.tpm[index], slots.tpm[index].object.bytes)
      let protector = VaultSlot.Protector.tpm(
        TPMSlot(conditions: conditions, object: object, autoUnlock: autoUnlock))
      #expect(protector.unlocksAtStart == autoUnlock && protector.publicData == data + object)
      var made = try VaultFile(decoding: vector.file.bytes)
      var generator = ScriptedGenerator(slot.nonce.bytes)
      try made.seal(unlocked, for: protector, key: secret(slot.key.bytes), using: &generator)
      let read = try vault(with: slot.slot.bytes)
      #expect(Hex(made.encoded) == Hex(read.encoded))
      #expect(read.slots[1].protector == protector)
      #expect(try VaultSlot.Protector(protector.members) == protector)
      _ = try read.open(slot: read.slots[1].id, key: secret(slot.key.bytes))
    }
  }

  // Holds: PROTECT-3
  @Test func `a malformed slot of a security key is kept, and the others open the vault`() throws {
    let slots = try Vector("vault-slots")
    for index in 0..<15 {
      let (name, bytes) = (slots.malformedSecurityKey[index].name.text, slots.malformedSecurityKey[index].slot.bytes)
      let file = try vault(with: bytes, slots.securityKey[0].slot.bytes)
      #expect(file.slots[1].protector == .damaged(type: 3), "\(name)")
      #expect(file.slots[1].protector.publicData == nil && file.slots[1].protector.name == "security key")
      let opened = try file.open(slot: file.slots[2].id, key: secret(slots.securityKey[0].key.bytes))
      #expect(opened.slot == file.slots[2], "\(name)")
    }
  }

  // Holds: PROTECT-3
  @Test func `the slots of security keys are made byte for byte, and open the vault`() throws {
    let slots = try Vector("vault-slots")
    let unlocked = try VaultFile(decoding: vector.file.bytes).open(passphrase: secret(vector.passphrase.text))
    for (index, (hasPIN, autoUnlock)) in [(false, false), (true, false), (false, true), (false, false)].enumerated() {
      let slot = slots.securityKey[index]
      let protector = VaultSlot.Protector.securityKey(
        SecurityKeySlot(
          credentialID: slot.credentialID.bytes, salt: slot.salt.bytes, hasPIN: hasPIN, autoUnlock: autoUnlock,
          publicKey: nil))
      #expect(protector.unlocksAtStart == autoUnlock)
      #expect(protector.publicData == [hasPIN ? 1 : 0] + slot.salt.bytes + slot.credentialID.bytes)
      var made = try VaultFile(decoding: vector.file.bytes)
      var generator = ScriptedGenerator(slot.nonce.bytes)
      try made.seal(unlocked, for: protector, key: secret(slot.key.bytes), using: &generator)
      let read = try vault(with: slot.slot.bytes)
      #expect(Hex(made.encoded) == Hex(read.encoded))
      #expect(read.slots[1].protector == protector)
      #expect(try VaultSlot.Protector(protector.members) == protector)
      _ = try read.open(slot: read.slots[1].id, key: secret(slot.key.bytes))
    }
  }

  // Holds: PROTECT-3
  @Test func `a malformed slot of systemd is kept, and the others open the vault`() throws {
    let slots = try Vector("vault-slots")
    for index in 0..<9 {
      let (name, bytes) = (slots.malformedSystemd[index].name.text, slots.malformedSystemd[index].slot.bytes)
      let file = try vault(with: bytes, slots.systemd[0].slot.bytes)
      #expect(file.slots[1].protector == .damaged(type: 5), "\(name)")
      #expect(file.slots[1].protector.publicData == nil && file.slots[1].protector.name == "systemd credential")
      let opened = try file.open(slot: file.slots[2].id, key: secret(slots.systemd[0].key.bytes))
      #expect(opened.slot == file.slots[2], "\(name)")
    }
  }

  // Holds: PROTECT-3
  @Test func `the slots of systemd are made byte for byte, and open the vault`() throws {
    let slots = try Vector("vault-slots")
    let unlocked = try VaultFile(decoding: vector.file.bytes).open(passphrase: secret(vector.passphrase.text))
    for (index, autoUnlock) in [false, true].enumerated() {
      let slot = slots.systemd[index]
      let protector = VaultSlot.Protector.systemdCredential(slot.credential.bytes, autoUnlock: autoUnlock)
      #expect(protector.unlocksAtStart == autoUnlock && protector.publicData == slot.credential.bytes)
      var made = try VaultFile(decoding: vector.file.bytes)
      var generator = ScriptedGenerator(slot.nonce.bytes)
      try made.seal(unlocked, for: protector, key: secret(slot.key.bytes), using: &generator)
      let read = try vault(with: slot.slot.bytes)
      #expect(Hex(made.encoded) == Hex(read.encoded))
      #expect(read.slots[1].protector == protector)
      #expect(try VaultSlot.Protector(protector.members) == protector)
      _ = try read.open(slot: read.slots[1].id, key: secret(slot.key.bytes))
    }
  }

  // Holds: PROTECT-3
  @Test func `a damaged slot has another id than a slot with the same nonce`() throws {
    let slots = try Vector("vault-slots")
    let file = try vault(with: slots.malformed[0].slot.bytes, slots.secretService[0].slot.bytes)
    #expect(Set(file.slots.map(\.id)).count == 3)
  }

  // Holds: PROTECT-3
  @Test func `a flipped bit in a slot of the keyring is refused, or is the choice of when it unlocks`() throws {
    let slot = try Vector("vault-slots").secretService[0]
    let bytes = slot.slot.bytes
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        guard let file = try? vault(with: changed) else { continue }
        let opened = try? file.open(slot: file.slots[1].id, key: secret(slot.key.bytes))
        let isChoice = file.slots[1].protector == .secretService(id: slot.id.bytes, autoUnlock: true)
        // The id only says where the key is.
        let isID = (5..<21).contains(index)
        #expect((opened == nil) == !(isChoice || isID), "byte \(index), bit \(bit)")
      }
    }
  }

  // MARK: Sealed slots

  /// The vault of version 3 of the vectors, with these slots behind its own.
  private func sealedVault(with slots: CBORValue...) throws -> VaultFile {
    var members = try #require(try CBORDecoder.decode(Vector("vault-slots").sealedFile.bytes).map)
    members[3] = .array((members[3]?.array ?? []) + slots)
    return try VaultFile(decoding: CBOREncoder.encode(.map(members)))
  }

  /// The sealed slots of the vectors: each with the slot of version 1 that it is made of.
  private func sealedSlots() throws -> [(slot: Vector, sealed: Vector)] {
    let slots = try Vector("vault-slots")
    return [
      (slots.secretService[0], slots.sealed[0]), (slots.secretService[1], slots.sealed[1]),
      (slots.tpm[0], slots.sealed[2]), (slots.securityKey[1], slots.sealed[3]), (slots.systemd[1], slots.sealed[4]),
    ]
  }

  // Holds: PROTECT-22
  @Test func `sealed slots are made byte for byte, and open the vault`() throws {
    let file = try sealedVault()
    let unlocked = try file.open(passphrase: secret(vector.passphrase.text))
    #expect(unlocked.sealsSlots)
    for (index, (slot, sealed)) in try sealedSlots().enumerated() {
      var members = try #require(try CBORDecoder.decode(slot.slot.bytes).map)
      (members[5], members[6]) = (nil, nil)
      if index == 3 { members[8] = .bytes(sealed.publicKey.bytes) }
      let protector = try VaultSlot.Protector(members)
      var made = file
      var generator = ScriptedGenerator(slot.nonce.bytes, sealed.sealNonce.bytes)
      try made.seal(unlocked, for: protector, key: secret(slot.key.bytes), using: &generator)
      #expect(try Hex(CBOREncoder.encode(map(made)[3]?.array?[1] ?? 0)) == sealed.slot.hex)
      let read = try sealedVault(with: CBORDecoder.decode(sealed.slot.bytes))
      #expect(read == made)
      #expect(read.slots[1].unlocksAtStart == protector.unlocksAtStart && !read.slots[1].isOfEarlierVersion)
      #expect(try read.open(slot: read.slots[1].id, key: secret(slot.key.bytes)).slot == read.slots[1])
    }
  }

  // Holds: PROTECT-22
  @Test func `a flipped bit in a sealed slot opens nothing`() throws {
    for (slot, sealed) in try sealedSlots() {
      let bytes = sealed.slot.bytes
      for index in bytes.indices {
        // In the gate, one bit of each byte.
        for bit in isWhole ? 0..<8 : index % 8..<index % 8 + 1 {
          var changed = bytes
          changed[index] ^= 1 << UInt8(bit)
          guard let value = try? CBORDecoder.decode(changed), let file = try? sealedVault(with: value),
            file.slots[1].protector.isKnown
          else { continue }
          #expect(throws: VaultError.self, "byte \(index), bit \(bit)") {
            try file.open(slot: file.slots[1].id, key: secret(slot.key.bytes))
          }
        }
      }
    }
  }

  // Holds: PROTECT-22
  @Test func `auto-unlock that a program sets in a slot is found when the slot opens`() throws {
    let (slot, sealed) = try sealedSlots()[0]
    var members = try #require(try CBORDecoder.decode(sealed.slot.bytes).map)
    members[3] = true
    let file = try sealedVault(with: .map(members))
    #expect(file.slots[1].unlocksAtStart)
    #expect(throws: VaultError.changedSlot) {
      try file.open(slot: file.slots[1].id, key: secret(slot.key.bytes))
    }
    // The passphrase still opens the vault.
    _ = try file.open(passphrase: secret(vector.passphrase.text))
  }

  // Holds: PROTECT-22
  @Test func `a vault that seals its slots accepts no slot of an earlier version`() throws {
    for (slot, sealed) in try sealedSlots() {
      var changed = try #require(try CBORDecoder.decode(sealed.slot.bytes).map)
      for seal in [nil, .bytes([]), .bytes(Array(sealed.sealNonce.bytes))] as [CBORValue?] {
        changed[9] = seal
        let file = try sealedVault(with: .map(changed))
        #expect(file.slots[1].protector == .damaged(type: file.slots[1].protector.type))
        #expect(!file.slots[1].unlocksAtStart)
        #expect(throws: VaultError.wrongKey) {
          try file.open(slot: file.slots[1].id, key: secret(slot.key.bytes))
        }
      }
    }
    // The version is part of the seal of the content.
    var bytes = try sealedVault().encoded
    bytes[2] = 1
    let old = try VaultFile(decoding: bytes)
    #expect(throws: VaultError.damaged("the passphrase or key is right, but the sealed content does not open")) {
      try old.open(passphrase: secret(vector.passphrase.text))
    }
  }

  // Holds: PROTECT-22
  @Test mutating func `slots of an earlier version are sealed without what a program could have set`() throws {
    let slots = try sealedSlots().map(\.slot)
    var file = try VaultFile(decoding: vector.file.bytes)
    var members = try map(file)
    var key = try #require(try CBORDecoder.decode(slots[3].slot.bytes).map)
    key[8] = .bytes([UInt8](repeating: 4, count: 64))
    members[3] = .array(
      (members[3]?.array ?? []) + (try slots[..<3].map { try CBORDecoder.decode($0.slot.bytes) })
        + [.map(key), try CBORDecoder.decode(slots[4].slot.bytes), Self.foreignSlot])
    file = try VaultFile(decoding: CBOREncoder.encode(.map(members)))
    #expect(file.slots.allSatisfy { !$0.unlocksAtStart })
    let old = file.slots
    #expect(old.map(\.isOfEarlierVersion) == [false, false, true, true, false, true, false])
    let unlocked = try file.open(passphrase: secret(vector.passphrase.text))
    #expect(!unlocked.sealsSlots)
    #expect(try file.sealSlots(of: unlocked, using: &generator) == [old[2], old[3], old[5]])
    #expect(file.encoded[2] == 3 && file.slots[0] == old[0] && file.slots[6] == old[6])
    file = try VaultFile(decoding: file.encoded)
    #expect(file.slots.map(\.id) == old.map(\.id))
    #expect(!file.slots.contains { $0.unlocksAtStart || $0.isOfEarlierVersion })
    for (slot, vector) in zip(file.slots.dropFirst(), slots) {
      #expect(try hex(file.open(slot: slot.id, key: secret(vector.key.bytes)).content.mainKey) == hex(content.mainKey))
      #expect(slot.protector == slot.protector.untrusted)
    }
    let again = file
    #expect(try file.sealSlots(of: unlocked, using: &generator) == [] && file == again)
  }

  // Holds: PROTECT-23
  @Test mutating func `a public key is stored in a slot that has none, and is sealed`() throws {
    let (slot, sealed) = try sealedSlots()[3]
    let unlocked = try sealedVault().open(passphrase: secret(vector.passphrase.text))
    var members = try #require(try CBORDecoder.decode(slot.slot.bytes).map)
    (members[5], members[6]) = (nil, nil)
    var file = try sealedVault()
    try file.seal(
      unlocked, for: VaultSlot.Protector(members), key: secret(slot.key.bytes), using: &generator)
    let opened = try file.open(slot: file.slots[1].id, key: secret(slot.key.bytes))
    #expect(try !file.store(publicKey: [1], in: opened, using: &generator))
    let key = sealed.publicKey.bytes
    #expect(try file.store(publicKey: key, in: opened, using: &generator))
    file = try VaultFile(decoding: file.encoded)
    guard case .securityKey(let stored) = file.slots[1].protector else { throw Unexpected(nil) }
    #expect(stored.publicKey == key)
    let data = file.slots[1].protector.publicData ?? []
    #expect(data == [3] + slot.salt.bytes + key + slot.credentialID.bytes)
    #expect(SecurityKeySlot(publicData: data, autoUnlock: false) == stored)
    for other in [[], Array(data.prefix(97)), [1] + data.dropFirst(), [4] + data.dropFirst()] {
      #expect(SecurityKeySlot(publicData: other, autoUnlock: false) == nil)
    }
    let again = try file.open(slot: file.slots[1].id, key: secret(slot.key.bytes))
    // A slot that has a public key keeps it.
    #expect(try !file.store(publicKey: key, in: again, using: &generator))
    // In a vault of an earlier version, nothing is stored.
    var old = try vault(with: slot.slot.bytes)
    let oldOpened = try old.open(slot: old.slots[1].id, key: secret(slot.key.bytes))
    #expect(try !old.store(publicKey: key, in: oldOpened, using: &generator))
  }

  // Holds: PROTECT-4
  @Test mutating func `several slots are added and removed, and the passphrase remains`() throws {
    var vault = try makeVault("old")
    let unlocked = try vault.open(passphrase: secret("old"))
    let keys = (UInt8(1)...3).map { [UInt8](repeating: $0, count: 32) }
    for key in keys {
      try vault.seal(
        unlocked, for: .secretService(id: Array(key.prefix(16)), autoUnlock: false), key: secret(key),
        using: &generator)
    }
    for (slot, key) in zip(vault.slots.dropFirst(), keys) {
      #expect(try vault.open(slot: slot.id, key: secret(key)).slot.id == slot.id)
    }
    let before = vault.slots
    try change(&vault, from: "old", to: "new")
    #expect(Array(vault.slots.dropFirst()) == Array(before.dropFirst()))
    try vault.removeSlot(before[2].id)
    #expect(vault.slots.dropFirst().map(\.id) == [before[1].id, before[3].id])
    let passphrase = vault.slots[0].id
    #expect(throws: VaultError.lastSlot) { try vault.removeSlot(passphrase) }
  }

  private static let foreignSlot: CBORValue = [
    1: 200, 2: "a token's name", 5: .bytes([UInt8](repeating: 1, count: 24)),
    6: .bytes([UInt8](repeating: 2, count: 48)),
  ]

  private func change(_ vault: inout VaultFile, from old: String, to new: String) throws {
    var generator = SystemRandomNumberGenerator()
    let unlocked = try vault.open(passphrase: secret(old))
    let salt = randomBytes(16)
    try vault.seal(
      unlocked, for: .passphrase(salt: salt, cost: cheap.get()),
      key: cheap.get().key(passphrase: secret(new), salt: salt), using: &generator)
  }

  private func map(_ vault: VaultFile) throws -> CBORMap {
    try #require(try CBORDecoder.decode(vault.encoded).map)
  }
}
