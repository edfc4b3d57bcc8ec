import CTAP2
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import EventLoop
import ProcessIO
import Recovery
import StateDirectory
import Synchronization
import Vault

/// Holds the content of the open vault.
///
/// If the vault is locked, it tries the slots whose keys other programs keep, and then prompts for the passphrase.
///
/// Opening with a passphrase takes a second and 256 MiB, which Argon2 frees; it runs on a thread of its own. A missing or
/// damaged file is not changed: the log names it and says what to do, and the command is declined.
final class VaultKeySource: KeySource {
  let directory: StateDirectory
  private let prompter: UserPrompter
  private let maximumPasskeys: Int
  private let signatures: SignatureCounts
  let log: @Sendable (String) -> Void
  let verifier: PassphraseVerifier
  let slotKeys: SlotKeys?
  let counter: CounterCheck?
  let state: Mutex<State>
  /// Held while a store is being opened, or the vault's file is being changed, by one thread at a time.
  let opening = Mutex(())
  /// Queues the passphrases from the control socket: each costs 256 MiB, so one is checked at a time.
  private let turns = RequestQueue(())
  /// Queues the requests to the protector, which may show a prompt.
  let protectorTurns = RequestQueue(())

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

  struct State {
    var open: OpenVault?
    /// The settings that the store keeps in clear, for use while it is not open.
    var reported: ReportedSettings
    /// The open vault, as its slot opened it; another vault in place of its file has another main key.
    var unlocked: UnlockedVault?
    /// Why the vault was locked the last time.
    var lockReason: LockReason?
    var observer: (@Sendable (Event) -> Void)?
    /// How many times the vault was locked: an unlocking that began before the last lock does not count.
    var lockings = 0
    /// A store that a ceremony still uses survives a lock, and cannot be opened a second time meanwhile.
    weak var store: CredentialDB?
    var storeID: [UInt8] = []
    /// The same of the previous phrase, during a move to a new one.
    weak var previousStore: CredentialDB?
    var previousStoreID: [UInt8] = []
    /// Why vault or store did not open the last time although the passphrase was right, and which files those were.
    var fault: (error: StateDirectoryError, files: [FileStamp?])?
    /// What the counter in the TPM said at the last opening of the store; `nil` without a counter.
    var counter: CounterFinding?
  }

  /// - Parameters:
  ///   - directory: locked by this process.
  ///   - prompter: asks for the passphrase.
  ///   - verifier: checks the passphrase while the vault is open; too many wrong tries lock the vault.
  ///   - askProtector: gets the keys of other slots; `nil` if only the passphrase unlocks.
  ///   - counter: compares the store with its counter in the TPM; `nil` if it is not compared.
  ///   - maximumPasskeys: the most passkeys that the store holds after a registration.
  ///   - signatures: counts what accounts sign, over all unlockings.
  ///   - log: gets a line for each problem.
  init(
    directory: StateDirectory, prompter: UserPrompter, verifier: PassphraseVerifier = PassphraseVerifier(),
    askProtector: SlotKeys.Ask? = nil, counter: CounterCheck? = nil,
    maximumPasskeys: Int = OpenVault.defaultMaximumDiscoverableCredentials,
    signatures: SignatureCounts = SignatureCounts(), log: @escaping @Sendable (String) -> Void
  ) {
    self.directory = directory
    self.prompter = prompter
    self.maximumPasskeys = maximumPasskeys
    self.verifier = verifier
    slotKeys = askProtector.map { SlotKeys(ask: $0, prompter: prompter, log: log) }
    self.counter = counter
    self.signatures = signatures
    self.log = log
    state = Mutex(State(reported: directory.reportedSettings()))
    verifier.set(
      ifBlocked: { [weak self] in
        self?.lock(.wrongPassphrases)
        log("the passphrase was wrong \(PassphraseVerifier.triesPerUnlocking) times in a row: the vault is locked")
      }, check: { [weak self] passphrase in await self?.check(passphrase) })
  }

