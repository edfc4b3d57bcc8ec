import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import Recovery
import Synchronization

/// The owner's commands for backups.
///
/// They take many short turns with the ceremonies: each account merges independently of the others (Recovery §9), so a
/// sign-in may come between two pages.
enum BackupHandlers {
  static let all: [any ServedCommand.Type] = [
    ReadBackup.self, MergeBackup.self, DigestAccounts.self, RecordBackup.self, ImportPasskeys.self,
  ]
}

/// What a connection reads or sends in parts: a backup, a list of passkeys, an export, or keys of the previous phrase.
enum BackupTransfer {
  /// A backup that was made, with the numbers of passkeys and removals in it.
  case reading(file: [UInt8], passkeys: UInt64, removals: UInt64)
  /// The fragments that were received.
  case writing(file: ReceivedBytes, size: Int, purpose: Purpose)
  /// The passkeys to whose export the user agreed, and the place of the first one of the next page.
  case exporting(PasskeyExport, next: Int)
  /// The keys of the previous phrase, its fingerprint, and why keys can be missing.
  case listing([RotationEntry], fingerprint: [UInt8], historyFault: String?)

  enum Purpose: Equatable {
    case merge, comparison, importing

    /// The most bytes that are received.
    var maximumSize: Int { self == .importing ? PasskeyList.maximumSize : BackupFile.maximumSize }
  }

  /// Overwrites what was received, which can be private keys.
  ///
  /// No fragment can follow.
  func wipeContent() { if case .writing(let file, _, _) = self { file.end() } }
}

/// The part of a file that a connection has sent; it can be private keys, so it is overwritten at its end.
final class ReceivedBytes: Sendable {
  /// `nil` after the end.
  private let content = Mutex<[UInt8]?>([])

  deinit { end() }

  var count: Int { content.withLock { $0?.count ?? 0 } }

  /// Lets `append` add bytes to the file of `size` bytes; adds nothing after the end.
  ///
  /// With the whole capacity, the buffer does not move, so that no copy of a private key stays.
  func add(ofSize size: Int, _ append: (inout [UInt8]) -> Void) {
    content.withLock { content in
      guard var bytes = content else { return }
      // Then `bytes` is the only reference.
      content = nil
      if bytes.isEmpty { bytes.reserveCapacity(size) }
      append(&bytes)
      content = bytes
    }
  }

  /// Returns the bytes, which the caller overwrites; ends it.
  func take() -> [UInt8] { content.withLock { $0.take() } ?? [] }

  /// Overwrites the bytes, on any thread.
  func end() {
    content.withLock { content in
      guard var bytes = content.take() else { return }
      wipe(&bytes)
    }
  }
}

/// A backup that was made without the passphrase.
struct FollowedBackup {
  /// ``BackupFile/digest(of:)``.
  let digest: [UInt8]
  /// When the store was read, Unix milliseconds.
  let time: UInt64
  /// The floor of the store, which a reset changes.
  let floor: UInt16
}

extension ReadBackup: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    if offset == 0 {
      session.dropTransfer()
      session.transfer = try await session.makeBackup()
    }
    guard session.mayUseBackups else { throw ControlSession.passphraseRequired }
    guard case .reading(let file, let passkeys, let removals) = session.transfer, let start = Int(exactly: offset),
      start < file.count
    else { throw ControlFailure(.invalidParameter, "no backup is being read at this offset; begin at 0") }
    let end = min(start + BackupFragment.maximumSize, file.count)
    if end == file.count { session.transfer = nil }
    return Answer(
      fragment: Array(file[start..<end]), size: UInt64(file.count), passkeys: passkeys, removals: removals)
  }
}

extension MergeBackup: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    guard session.mayUseBackups else { throw ControlSession.passphraseRequired }
    let purpose = onlyCompares ? BackupTransfer.Purpose.comparison : .merge
    let received = try session.receive(fragment.count, at: offset, of: size, for: purpose) { $0 += fragment }
    guard let file = received else { return Answer(result: nil) }
    let result = MergeResult(try await session.merge(file, onlyCompares: onlyCompares))
    return Answer(result: session.isVerified ? result : result.withoutNames)
  }
}

extension ImportPasskeys: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    Answer(outcomes: try await session.importPasskeys(self))
  }
}

extension DigestAccounts: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    let after = after
    let (page, largeBlobs, keys) = try await session.asOwner(changes: false) { owner in
      let store = owner.vault.store
      return (
        try store.entries(after: after, count: BackupMerge.storePageSize),
        after == nil ? try store.largeBlobArray() : nil, owner.vault.keys
      )
    }
    let digests = StoreDigests(keys: keys, challenge: challenge)
    // Derives the keys of a page, which takes longer than the queue may wait.
    let accounts = try await ControlSession.work { () throws(RecoveryError) in
      try page.map { (account) throws(RecoveryError) in try digests.digest(of: account) }
    }
    return Answer(
      of: accounts, isLast: page.count < BackupMerge.storePageSize, phrase: digests.ofPhrase,
      largeBlobs: digests.digests(ofLargeBlobs: largeBlobs))
  }
}

