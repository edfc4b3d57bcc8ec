import CBOR
import CryptoPrimitives
import DeterministicKeys
import Synchronization

/// Collects the entries of a store, and seals them into a backup file (Recovery §9).
///
/// The entries of the file need not be of one moment, because each merges independently of the others. So a store can
/// change between two pages.
public final class BackupWriter: Sendable {
  private struct Content {
    /// The encodings of the entries; with the private keys of imported passkeys.
    var entries: [UInt8] = []
    var (passkeys, removals) = (0, 0)
    var version = BackupFile.versions.lowerBound
    var lastTag: [UInt8] = []
  }

  private let content = Mutex(Content())
  private let maximumSize: Int

  /// Begins a backup without entries.
  public convenience init() { self.init(maximumSize: BackupFile.maximumSize) }

  init(maximumSize: Int) { self.maximumSize = maximumSize }

  deinit { content.withLock { wipe(&$0.entries) } }

  /// The number of records that were added.
  public var passkeys: Int { content.withLock(\.passkeys) }
  /// The number of tombstones that were added.
  public var removals: Int { content.withLock(\.removals) }

  /// Adds the next entries, in the order of their tags: a page of ``CredentialStore/entries(after:count:)``.
  ///
  /// - Throws: `full` if the file would have more than ``BackupFile/maximumSize`` bytes, or an entry more than a reader
  ///   accepts; `store` if they are not in this order.
  public func append(_ accounts: [StoredAccount]) throws(RecoveryError) {
    try content.withLock { content throws(RecoveryError) in
      for account in accounts {
        guard content.lastTag.lexicographicallyPrecedes(account.accountTag) else {
          throw RecoveryError(.store, "its entries are not in the order of their tags")
        }
        var encoded = account.encoded
        defer { wipe(&encoded) }
        guard encoded.count <= BackupFile.maximumEncodedEntrySize else {
          let name = account.entry.record.map(PasskeyName.init)
          throw RecoveryError(
            .full, "the passkey at \(name?.rpID ?? "a site") has more than 4,096 bytes, too many for a backup")
        }
        guard content.entries.count + encoded.count <= maximumSize else { throw BackupFile.tooLarge(.full) }
        content.entries.appendWiping(encoded)
        if account.entry.isTombstone { content.removals += 1 } else { content.passkeys += 1 }
        content.version = max(content.version, account.backupVersion)
        content.lastTag = account.accountTag
      }
    }
  }

  /// Seals what was added; the writer is empty afterwards.
  ///
  /// - Parameters:
  ///   - epoch: the store's, read after its last entry.
  ///   - largeBlobArray: the store's.
  ///   - nonce: 24 fresh random bytes; `nil` to compute them from the content, so that equal stores have equal files.
  /// - Throws: `full` if the file would have more than ``BackupFile/maximumSize`` bytes.
  public func file(
    epoch: UInt16, largeBlobArray: [UInt8]?, keys: CredentialKeys, nonce: [UInt8]?
  ) throws(RecoveryError) -> [UInt8] {
    let fingerprint = keys.fingerprint
    let file = try content.withLock { content throws(RecoveryError) in
      defer {
        wipe(&content.entries)
        content = Content()
      }
      let head =
        CBOREncoder.head(ofMap: largeBlobArray == nil ? 2 : 3)
        + BackupFile.member(BackupFile.ContentKey.epoch, .unsigned(UInt64(epoch)))
        + CBOREncoder.encode(.unsigned(BackupFile.ContentKey.entries))
        + CBOREncoder.head(ofArray: content.passkeys + content.removals)
      let end = largeBlobArray.map { BackupFile.member(BackupFile.ContentKey.largeBlobArray, .bytes($0)) } ?? []
      let nonce = nonce ?? keys.backupNonce(head, content.entries, end)
      let sealedSize = head.count + content.entries.count + end.count + XChaCha20Poly1305.tagSize

      let version = content.version
      var file = CBOREncoder.head(ofMap: BackupFile.Key.count)
      file += BackupFile.member(BackupFile.Key.magic, .text(BackupFile.magic))
      file += BackupFile.member(BackupFile.Key.version, .unsigned(version))
      file += BackupFile.member(BackupFile.Key.fingerprint, .bytes(fingerprint))
      file += BackupFile.member(BackupFile.Key.nonce, .bytes(nonce))
      file += CBOREncoder.encode(.unsigned(BackupFile.Key.sealed)) + CBOREncoder.head(ofBytes: sealedSize)
      let start = file.count
      guard start + sealedSize <= maximumSize else { throw BackupFile.tooLarge(.full) }
      file.reserveCapacity(start + sealedSize)
      file += head
      file += content.entries
      file += end
      file.append(contentsOf: repeatElement(0, count: XChaCha20Poly1305.tagSize))
      do {
        try XChaCha20Poly1305.sealInPlace(
          &file, start..<file.count, key: keys[.backup], nonce: nonce,
          ad: BackupFile.associatedData(fingerprint, version: version))
      } catch {
        wipe(&file)
        throw RecoveryError(.key, "the backup cannot be sealed: \(error)")
      }
      return file
    }
    return file
  }

  /// Seals a whole store; nothing else may use the store meanwhile.
  ///
  /// - Returns: the file, and the numbers of records and tombstones in it.
  /// - Parameter nonce: 24 fresh random bytes.
  /// - Throws: as ``file(epoch:largeBlobArray:keys:nonce:)``, or `store`.
  public static func file(
    of store: any CredentialStore, keys: CredentialKeys, nonce: [UInt8]
  ) throws(RecoveryError) -> (file: [UInt8], passkeys: Int, removals: Int) {
    let writer = BackupWriter()
    var last: [UInt8]?
    while true {
      let page = try store.entries(after: last, count: BackupMerge.storePageSize)
      guard let tag = page.last?.accountTag else { break }
      try writer.append(page)
      last = tag
    }
    let (passkeys, removals) = (writer.passkeys, writer.removals)
    let file = try writer.file(
      epoch: store.state().epoch, largeBlobArray: store.largeBlobArray(), keys: keys, nonce: nonce)
    return (file, passkeys, removals)
  }
}

extension CredentialKeys {
  /// LEFT(mac("look-up", 06 ‖ content), 24) of a backup's content (Recovery §9).
  fileprivate func backupNonce(_ parts: [UInt8]...) -> [UInt8] {
    var message: [UInt8] = []
    defer { wipe(&message) }
    message.reserveCapacity(1 + parts.reduce(0) { $0 + $1.count })
    message.append(6)
    for part in parts { message += part }
    return Array(mac(.lookUp, message).prefix(XChaCha20Poly1305.nonceSize))
  }
}

extension [UInt8] {
  /// Appends bytes; if the array must move, its old place is wiped.
  package mutating func appendWiping(_ bytes: [UInt8]) {
    if count + bytes.count > capacity {
      var larger: [UInt8] = []
      larger.reserveCapacity(Swift.max(2 * capacity, count + bytes.count, 65_536))
      larger += self
      wipe(&self)
      self = larger
    }
    self += bytes
  }
}
