import CBOR
import CryptoPrimitives

/// The backup file, versions 1 to 3: everything in a store that the phrase does not derive (Recovery §9).
public enum BackupFile {
  /// The most bytes of a file, 64 MiB: about 150,000 passkeys.
  public static let maximumSize = 67_108_864

  /// The most bytes of an entry's plaintext.
  ///
  /// A record has fewer than 2,700: a request has at most 1,800, the owner's names 255 each, and an id 127.
  static let maximumEntrySize = 4096
  /// The most bytes of ``StoredAccount/encoded``: the heads have 1, 2 and 3 bytes.
  static let maximumEncodedEntrySize = 1 + 2 + CredentialKeys.tagSize + 3 + maximumEntrySize

  /// Bytes of the fingerprint of a phrase.
  static let fingerprintSize = 4
  /// Bytes of ``digest(of:)``.
  public static let digestSize = 16

  /// LEFT(SHA-256(file), 16), by which a store recognizes the backup that it wrote last.
  public static func digest(of file: [UInt8]) -> [UInt8] { Array(SHA256.hash(file).prefix(digestSize)) }

  static let magic = "liquid-auth backup"
  /// The versions that can be read.
  ///
  /// A file with an imported passkey has version 2, in which such a passkey has an entry of its own. If an imported passkey
  /// has CredRandoms, the file has version 3.
  static let versions: ClosedRange<UInt64> = 1...3

  /// The members of the file.
  enum Key {
    static let magic: UInt64 = 1
    static let version: UInt64 = 2
    static let fingerprint: UInt64 = 3
    static let nonce: UInt64 = 4
    static let sealed: UInt64 = 5
    static let count = 5
  }

  /// The members of the sealed content.
  enum ContentKey {
    static let epoch: UInt64 = 1
    static let entries: UInt64 = 2
    static let largeBlobArray: UInt64 = 3
  }

  /// "liquid-auth backup v1", v2 or v3 ‖ fingerprint.
  static func associatedData(_ fingerprint: [UInt8], version: UInt64) -> [UInt8] {
    Array("liquid-auth backup v\(version)".utf8) + fingerprint
  }

  /// The encodings of a key and a value that follow each other in a map.
  static func member(_ key: UInt64, _ value: CBORValue) -> [UInt8] {
    CBOREncoder.encode(.unsigned(key)) + CBOREncoder.encode(value)
  }

  /// The error of a file with more than ``maximumSize`` bytes.
  static func tooLarge(_ kind: RecoveryError.Kind) -> RecoveryError {
    RecoveryError(kind, "a backup has at most 64 MiB, about 150,000 passkeys")
  }
}

/// An account's tag with its record or tombstone.
public struct StoredAccount: Sendable, Equatable {
  /// 32 bytes, the same on every machine with the phrase.
  public let accountTag: [UInt8]
  public let entry: AccountEntry

  public init(accountTag: [UInt8], entry: AccountEntry) {
    self.accountTag = accountTag
    self.entry = entry
  }

  /// The lowest version of a backup that can have this entry, of those that are written.
  var backupVersion: UInt64 {
    guard let record = entry.record, !record.isDerivable else { return 1 }
    return record.credRandoms == nil ? 2 : 3
  }

  /// The entry in a backup: [accountTag, plaintext].
  ///
  /// The plaintext of an imported passkey contains its private key.
  var encoded: [UInt8] {
    var plaintext = entry.plaintext
    defer { wipe(&plaintext) }
    return CBOREncoder.encode([.bytes(accountTag), .bytes(plaintext)])
  }
}