  // MARK: The state

  /// Why the vault was locked the last time.
  var lockReason: LockReason? { state.withLock { $0.lockReason } }

  /// The slot that opened the vault; `nil` while it is locked.
  var openSlot: VaultSlot? { state.withLock { $0.unlocked?.slot } }

  /// What is wrong with vault or store, if anything; reads the vault's file.
  var fault: StateDirectoryError? {
    do { try directory.check() } catch { return error }
    // A fault does not apply to a file that has been replaced since.
    guard let (error, files) = state.withLock({ $0.fault }), files == stamps else { return nil }
    return error
  }

  /// What the counter in the TPM found at the last opening, if something is wrong.
  var counterProblem: String? { state.withLock(\.counter)?.problem }

  // MARK: The port

  var current: OpenVault? { state.withLock { $0.open } }

  /// How many times the vault was locked.
  var lockings: Int { state.withLock { $0.lockings } }

  var reported: ReportedSettings { state.withLock { $0.reported } }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault {
    let origin = client as? RequestOrigin
    if let current { return current }
    do { try directory.check() } catch { throw unavailable(error) }
    let lockings = lockings
    let judge = judge(unlessLockedSince: lockings)
    let vault = try await openByProtectors(for: reason, from: origin, orBy: judge, unlessLockedSince: lockings)
    if let vault { return vault }
    let dialog = PromptText.unlock(for: reason, in: prompter.catalogue).asked(from: origin)
    return try await prompter.passphrase(dialog, judge)
  }

  /// Opens the vault with a typed passphrase.
  func judge(unlessLockedSince lockings: Int) -> UserPrompter.Judge<OpenVault> {
    { [self] passphrase, isLastTry in
      do throws(StateDirectoryError) {
        guard let unlocked = try await unlocked(by: passphrase) else { return .ended(.cancelled) }
        guard let vault = try await install(unlocked, passphrase, unlessLockedSince: lockings) else {
          return .ended(lockedMeanwhile())
        }
        return .accepted(vault.openedByPerson)
      } catch  where error.kind == .wrongPassphrase {
        // Damage in a slot looks like a wrong passphrase, so the log names the file.
        if isLastTry {
          log(
            "\(directory.vaultPath): \(error); if you are sure that it is right, the vault is damaged; "
              + "see: man liquid-auth-vault")
        }
        return .wrong(then: .wrongPassphrase)
      } catch {
        return .ended(unavailable(error))
      }
    }
  }

  /// Checks a passphrase with the vault's file, while the vault is open without it; `nil` if that is not possible.
  private func check(_ passphrase: SecretBytes) async -> Bool? {
    guard let open = state.withLock({ $0.unlocked }) else { return nil }
    do {
      guard let unlocked = try await unlocked(by: passphrase) else { return nil }
      guard unlocked.content.mainKey.isEqual(to: open.content.mainKey) else { return false }
      await OwnThread.run { [self] in opening.withLock { _ in sealSlots(of: unlocked) } }
    } catch {
      if error.kind == .wrongPassphrase { return false }
      log(error.description)
      return nil
    }
    return state.withLock { state in
      guard state.unlocked?.slot.id == open.slot.id else { return nil }
      verifier.remember(passphrase)
      return true
    }
  }

  /// A lock withdraws the requests that began before it, however far they are.
  func lockedMeanwhile() -> UserInteractionError {
    log("the vault was locked while it was being opened; the request was withdrawn")
    return .cancelled
  }

  // MARK: The control socket