extension RecordBackup: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    guard event == .written, !session.isVerified else {
      let (event, file, time) = (event, file, time)
      return try await session.asOwner(changes: false) { owner in
        Done(try owner.vault.store.record(event, file: file, at: time))
      }
    }
    // The digest and the time of a program without the passphrase are not used. But only this program says that it wrote the
    // file, so the dialog of a reset does not show this time.
    guard session.follows else { throw ControlSession.passphraseRequired }
    guard let made = session.followed, made.digest == file else {
      throw ControlFailure(.invalidParameter, "this is not the backup that this connection made last")
    }
    return try await session.turn(since: made.floor) { owner in
      Done(try owner.vault.store.recordOwnFile(made.digest, at: made.time))
    }
  }
}

extension ControlSession {
  /// Whether the passphrase was given on this connection, or the connection follows the store's folder.
  fileprivate var mayUseBackups: Bool { isVerified || follows }

  /// Makes a backup, a page of entries in each turn; for a follower, equal stores give equal bytes.
  fileprivate func makeBackup() async throws -> BackupTransfer {
    followed = nil
    let (floor, time) = try await asAllowed(changes: false) { owner in
      (try owner.vault.store.state().floor, owner.now)
    }
    let writer = BackupWriter()
    var last: [UInt8]?
    while true {
      let page = try await turn(since: floor) { [last] owner in
        try owner.vault.store.entries(after: last, count: BackupMerge.storePageSize)
      }
      guard !page.isEmpty else { break }
      try writer.append(page)
      last = page.last?.accountTag
    }
    // The backup of a follower has no entry in the history, because a follower makes one after each change.
    let isOwner = isVerified
    let (epoch, largeBlobs, keys) = try await turn(since: floor, recordedAs: isOwner ? .makeBackup : nil) { owner in
      (try owner.vault.store.state().epoch, try owner.vault.store.largeBlobArray(), owner.vault.keys)
    }
    let (passkeys, removals) = (UInt64(writer.passkeys), UInt64(writer.removals))
    let (file, digest) = try await Self.work { () throws(RecoveryError) in
      let file = try writer.file(
        epoch: epoch, largeBlobArray: largeBlobs, keys: keys, nonce: isOwner ? randomBytes(24) : nil)
      return (file, isOwner ? nil : BackupFile.digest(of: file))
    }
    followed = digest.map { FollowedBackup(digest: $0, time: time, floor: floor) }
    return .reading(file: file, passkeys: passkeys, removals: removals)
  }

  /// Adds a fragment to the backup, or the list of passkeys, that the connection sends.
  ///
  /// - Parameters:
  ///   - count: the number of bytes of the fragment.
  ///   - append: appends the bytes to the file.
  /// - Returns: the file, after its last fragment.
  fileprivate func receive(
    _ count: Int, at offset: UInt64, of size: UInt64, for purpose: BackupTransfer.Purpose,
    append: (inout [UInt8]) -> Void
  ) throws(ControlFailure) -> [UInt8]? {
    guard let size = Int(exactly: size), 1...purpose.maximumSize ~= size else {
      let limit = purpose.maximumSize >> 20
      throw ControlFailure(
        .invalidLength, "a \(purpose == .importing ? "list of passkeys" : "backup") has 1 byte to \(limit) MiB")
    }
    var (file, expected, received) = (ReceivedBytes(), size, purpose)
    if offset > 0, case .writing(let part, let size, let purpose) = transfer {
      (file, expected, received) = (part, size, purpose)
      transfer = nil
    }
    dropTransfer()
    let start = file.count
    guard offset == UInt64(start), size == expected, received == purpose, 1...max(size - start, 1) ~= count else {
      file.end()
      throw ControlFailure(.invalidParameter, "the fragment does not follow the one before; begin at 0")
    }
    file.add(ofSize: size, append)
    guard start + count < size else { return file.take() }
    transfer = .writing(file: file, size: size, purpose: purpose)
    return nil
  }

