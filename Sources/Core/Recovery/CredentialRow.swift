public import CryptoPrimitives
import DeterministicKeys

/// One row of the store's `credential` table, as on disk: Recovery §6.
public struct CredentialRow: Sendable, Equatable {
  /// The primary key, 32 bytes.
  public var accountTag: [UInt8]
  /// The tags, 32 bytes each, by which a record is found; NULL for a tombstone, which does not name a site.
  public var tags: Tags?
  /// The nonce of `sealed`, 24 bytes, drawn at random for every writing.
  public var nonce: [UInt8]
  /// Record or tombstone, padded and sealed: a multiple of 128 bytes and 16.
  public var sealed: [UInt8]

  /// The columns of a record, without its primary key.
  public struct Tags: Sendable, Equatable {
    /// The relying party.
    public var rpTag: [UInt8]
    /// The credential id at the relying party.
    public var credentialTag: [UInt8]
    /// The public key.
    public var keyTag: [UInt8]

    public init(rpTag: [UInt8], credentialTag: [UInt8], keyTag: [UInt8]) {
      self.rpTag = rpTag
      self.credentialTag = credentialTag
      self.keyTag = keyTag
    }
  }

  public init(accountTag: [UInt8], tags: Tags?, nonce: [UInt8], sealed: [UInt8]) {
    self.accountTag = accountTag
    self.tags = tags
    self.nonce = nonce
    self.sealed = sealed
  }
}

extension CredentialRow {
  /// Whether every column has its fixed length, except the sealed one, which is last in the row's MAC.
  package var hasColumnLengths: Bool {
    let size = CredentialKeys.tagSize
    guard nonce.count == XChaCha20Poly1305.nonceSize, accountTag.count == size else { return false }
    guard let tags else { return true }
    return tags.rpTag.count == size && tags.credentialTag.count == size && tags.keyTag.count == size
  }
}

// MARK: - Sealing and opening rows

extension CredentialKeys {
  /// The row of a record.
  ///
  /// - Parameters:
  ///   - publicKey: the credential's, if the caller has it; it is derived for `nil`.
  ///   - nonce: 24 fresh random bytes.
  /// - Throws: `CryptoError.scalarOutOfRange` for a record whose key cannot be derived; `invalidLength` for a nonce of
  ///   another length.
  public func row(
    of source: CredentialSource, publicKey: CredentialPublicKey? = nil, nonce: [UInt8]
  ) throws(CryptoError) -> CredentialRow {
    let rpIDHash = source.rpIDHash
    let publicKey = if let publicKey { publicKey } else { try privateKey(of: source).publicKey }
    let tags = CredentialRow.Tags(
      rpTag: rpTag(rpIDHash), credentialTag: credentialTag(rpIDHash, id: source.id),
      keyTag: keyTag(publicKey: publicKey.bytes))
    return try row(
      .record(source), accountTag: accountTag(of: source), tags: tags, nonce: nonce)
  }

  /// The row that a deletion leaves: it keeps the counter, not the site.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func tombstoneRow(
    accountTag: [UInt8], counter: UInt32, changed: UInt64, nonce: [UInt8]
  ) throws(CryptoError) -> CredentialRow {
    try row(.tombstone(counter: counter, changed: changed), accountTag: accountTag, tags: nil, nonce: nonce)
  }

  private func row(
    _ entry: AccountEntry, accountTag: [UInt8], tags: CredentialRow.Tags?, nonce: [UInt8]
  ) throws(CryptoError) -> CredentialRow {
    // They can have a private key.
    var plaintext = entry.plaintext
    var padded = RowPadding.pad(plaintext)
    defer {
      wipe(&plaintext)
      wipe(&padded)
    }
    let sealed = try XChaCha20Poly1305.seal(padded, key: self[.record], nonce: nonce, ad: Self.rowAD(accountTag))
    return CredentialRow(accountTag: accountTag, tags: tags, nonce: nonce, sealed: sealed)
  }

  /// Opens a row, and compares its columns with its content, so that rows and columns cannot be exchanged.
  ///
  /// - Parameter isOld: whether the store was made before version 8, in which imported passkeys have the tags of their
  ///   accounts.
  public func open(_ row: CredentialRow, isOld: Bool = false) throws(RecoveryError) -> AccountEntry {
    var plaintext = try openPadded(row.sealed, nonce: row.nonce, ad: Self.rowAD(row.accountTag))
    defer { wipe(&plaintext) }
    let entry = try AccountEntry(plaintext: plaintext)
    switch (entry, row.tags) {
    case (.record(let source), let tags?):
      let rpIDHash = source.rpIDHash
      guard isTag(row.accountTag, of: source, isOld: isOld),
        constantTimeEqual(tags.rpTag, rpTag(rpIDHash)),
        constantTimeEqual(tags.credentialTag, credentialTag(rpIDHash, id: source.id))
      else { throw .columnsExchanged }
    case (.tombstone, nil): break
    default: throw .columnsExchanged
    }
    return entry
  }

  /// The policy of a record; its columns are not compared with its content.
  package func policy(of row: CredentialRow) throws(RecoveryError) -> CredentialPolicy {
    var plaintext = try openPadded(row.sealed, nonce: row.nonce, ad: Self.rowAD(row.accountTag))
    defer { wipe(&plaintext) }
    return try AccountEntry.policy(plaintext: plaintext)
  }

  private func isTag(_ tag: [UInt8], of source: CredentialSource, isOld: Bool) -> Bool {
    constantTimeEqual(tag, accountTag(of: source))
      || isOld && !source.isDerivable && constantTimeEqual(tag, accountTag(source.rpIDHash, userID: source.userID))
  }

  /// "record" ‖ accountTag.
  private static func rowAD(_ accountTag: [UInt8]) -> [UInt8] { Array("record".utf8) + accountTag }
}

