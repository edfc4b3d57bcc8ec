import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors

@testable import Recovery
@testable import Vault

/// The files of the authenticator: the vault, and the rows of the store.
enum VaultTargets {
  static let all: [Target] = [
    Target(
      "vault-file", of: "a vault file", atMost: 2048,
      seeds: {
        try [KeysAndRecovery.load().vault.file.bytes, Vector("vault-slots").sealedFile.bytes] + vaultsWithSlots()
      }, read: readVault),
    Target(
      "vault-content", of: "the content of a vault: the first byte says if it has a previous phrase", atMost: 500,
      seeds: {
        let payload = try KeysAndRecovery.load().vault.payload.bytes
        // Another main key, and another store.
        let other = payload.enumerated().map { place, byte in
          (4..<68).contains(place) || (169..<185).contains(place) ? byte ^ 1 : byte
        }
        return [[0] + payload, [1, 0xA5] + payload.dropFirst() + [0x05] + other]
      }, read: readContent),
    Target(
      "store-row", of: "the record or tombstone of a row, under a valid seal", atMost: 1024,
      seeds: { try KeysAndRecovery.load().rows.array.map(\.plaintext.bytes) + [importedRecord()] }, read: readRow),
    Target(
      "store-state", of: "the state row of a store, under a valid seal", atMost: 2048,
      seeds: {
        var state = StoreState(storeID: [UInt8](repeating: 7, count: 16))
        let empty = (1...3).map { state.plaintext(version: $0) }
        try state.pairings.keep(
          Pairing(origin: "https://a", rpID: "a", id: "p", credential: secret(Array(1...32))))
        state.slip22 = SLIP22Keys(secret(Array(0..<128)))
        return empty + [state.plaintext(version: 1)]
      }, read: readState),
    Target(
      "history-entry", of: "an entry of the history, or its head, under a valid seal", atMost: 300,
      seeds: { try Vector("history").chain.array.map(\.plaintext.bytes) + [[UInt8](repeating: 0, count: 80)] },
      read: readHistory),
  ]

  // MARK: - The vault

  private static func readVault(_ input: [UInt8]) {
    let vault: VaultFile
    do throws(VaultError) { vault = try VaultFile(decoding: input) } catch {
      expect(!error.description.isEmpty, "an error without words")
      return
    }
    expect(vault.encoded == input, "bytes that are not canonical were read")
    expect(!vault.slots.isEmpty, "a vault without a slot")
    for slot in vault.slots {
      // No passphrase is tried: Argon2id may take the time that the file asks for.
      expect((try? vault.open(slot: slot.id, key: secret([UInt8](repeating: 1, count: 32)))) == nil, "a slot opens")
    }
  }

  private static func readContent(_ input: [UInt8]) throws {
    let payload = secret(Array(input.dropFirst()))
    guard let content = try? VaultContent(payload: payload, hasPrevious: (input.first ?? 0) & 1 == 1) else { return }
    expect(content.payload.isEqual(to: payload), "other bytes")
  }

  /// The vault of the vectors with each of the vectors' slots beside the passphrase.
  private static func vaultsWithSlots() throws -> [[UInt8]] {
    let vault = try KeysAndRecovery.load().vault.file.bytes
    let vectors = try Vector("vault-slots")
    let kinds = [
      vectors.secretService, vectors.tpm, vectors.securityKey, vectors.systemd, vectors.malformed, vectors.malformedTPM,
      vectors.malformedSecurityKey, vectors.malformedSystemd,
    ]
    // {1: version, 2: id (16), 3: [slot], …}: one element becomes two.
    let head = 2 + 1 + 2 + 16 + 1
    guard vault.count > head, vault[head] == 0x81 else { return [] }
    let decoded = try VaultFile(decoding: vault)
    guard let slot = decoded.slots.first else { return [] }
    let end = head + 1 + CBOREncoder.encode(.map(slot.members)).count
    let (before, first, after) = (Array(vault[..<head]), Array(vault[(head + 1)..<end]), Array(vault[end...]))
    return kinds.flatMap { $0.array.prefix(2) }.map { other in
      var file = before
      file.append(0x82)
      file += first
      file += other.slot.bytes
      file += after
      return file
    }
  }

  // MARK: - The store

  private static let keys = TestPhrase.keys
  private static let nonce = [UInt8](repeating: 4, count: XChaCha20Poly1305.nonceSize)

  private static func readRow(_ input: [UInt8]) throws {
    if let plaintext = RowPadding.unpad(input) { expect(RowPadding.pad(plaintext) == input, "another padding") }
    let policy = try? AccountEntry.policy(plaintext: input)
    guard let entry = try? AccountEntry(plaintext: input) else { return }
    expect(entry.plaintext == input, "bytes that are not canonical were read")
    expect(policy == entry.record?.policy, "another policy")
    switch entry {
    case .record(let record):
      // A scalar that is out of range gives no row.
      guard let row = try? keys.row(of: record, nonce: nonce) else { return }
      expect(row.sealed.count % RowPadding.block == XChaCha20Poly1305.tagSize, "a row of \(row.sealed.count) bytes")
      expect(try keys.open(row) == entry, "another record")
    case .tombstone(let counter, let changed):
      let tag = [UInt8](repeating: 1, count: CredentialKeys.tagSize)
      let row = try keys.tombstoneRow(accountTag: tag, counter: counter, changed: changed, nonce: nonce)
      expect(try keys.open(row) == entry, "another tombstone")
    }
  }

  private static func readState(_ input: [UInt8]) throws {
    guard let (state, version) = try? StoreState.read(input) else { return }
    let sealed = try keys.seal(state, version: version, nonce: nonce)
    let (again, sameVersion) = try keys.openState(sealed, nonce: nonce)
    expect(again == state && sameVersion == version, "another state")
    _ = state.settings.reported
  }

  private static func readHistory(_ input: [UInt8]) throws {
    if let entry = try? HistoryEntry(plaintext: input) {
      expect(entry.plaintext == input, "bytes that are not canonical were read")
      let row = try keys.seal(entry, after: HistoryHead(), nonce: nonce)
      expect(try keys.open(row) == entry, "another entry")
    }
    let sealed = try XChaCha20Poly1305.seal(
      RowPadding.pad(input), key: keys[.history], nonce: nonce, ad: Array("history-head".utf8))
    guard let head = try? keys.openHistoryHead(sealed, nonce: nonce) else { return }
    expect(try keys.openHistoryHead(keys.seal(head, nonce: nonce), nonce: nonce) == head, "another head")
    _ = head.count
  }

  private static func importedRecord() throws -> [UInt8] {
    let record = try CredentialSource.imported(
      rpID: "example.com", userID: [1], name: "alice", displayName: "Alice", id: [UInt8](repeating: 3, count: 16),
      algorithm: .edDSA, created: 5, credBlob: [1], key: secret([UInt8](repeating: 0x42, count: 32)))
    return AccountEntry.record(record).plaintext
  }
}
