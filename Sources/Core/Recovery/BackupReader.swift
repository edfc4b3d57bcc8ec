import CBOR
import CryptoPrimitives
import DeterministicKeys
import Synchronization

/// An open backup file (Recovery §9).
///
/// The file is opened in its own memory, which is wiped in the end, and its entries are read one by one.
public final class BackupReader: Sendable {
  /// The epoch of the store that was saved.
  public let epoch: UInt16
  /// The serialized large-blob array of that store, if it had one.
  public let largeBlobArray: [UInt8]?
  /// ``BackupFile/digest(of:)`` of the file.
  public let digest: [UInt8]
  let keys: CredentialKeys
  private let version: UInt64
  /// The file, with the plaintext in the place of the sealed content.
  private let file: Mutex<[UInt8]>
  /// Where the content of each entry is in `file`.
  private let entries: [Entry]

  private struct Entry {
    let tag: Range<Int>
    let plaintext: Range<Int>
  }

  /// Opens a file, and checks its form; each entry is checked when it is read.
  ///
  /// - Parameters:
  ///   - file: the only reference to the bytes, because they are overwritten.
  ///   - keys: those of the present phrase.
  ///   - previous: the fingerprint of the previous phrase, during a move to a new one (Recovery §14).
  /// - Throws: `newerVersion`, and `anotherPhrase` by the fingerprint, before anything is opened; `malformed` for other
  ///   bytes, a file that is cut off or has more than ``BackupFile/maximumSize`` bytes, entries that are not in the order
  ///   of their tags, and one with more than 4,096 bytes; `notAuthentic` for a broken seal.
  public init(file: consuming [UInt8], keys: CredentialKeys, previous: [UInt8]? = nil) throws(RecoveryError) {
    guard file.count <= BackupFile.maximumSize else { throw BackupFile.tooLarge(.malformed) }
    let (version, fingerprint, nonce, sealed) = try Self.envelope(file)
    guard fingerprint == keys.fingerprint else {
      throw fingerprint == previous
        ? .previousPhrase(fingerprint, vault: keys.fingerprint) : .anotherPhrase(fingerprint, vault: keys.fingerprint)
    }
    digest = BackupFile.digest(of: file)
    do {
      try XChaCha20Poly1305.openInPlace(
        &file, sealed, key: keys[.backup], nonce: nonce,
        ad: BackupFile.associatedData(fingerprint, version: version))
    } catch {
      throw Self.damaged(.notAuthentic, "damaged: its seal is broken")
    }
    do throws(RecoveryError) {
      (epoch, entries, largeBlobArray) = try Self.content(file, sealed.dropLast(XChaCha20Poly1305.tagSize))
    } catch {
      wipe(&file)
      throw error
    }
    self.keys = keys
    self.version = version
    self.file = Mutex(file)
  }

  deinit { file.withLock { wipe(&$0) } }

  /// The number of entries.
  public var count: Int { entries.count }

  /// The entry at a place from 0 to `count` − 1.
  ///
  /// In a file of version 1, the tag and the counter of an imported passkey are those of its account. The result has the
  /// tag of the passkey and counter 0.
  ///
  /// - Throws: an error that names the number of the entry, from 1: `malformed` for other content than a record's or
  ///   tombstone's, a counter above the file's epoch, or a record whose private key cannot be used; `columnsExchanged` for
  ///   a record under the tag of another account.
  public func account(at index: Int) throws(RecoveryError) -> StoredAccount {
    var (tag, plaintext) = file.withLock { (Array($0[entries[index].tag]), Array($0[entries[index].plaintext])) }
    defer { wipe(&plaintext) }
    do throws(RecoveryError) {
      let account = StoredAccount(accountTag: tag, entry: try AccountEntry(plaintext: plaintext))
      guard account.entry.counter >> 16 <= UInt32(epoch) else { throw .malformed("a counter above the file's epoch") }
      guard let record = account.entry.record else { return account }
      try check(record, tag: tag)
      guard !record.isDerivable, let imported = record.withoutCounter else { return account }
      return StoredAccount(accountTag: keys.accountTag(of: record), entry: .record(imported))
    } catch {
      throw RecoveryError(error.kind, "entry \(index + 1) of \(count): \(error.reason)", hint: error.hint)
    }
  }

  private func check(_ record: CredentialSource, tag: [UInt8]) throws(RecoveryError) {
    let expected =
      version == 1 ? keys.accountTag(record.rpIDHash, userID: record.userID) : keys.accountTag(of: record)
    guard constantTimeEqual(tag, expected) else {
      throw RecoveryError(.columnsExchanged, "its tag is not that of its account")
    }
    guard version == 1 || record.isDerivable || record.counter == 0 else {
      throw .malformed("an imported passkey with a counter")
    }
    guard version >= 3 || record.credRandoms == nil else {
      throw .malformed("CredRandoms in a file of version \(version)")
    }
    do {
      _ = try keys.privateKey(of: record)
    } catch {
      throw .malformed("a private key that cannot be used: \(error)")
    }
  }
}

// MARK: - Reading the form

extension BackupReader {
  /// Checks that a file has the form of a backup, without the phrase: its content is not opened.
  ///
  /// - Returns: the fingerprint of its phrase, 4 bytes, not authenticated.
  /// - Throws: `newerVersion`, or `malformed` for other bytes.
  @discardableResult
  public static func checkForm(of file: [UInt8]) throws(RecoveryError) -> [UInt8] { try envelope(file).fingerprint }