// MARK: - The state row

extension CredentialKeys {
  private static let stateAD = Array("state".utf8)

  /// Seals the state row.
  ///
  /// - Parameters:
  ///   - version: that of the store's tables: 2 adds a ``RowSet``, 3 a history; the state row records them.
  ///   - nonce: 24 fresh random bytes.
  public func seal(_ state: StoreState, version: UInt32, nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
    // The hash of the PIN, the persistent token and the counter's auth value are in it.
    var plaintext = state.plaintext(version: version)
    var padded = RowPadding.pad(plaintext)
    defer {
      wipe(&plaintext)
      wipe(&padded)
    }
    return try XChaCha20Poly1305.seal(padded, key: self[.record], nonce: nonce, ad: Self.stateAD)
  }

  /// Opens the state row, which also records the version of the tables for which it was written.
  public func openState(
    _ sealed: [UInt8], nonce: [UInt8]
  ) throws(RecoveryError) -> (state: StoreState, version: UInt32) {
    var plaintext = try openPadded(sealed, nonce: nonce, ad: Self.stateAD)
    defer { wipe(&plaintext) }
    return try StoreState.read(plaintext)
  }

  private static let blobsAD = Array("large-blobs".utf8)

  /// Seals the serialized large-blob array.
  ///
  /// - Parameter nonce: 24 fresh random bytes.
  public func seal(largeBlobArray array: [UInt8], nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
    try XChaCha20Poly1305.seal(RowPadding.pad(array), key: self[.record], nonce: nonce, ad: Self.blobsAD)
  }

  /// Opens the serialized large-blob array.
  public func openLargeBlobArray(_ sealed: [UInt8], nonce: [UInt8]) throws(RecoveryError) -> [UInt8] {
    try openPadded(sealed, nonce: nonce, ad: Self.blobsAD)
  }

  func openPadded(_ sealed: [UInt8], nonce: [UInt8], ad: [UInt8]) throws(RecoveryError) -> [UInt8] {
    guard var padded = try? XChaCha20Poly1305.open(sealed, key: self[.record], nonce: nonce, ad: ad) else {
      throw .notAuthentic
    }
    defer { wipe(&padded) }
    guard let plaintext = RowPadding.unpad(padded) else { throw .malformed("no padding") }
    return plaintext
  }
}

/// plaintext ‖ 80 ‖ 00… up to a multiple of 128: the length of a row shows only its size class.
enum RowPadding {
  static let block = 128

  static func pad(_ plaintext: [UInt8]) -> [UInt8] {
    var padded: [UInt8] = []
    // It does not move, so that no copy of a private key stays.
    padded.reserveCapacity(size(plaintext.count))
    padded += plaintext
    padded.append(0x80)
    padded.append(contentsOf: repeatElement(0, count: size(plaintext.count) - padded.count))
    return padded
  }

  /// The size of a plaintext of `count` bytes with its padding.
  private static func size(_ count: Int) -> Int { (count / block + 1) * block }

  /// Removes the padding; `nil` unless it is exactly that of `pad`.
  static func unpad(_ padded: [UInt8]) -> [UInt8]? {
    guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 0x80, padded.count == size(end) else {
      return nil
    }
    return Array(padded[..<end])
  }
}
