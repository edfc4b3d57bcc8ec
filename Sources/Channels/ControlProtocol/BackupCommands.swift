package import CBOR
package import Recovery

// The owner's commands for backups (Recovery §9); they need the vault's passphrase on the connection. A file has more bytes
// than a packet, so it is sent in fragments, in order.

/// A fragment of a backup.
package enum BackupFragment {
  /// The most bytes of one.
  package static let maximumSize = 131_072
}

/// Makes a backup of the store, and reads it: {1: offset}.
///
/// Offset 0 makes the file. The authenticator discards it after the last fragment, or when the connection ends.
package struct ReadBackup: ControlCommand, Equatable {
  package static let code: UInt8 = 0x70
  package var offset: UInt64

  package init(offset: UInt64) { self.offset = offset }
  package init(_ members: CBORMap) throws(ControlFailure) { offset = try decoded(members.requiredUnsigned(1)) }
  package var members: CBORMap { [1: .unsigned(offset)] }

  /// {1: fragment, 2: size of the file, 3: passkeys, 4: removals}.
  package struct Answer: ControlAnswer, Equatable {
    /// The bytes at the offset, at most ``BackupFragment/maximumSize``.
    package var fragment: [UInt8]
    /// The number of bytes of the file.
    package var size: UInt64
    /// The number of passkeys in it.
    package var passkeys: UInt64
    /// The number of removed passkeys in it.
    package var removals: UInt64

    package init(fragment: [UInt8], size: UInt64, passkeys: UInt64, removals: UInt64) {
      (self.fragment, self.size, self.passkeys, self.removals) = (fragment, size, passkeys, removals)
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      fragment = try decoded(members.requiredBytes(1))
      size = try decoded(members.requiredUnsigned(2))
      passkeys = try decoded(members.requiredUnsigned(3))
      removals = try decoded(members.requiredUnsigned(4))
    }

    package var members: CBORMap {
      [1: .bytes(fragment), 2: .unsigned(size), 3: .unsigned(passkeys), 4: .unsigned(removals)]
    }
  }
}

/// Sends a backup, and merges it into the store, or only compares it: {1: offset, 2: size of the file, 3: fragment,
/// 4: only compare?}.
///
/// The last fragment has the result as its answer. The authenticator discards the file after it, after a fragment that
/// does not follow the one before, or when the connection ends.
package struct MergeBackup: ControlCommand, Equatable {
  package static let code: UInt8 = 0x71
  package static let maximumRequestSize = ControlMessage.maximumSize
  package var offset: UInt64
  package var size: UInt64
  package var fragment: [UInt8]
  /// Whether the store stays as it is.
  package var onlyCompares: Bool

  package init(offset: UInt64, size: UInt64, fragment: [UInt8], onlyCompares: Bool) {
    (self.offset, self.size, self.fragment, self.onlyCompares) = (offset, size, fragment, onlyCompares)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    offset = try decoded(members.requiredUnsigned(1))
    size = try decoded(members.requiredUnsigned(2))
    fragment = try decoded(members.requiredBytes(3))
    onlyCompares = try decoded(members.optionalBool(4)) ?? false
  }

  package var members: CBORMap {
    CBORMap(present: [
      1: .unsigned(offset), 2: .unsigned(size), 3: .bytes(fragment), 4: onlyCompares ? true : nil,
    ])
  }

  /// {1: result?}.
  package struct Answer: ControlAnswer, Equatable {
    /// `nil` if more fragments must follow.
    package var result: MergeResult?

    package init(result: MergeResult?) { self.result = result }

    package init(_ members: CBORMap) throws(ControlFailure) {
      result = try decoded(members.optionalMap(1)).map { (map) throws(ControlFailure) in try MergeResult(map) }
    }

    package var members: CBORMap { CBORMap(present: [1: result.map { .map($0.members) }]) }
  }
}