  /// The values of the file's map, and the place of the sealed content.
  private static func envelope(
    _ file: [UInt8]
  ) throws(RecoveryError) -> (version: UInt64, fingerprint: [UInt8], nonce: [UInt8], sealed: Range<Int>) {
    do {
      guard file.dropFirst().starts(with: BackupFile.member(BackupFile.Key.magic, .text(BackupFile.magic))) else {
        throw notABackup
      }
      var cursor = CBORCursor(file.indices)
      guard case .map(let members) = try cursor.next(in: file), try cursor.key(in: file) == BackupFile.Key.magic,
        case .text = try cursor.next(in: file)
      else { throw notABackup }
      guard try cursor.key(in: file) == BackupFile.Key.version,
        case .unsigned(let version) = try cursor.next(in: file), version >= BackupFile.versions.lowerBound
      else { throw CBORError.invalid("the version of a backup") }
      guard version <= BackupFile.versions.upperBound else {
        throw RecoveryError(.newerVersion, "it was made by a newer version", hint: "use a newer liquid-auth")
      }
      guard members == BackupFile.Key.count,
        try cursor.key(in: file) == BackupFile.Key.fingerprint,
        case .bytes(let fingerprint) = try cursor.next(in: file), fingerprint.count == BackupFile.fingerprintSize,
        try cursor.key(in: file) == BackupFile.Key.nonce, case .bytes(let nonce) = try cursor.next(in: file),
        try cursor.key(in: file) == BackupFile.Key.sealed, case .bytes(let sealed) = try cursor.next(in: file)
      else { throw CBORError.invalid("the members of a backup") }
      guard cursor.isAtEnd else { throw CBORError.invalid("trailing bytes from byte \(cursor.offset) on") }
      return (version, Array(file[fingerprint]), Array(file[nonce]), sealed)
    } catch let error as RecoveryError {
      throw error
    } catch {
      throw damaged(.malformed, LooseCBORDecoder.isCutOff(file) ? "cut off" : "damaged")
    }
  }

  private static let notABackup = RecoveryError(.malformed, "it is not a liquid-auth backup")

  /// - Parameter reason: "damaged", with or without the fault, or "cut off".
  private static func damaged(_ kind: RecoveryError.Kind, _ reason: String) -> RecoveryError {
    RecoveryError(kind, "the backup is \(reason)", hint: "use another copy of it")
  }

  /// {1: epoch, 2: [[accountTag, record or tombstone] …], 3: large-blob array?}, entries in the order of their tags.
  private static func content(
    _ file: [UInt8], _ range: Range<Int>
  ) throws(RecoveryError) -> (epoch: UInt16, entries: [Entry], largeBlobArray: [UInt8]?) {
    do throws(CBORError) {
      var cursor = CBORCursor(range)
      guard case .map(let members) = try cursor.next(in: file), (2...3).contains(members) else {
        throw .invalid("a member of a newer version, or a member is missing")
      }
      guard try cursor.key(in: file) == BackupFile.ContentKey.epoch,
        case .unsigned(let number) = try cursor.next(in: file),
        let epoch = UInt16(exactly: number)
      else { throw .invalid("an epoch that is not 0 to 65,535") }
      guard try cursor.key(in: file) == BackupFile.ContentKey.entries,
        case .array(let count) = try cursor.next(in: file)
      else { throw .invalid("its entries are not an array") }

      var entries: [Entry] = []
      entries.reserveCapacity(min(count, range.count / CredentialKeys.tagSize))
      for index in 0..<count {
        guard case .array(2) = try cursor.next(in: file), case .bytes(let tag) = try cursor.next(in: file),
          case .bytes(let plaintext) = try cursor.next(in: file), tag.count == CredentialKeys.tagSize
        else { throw .invalid("entry \(index + 1) of \(count) is not an account's tag and its record") }
        if let last = entries.last, !file[last.tag].lexicographicallyPrecedes(file[tag]) {
          throw .invalid("entry \(index + 1) of \(count) is out of order, or a duplicate")
        }
        guard plaintext.count <= BackupFile.maximumEntrySize else {
          throw .invalid("entry \(index + 1) of \(count) has more than 4,096 bytes")
        }
        entries.append(Entry(tag: tag, plaintext: plaintext))
      }

      var largeBlobArray: [UInt8]?
      if members == 3 {
        guard try cursor.key(in: file) == BackupFile.ContentKey.largeBlobArray,
          case .bytes(let array) = try cursor.next(in: file)
        else { throw .invalid("a member of a newer version, or large blobs that are not bytes") }
        largeBlobArray = Array(file[array])
      }
      guard cursor.isAtEnd else { throw .invalid("trailing bytes in the content") }
      return (epoch, entries, largeBlobArray)
    } catch {
      throw .malformed(error.description)
    }
  }
}

extension CBORCursor {
  /// The next item, which is a key of ours; `nil` for another item.
  fileprivate mutating func key(in bytes: [UInt8]) throws(CBORError) -> UInt64? {
    if case .unsigned(let key) = try next(in: bytes) { key } else { nil }
  }
}
