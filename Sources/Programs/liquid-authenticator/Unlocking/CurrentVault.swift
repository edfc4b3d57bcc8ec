import ControlProtocol
import CredentialDB
import CryptoPrimitives
import EventLoop
import Prompts
import Recovery
import StateDirectory
import Synchronization
import Vault

/// Holds the content of the open vault, from an unlocking to the next lock.
///
/// Locks: one guards all that changes here. The verifier, and the wait for a protector, change under it too, so that they
/// belong to the same unlocking. No work that waits runs under it: the loop reads this state, and locking the vault does
/// not wait for a store that is being opened. ``VaultFiles/alone(_:)`` comes first, and this lock within it.
final class CurrentVault: Sendable {
  let files: VaultFiles
  let verifier: PassphraseVerifier
  let slotKeys: SlotKeys?
  private let log: @Sendable (Problem) -> Void
  private let state: Mutex<State>

  /// What happens to the vault and its store.
  enum Event: Sendable {
    /// The store with this id was opened, but not yet compared with its counter.
    case storeOpened(CredentialDB, id: [UInt8])
    /// The vault was opened.
    case opened
    /// A new store replaced a lost one.
    case newStore
    /// The owner accepted a modified store.
    case storeAccepted
  }

  private struct State {
    /// As the last slot opened it; another vault in place of its file has another main key.
    var open: VaultFiles.Opened?
    /// The settings that the store keeps in clear, for use while it is not open.
    var reported: ReportedSettings
    /// Why the vault was locked the last time.
    var lockReason: LockReason?
    var observer: (@Sendable (Event) -> Void)?
    /// How many times the vault was locked: an unlocking that began before the last lock does not count.
    var lockings = 0
  }

  /// - Parameters:
  ///   - files: of this vault only.
  ///   - verifier: checks the passphrase while the vault is open; too many wrong tries lock the vault.
  ///   - slotKeys: gets the keys of other slots; `nil` if only the passphrase unlocks.
  ///   - log: gets a line for each problem.
  init(
    files: VaultFiles, verifier: PassphraseVerifier, slotKeys: SlotKeys?, log: @escaping @Sendable (Problem) -> Void
  ) {
    self.files = files
    self.verifier = verifier
    self.slotKeys = slotKeys
    self.log = log
    state = Mutex(State(reported: files.directory.reportedSettings()))
    verifier.set(
      ifBlocked: { [weak self] in
        self?.lock(.wrongPassphrases)
        log("the passphrase was wrong \(PassphraseVerifier.triesPerUnlocking) times in a row: the vault is locked")
      }, check: { [weak self] passphrase in await self?.check(passphrase) })
  }

  // MARK: The state

  /// The content; `nil` while the vault is locked.
  var current: OpenVault? { state.withLock { $0.open?.vault } }

  /// How many times the vault was locked.
  var lockings: Int { state.withLock { $0.lockings } }

  /// The settings that the store keeps in clear, for use while the vault is locked.
  var reported: ReportedSettings { state.withLock { $0.reported } }

  /// Why the vault was locked the last time.
  var lockReason: LockReason? { state.withLock { $0.lockReason } }

  /// The slot that opened the vault; `nil` while it is locked.
  var openSlot: VaultSlot? { state.withLock { $0.open?.unlocked.slot } }

  /// The store of the open vault; `nil` while it is locked.
  var openStore: CredentialDB? { state.withLock { $0.open?.store } }

  /// The open vault and its stores; `nil` while it is locked.
  var held: VaultFiles.Opened? { state.withLock { $0.open } }

  /// Calls `observer` for each event, on any thread.
  func observe(_ observer: @escaping @Sendable (Event) -> Void) { state.withLock { $0.observer = observer } }

  // MARK: Unlocking