/// What a merge did, or would do: {1: added, 2: changed, 3: removed, 4: noted removals, 5: kept, 6: same,
/// 7: [[rp.id, name?] …], 8: number of 7, 9: [[rp.id, name?] …], 10: number of 9, 11: entries ahead, 12: raises the epoch,
/// 13: large blobs, 14: large blobs only in the backup, 15: the backup has more, 16: the backup is one of the last,
/// 17: [[rp.id, name?] …], 18: [[rp.id, name?] …], 19: number of 18}.
///
/// Member 7 has the imported passkeys that stay as they are here, 9 those whose key is only in the backup, 17 the
/// removed ones, and 18 those of the backup that were removed later, here or on another machine; at most 100 each. Large
/// blobs is 0 for none, 1 for taken, 2 for same, 3 for kept back, or 4 for invalid.
package struct MergeResult: Equatable, Sendable {
  /// The most passkeys that are named in each list.
  package static let maximumNames = 100

  /// Counts of entries, as ``MergeReport`` has them.
  package var (added, changed, noted): (UInt64, UInt64, UInt64)
  package var (kept, same, entriesAhead): (UInt64, UInt64, UInt64)
  package var (removed, removedHere): (NamedPasskeys, NamedPasskeys)
  package var (keptImported, leftImported): (NamedPasskeys, NamedPasskeys)
  package var raisesEpoch: Bool
  package var largeBlobs: LargeBlobs
  /// Whether the backup has anything that the store lacks.
  package var backupHasMore: Bool
  /// Whether the backup is one that this store wrote last.
  package var isLastWritten: Bool

  package enum LargeBlobs: Equatable, Sendable {
    case none, taken, same
    /// The store's stay; so many are only in the backup, or 0 if that cannot be found out.
    case keptBack(UInt64)
    case invalid
  }

  /// The first passkeys of a list, and how many it has.
  package struct NamedPasskeys: Equatable, Sendable {
    package var names: [PasskeyName]
    package var count: UInt64

    package init(names: [PasskeyName], count: UInt64) { (self.names, self.count) = (names, count) }
  }

  /// The same without the names.
  ///
  /// A program that follows the folder of backups has no passphrase, and gets only counts.
  package var withoutNames: MergeResult {
    var result = self
    (result.removed.names, result.removedHere.names) = ([], [])
    (result.keptImported.names, result.leftImported.names) = ([], [])
    return result
  }
}

extension MergeResult.NamedPasskeys {
  fileprivate init(_ names: [PasskeyName]) {
    self.init(names: Array(names.prefix(MergeResult.maximumNames)), count: UInt64(names.count))
  }

  fileprivate init(_ value: [CBORValue], count: UInt64) throws(ControlFailure) {
    var names: [PasskeyName] = []
    for element in value {
      guard let pair = element.array, 1...2 ~= pair.count, let rpID = pair[0].text,
        pair.count == 1 || pair[1].text != nil
      else { throw ControlFailure(.unexpectedType, "a passkey is not a site and a name") }
      names.append(PasskeyName(rpID: rpID, name: pair.count == 1 ? nil : pair[1].text))
    }
    self.init(names: names, count: count)
  }

  fileprivate var value: CBORValue {
    .array(names.map { .array([.text($0.rpID)] + ($0.name.map { [.text($0)] } ?? [])) })
  }
}

extension MergeResult {
  package init(_ report: MergeReport) {
    (added, changed) = (UInt64(report.added), UInt64(report.changed))
    (removed, removedHere) = (NamedPasskeys(report.removed), NamedPasskeys(report.removedHere))
    noted = UInt64(report.noted)
    (kept, same) = (UInt64(report.kept), UInt64(report.same))
    entriesAhead = UInt64(report.entriesAhead)
    (keptImported, leftImported) = (NamedPasskeys(report.keptImported), NamedPasskeys(report.leftImported))
    (raisesEpoch, backupHasMore) = (report.raisesEpoch, report.backupHasMore)
    isLastWritten = report.isLastWritten
    largeBlobs =
      switch report.largeBlobs {
      case .none: .none
      case .taken: .taken
      case .same: .same
      case .keptBack(let entries): .keptBack(UInt64(entries))
      case .invalid: .invalid
      }
  }

