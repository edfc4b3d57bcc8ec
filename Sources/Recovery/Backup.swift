import CBOR
public import CryptoPrimitives
import DeterministicKeys

/// The content of a backup: everything in a store that the phrase does not derive (Recovery §9).
public struct Backup: Sendable, Equatable {
  /// Record or tombstone of one account, by its tag (32 bytes), which is the same on every machine with the phrase.
  public private(set) var entries: [[UInt8]: AccountEntry]
  /// The epoch of the store.
  public private(set) var epoch: UInt16
  /// The serialized large-blob array.
  public private(set) var largeBlobArray: [UInt8]?

  /// Gathers a store's content.
  public init(epoch: UInt16, entries: [[UInt8]: AccountEntry], largeBlobArray: [UInt8]? = nil) {
    self.epoch = epoch
    self.entries = entries
    self.largeBlobArray = largeBlobArray
  }

  /// Merges other content, also to restore a backup: the newer entry of each account, the higher epoch.
  ///
  /// Merging the same stores in any order, with any repetition, gives the same content. Of two large-blob arrays, which
  /// have no time, the longer is kept, then the greater.
  public mutating func merge(_ other: Backup) {
    entries.merge(other.entries) { $1.outranks($0) ? $1 : $0 }
    epoch = max(epoch, other.epoch)
    guard let theirs = other.largeBlobArray else { return }
    guard let ours = largeBlobArray else { return largeBlobArray = theirs }
    let isGreater =
      theirs.count == ours.count ? ours.lexicographicallyPrecedes(theirs) : theirs.count > ours.count
    if isGreater { largeBlobArray = theirs }
  }
}

extension AccountEntry {
  /// Whether this entry wins over another of the same account: the greater of (counter, changed, tombstone over record,
  /// plaintext bytes).
  public func outranks(_ other: AccountEntry) -> Bool {
    if counter != other.counter { return counter > other.counter }
    if changed != other.changed { return changed > other.changed }
    if isTombstone != other.isTombstone { return isTombstone }
    return other.plaintext.lexicographicallyPrecedes(plaintext)
  }
}

// MARK: - The file

extension Backup {
  private static let magic = "liquid-auth backup"
  private static let version: UInt64 = 1

  private enum Key {
    static let magic: CBORValue = 1
    static let version: CBORValue = 2
    static let fingerprint: CBORValue = 3
    static let nonce: CBORValue = 4
    static let sealed: CBORValue = 5
    static let ofFile = [magic, version, fingerprint, nonce, sealed]

    static let epoch: CBORValue = 1
    static let entries: CBORValue = 2
    static let largeBlobArray: CBORValue = 3
    static let ofContent = [epoch, entries, largeBlobArray]
  }

  /// Seals the content into a backup file.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func file(keys: CredentialKeys, nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
    let fingerprint = keys.fingerprint
    let sealed = try XChaCha20Poly1305.seal(
      plaintext, key: keys[.backup], nonce: nonce, ad: Self.associatedData(fingerprint))
    return CBOREncoder.encode([
      Key.magic: .text(Self.magic), Key.version: .unsigned(Self.version), Key.fingerprint: .bytes(fingerprint),
      Key.nonce: .bytes(nonce), Key.sealed: .bytes(sealed),
    ])
  }

  /// Opens a backup file.
  ///
  /// - Throws: `anotherPhrase` by the fingerprint, before anything is opened; `malformed` for other bytes, or a backup
  ///   of a newer version; `notAuthentic` for a broken seal; `columnsExchanged` for a record under another's tag.
  public init(file: [UInt8], keys: CredentialKeys) throws(RecoveryError) {
    let (fingerprint, nonce, sealed) = try Self.envelope(file)
    guard fingerprint == keys.fingerprint else { throw .anotherPhrase(fingerprint: fingerprint) }
    let plaintext = try? XChaCha20Poly1305.open(
      sealed, key: keys[.backup], nonce: nonce, ad: Self.associatedData(fingerprint))
    guard let plaintext else { throw .notAuthentic }
    try self.init(plaintext: plaintext)

    for case (let tag, .record(let source)) in entries {
      let own = keys.accountTag(source.rpIDHash, userID: source.userID)
      guard constantTimeEqual(tag, own) else { throw .columnsExchanged }
    }
  }

  private static func associatedData(_ fingerprint: [UInt8]) -> [UInt8] {
    Array("liquid-auth backup v1".utf8) + fingerprint
  }

  private static func envelope(
    _ file: [UInt8]
  ) throws(RecoveryError) -> (fingerprint: [UInt8], nonce: [UInt8], sealed: [UInt8]) {
    do throws(CBORError) {
      let map = try CBORDecoder.decode(file).mapOfOurs()
      guard map[Key.magic] == .text(magic) else { throw .invalid("not a backup of liquid-auth") }
      guard map[Key.version] == .unsigned(version) else { throw .invalid("a backup of a newer version") }
      try map.refuseOtherKeys(Key.ofFile.contains)
      return (
        try map.requiredBytes(Key.fingerprint), try map.requiredBytes(Key.nonce), try map.requiredBytes(Key.sealed)
      )
    } catch {
      throw .malformed(error.description)
    }
  }
}

// MARK: - The sealed content

extension Backup {
  /// {1: epoch, 2: [[accountTag, record or tombstone] …], 3: large-blob array?}, entries in the order of their tags.
  var plaintext: [UInt8] {
    let sorted = entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    var map: CBORMap = [
      Key.epoch: .unsigned(UInt64(epoch)),
      Key.entries: .array(sorted.map { [.bytes($0.key), .bytes($0.value.plaintext)] }),
    ]
    map[Key.largeBlobArray] = largeBlobArray.map { .bytes($0) }
    return CBOREncoder.encode(.map(map))
  }

  private init(plaintext: [UInt8]) throws(RecoveryError) {
    let pairs: [CBORValue]
    do throws(CBORError) {
      let map = try CBORDecoder.decode(plaintext).mapOfOurs()
      try map.refuseOtherKeys(Key.ofContent.contains)
      self.init(
        epoch: try map.requiredInteger(Key.epoch), entries: [:],
        largeBlobArray: try map.optionalBytes(Key.largeBlobArray))
      pairs = try map.requiredArray(Key.entries)
    } catch {
      throw .malformed(error.description)
    }
    for pair in pairs {
      guard let pair = pair.array, pair.count == 2, let tag = pair[0].bytes, let entry = pair[1].bytes,
        tag.count == 32, entries[tag] == nil
      else { throw .malformed("an entry that is not an account's tag and its record, or a duplicate") }
      entries[tag] = try AccountEntry(plaintext: entry)
    }
  }
}