  /// Opens the vault with a passphrase from the control socket; if the vault is open, still checks the passphrase in
  /// full.
  ///
  /// Other requests wait meanwhile; one that is cancelled is not served any more.
  ///
  /// - Returns: the unlocking, to be compared later; `nil` when the task was cancelled or the vault locked meanwhile.
  /// - Throws: `wrongPassphrase`, also for a vault that is not the open one; or why vault or store cannot be opened.
  @discardableResult
  func unlock(passphrase: SecretBytes) async throws(StateDirectoryError) -> Unlocking? {
    let (lockings, directory) = (lockings, directory)
    let opened: Result<UnlockedVault, StateDirectoryError>
    do {
      opened = try await turns.submit { _ in
        await OwnThread.run {
          Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
        }
      }.mapError(remembered)
    } catch {
      return nil
    }
    return try await install(opened.get(), passphrase, unlessLockedSince: lockings)?.unlocking
  }

  /// Forgets everything that the vault holds.
  ///
  /// A ceremony that waits for a person is withdrawn, if not before, then after the answer.
  ///
  /// - Returns: whether the vault was open.
  @discardableResult
  func lock(_ reason: LockReason? = nil) -> Bool {
    // They are dropped outside the mutex: the loop reads the state, and a store that closes waits for the disk.
    let dropped = state.withLock { state -> (open: OpenVault?, unlocked: UnlockedVault?, lockings: Int) in
      let (open, unlocked) = (state.open, state.unlocked)
      if open != nil || reason == .wrongPassphrases { state.lockReason = reason }
      open?.unlocking.end()
      state.open = nil
      state.unlocked = nil
      state.lockings += 1
      slotKeys?.cancel()
      verifier.forget()
      return (open, unlocked, state.lockings)
    }
    // Waits for a change that is being written.
    if let reported = try? dropped.open?.store.state().settings.reported {
      state.withLock { if $0.lockings == dropped.lockings { $0.reported = reported } }
    }
    return dropped.open != nil
  }

  /// Calls `observer` for each event, on any thread.
  func observe(_ observer: @escaping @Sendable (Event) -> Void) { state.withLock { $0.observer = observer } }

  /// The store of the open vault; `nil` while it is locked.
  var openStore: CredentialDB? { state.withLock { $0.open == nil ? nil : $0.store } }

  /// Whether the store is open.
  var hasStore: Bool { state.withLock { $0.store != nil } }

  /// Forgets everything about a store that was replaced.
  ///
  /// - Parameters:
  ///   - isNew: whether it was replaced by a new one; otherwise it was accepted as it is.
  ///   - reason: why the vault is locked.
  func storeWasReplaced(isNew: Bool, _ reason: LockReason? = nil) {
    lock(reason)
    state.withLock(\.observer)?(isNew ? .newStore : .storeAccepted)
    let reported = directory.reportedSettings()
    state.withLock { ($0.reported, $0.fault, $0.counter) = (reported, nil, nil) }
  }

  // MARK: Opening

  /// Unlocks the vault's file; returns `nil` if the task is cancelled meanwhile, although Argon2 cannot be stopped.
  private func unlocked(by passphrase: SecretBytes) async throws(StateDirectoryError) -> UnlockedVault? {
    let directory = directory
    return try await OwnThread.runUnlessCancelled {
      Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
    }?.mapError(remembered).get()
  }

  /// Keeps what was opened and remembers the passphrase, both or neither; `nil` when the vault was locked meanwhile.
  ///
  /// - Parameter passphrase: `nil` if another slot opened it.
  func install(
    _ unlocked: UnlockedVault, _ passphrase: SecretBytes?, unlessLockedSince lockings: Int
  ) async throws(StateDirectoryError) -> OpenVault? {
    try await OwnThread.run { [self] in
      Result { () throws(StateDirectoryError) in
        try opening.withLock { _ throws(StateDirectoryError) -> OpenVault? in
          let vault = try openVault(unlocked.content)
          let observer = state.withLock { state -> (@Sendable (Event) -> Void)?? in
            guard state.lockings == lockings else { return nil }
            if passphrase == nil {
              guard !verifier.isBlocked else { return nil }
              // A passphrase opened it meanwhile, and verifies from then on.
              if state.open != nil { return .some(nil) }
            }
            state.open = vault
            state.unlocked = unlocked
            state.lockReason = nil
            slotKeys?.cancel()
            if let passphrase { verifier.remember(passphrase) } else { verifier.expect() }
            return .some(state.observer)
          }
          guard let observer else { return nil }
          if passphrase != nil { sealSlots(of: unlocked) }
          observer?(.opened)
          return vault
        }
      }
    }.get()
  }

