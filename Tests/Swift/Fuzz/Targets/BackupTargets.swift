import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors

@testable import Recovery

/// Backups: files, their sealed content, and the codes of a page (Recovery §9).
enum BackupTargets {
  static let all: [Target] = [
    Target(
      "backup-file", of: "a backup file", atMost: 4096,
      seeds: { try [KeysAndRecovery.load().backup.file.bytes, sealed([1] + content()), sealed([2] + content())] },
      read: readFile),
    Target(
      "backup-content", of: "the content of a backup, under a valid seal", atMost: 4096,
      seeds: { try [[0] + KeysAndRecovery.load().backup.plaintext.bytes, [1] + content(), [2] + content()] },
      read: { input in try readFile(sealed(input)) }),
    Target(
      "backup-codes", of: "the texts of the QR codes of a page, each on a line", atMost: 9000,
      words: ["LIQUID1/", "LIQUID2/", "/1/1/", "/1/2/", "/2/2/"],
      seeds: {
        try [
          [UInt8](repeating: 7, count: 30), KeysAndRecovery.load().backup.file.bytes,
          [UInt8](repeating: 1, count: 1900),
        ]
        .map { Array(try BackupCodes.texts(of: $0).joined(separator: "\n").utf8) }
      }, read: readCodes),
  ]

  // MARK: - Reading

  private static let now: UInt64 = 1_800_000_000_000

  private static func readFile(_ input: [UInt8]) throws {
    let isOfForm = (try? BackupReader.checkForm(of: input)) != nil
    guard let backup = try? BackupReader(file: input, keys: TestPhrase.keys) else { return }
    expect(isOfForm, "a backup that can be opened does not have the form of one")
    expect(backup.digest == BackupFile.digest(of: input), "another digest")
    guard let accounts = accounts(of: backup) else { return }
    try mergeAndWrite(backup, accounts)
  }

  /// All entries; `nil` if one is refused.
  private static func accounts(of backup: BackupReader) -> [StoredAccount]? {
    var accounts: [StoredAccount] = []
    for index in 0..<backup.count {
      guard let account = try? backup.account(at: index) else { return nil }
      accounts.append(account)
    }
    return accounts
  }

  /// Merges a backup into a new store, whose backup must have the same entries.
  private static func mergeAndWrite(_ backup: BackupReader, _ accounts: [StoredAccount]) throws {
    let (keys, store) = (TestPhrase.keys, InMemoryCredentialStore(keys: TestPhrase.keys))
    _ = try BackupMerge(backup, now: now).run(on: store)
    let byTag = Dictionary(grouping: accounts, by: \.accountTag)
    for (tag, same) in byTag {
      // In a file of version 1, imported passkeys of several accounts can have one id, and one of them wins.
      let entry = try store.entry(accountTag: tag)
      expect(same.contains { $0.entry == entry }, "an entry was not merged, or was changed")
    }
    expect(try store.state().epoch == backup.epoch, "another epoch")
    let again = try BackupMerge(backup, now: now).run(on: store)
    expect(byTag.count < accounts.count || !again.changesStore, "a second merge changes the store")

    let file = try BackupWriter.file(of: store, keys: keys, nonce: nonce).file
    let copy = try BackupReader(file: file, keys: keys)
    let copies = try (0..<copy.count).map { try copy.account(at: $0) }
    expect(copies.count == byTag.count, "\(copies.count) entries instead of \(byTag.count)")
    for account in copies {
      expect(try store.entry(accountTag: account.accountTag) == account.entry, "a backup changes an entry")
    }
  }

  private static func readCodes(_ input: [UInt8]) throws {
    let texts = String(decoding: input, as: UTF8.self).split(separator: "\n").map(String.init)
    guard let file = try? BackupCodes.file(from: texts) else { return }
    expect(1...BackupCodes.maximumFileSize ~= file.count, "\(file.count) bytes in the codes of a page")
    expect(try BackupCodes.file(from: BackupCodes.texts(of: file)) == file, "other bytes")
    expect(try BackupCodes.file(from: texts.reversed() + texts) == file, "the order of the codes matters")
  }

  // MARK: - Seeds

  private static let nonce = [UInt8](repeating: 9, count: XChaCha20Poly1305.nonceSize)

  /// A file: the version, 1 to 3, is in the first byte; the others are the content.
  private static func sealed(_ input: [UInt8]) throws -> [UInt8] {
    let (keys, version) = (TestPhrase.keys, UInt64((input.first ?? 0) % 3) + 1)
    let sealed = try XChaCha20Poly1305.seal(
      Array(input.dropFirst()), key: keys[.backup], nonce: nonce,
      ad: BackupFile.associatedData(keys.fingerprint, version: version))
    return CBOREncoder.encode([
      1: .text(BackupFile.magic), 2: .unsigned(version), 3: .bytes(keys.fingerprint), 4: .bytes(nonce),
      5: .bytes(sealed),
    ])
  }

  /// The content of a backup with an imported passkey, a removal and large blobs.
  private static func content() throws -> [UInt8] {
    let key = SecretBytes(count: 32) { $0.copyBytes(from: [UInt8](repeating: 0x42, count: 32)) }
    let record = try CredentialSource.imported(
      rpID: "example.com", userID: [1], name: "alice", displayName: nil, id: [UInt8](repeating: 3, count: 16),
      algorithm: .es256, created: now, key: key)
    let accounts = [
      StoredAccount(accountTag: TestPhrase.keys.accountTag(of: record), entry: .record(record)),
      StoredAccount(accountTag: [UInt8](repeating: 5, count: 32), entry: .tombstone(counter: 7, changed: 8)),
    ].sorted { $0.accountTag.lexicographicallyPrecedes($1.accountTag) }
    return CBOREncoder.encode([
      1: 2, 2: .array(accounts.map { [.bytes($0.accountTag), .bytes($0.entry.plaintext)] }),
      3: .bytes(SerializedLargeBlobs.initial),
    ])
  }
}
