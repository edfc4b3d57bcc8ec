import CTAP2
import CredentialDB
import CryptoPrimitives
import Recovery
import StateDirectory
import Synchronization
import Vault

/// Holds what the vault keeps while it is open, and asks for its passphrase when it is not.
///
/// Opening takes a second and 256 MiB, which Argon2 gives back; it is done on a thread of its own. Nothing here touches a
/// file that is missing or damaged: the log names it and says what to do, and the command is declined.
final class VaultKeySource: KeySource {
  private let directory: StateDirectory
  private let prompter: UserPrompter
  private let maximumPasskeys: Int
  private let signatures: SignatureCounts
  private let log: @Sendable (String) -> Void
  private let verifier: PassphraseVerifier
  private let state: Mutex<State>
  /// Held while a store is being opened, by one thread at a time.
  private let opening = Mutex(())
  /// Those who give a passphrase at the control socket wait here: each costs 256 MiB, so there is one at a time.
  private let turns = RequestQueue(())

  private struct State {
    var open: OpenVault?
    /// What the store tells in clear, while it is not open.
    var reported: ReportedSettings
    /// What the open vault came from: another vault that is put in its file's place does not pass for it.
    var mainKey: SecretBytes?
    /// How many times the vault was locked: an unlocking that began before the last one comes too late.
    var lockings = 0
    /// A store that is still in use by a ceremony outlives a locking, and cannot be opened a second time beside itself.
    weak var store: CredentialDB?
    var storeID: [UInt8] = []
    /// Why vault or store did not open the last time although the passphrase was right, and which files those were.
    var fault: (error: StateDirectoryError, files: [FileStamp?])?
  }

  /// - Parameters:
  ///   - directory: locked by this process.
  ///   - prompter: asks for the passphrase.
  ///   - verifier: checks the passphrase while the vault is open; too many wrong tries lock the vault.
  ///   - maximumPasskeys: the most passkeys that the store holds after a registration.
  ///   - signatures: counts what accounts sign, over all unlockings.
  ///   - log: gets a line for each problem.
  init(
    directory: StateDirectory, prompter: UserPrompter, verifier: PassphraseVerifier = PassphraseVerifier(),
    maximumPasskeys: Int = OpenVault.defaultMaximumDiscoverableCredentials,
    signatures: SignatureCounts = SignatureCounts(), log: @escaping @Sendable (String) -> Void
  ) {
    self.directory = directory
    self.prompter = prompter
    self.maximumPasskeys = maximumPasskeys
    self.verifier = verifier
    self.signatures = signatures
    self.log = log
    state = Mutex(State(reported: directory.reportedSettings()))
    verifier.ifBlocked { [weak self] in
      self?.lock()
      log("the passphrase was wrong \(PassphraseVerifier.triesPerUnlocking) times in a row: the vault is locked")
    }
  }

  // MARK: The port

  var current: OpenVault? { state.withLock { $0.open } }

  var reported: ReportedSettings { state.withLock { $0.reported } }

  func open(for wish: UnlockReason?) async throws(UserInteractionError) -> OpenVault {
    if let current { return current }
    do {
      try directory.check()
    } catch {
      throw decline(error)
    }
    let lockings = state.withLock { $0.lockings }
    return try await prompter.passphrase(.unlock(for: wish)) { [self] passphrase, isLastTry in
      do throws(StateDirectoryError) {
        guard let content = try await content(passphrase) else { return .ended(.cancelled) }
        guard let vault = try await install(content, passphrase, unlessLockedSince: lockings) else {
          log("the vault was locked while it was being opened; the request is denied")
          return .ended(.declined)
        }
        return .accepted(vault.openedByPerson)
      } catch  where error.kind == .wrongPassphrase {
        // Damage in a slot looks like a wrong passphrase, so the log names the file.
        if isLastTry { log(error.description) }
        return .wrong(then: .wrongPassphrase)
      } catch {
        return .ended(decline(error))
      }
    }
  }

  // MARK: The control socket

