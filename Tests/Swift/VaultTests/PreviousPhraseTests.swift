import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import Vault

/// A vault with two phrases: Recovery §1, version 2.
@Suite struct `Vault with a previous phrase` {
  let vector: Vector
  let present: VaultContent
  let previous: VaultContent
  var generator = SystemRandomNumberGenerator()

  init() throws {
    vector = try VaultVector.load()
    previous = try VaultVector.content()
    present = try VaultContent(
      mainKey: secret([UInt8](repeating: 0x11, count: 64)), ed25519Root: secret([UInt8](repeating: 0x22, count: 96)),
      storeID: [UInt8](repeating: 0x33, count: 16), created: 0x1234, previous: previous)
  }

  /// The vault of the vectors with both phrases, and the same opened.
  func rotated() throws -> VaultFile {
    var vault = try VaultFile(decoding: vector.file.bytes)
    var generator = ScriptedGenerator([UInt8](repeating: 0x44, count: 24))
    let opened = try vault.open(passphrase: secret(vector.passphrase.text))
    try vault.replaceContent(of: opened, with: present, using: &generator)
    return vault
  }

  func open(_ bytes: [UInt8]) throws -> VaultContent {
    try VaultFile(decoding: bytes).open(passphrase: secret(vector.passphrase.text)).content
  }

  /// A file of this version around a payload, sealed with the vault's key.
  func file(version: UInt8, sealedAs sealed: UInt8? = nil, payload: [UInt8]) throws -> [UInt8] {
    let file = try #require(try CBORDecoder.decode(vector.file.bytes).map)
    let vaultID = try #require(file[2]?.bytes)
    let nonce = [UInt8](repeating: 0x44, count: 24)
    let ad = Array("liquid-auth vault v\(sealed ?? version)".utf8) + vaultID
    let content = try XChaCha20Poly1305.seal(payload, key: secret(vector.vaultKey.bytes), nonce: nonce, ad: ad)
    var members = file
    (members[1], members[4], members[5]) = (.unsigned(UInt64(version)), .bytes(nonce), .bytes(content))
    return CBOREncoder.encode(.map(members))
  }

  /// The payload of version 2, from its definition.
  var payload: [UInt8] {
    CBOREncoder.encode([
      1: .bytes([UInt8](repeating: 0x11, count: 64)), 2: .bytes([UInt8](repeating: 0x22, count: 96)),
      3: .bytes([UInt8](repeating: 0x33, count: 16)), 4: 0x1234,
      5: (try? CBORDecoder.decode(vector.payload.bytes)) ?? 0,
    ])
  }

  // Holds: ROTATE-1
  @Test func `both phrases are sealed as the contract says`() throws {
    #expect(Hex(try rotated().encoded) == Hex(try file(version: 2, payload: payload)))
    #expect(try rotated().hasPreviousPhrase)
    #expect(try !VaultFile(decoding: vector.file.bytes).hasPreviousPhrase)
  }

  // Holds: ROTATE-1
  @Test func `both phrases are read again, with the slots as they were`() throws {
    let vault = try VaultFile(decoding: rotated().encoded)
    #expect(try vault.slots == VaultFile(decoding: vector.file.bytes).slots)
    let content = try open(vault.encoded)
    #expect(hex(content.mainKey) == Hex([UInt8](repeating: 0x11, count: 64)))
    #expect(hex(content.ed25519Root) == Hex([UInt8](repeating: 0x22, count: 96)))
    #expect(content.storeID == [UInt8](repeating: 0x33, count: 16) && content.created == 0x1234)
    let old = try #require(content.previous)
    #expect(hex(old.mainKey) == hex(previous.mainKey) && hex(old.ed25519Root) == hex(previous.ed25519Root))
    #expect(old.storeID == previous.storeID && old.created == previous.created && old.previous == nil)
  }

  // Holds: ROTATE-1
  @Test(arguments: [0, 23, 24, 255, 256, 65535, 65536, 0xFFFF_FFFF, 0x1_0000_0000, .max] as [UInt64])
  func `every time of both phrases is read back`(created: UInt64) throws {
    let old = try VaultContent(
      mainKey: previous.mainKey, ed25519Root: previous.ed25519Root, storeID: previous.storeID, created: created)
    let both = try VaultContent(
      mainKey: present.mainKey, ed25519Root: present.ed25519Root, storeID: present.storeID, created: created,
      previous: old)
    let read = try VaultContent(payload: both.payload, hasPrevious: true)
    #expect(read.created == created && read.previous?.created == created)
  }

  // Holds: ROTATE-1
  @Test mutating func `without the previous phrase the vault has version 1 again`() throws {
    var vault = try rotated()
    let opened = try vault.open(passphrase: secret(vector.passphrase.text))
    try vault.replaceContent(of: opened, with: opened.content.withoutPrevious(), using: &generator)
    #expect(vault.encoded[1] == 0x01 && vault.encoded[2] == 0x01 && !vault.hasPreviousPhrase)
    let content = try open(vault.encoded)
    #expect(content.previous == nil && hex(content.mainKey) == hex(present.mainKey))
  }