  init(_ members: CBORMap) throws(ControlFailure) {
    let count = { (key: CBORValue) throws(ControlFailure) in try decoded(members.requiredUnsigned(key)) }
    (added, changed, noted) = (try count(1), try count(2), try count(4))
    removed = try NamedPasskeys(decoded(members.requiredArray(17)), count: count(3))
    removedHere = try NamedPasskeys(decoded(members.requiredArray(18)), count: count(19))
    (kept, same, entriesAhead) = (try count(5), try count(6), try count(11))
    keptImported = try NamedPasskeys(decoded(members.requiredArray(7)), count: count(8))
    leftImported = try NamedPasskeys(decoded(members.requiredArray(9)), count: count(10))
    raisesEpoch = try decoded(members.requiredBool(12))
    backupHasMore = try decoded(members.requiredBool(15))
    isLastWritten = try decoded(members.requiredBool(16))
    switch try count(13) {
    case 0: largeBlobs = .none
    case 1: largeBlobs = .taken
    case 2: largeBlobs = .same
    case 3: largeBlobs = .keptBack(try count(14))
    case 4: largeBlobs = .invalid
    case let number: throw ControlFailure(.invalidParameter, "no such result for large blobs: \(number)")
    }
  }

  var members: CBORMap {
    let (blobs, keptBack): (UInt64, UInt64) =
      switch largeBlobs {
      case .none: (0, 0)
      case .taken: (1, 0)
      case .same: (2, 0)
      case .keptBack(let entries): (3, entries)
      case .invalid: (4, 0)
      }
    return [
      1: .unsigned(added), 2: .unsigned(changed), 3: .unsigned(removed.count), 4: .unsigned(noted), 5: .unsigned(kept),
      6: .unsigned(same), 7: keptImported.value, 8: .unsigned(keptImported.count), 9: leftImported.value,
      10: .unsigned(leftImported.count), 11: .unsigned(entriesAhead), 12: .bool(raisesEpoch), 13: .unsigned(blobs),
      14: .unsigned(keptBack), 15: .bool(backupHasMore), 16: .bool(isLastWritten), 17: removed.value,
      18: removedHere.value, 19: .unsigned(removedHere.count),
    ]
  }
}

/// Makes digests of the store's entries, by which a backup is checked: {1: challenge (32), 2: after?}.
package struct DigestAccounts: ControlCommand, Equatable {
  package static let code: UInt8 = 0x72
  package var challenge: [UInt8]
  /// The answer's `next`; `nil` for the first page.
  package var after: [UInt8]?

  package init(challenge: [UInt8], after: [UInt8]? = nil) { (self.challenge, self.after) = (challenge, after) }

  package init(_ members: CBORMap) throws(ControlFailure) {
    challenge = try decoded(members.requiredBytes(1))
    after = try decoded(members.optionalBytes(2))
    guard challenge.count == StoreDigests.challengeSize, after.map({ $0.count == CredentialKeys.tagSize }) ?? true
    else {
      throw ControlFailure(.invalidLength, "a challenge and an account's tag have 32 bytes each")
    }
  }

  package var members: CBORMap {
    CBORMap(present: [1: .bytes(challenge), 2: after.map(CBORValue.bytes)])
  }

  /// {1: [[accountTag, counter, changed, digest, digest of the keys?, imported?, rp.id?, name?] …], 2: next?, 3: digest of the
  /// phrase, 4: [digest of a large blob …]}, digests as in Recovery §9.
  ///
  /// A tombstone has only the first four. The first page has all large blobs, and the others none.
  package struct Answer: ControlAnswer, Equatable {
    /// In the order of their tags.
    package var accounts: [AccountDigest]
    /// Where the next page starts; `nil` on the last one.
    package var next: [UInt8]?
    package var phrase: [UInt8]
    package var largeBlobs: [[UInt8]]

    /// Takes as many accounts as fit into one message, at least one.
    package init(of accounts: [AccountDigest], isLast: Bool, phrase: [UInt8], largeBlobs: [[UInt8]]) {
      (self.phrase, self.largeBlobs) = (phrase, largeBlobs)
      var size = 128 + largeBlobs.reduce(0) { $0 + $1.count + 1 }
      self.accounts = Array(
        accounts.prefix { account in
          size += CBOREncoder.encode(account.value).count
          return size <= ControlMessage.maximumSize
        })
      next = isLast && self.accounts.count == accounts.count ? nil : self.accounts.last?.accountTag
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      accounts = []
      for value in try decoded(members.requiredArray(1)) { accounts.append(try AccountDigest(value)) }
      next = try decoded(members.optionalBytes(2))
      phrase = try decoded(members.requiredBytes(3))
      largeBlobs = []
      for value in try decoded(members.requiredArray(4)) {
        guard let digest = value.bytes else { throw ControlFailure(.unexpectedType, "a digest is not bytes") }
        largeBlobs.append(digest)
      }
    }

    package var members: CBORMap {
      CBORMap(present: [
        1: .array(accounts.map(\.value)), 2: next.map(CBORValue.bytes), 3: .bytes(phrase),
        4: .array(largeBlobs.map(CBORValue.bytes)),
      ])
    }
  }
}

