import CBOR
import CryptoPrimitives
import TestVectors
import Testing
import Vault

@Suite struct `Damaged vault` {
  let vault: [UInt8]

  init() throws {
    var generator = SystemRandomNumberGenerator()
    vault = try VaultFile(
      sealing: VaultVector.content(), passphrase: secret("pass"), cost: cheap.get(), using: &generator
    ).encoded
    _ = try open(vault)
  }

  @discardableResult
  func open(_ bytes: [UInt8]) throws -> VaultContent {
    try VaultFile(decoding: bytes).open(passphrase: secret("pass")).content
  }

  @Test func `every truncation is refused before a passphrase is tried`() throws {
    for count in 0..<vault.count {
      let error = #expect(throws: VaultError.self, "\(count) bytes") {
        try VaultFile(decoding: Array(vault.prefix(count)))
      }
      if count < 2 { #expect(error == .notAVault) } else { #expect(error?.isDamaged == true, "\(count) bytes") }
    }
  }

  @Test func `every flipped bit is refused with the error of its field`() throws {
    // From the end: sealed content (211 bytes), its head and key (3), nonce (24), its head and key (3), the slot.
    let content = vault.count - 211..<vault.count
    let contentNonce = vault.count - 238..<vault.count - 214
    let sealedKey = vault.count - 289..<vault.count - 241
    for index in vault.indices {
      for bit in 0..<8 {
        var bytes = vault
        bytes[index] ^= 1 << UInt8(bit)
        let error = #expect(throws: VaultError.self, "byte \(index), bit \(bit)") { try open(bytes) }
        switch index {
        case ..<2: #expect(error == .notAVault)
        case 5..<21: #expect(error == .wrongPassphrase, "the id is part of what the slot is sealed with")
        case sealedKey: #expect(error == .wrongPassphrase)
        case content, contentNonce: #expect(error?.isDamaged == true, "the slot opens, the content does not")
        default: #expect(error != nil)
        }
      }
    }
  }

  @Test(arguments: [[], [0x00], Array("SQLite format 3\0".utf8), Array("{}".utf8), [0xa5], [0xa4, 0x01]] as [[UInt8]])
  func `other files are not a vault`(bytes: [UInt8]) {
    #expect(throws: VaultError.notAVault) { try VaultFile(decoding: bytes) }
  }

  @Test func `bytes after a vault are refused`() {
    #expect(throws: VaultError.self) { try VaultFile(decoding: vault + [0]) }
  }

  @Test func `a later version is reported`() throws {
    #expect(throws: VaultError.unsupportedVersion(5)) { try VaultFile(decoding: changed { $0[1] = 5 }) }
  }

  // Holds: FILE-2
  @Test(
    arguments: [
      (3, CBORValue.unsigned(17)), (3, .unsigned(.max)), (4, .unsigned(1 << 30 + 1)), (4, .unsigned(.max)),
    ] as [(CBORValue, CBORValue)])
  func `limits above the contract's are refused before key derivation`(member: CBORValue, limit: CBORValue) throws {
    let error = #expect(throws: VaultError.self) { try VaultFile(decoding: changedSlot { $0[member] = limit }) }
    guard case .limitExceeded = error else { throw Unexpected(error) }
  }

  @Test func `the highest limits of the contract are read`() throws {
    let bytes = try changedSlot {
      $0[3] = 16
      $0[4] = .unsigned(1 << 30)
    }
    #expect(
      try VaultFile(decoding: bytes).slots.map(\.protector) == [
        .passphrase(salt: salt(), cost: PassphraseCost(opsLimit: 16, memLimit: 1 << 30))
      ])
  }

  @Test(
    arguments: [
      (1, nil), (1, 256), (1, "1"), (2, nil), (2, .bytes([UInt8](repeating: 0, count: 15))), (2, "salt"), (3, 0),
      (3, nil), (3, -1), (4, 8191), (4, 7168), (4, 8193), (4, nil), (5, nil), (5, .bytes([1])), (6, nil),
      (6, .bytes([UInt8](repeating: 0, count: 47))), (7, 1),
    ] as [(CBORValue, CBORValue?)])
  func `a slot with another layout is damaged`(member: CBORValue, value: CBORValue?) throws {
    let error = #expect(throws: VaultError.self) { try VaultFile(decoding: changedSlot { $0[member] = value }) }
    #expect(error?.isDamaged == true)
  }

  @Test(
    arguments: [
      (2, .bytes([1])), (2, "id"), (3, []), (3, [1]), (3, [:]), (4, .bytes([])), (4, 1), (5, []), (5, .bytes([])),
    ] as [(CBORValue, CBORValue)])
  func `a vault with another layout is damaged`(member: CBORValue, value: CBORValue) throws {
    let error = #expect(throws: VaultError.self) { try open(changed { $0[member] = value }) }
    #expect(error?.isDamaged == true)
  }

  @Test func `content of the wrong lengths is not sealed`() throws {
    let short = SecretBytes.random(count: 32)
    #expect(throws: VaultError.self) {
      try VaultContent(mainKey: short, ed25519Root: .random(count: 96), storeID: salt(), created: 0)
    }
    #expect(throws: VaultError.self) {
      try VaultContent(mainKey: .random(count: 64), ed25519Root: short, storeID: salt(), created: 0)
    }
    #expect(throws: VaultError.self) {
      try VaultContent(mainKey: .random(count: 64), ed25519Root: .random(count: 96), storeID: [], created: 0)
    }
  }

  @Test func `every error gives the reason and the remedy`() {
    #expect(
      VaultError.damaged("it has no slot").description == """
        damaged vault: it has no slot; put a good copy in its place, or move it away and make a new vault from \
        shares with liquid-auth recover --shares, or from the phrase with: liquid-auth init --import
        """)
    for error in [.notAVault, .unsupportedVersion(9), .limitExceeded(""), .wrongPassphrase, .outOfMemory]
      as [VaultError]
    {
      #expect(error.description.contains(";") || error == .wrongPassphrase)
    }
  }

  // MARK: Changing unsealed members

  private func changed(_ change: (inout CBORMap) -> Void) throws -> [UInt8] {
    var members = try #require(try CBORDecoder.decode(vault).map)
    change(&members)
    return CBOREncoder.encode(.map(members))
  }

  private func changedSlot(_ change: (inout CBORMap) -> Void) throws -> [UInt8] {
    var slot = try #require(try CBORDecoder.decode(vault).map?[3]?.array?.first?.map)
    change(&slot)
    return try changed { $0[3] = [.map(slot)] }
  }

  private func salt() throws -> [UInt8] {
    try #require(try CBORDecoder.decode(vault).map?[3]?.array?.first?.map?[2]?.bytes)
  }
}

struct Unexpected: Error {
  let error: VaultError?
  init(_ error: VaultError?) { self.error = error }
}

extension VaultError {
  var isDamaged: Bool { if case .damaged = self { true } else { false } }
}
