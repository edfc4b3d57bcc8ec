import CryptoPrimitives
import Synchronization

// MARK: - One account

extension AccountEntry {
  /// Whether this entry wins over another of the same account: the greater of (counter, changed, tombstone over record,
  /// plaintext bytes).
  public func outranks(_ other: AccountEntry) -> Bool {
    if counter != other.counter { return counter > other.counter }
    if changed != other.changed { return changed > other.changed }
    if isTombstone != other.isTombstone { return isTombstone }
    var (ours, theirs) = (plaintext, other.plaintext)
    defer {
      wipe(&ours)
      wipe(&theirs)
    }
    return theirs.lexicographicallyPrecedes(ours)
  }

  /// Whether this is an imported passkey, and `other` has another private key, or other CredRandoms, with the same id.
  ///
  /// A tombstone does not count: it removes the passkey.
  fileprivate func isLost(to other: AccountEntry) -> Bool {
    guard let record, !record.isDerivable, let other = other.record else { return false }
    return !record.hasSameSecrets(as: other)
  }
}

/// What a merge does with an entry of another machine (Recovery §9).
public enum AccountMerge: Sendable, Equatable {
  /// Both are equal.
  case same
  /// A passkey that is not here is added.
  case added
  /// The passkey of the account is replaced: another name, policy, id, key or counter.
  case changed
  /// The passkey of the account was removed elsewhere, and is removed here.
  case removed(PasskeyName)
  /// A removal is kept of an account that has no passkey here.
  case noted
  /// The entry here is newer, and stays.
  case kept
  /// The entry here is an imported passkey, and stays: the other one, which is newer, has another key with the same id.
  case keptImported(PasskeyName)
  /// The entry here is an imported passkey, and stays: the other one, which is older, has another key with the same id.
  case leftImported(PasskeyName)
  /// The entry here is a removal, and stays: the other one, which is older, has the passkey.
  case removedHere(PasskeyName)

  /// Compares an entry of another machine with that of the same account in the store, if there is one.
  public init(of theirs: AccountEntry, into ours: AccountEntry?) {
    switch ours {
    case nil: self = theirs.isTombstone ? .noted : .added
    case theirs?: self = .same
    case let ours? where theirs.outranks(ours):
      if let record = ours.record {
        let name = PasskeyName(record)
        self = ours.isLost(to: theirs) ? .keptImported(name) : theirs.isTombstone ? .removed(name) : .changed
      } else {
        self = theirs.isTombstone ? .noted : .added
      }
    case let ours?:
      guard let record = theirs.record else {
        self = .kept
        return
      }
      let name = PasskeyName(record)
      self = theirs.isLost(to: ours) ? .leftImported(name) : ours.isTombstone ? .removedHere(name) : .kept
    }
  }

  /// Whether the entry of the other machine is written.
  public var isWritten: Bool {
    switch self {
    case .added, .changed, .removed, .noted: true
    case .same, .kept, .keptImported, .leftImported, .removedHere: false
    }
  }
}

/// The name of a passkey in a report.
public struct PasskeyName: Sendable, Equatable {
  /// At most 253 bytes; a longer rp.id is cut off.
  public let rpID: String
  /// user.name, or user.displayName if there is none; at most 64 bytes, a longer one is cut off.
  public let name: String?

  /// Cuts off what is too long.
  public init(rpID: String, name: String?) {
    self.rpID = rpID.truncated(toUTF8Count: 253)
    self.name = name?.truncated(toUTF8Count: 64)
  }

  init(_ record: CredentialSource) { self.init(rpID: record.rpID, name: record.name ?? record.displayName) }
}

/// An entry of another machine that is to be merged.
public struct MergedAccount: Sendable {
  public let accountTag: [UInt8]
  public let entry: AccountEntry
  /// That of a record; `nil` for a tombstone.
  public let publicKey: CredentialPublicKey?

  /// Derives the public key of a record, which takes most of the time of a merge.
  init(_ account: StoredAccount, keys: CredentialKeys) throws(CryptoError) {
    accountTag = account.accountTag
    entry = account.entry
    if let record = entry.record { publicKey = try keys.privateKey(of: record).publicKey } else { publicKey = nil }
  }
}

// MARK: - The report