  /// Keeps what was opened and remembers the passphrase, both or neither; `nil` when the vault was locked meanwhile.
  ///
  /// - Parameter passphrase: `nil` if another slot opened it.
  func install(
    _ unlocked: UnlockedVault, _ passphrase: SecretBytes?, unlessLockedSince lockings: Int
  ) async throws(StateDirectoryError) -> OpenVault? {
    try await OwnThread.run { [self] in
      Result { () throws(StateDirectoryError) in
        try files.alone { () throws(StateDirectoryError) -> OpenVault? in
          let opened = try open(unlocked)
          let observer = state.withLock { state -> (@Sendable (Event) -> Void)?? in
            guard state.lockings == lockings else { return nil }
            if passphrase == nil {
              guard !verifier.isBlocked else { return nil }
              // A passphrase opened it meanwhile, and verifies from then on.
              if state.open != nil { return .some(nil) }
            }
            state.open = opened
            state.lockReason = nil
            slotKeys?.cancel()
            if let passphrase { verifier.remember(passphrase) } else { verifier.expect() }
            return .some(state.observer)
          }
          guard let observer else { return nil }
          if passphrase != nil { files.sealSlots(of: unlocked) }
          observer?(.opened)
          return opened.vault
        }
      }
    }.get()
  }

  /// The open vault, which must have the main key of `unlocked`; or a new one with the store.
  ///
  /// It is not kept yet. Called within ``VaultFiles/alone(_:)``.
  private func open(_ unlocked: UnlockedVault) throws(StateDirectoryError) -> VaultFiles.Opened {
    guard var held else {
      return try files.open(unlocked) { state.withLock(\.observer)?(.storeOpened($0, id: $1)) }
    }
    guard held.unlocked.content.mainKey.isEqual(to: unlocked.content.mainKey) else {
      throw files.directory.otherVault()
    }
    held.unlocked = unlocked
    return held
  }

  /// Checks a passphrase with the vault's file, while the vault is open without it; `nil` if that is not possible.
  private func check(_ passphrase: SecretBytes) async -> Bool? {
    guard let open = state.withLock({ $0.open?.unlocked }) else { return nil }
    do {
      guard let unlocked = try await files.unlocked(by: passphrase) else { return nil }
      guard unlocked.content.mainKey.isEqual(to: open.content.mainKey) else { return false }
      await OwnThread.run { [files] in files.alone { files.sealSlots(of: unlocked) } }
    } catch {
      if error.kind == .wrongPassphrase { return false }
      log(Problem(error))
      return nil
    }
    return state.withLock { state in
      guard state.open?.unlocked.slot.id == open.slot.id else { return nil }
      verifier.remember(passphrase)
      return true
    }
  }

  // MARK: Locking

  /// Forgets everything that the vault holds.
  ///
  /// A ceremony that waits for a person is withdrawn, if not before, then after the answer.
  ///
  /// - Returns: whether the vault was open.
  @discardableResult
  func lock(_ reason: LockReason? = nil) -> Bool {
    // It is dropped outside the mutex: the loop reads the state, and a store that closes waits for the disk.
    let dropped = state.withLock { state -> (open: VaultFiles.Opened?, lockings: Int) in
      let open = state.open
      if open != nil || reason == .wrongPassphrases { state.lockReason = reason }
      open?.vault.unlocking.end()
      state.open = nil
      state.lockings += 1
      slotKeys?.cancel()
      verifier.forget()
      return (open, state.lockings)
    }
    // Waits for a change that is being written.
    if let reported = try? dropped.open?.store.state().settings.reported {
      state.withLock { if $0.lockings == dropped.lockings { $0.reported = reported } }
    }
    return dropped.open != nil
  }

  /// Forgets everything about a store that was replaced.
  ///
  /// - Parameters:
  ///   - isNew: whether it was replaced by a new one; otherwise it was accepted as it is.
  ///   - reason: why the vault is locked.
  func storeWasReplaced(isNew: Bool, _ reason: LockReason? = nil) {
    lock(reason)
    state.withLock(\.observer)?(isNew ? .newStore : .storeAccepted)
    let reported = files.directory.reportedSettings()
    state.withLock { $0.reported = reported }
    files.forgetFindings()
  }
}