  @Test mutating func `a new passphrase and a new store id keep both phrases`() throws {
    var vault = try rotated()
    let salt = randomBytes(16)
    try vault.seal(
      vault.open(passphrase: secret(vector.passphrase.text)), for: .passphrase(salt: salt, cost: cheap.get()),
      key: cheap.get().key(passphrase: secret("new"), salt: salt), using: &generator)
    let storeIDs = [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16)]
    try vault.replaceStoreID(with: storeIDs[0], passphrase: secret("new"), using: &generator)
    try vault.replaceStoreID(ofPrevious: true, with: storeIDs[1], passphrase: secret("new"), using: &generator)
    let content = try vault.open(passphrase: secret("new")).content
    #expect(content.storeID == storeIDs[0] && content.previous?.storeID == storeIDs[1])
    #expect(hex(content.mainKey) == hex(present.mainKey))
    #expect((content.previous?.mainKey).map(hex) == hex(previous.mainKey))
  }

  // Holds: ROTATE-1
  @Test mutating func `the version is part of the seal`() throws {
    var sealed = try rotated()
    _ = try sealed.sealSlots(of: sealed.open(passphrase: secret(vector.passphrase.text)), using: &generator)
    #expect(sealed.encoded[2] == 4 && sealed.hasPreviousPhrase)
    #expect(try open(sealed.encoded).previous != nil)
    for (version, bytes) in [
      (1, try rotated().encoded), (2, vector.file.bytes), (2, sealed.encoded), (3, sealed.encoded),
    ] as [(UInt8, [UInt8])] {
      var changed = bytes
      changed[2] = version
      #expect(throws: VaultError.damaged("the passphrase or key is right, but the sealed content does not open")) {
        try open(changed)
      }
    }
    var later = vector.file.bytes
    later[2] = 5
    #expect(throws: VaultError.unsupportedVersion(5)) { try open(later) }
  }

  // Holds: ROTATE-1
  @Test func `a payload of another layout is damaged`() throws {
    let (one, two) = (vector.payload.bytes, payload)
    // The previous phrase begins after the head, three numbers, the id, and 0x1234.
    let old = 186 + 3
    #expect(two[old] == 5 && Array(two[(old + 1)...]) == one)
    var twice = two
    twice.replaceSubrange((old + 1)..., with: two)
    let same = two.replacing(Array(one[4..<68]), with: [UInt8](repeating: 0x11, count: 64))
    let sameStore = two.replacing(Array(one[169..<185]), with: [UInt8](repeating: 0x33, count: 16))
    let malformed: [(UInt8, [UInt8], String)] = [
      (2, one, "no previous phrase"), (1, two, "a previous phrase in version 1"), (2, two + [0], "a byte more"),
      (2, Array(two.dropLast()), "a byte less"), (2, Array(two.prefix(old)), "no member 5"),
      (2, Array(two.prefix(old + 1)), "an empty member 5"), (2, Array(two.prefix(186)), "no time"),
      (2, Array(two.prefix(187)), "half a time"), (2, Array(two.prefix(1)), "one byte"), (2, [], "nothing"),
      (2, Array(two.prefix(old)) + [6] + one, "member 6"), (2, twice, "a previous phrase of the previous one"),
      (2, Array(two.prefix(186)) + [0x41, 0] + [5] + one, "a time that is bytes"),
      (2, Array(two.prefix(186)) + [0x18, 0x01] + [5] + one, "a time that is longer than needed"),
      (2, same, "the same main key twice"), (2, sameStore, "the same store twice"),
    ]
    for (version, payload, name) in malformed {
      let error = #expect(throws: VaultError.self, "\(name)") { try open(file(version: version, payload: payload)) }
      #expect(error?.isDamaged == true, "\(name)")
    }
    #expect(try open(file(version: 2, payload: two)).previous != nil)
  }

  @Test mutating func `another vault in the place of the file is not overwritten`() throws {
    var other = try VaultFile(sealing: previous, passphrase: secret("other"), cost: cheap.get(), using: &generator)
    let before = other
    let opened = try VaultFile(decoding: vector.file.bytes).open(passphrase: secret(vector.passphrase.text))
    let error = #expect(throws: VaultError.self) {
      try other.replaceContent(of: opened, with: present, using: &generator)
    }
    #expect(error?.isDamaged == true)
    #expect(other == before)
  }

  @Test func `a content has no third phrase, and not the same one twice`() throws {
    for (mainKey, storeID, old) in [
      (UInt8(0x55), UInt8(0x66), present), (0x55, 0x33, try present.withoutPrevious()),
      (0x11, 0x66, try present.withoutPrevious()),
    ] {
      #expect(throws: VaultError.self) {
        try VaultContent(
          mainKey: secret([UInt8](repeating: mainKey, count: 64)), ed25519Root: present.ed25519Root,
          storeID: [UInt8](repeating: storeID, count: 16), created: 1, previous: old)
      }
    }
  }
}