/// What a merge did, or would do; counts of entries.
public struct MergeReport: Sendable, Equatable {
  /// Passkeys that were not here.
  public internal(set) var added = 0
  /// Passkeys that have another name, policy, id, key or counter now.
  public internal(set) var changed = 0
  /// Passkeys that were here, and that another machine removed.
  public internal(set) var removed: [PasskeyName] = []
  /// Removals of passkeys that are not here.
  public internal(set) var noted = 0
  /// Entries that were not taken, because those here are newer; and those of `keptImported`, `leftImported` and
  /// `removedHere`.
  public internal(set) var kept = 0
  /// Equal entries.
  public internal(set) var same = 0
  /// Imported passkeys that are here: the backup has a newer entry with the same id and another key.
  public internal(set) var keptImported: [PasskeyName] = []
  /// Imported passkeys whose key is only in the backup: the store has another key with the same id.
  public internal(set) var leftImported: [PasskeyName] = []
  /// Passkeys of the backup that were removed later, here or on another machine.
  public internal(set) var removedHere: [PasskeyName] = []
  /// Entries that were changed more than a day after the present time, by a clock that was wrong.
  public internal(set) var entriesAhead = 0
  /// Whether the epoch becomes higher.
  public internal(set) var raisesEpoch = false
  /// What becomes of the large-blob array.
  public internal(set) var largeBlobs = LargeBlobsMerge.none

  /// Whether the backup is one that this store wrote last, for the owner or in the followed folder: then everything that
  /// only the backup has was changed or removed here since.
  public internal(set) var isLastWritten = false

  /// Whether records or tombstones change.
  public var changesRows: Bool { added + changed + removed.count + noted > 0 }
  /// Whether anything in the store changes.
  public var changesStore: Bool { changesRows || raisesEpoch || largeBlobs == .taken }
  /// Whether the backup has anything that the store lacks: then no other backup may take its place.
  public var backupHasMore: Bool {
    switch largeBlobs {
    case .keptBack, .invalid: true
    case .none, .taken, .same: changesStore || !keptImported.isEmpty || !leftImported.isEmpty
    }
  }

  fileprivate mutating func add(_ merge: AccountMerge, of entry: AccountEntry) {
    switch merge {
    case .same: same += 1
    case .added: added += 1
    case .changed: changed += 1
    case .removed(let name): removed.append(name)
    case .noted: noted += 1
    case .kept: kept += 1
    case .keptImported(let name):
      kept += 1
      keptImported.append(name)
      if let record = entry.record, !record.isDerivable { leftImported.append(PasskeyName(record)) }
    case .leftImported(let name):
      kept += 1
      leftImported.append(name)
    case .removedHere(let name):
      kept += 1
      removedHere.append(name)
    }
  }
}

// MARK: - The merge

/// Merges a backup into a store in steps, so that ceremonies can come between them (Recovery §9).
///
/// Call ``readPage()`` and ``comparePage(with:)`` until everything is compared; this changes nothing. Then call
/// ``prepareBatch()`` and ``writeBatch(to:)`` until everything is written. Only the functions with a store need their turn
/// on it. A merge that stops between two batches, or fails, is completed by a repetition.
public final class BackupMerge: Sendable {
  /// The entries of a backup that are compared at once.
  public static let pageSize = 500
  /// The most entries that one transaction writes: sign-ins wait for it.
  public static let batchSize = 500
  /// The most secrets of imported passkeys in a page or a transaction: each takes a page of locked memory.
  static let importedSecrets = 100
  /// The entries of a store that are read at once; all can be imported passkeys, with two secrets each.
  public static let storePageSize = importedSecrets / 2
  /// A time of change is reported if it is more than this ahead, in milliseconds: one day.
  static let toleratedLead: UInt64 = 86_400_000

  /// What to say after an error in the middle of a merge.
  public static let isPartial = "part of the backup was merged; to merge the rest, run the command again"

  private struct Progress {
    var page: [StoredAccount]?
    /// The number of entries that were read.
    var read = 0
    var preview = MergeReport()
    /// The entries to write: their places in the backup, and the times at which their passkeys were made; for removals,
    /// the last time there is.
    var winners: [(created: UInt64, index: Int)] = []
    var batch: [MergedAccount]?
    /// The number of winners that were written.
    var written = 0
    var report: MergeReport?
  }

  private let backup: BackupReader
  private let latest: UInt64
  private let keepsDeletedBlobs: Bool
  private let progress = Mutex(Progress())

  /// - Parameters:
  ///   - now: Unix milliseconds.
  ///   - keepsDeletedBlobs: whether a store whose large blobs were deleted takes none from the backup, because a merge
  ///     without a request of the owner must not undo a deletion.
  public init(_ backup: BackupReader, now: UInt64, keepsDeletedBlobs: Bool = false) {
    self.backup = backup
    self.keepsDeletedBlobs = keepsDeletedBlobs
    latest = now.addingReportingOverflow(Self.toleratedLead).overflow ? .max : now + Self.toleratedLead
  }

  /// What the merge would do, by the entries that were compared.
  public var preview: MergeReport { progress.withLock { $0.preview } }

  /// What the merge did so far.
  public var report: MergeReport { progress.withLock { $0.report ?? $0.preview.unwritten } }