  /// Opens the vault with a passphrase that came over the control socket; when it is open, the passphrase is compared
  /// in full all the same.
  ///
  /// Whoever comes meanwhile waits, and is not served any more if he goes away.
  ///
  /// - Returns: the unlocking, to be compared later; `nil` when the task was cancelled or the vault locked meanwhile.
  /// - Throws: `wrongPassphrase`, also for a vault that is not the open one; or why vault or store cannot be opened.
  @discardableResult
  func unlock(passphrase: SecretBytes) async throws(StateDirectoryError) -> Unlocking? {
    let lockings = state.withLock { $0.lockings }
    let directory = directory
    let opened: Result<VaultContent, StateDirectoryError>
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
  /// A ceremony that waits for a person is declined when he answers.
  func lock() {
    state.withLock { state in
      if let reported = try? state.open?.store.state().settings.reported { state.reported = reported }
      state.open = nil
      state.mainKey = nil
      state.lockings += 1
      verifier.forget()
    }
  }

  /// Whether the store is open.
  var hasStore: Bool { state.withLock { $0.store != nil } }

  /// Forgets all of a store that another one has taken the place of.
  func storeWasReplaced() {
    lock()
    let reported = directory.reportedSettings()
    state.withLock { ($0.reported, $0.fault) = (reported, nil) }
  }

  // MARK: Opening

  /// `nil` when the task is cancelled meanwhile: Argon2 cannot be stopped, but nobody waits for it.
  private func content(_ passphrase: SecretBytes) async throws(StateDirectoryError) -> VaultContent? {
    let directory = directory
    return try await OwnThread.runUnlessCancelled {
      Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
    }?.mapError(remembered).get()
  }

  /// Keeps what was opened and remembers the passphrase, both or neither; `nil` when the vault was locked meanwhile.
  private func install(
    _ content: VaultContent, _ passphrase: SecretBytes, unlessLockedSince lockings: Int
  ) async throws(StateDirectoryError) -> OpenVault? {
    try await OwnThread.run { [self] in
      Result { () throws(StateDirectoryError) in
        try opening.withLock { _ throws(StateDirectoryError) -> OpenVault? in
          let vault = try openVault(content)
          return state.withLock { state in
            guard state.lockings == lockings else { return nil }
            state.open = vault
            state.mainKey = content.mainKey
            verifier.remember(passphrase)
            return vault
          }
        }
      }
    }.get()
  }

  /// The open vault, if `content` is what it came from; or the vault that it makes with the store.
  private func openVault(_ content: VaultContent) throws(StateDirectoryError) -> OpenVault {
    let (open, mainKey, kept) = state.withLock { state in
      (state.open, state.mainKey, state.storeID == content.storeID ? state.store : nil)
    }
    if let open, let mainKey {
      guard mainKey.isEqual(to: content.mainKey) else { throw directory.otherVault() }
      return open
    }
    let keys = CredentialKeys(mainKey: content.mainKey)
    let store: CredentialDB
    do throws(StateDirectoryError) {
      store = if let kept { kept } else { try directory.openStore(of: content, keys: keys) }
    } catch {
      throw remembered(error)
    }
    state.withLock { state in
      state.fault = nil
      state.store = store
      state.storeID = content.storeID
    }
    return OpenVault(
      keys: keys, ed25519Root: content.ed25519Root, store: store, maximumDiscoverableCredentials: maximumPasskeys,
      signatures: signatures)
  }

  /// Keeps what is wrong with vault or store for `status`; a wrong passphrase is none of it.
  private func remembered(_ error: StateDirectoryError) -> StateDirectoryError {
    switch error.kind {
    case .wrongPassphrase, .system: break
    default:
      let files = stamps
      state.withLock { $0.fault = (error, files) }
    }
    return error
  }

  private var stamps: [FileStamp?] { [FileStamp(directory.vaultPath), FileStamp(directory.storePath)] }

  private func decline(_ error: StateDirectoryError) -> UserInteractionError {
    log(error.description)
    return .declined
  }
}

// MARK: - Status

/// How the vault stands, for `liquid-auth status`.
struct VaultStatus: Sendable, Equatable {
  /// Whether ceremonies go on without a passphrase.
  var isUnlocked: Bool
  /// Which phrase it is, 4 bytes; only while unlocked.
  var fingerprint: [UInt8]?
  /// What is wrong with vault or store, if anything.
  var fault: StateDirectoryError?
}

extension VaultKeySource {
  /// How things stand now; reads the vault's file, and never waits for a person.
  var status: VaultStatus {
    var status = VaultStatus(isUnlocked: current != nil, fingerprint: current?.keys.fingerprint)
    // What was put in the place of a file at fault is not accused of it.
    if let (error, files) = state.withLock({ $0.fault }), files == stamps { status.fault = error }
    do {
      try directory.check()
    } catch {
      status.fault = error
    }
    return status
  }
}