/// Records that a backup was written, or that a check found one complete: {1: event, 2: digest of the file
/// (16)?, 3: time}.
package struct RecordBackup: ControlCommand, Equatable {
  package static let code: UInt8 = 0x73

  package var event: BackupTimes.Event
  /// The digest of the file that was written.
  ///
  /// Without the passphrase, it must be the backup that this connection made last.
  package var file: [UInt8]?
  /// Unix milliseconds; for a backup, before the store was read.
  ///
  /// Without the passphrase it is ignored, and the authenticator stores its own time.
  package var time: UInt64

  package init(_ event: BackupTimes.Event, file: [UInt8]? = nil, at time: UInt64) {
    (self.event, self.file, self.time) = (event, file, time)
  }
  package init(_ members: CBORMap) throws(ControlFailure) {
    (file, time) = (try decoded(members.optionalBytes(2)), try decoded(members.requiredUnsigned(3)))
    guard file.map({ $0.count == BackupFile.digestSize }) ?? true else {
      throw ControlFailure(.invalidLength, "the digest of a backup has 16 bytes")
    }
    guard let event = BackupTimes.Event(rawValue: try members.requiredInteger(1, as: UInt8.self)) else {
      throw ControlFailure(.invalidParameter, "no such event of a backup")
    }
    self.event = event
  }

  package var members: CBORMap {
    CBORMap(present: [1: .unsigned(UInt64(event.rawValue)), 2: file.map(CBORValue.bytes), 3: .unsigned(time)])
  }
}

extension AccountDigest {
  fileprivate init(_ value: CBORValue) throws(ControlFailure) {
    guard let parts = value.array, [4, 7, 8].contains(parts.count), let tag = parts[0].bytes,
      let counter = parts[1].unsigned.flatMap({ UInt32(exactly: $0) }), let changed = parts[2].unsigned,
      let content = parts[3].bytes
    else { throw ControlFailure(.unexpectedType, "an account is not a tag and its digests") }
    var record: Record?
    if parts.count > 4 {
      let name = parts.count == 8 ? parts[7] : nil
      guard let keys = parts[4].bytes, let isImported = parts[5].bool, let rpID = parts[6].text,
        name.map({ $0.text != nil }) ?? true
      else { throw ControlFailure(.unexpectedType, "a passkey is not a digest, a site and a name") }
      record = Record(keys: keys, isImported: isImported, name: PasskeyName(rpID: rpID, name: name?.text))
    }
    self.init(accountTag: tag, counter: counter, changed: changed, content: content, record: record)
  }

  fileprivate var value: CBORValue {
    var parts: [CBORValue] = [.bytes(accountTag), .unsigned(UInt64(counter)), .unsigned(changed), .bytes(content)]
    if let record {
      parts += [.bytes(record.keys), .bool(record.isImported), .text(record.name.rpID)]
      if let name = record.name.name { parts.append(.text(name)) }
    }
    return .array(parts)
  }
}