  /// Reads and checks the next entries of the backup.
  ///
  /// - Returns: whether there is a page to compare; the first one has no entries if the backup has none.
  /// - Throws: as ``BackupReader/account(at:)``.
  public func readPage() throws(RecoveryError) -> Bool {
    try progress.withLock { progress throws(RecoveryError) in
      guard progress.read < backup.count || progress.page == nil else { return false }
      var (page, imported): ([StoredAccount], Int) = ([], 0)
      for index in progress.read..<min(progress.read + Self.pageSize, backup.count)
      where imported < Self.importedSecrets {
        let account = try backup.account(at: index)
        page.append(account)
        imported += account.entry.record?.secretCount ?? 0
      }
      progress.page = page
      return true
    }
  }

  /// Compares the page with the store.
  public func comparePage(with store: any CredentialStore) throws(RecoveryError) {
    try progress.withLock { progress throws(RecoveryError) in
      guard let page = progress.page else { return }
      var merges: [AccountMerge] = []
      for account in page {
        merges.append(AccountMerge(of: account.entry, into: try store.entry(accountTag: account.accountTag)))
      }
      if progress.read == 0 {
        let state = try store.state()
        progress.preview.raisesEpoch = backup.epoch > state.epoch
        progress.preview.isLastWritten = state.backup.isLastWritten(backup.digest)
        progress.preview.largeBlobs = LargeBlobsMerge(
          of: backup.largeBlobArray, into: try store.largeBlobArray(), keepsDeletion: keepsDeletedBlobs)
      }
      for (merge, account) in zip(merges, page) {
        progress.preview.add(merge, of: account.entry)
        if account.entry.changed > latest { progress.preview.entriesAhead += 1 }
        if merge.isWritten { progress.winners.append((account.entry.record?.created ?? .max, progress.read)) }
        progress.read += 1
      }
      progress.page = []
    }
  }

  /// Derives the public keys of the next batch, after everything was compared.
  ///
  /// - Returns: whether there is a batch to write.
  public func prepareBatch() throws(RecoveryError) -> Bool {
    try progress.withLock { progress throws(RecoveryError) in
      precondition(progress.page != nil && progress.read == backup.count, "the backup was not compared")
      if progress.report == nil {
        guard progress.preview.changesStore else { return false }
        // Passkeys in the order in which they were made: lists show the newest first. Then removals: each transaction
        // forgets the pairings of a site without a passkey, and another passkey of the site may come with this backup.
        progress.winners.sort { ($0.created, $0.index) < ($1.created, $1.index) }
        progress.report = progress.preview.unwritten
      } else if progress.written == progress.winners.count {
        return false
      }
      var (batch, imported): ([MergedAccount], Int) = ([], 0)
      for (_, index) in progress.winners[progress.written...].prefix(Self.batchSize)
      where imported < Self.importedSecrets {
        let account = try backup.account(at: index)
        imported += account.entry.record?.secretCount ?? 0
        do throws(CryptoError) {
          batch.append(try MergedAccount(account, keys: backup.keys))
        } catch {
          throw .malformed("entry \(index + 1) of \(backup.count): a private key that cannot be used: \(error)")
        }
      }
      progress.batch = batch
      return true
    }
  }

  /// Writes the batch in one transaction; the epoch and the large-blob array with the first batch.
  public func writeBatch(to store: any CredentialStore) throws(RecoveryError) {
    try progress.withLock { progress throws(RecoveryError) in
      guard let batch = progress.batch, var report = progress.report else { return }
      let epoch = try store.state().epoch
      let isFirst = progress.written == 0
      // The large blobs are compared again too: they can have been deleted since.
      let merged = try store.merge(
        batch, epoch: isFirst ? backup.epoch : 0, largeBlobArray: isFirst ? backup.largeBlobArray : nil,
        keepsDeletion: keepsDeletedBlobs)
      for (merge, account) in zip(merged.accounts, batch) { report.add(merge, of: account.entry) }
      if isFirst { (report.raisesEpoch, report.largeBlobs) = (backup.epoch > epoch, merged.largeBlobs) }
      progress.report = report
      progress.written += batch.count
      progress.batch = nil
    }
  }

  /// Compares everything with a store that nothing else uses meanwhile; changes nothing.
  public func compare(with store: any CredentialStore) throws(RecoveryError) -> MergeReport {
    while try readPage() { try comparePage(with: store) }
    return preview
  }

  /// Merges everything into a store that nothing else uses meanwhile.
  public func run(on store: any CredentialStore) throws(RecoveryError) -> MergeReport {
    _ = try compare(with: store)
    while try prepareBatch() { try writeBatch(to: store) }
    return report
  }
}

extension MergeReport {
  /// The same before anything is written.
  fileprivate var unwritten: MergeReport {
    var report = self
    (report.added, report.changed, report.removed, report.noted, report.raisesEpoch) = (0, 0, [], 0, false)
    if report.largeBlobs == .taken { report.largeBlobs = .none }
    return report
  }
}