  /// The open vault, which must have the main key of `content`; or a new one with the store.
  private func openVault(_ content: VaultContent) throws(StateDirectoryError) -> OpenVault {
    let (open, unlocked, kept) = state.withLock { state in
      (state.open, state.unlocked, state.storeID == content.storeID ? state.store : nil)
    }
    if let open, let unlocked {
      guard unlocked.content.mainKey.isEqual(to: content.mainKey) else { throw directory.otherVault() }
      return open
    }
    let keys = CredentialKeys(mainKey: content.mainKey)
    let store: CredentialDB
    do throws(StateDirectoryError) {
      store = if let kept { kept } else { try directory.openStore(of: content, keys: keys) }
    } catch {
      throw remembered(error)
    }
    let previous = try previousVault(of: content)
    if kept == nil { state.withLock(\.observer)?(.storeOpened(store, id: content.storeID)) }
    // A store that stayed open is the same file.
    let finding: CounterFinding?
    do throws(RecoveryError) {
      finding = if kept == nil { try counter?.run(on: store) } else { state.withLock(\.counter) }
    } catch {
      let fault = directory.unusableStore(error)
      guard let settings = try? store.state() else { throw remembered(fault) }
      // This is not a fault of the store: it can be read, and opens when it can be written.
      if settings.counter != nil { state.withLock { $0.counter = .unknown(error.description) } }
      throw fault
    }
    finding?.problem.map(log)
    state.withLock { state in
      state.fault = nil
      state.store = store
      state.storeID = content.storeID
      state.counter = finding
    }
    return OpenVault(
      keys: keys, ed25519Root: content.ed25519Root, store: store, maximumDiscoverableCredentials: maximumPasskeys,
      signatures: signatures, previous: previous)
  }

  /// The keys and the store of the previous phrase; `nil` if there is none.
  ///
  /// The counter in the TPM belongs to the store of the present phrase alone.
  private func previousVault(of content: VaultContent) throws(StateDirectoryError) -> OpenVault? {
    guard let previous = content.previous else { return nil }
    let kept = state.withLock { $0.previousStoreID == previous.storeID ? $0.previousStore : nil }
    let keys = CredentialKeys(mainKey: previous.mainKey)
    let store: CredentialDB
    do throws(StateDirectoryError) {
      store = if let kept { kept } else { try directory.openPreviousStore(of: previous, keys: keys) }
    } catch {
      throw remembered(error)
    }
    state.withLock { ($0.previousStore, $0.previousStoreID) = (store, previous.storeID) }
    return OpenVault(keys: keys, ed25519Root: previous.ed25519Root, store: store, signatures: signatures)
  }

  /// Keeps a fault of vault or store for `status`; a wrong passphrase or a failed system call is not kept.
  func remembered(_ error: StateDirectoryError) -> StateDirectoryError {
    switch error.kind {
    case .wrongPassphrase, .system, .unchanged: break
    default:
      let files = stamps
      state.withLock { $0.fault = (error, files) }
    }
    return error
  }

  private var stamps: [FileStamp?] {
    [directory.vaultPath, directory.storePath, directory.previousStorePath].map { FileStamp($0) }
  }

  /// Logs that a power failure can undo a change that is done.
  func warn(_ warning: ChangeWarning?) { if let warning { log(warning.description) } }

  /// Logs why the vault is not open.
  func unavailable(_ error: StateDirectoryError) -> UserInteractionError {
    log(error.description)
    return .unavailable
  }
}