  /// Takes a fragment of a list of passkeys.
  ///
  /// After the last one, imports the list in one turn and one transaction.
  ///
  /// - Returns: `nil` if more fragments must follow.
  fileprivate func importPasskeys(_ command: ImportPasskeys) async throws -> [PasskeyImportOutcome]? {
    guard let verified else { throw Self.passphraseRequired }
    guard !verified.hasEnded else {
      dropTransfer()
      throw ControlFailure(.passphraseRequired, "the vault is locked; the passphrase is needed again")
    }
    let fragment = command.fragment
    let append = { (file: inout [UInt8]) in fragment.withUnsafeBytes { file.append(contentsOf: $0) } }
    guard
      var content = try receive(
        fragment.count, at: command.offset, of: command.size, for: .importing, append: append)
    else {
      // A lock wipes what was received, even if another connection or the authenticator locks.
      if command.offset == 0, case .writing(let file, _, _) = transfer { verified.atEnd { [weak file] in file?.end() } }
      return nil
    }
    // Only one reference to the bytes, here or in `passkeys`, so that the bytes are wiped and not a copy.
    let list = Mutex<[UInt8]>([])
    list.withLock { swap(&$0, &content) }
    defer { list.withLock { wipe(&$0) } }
    let keys = try await asOwner(changes: false) { owner in owner.vault.keys }
    let passkeys = try await Self.workOnFile { () throws(RecoveryError) in
      let take = { (list: inout [UInt8]) -> [UInt8] in
        defer { list = [] }
        return list
      }
      return try PasskeyImport(list: list.withLock { take(&$0) }, keys: keys)
    }
    return try await asOwner { owner in
      try owner.authenticator.reportingChange(
        .importPasskeys, of: nil, in: owner.vault, if: { $0.contains(.added) },
        {
          try passkeys.run(
            on: owner.vault.store, keys: keys, now: owner.now, limit: owner.vault.maximumDiscoverableCredentials)
        })
    }
  }

  /// Merges a backup, a page or a transaction in each turn.
  fileprivate func merge(_ file: [UInt8], onlyCompares: Bool) async throws -> MergeReport {
    let floor = try await currentFloor()
    let (keys, previous, now) = try await turn(since: floor) { owner in
      (owner.vault.keys, owner.vault.previous?.keys.fingerprint, owner.now)
    }
    let isOwner = isVerified
    let merge = try await Self.workOnFile { () throws(RecoveryError) in
      BackupMerge(try BackupReader(file: file, keys: keys, previous: previous), now: now, keepsDeletedBlobs: !isOwner)
    }
    while try await Self.workOnFile(merge.readPage) {
      try await turn(since: floor) { owner in try merge.comparePage(with: owner.vault.store) }
    }
    guard !onlyCompares, merge.preview.changesStore else { return merge.preview }
    do {
      var isFirst = true
      while try await Self.work(merge.prepareBatch) {
        try await turn(since: floor, recordedAs: isFirst ? .mergeBackup : nil, changes: true) { [isFirst] owner in
          try merge.writeBatch(to: owner.vault.store)
          if isFirst, merge.report.largeBlobs == .taken { owner.authenticator.forgetLargeBlobWrite() }
        }
        isFirst = false
      }
    } catch  where merge.report.changesStore {
      let failure = ControlFailure(error)
      throw ControlFailure(failure.status, "\(failure.description); \(BackupMerge.isPartial)")
    }
    return merge.report
  }

  /// Runs a turn for the owner, or for a follower.
  private func asAllowed<Answer: Sendable>(
    recordedAs kind: HistoryEntry.Kind? = nil, changes: Bool, _ work: @escaping @Sendable (inout Owner) throws -> Answer
  ) async throws -> Answer {
    guard isVerified else { return try await asFollower(recordedAs: kind, changes: changes, work) }
    return try await asOwner(recordedAs: kind, changes: changes, work)
  }

  /// The floor of the store (Recovery §7), which a reset changes.
  private func currentFloor() async throws -> UInt16 {
    try await asAllowed(changes: false) { owner in try owner.vault.store.state().floor }
  }

  /// Runs a part of a backup or a merge in its turn, if no reset came between.
  fileprivate func turn<Answer: Sendable>(
    since floor: UInt16, recordedAs kind: HistoryEntry.Kind? = nil, changes: Bool = false,
    _ work: @escaping @Sendable (inout Owner) throws -> Answer
  ) async throws -> Answer {
    try await asAllowed(recordedAs: kind, changes: changes) { owner in
      guard try owner.vault.store.state().floor == floor else {
        throw ControlFailure(
          .notAllowed, "a reset or its undoing changed the store while the command ran; run it again")
      }
      return try work(&owner)
    }
  }

  /// Runs work on a file; its errors have a status of their own.
  private static func workOnFile<Answer: Sendable>(
    _ body: @escaping @Sendable () throws(RecoveryError) -> Answer
  ) async throws(ControlFailure) -> Answer {
    do throws(RecoveryError) { return try await work(body) } catch {
      throw ControlFailure(.invalidParameter, Problem(error))
    }
  }

  /// Runs work that takes longer than the loop may wait.
  static func work<Answer: Sendable>(
    _ body: @escaping @Sendable () throws(RecoveryError) -> Answer
  ) async throws(RecoveryError) -> Answer {
    try await OwnThread.run { Result { () throws(RecoveryError) in try body() } }.get()
  }
}
