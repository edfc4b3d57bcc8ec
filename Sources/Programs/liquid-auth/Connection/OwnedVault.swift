import ControlClient
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import ProcessIO
import Recovery
import StateDirectory
import Vault

extension PlaceOptions {
  /// The slots of the vault, which are read without a passphrase.
  func slots() throws(CommandFailure) -> [VaultSlot] {
    let path = try statePath()
    return try rethrowing { () throws(StateDirectoryError) in try StateDirectory(opening: path).slots() }
  }
}

/// A vault whose passphrase the user has typed: its slots can be changed, and its store saved and merged, by the
/// authenticator that works on its directory, or here if none runs.
enum OwnedVault {
  case there(ControlConnection, passphrase: SecretBytes)
  case here(StateDirectory, DirectoryLock, UnlockedVault, passphrase: SecretBytes)

  /// Asks for the passphrase.
  ///
  /// - Parameter next: as in ``PassphraseInput/tried(thenReading:_:)``.
  init(
    at place: PlaceOptions, thenReading next: (SecretBytes) throws(CommandFailure) -> Void = { _ in }
  ) throws(CommandFailure) {
    if let connection = try place.connectIfRunning() {
      self = .there(connection, passphrase: try connection.unlock(thenReading: next))
    } else {
      let path = try place.statePath()
      let directory = try rethrowing { () throws(StateDirectoryError) in try StateDirectory(opening: path) }
      let lock = try Self.lock(directory)
      self = try PassphraseInput.tried(thenReading: next) { (passphrase) throws(CommandFailure) in
        let unlocked = try rethrowing { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
        return .here(directory, lock, unlocked, passphrase: passphrase)
      }
    }
  }

  /// Locks the directory; an authenticator that uses it was found before, so another command does.
  private static func lock(_ directory: StateDirectory) throws(CommandFailure) -> DirectoryLock {
    do { return try directory.lock() } catch {
      guard case .inUse(let process) = error.kind else { throw CommandFailure(error) }
      throw CommandFailure(
        "\(process > 0 ? "process \(process)" : "another program") uses \(directory.path)",
        hint: "if it is another liquid-auth, run the command again when it has ended; for details, run:",
        run: ["liquid-auth", "doctor"])
    }
  }

  /// The passphrase that the user has typed.
  var passphrase: SecretBytes {
    switch self {
    case .there(_, let passphrase), .here(_, _, _, let passphrase): passphrase
    }
  }

  /// The directory of the vault and the store.
  func stateDirectory() throws(CommandFailure) -> StateDirectory {
    switch self {
    case .there(let connection, _):
      let path = try connection.ask(GetStatus()).stateDirectory
      return try rethrowing { () throws(StateDirectoryError) in try StateDirectory(opening: path) }
    case .here(let directory, _, _, _): return directory
    }
  }

  /// The keys of the vault, with which this process opens and seals a backup.
  ///
  /// If the authenticator runs, this unlocks the vault once more.
  func keys() throws(CommandFailure) -> CredentialKeys {
    if case .here(_, _, let unlocked, _) = self { return CredentialKeys(mainKey: unlocked.content.mainKey) }
    let (directory, passphrase) = (try stateDirectory(), passphrase)
    let unlocked = try rethrowing { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
    return CredentialKeys(mainKey: unlocked.content.mainKey)
  }

  /// The fingerprint of the present phrase, 4 bytes; during a move to a new one (Recovery §14), also of the previous one.
  typealias Fingerprints = (present: [UInt8], previous: [UInt8]?)

  func fingerprints() throws(CommandFailure) -> Fingerprints {
    switch self {
    case .there(let connection, _):
      let vault = try connection.ask(GetStatus()).vault
      guard let present = vault.fingerprint else { throw CommandFailure("the vault was locked meanwhile") }
      return (present, vault.previousFingerprint)
    case .here(_, _, let unlocked, _):
      let fingerprint = { (content: VaultContent) in CredentialKeys(mainKey: content.mainKey).fingerprint }
      return (fingerprint(unlocked.content), unlocked.content.previous.map(fingerprint))
    }
  }

  func seal(for protector: VaultSlot.Protector, key: SecretBytes) throws(CommandFailure) {
    switch self {
    case .there(let connection, _):
      try change(by: connection, SealSlot(key: key, protector: protector.members)) { slots in
        slots.contains { $0.protector == protector }
      }
    case .here(let directory, _, let unlocked, _):
      let (changed, _) = try rethrowing { () throws(StateDirectoryError) in try directory.sealSlots(of: unlocked) }
      for (number, slot) in changed {
        StandardStream.error.write("liquid-auth: \(StateDirectory.noLongerAtStart(number, slot))")
      }
      try change(recordedAs: protector.isPassphrase ? .changePassphrase : .addSlot) { (file) throws(VaultError) in
        var generator = SystemRandomNumberGenerator()
        try file.seal(unlocked, for: protector, key: key, using: &generator)
      }
    }
  }

  func removeSlot(_ id: [UInt8]) throws(CommandFailure) {
    switch self {
    case .there(let connection, _):
      try change(by: connection, RemoveSlot(id: id)) { slots in !slots.contains { $0.id == id } }
    case .here: try change(recordedAs: .removeSlot) { (file) throws(VaultError) in try file.removeSlot(id) }
    }
  }

  /// Lets the authenticator change the slots; if it ends before it answers, the vault's file says whether it has.
  private func change<Command: ControlCommand>(
    by connection: ControlConnection, _ command: Command, isDone: ([VaultSlot]) -> Bool
  ) throws(CommandFailure) {
    let directory = try stateDirectory()
    do throws(ControlClientError) {
      _ = try connection.request(command)
    } catch {
      guard case .failed(let problem) = error, let slots = try? directory.slots(), isDone(slots) else {
        throw CommandFailure(error)
      }
      StandardStream.error.write("liquid-auth: the change is done, but \(problem.text.printable)")
    }
  }

  private func change(
    recordedAs kind: HistoryEntry.Kind, _ change: (inout VaultFile) throws(VaultError) -> Void
  ) throws(CommandFailure) {
    guard case .here(let directory, let lock, let unlocked, _) = self else { return }
    defer { withExtendedLifetime(lock) {} }
    Self.warn(try rethrowing { () throws(StateDirectoryError) in try directory.changeSlots(change) }.warning)
    // The change is done, and a store that does not open must not prevent it.
    Self.record(kind) {
      try directory.openStore(of: unlocked.content, keys: CredentialKeys(mainKey: unlocked.content.mainKey))
    }
  }

  /// Says that a power failure can undo a change that is done.
  static func warn(_ warning: ChangeWarning?) {
    if let warning { StandardStream.error.write("liquid-auth: \(warning.description.printable)") }
  }

  /// Adds an entry to the history; a failure is only a warning.
  static func record(_ kind: HistoryEntry.Kind, in store: () throws -> CredentialDB) {
    let entry = HistoryEntry(
      time: unixMilliseconds(), site: nil, kind: kind, outcome: .done, verification: .passphrase)
    do { try store().append(entry) } catch {
      StandardStream.error.write("liquid-auth: the change is not in the history: \("\(error)".printable)")
    }
  }
}

// MARK: - Backups

extension OwnedVault {
  /// A backup file, and the numbers of passkeys and removals in it.
  typealias MadeBackup = (file: [UInt8], passkeys: Int, removals: Int)

  /// Makes a backup of the store (Recovery §9).
  func makeBackup() throws(CommandFailure) -> MadeBackup {
    switch self {
    case .there(let connection, _):
      do { return try connection.backup() } catch { throw CommandFailure(error) }
    case .here:
      return try inStore { (store, keys) throws(CommandFailure) in
        let made = try attempt { () throws(RecoveryError) in
          try BackupWriter.file(of: store, keys: keys, nonce: randomBytes(24))
        }
        Self.record(.makeBackup) { store }
        return made
      }
    }
  }

  /// Merges a backup into the store, or only compares it (Recovery §9).
  ///
  /// - Parameter fault: the failure for a file that cannot be merged, with this problem.
  func merge(
    _ file: [UInt8], onlyCompares: Bool, fault: (Problem) -> CommandFailure
  ) throws(CommandFailure) -> MergeResult {
    switch self {
    case .there(let connection, _):
      do throws(ControlClientError) { return try connection.merge(file, onlyCompares: onlyCompares) } catch {
        if case .refused(let failure) = error, failure.status == .invalidParameter { throw fault(failure.problem) }
        throw CommandFailure(error)
      }
    case .here:
      let previous = try fingerprints().previous
      return try inStore { (store, keys) throws(CommandFailure) in
        let merge = try attempt(orThrow: { fault(Problem($0)) }) { () throws(RecoveryError) in
          BackupMerge(try BackupReader(file: file, keys: keys, previous: previous), now: unixMilliseconds())
        }
        while try attempt(orThrow: { fault(Problem($0)) }, merge.readPage) {
          try attempt { () throws(RecoveryError) in try merge.comparePage(with: store) }
        }
        guard !onlyCompares, merge.preview.changesStore else { return MergeResult(merge.preview) }
        var isRecorded = false
        while try attempt(orThrow: Self.partial(merge), merge.prepareBatch) {
          try attempt(orThrow: Self.partial(merge)) { () throws(RecoveryError) in try merge.writeBatch(to: store) }
          if !isRecorded { Self.record(.mergeBackup) { store } }
          isRecorded = true
        }
        return MergeResult(merge.report)
      }
    }
  }

  /// Imports passkeys with their private keys, all in one transaction.
  ///
  /// - Parameters:
  ///   - passkeys: at least one.
  ///   - fault: makes the failure for a list that cannot be imported, from the reason.
  /// - Returns: the outcome for each passkey, in the order of the list.
  func importPasskeys(
    _ passkeys: PasskeyList, fault: (String) -> CommandFailure
  ) throws(CommandFailure) -> [PasskeyImportOutcome] {
    var list = passkeys.encoded
    defer { wipe(&list) }
    switch self {
    case .there(let connection, _):
      var offset = 0
      while true {
        let end = min(offset + BackupFragment.maximumSize, list.count)
        let answer: ImportPasskeys.Answer
        do throws(ControlClientError) {
          answer = try connection.request(
            ImportPasskeys(
              offset: UInt64(offset), size: UInt64(list.count),
              fragment: list[offset..<end].withUnsafeBytes { SecretBytes(copying: $0) }))
        } catch {
          if case .refused(let failure) = error, failure.status == .invalidParameter {
            throw fault(failure.description)
          }
          throw CommandFailure(error)
        }
        if let outcomes = answer.outcomes {
          guard outcomes.count == passkeys.count else {
            throw CommandFailure(
              "the authenticator sent an incomplete result", hint: "list the passkeys with:",
              run: ["liquid-auth", "credentials", "list"])
          }
          return outcomes
        }
        guard end < list.count else { throw CommandFailure("the authenticator did not import the passkeys") }
        offset = end
      }
    case .here:
      return try inStore { (store, keys) throws(CommandFailure) in
        let prepared = try attempt(orThrow: { fault($0.description) }) { () throws(RecoveryError) in
          try PasskeyImport(list: passkeys.encoded, keys: keys)
        }
        let outcomes = try attempt { () throws(RecoveryError) in
          try prepared.run(on: store, keys: keys, now: unixMilliseconds())
        }
        if outcomes.contains(.added) { Self.record(.importPasskeys) { store } }
        return outcomes
      }
    }
  }

  /// The digests of everything in a store.
  typealias StoreContent = (accounts: [AccountDigest], largeBlobs: [[UInt8]], phrase: [UInt8])

  /// Makes digests of the store's entries, by which a backup is checked (Recovery §9).
  ///
  /// - Parameter challenge: 32 random bytes.
  func digests(challenge: [UInt8]) throws(CommandFailure) -> StoreContent {
    switch self {
    case .there(let connection, _):
      let first = try connection.ask(DigestAccounts(challenge: challenge))
      var (accounts, next) = (first.accounts, first.next)
      while let after = next {
        let page = try connection.ask(DigestAccounts(challenge: challenge, after: after))
        guard page.next.map(after.lexicographicallyPrecedes) ?? true else {
          throw CommandFailure("the authenticator sent incomplete digests; nothing was checked")
        }
        accounts += page.accounts
        next = page.next
      }
      return (accounts, first.largeBlobs, first.phrase)
    case .here:
      return try inStore { (store, keys) throws(CommandFailure) in
        try attempt { () throws(RecoveryError) in
          let digests = StoreDigests(keys: keys, challenge: challenge)
          return (
            try digests.digests(of: store), digests.digests(ofLargeBlobs: try store.largeBlobArray()), digests.ofPhrase
          )
        }
      }
    }
  }

  /// The failure of a merge that may have written a part.
  private static func partial(_ merge: BackupMerge) -> (RecoveryError) -> CommandFailure {
    { CommandFailure(merge.report.changesStore ? Problem("\($0); \(BackupMerge.isPartial)") : Problem($0)) }
  }

  /// Records the time of a backup or a check, for the status; a failure is only a warning.
  ///
  /// - Parameters:
  ///   - file: the digest of the backup that was written.
  ///   - time: Unix milliseconds; for a backup, before the store was read.
  func record(_ event: BackupTimes.Event, file: [UInt8]? = nil, at time: UInt64) {
    do throws(CommandFailure) {
      switch self {
      case .there(let connection, _): try connection.ask(RecordBackup(event, file: file, at: time))
      case .here:
        try inStore { (store, _) throws(CommandFailure) in
          try attempt { () throws(RecoveryError) in try store.record(event, file: file, at: time) }
        }
      }
    } catch {
      StandardStream.error.write("liquid-auth: cannot store the time for status: \(error.description.printable)")
    }
  }

  /// Opens the store here.
  func inStore<Result>(
    _ work: (CredentialDB, CredentialKeys) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    guard case .here(let directory, let lock, let unlocked, _) = self else {
      preconditionFailure("an authenticator has the store")
    }
    defer { withExtendedLifetime(lock) {} }
    let keys = CredentialKeys(mainKey: unlocked.content.mainKey)
    let store = try rethrowing { () throws(StateDirectoryError) in
      try directory.openStore(of: unlocked.content, keys: keys)
    }
    return try work(store, keys)
  }

  /// Runs work on a store or a file; its error becomes a failure with the same words.
  func attempt<Result>(
    orThrow failure: (RecoveryError) -> CommandFailure = { CommandFailure(Problem($0)) },
    _ work: () throws(RecoveryError) -> Result
  ) throws(CommandFailure) -> Result {
    do { return try work() } catch { throw failure(error) }
  }
}

extension ControlConnection {
  /// Merges a backup into the store of the authenticator, or only compares it.
  func merge(_ file: [UInt8], onlyCompares: Bool = false) throws(ControlClientError) -> MergeResult {
    var offset = 0
    while true {
      let end = min(offset + BackupFragment.maximumSize, file.count)
      let answer = try request(
        MergeBackup(
          offset: UInt64(offset), size: UInt64(file.count), fragment: Array(file[offset..<end]),
          onlyCompares: onlyCompares))
      if let result = answer.result { return result }
      guard end < file.count else { throw .failed("the authenticator did not merge the backup") }
      offset = end
    }
  }

  /// Makes a backup of the authenticator's store.
  func backup() throws(ControlClientError) -> OwnedVault.MadeBackup {
    var (made, size): (OwnedVault.MadeBackup, UInt64?) = (([], 0, 0), nil)
    repeat {
      let answer = try request(ReadBackup(offset: UInt64(made.file.count)))
      guard !answer.fragment.isEmpty, answer.size == size ?? answer.size else { throw .failed(Self.incomplete) }
      made.file += answer.fragment
      (made.passkeys, made.removals) = (Int(clamping: answer.passkeys), Int(clamping: answer.removals))
      size = answer.size
    } while UInt64(made.file.count) < size ?? 0
    guard UInt64(made.file.count) == size else { throw .failed(Self.incomplete) }
    return made
  }

  private static let incomplete = Problem("the authenticator sent an incomplete backup", hint: "nothing was written")
}
