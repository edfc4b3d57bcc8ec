import ControlProtocol
import CredentialDB
import CryptoPrimitives
import EventLoop
import Recovery
import StateDirectory
import Synchronization
import Vault

/// Opens and changes the files of the vault, and does not know whether the vault is locked.
///
/// They are the vault's file, its store with the counter in the TPM, and the store of the previous phrase.
///
/// Locks: ``alone(_:)`` lets one thread at a time open a store or change a file, and that thread waits for disks and for
/// the TPM. So ``state`` has a lock of its own, which is held for a moment: no other lock is taken within it. A file is
/// changed first, and then what is kept of it here.
final class VaultFiles: Sendable {
  /// A vault with its stores.
  struct Opened: Sendable {
    /// As its slot opened it.
    var unlocked: UnlockedVault
    let vault: OpenVault
    /// That of `vault`.
    let store: CredentialDB
    /// That of the previous phrase, during a move to a new one.
    let previousStore: CredentialDB?
  }

  let directory: StateDirectory
  let counter: CounterCheck?
  private let maximumPasskeys: Int
  private let signatures: SignatureCounts
  let log: @Sendable (Problem) -> Void
  /// Taken by ``alone(_:)`` only.
  let opening = Mutex(())
  let state = Mutex(State())

  struct State {
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
  ///   - counter: compares the store with its counter in the TPM; `nil` if it is not compared.
  ///   - maximumPasskeys: the most passkeys that the store holds after a registration.
  ///   - signatures: counts what accounts sign, over all unlockings.
  ///   - log: gets a line for each problem.
  init(
    directory: StateDirectory, counter: CounterCheck?, maximumPasskeys: Int, signatures: SignatureCounts,
    log: @escaping @Sendable (Problem) -> Void
  ) {
    self.directory = directory
    self.counter = counter
    self.maximumPasskeys = maximumPasskeys
    self.signatures = signatures
    self.log = log
  }

  /// Runs `work` while no other thread opens a store or changes a file; blocks.
  ///
  /// It is called without any lock: `work` may take them. `work` does not call it again.
  func alone<Answer: Sendable, Failure: Error>(
    _ work: () throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    try opening.withLock { _ throws(Failure) in try work() }
  }

  // MARK: What is known of them

  /// What is wrong with vault or store, if anything; reads the vault's file.
  var fault: StateDirectoryError? {
    do { try directory.check() } catch { return error }
    // A fault does not apply to a file that has been replaced since.
    guard let (error, files) = state.withLock({ $0.fault }), files == stamps else { return nil }
    return error
  }

  /// What the counter in the TPM said at the last opening of the store; `nil` without a counter.
  var counterFinding: CounterFinding? { state.withLock(\.counter) }

  /// Whether the store is open.
  var hasStore: Bool { state.withLock { $0.store != nil } }

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

  /// Forgets what was wrong with a store that was replaced or accepted.
  func forgetFindings() { state.withLock { ($0.fault, $0.counter) = (nil, nil) } }

  /// Logs that a power failure can undo a change that is done.
  func warn(_ warning: ChangeWarning?) { if let warning { log(Problem(warning.description)) } }

  // MARK: Opening

  /// Unlocks the vault's file; returns `nil` if the task is cancelled meanwhile, although Argon2 cannot be stopped.
  func unlocked(by passphrase: SecretBytes) async throws(StateDirectoryError) -> UnlockedVault? {
    let directory = directory
    return try await OwnThread.runUnlessCancelled {
      Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
    }?.mapError(remembered).get()
  }

  /// Opens the stores of a vault; called within ``alone(_:)``.
  ///
  /// - Parameter storeOpened: called with the store and its id after it was opened, before it is compared with its
  ///   counter; not for a store that stayed open.
  func open(
    _ unlocked: UnlockedVault, storeOpened: (CredentialDB, [UInt8]) -> Void
  ) throws(StateDirectoryError) -> Opened {
    let content = unlocked.content
    let kept = state.withLock { $0.storeID == content.storeID ? $0.store : nil }
    let keys = CredentialKeys(mainKey: content.mainKey)
    let store: CredentialDB
    do throws(StateDirectoryError) {
      store = if let kept { kept } else { try directory.openStore(of: content, keys: keys) }
    } catch {
      throw remembered(error)
    }
    let previous = try openPrevious(of: content)
    if kept == nil { storeOpened(store, content.storeID) }
    // A store that stayed open is the same file.
    let finding: CounterFinding?
    do throws(RecoveryError) {
      finding = if kept == nil { try counter?.run(on: store) } else { state.withLock(\.counter) }
    } catch {
      let fault = directory.unusableStore(error)
      guard let settings = try? store.state() else { throw remembered(fault) }
      // This is not a fault of the store: it can be read, and opens when it can be written.
      if settings.counter != nil { state.withLock { $0.counter = .unknown(Problem(error)) } }
      throw fault
    }
    finding?.problem.map(log)
    state.withLock { state in
      state.fault = nil
      state.store = store
      state.storeID = content.storeID
      state.counter = finding
    }
    let vault = OpenVault(
      keys: keys, ed25519Root: content.ed25519Root, store: store, maximumDiscoverableCredentials: maximumPasskeys,
      signatures: signatures, previous: previous?.vault)
    return Opened(unlocked: unlocked, vault: vault, store: store, previousStore: previous?.store)
  }

  /// The keys and the store of the previous phrase; `nil` if there is none.
  ///
  /// The counter in the TPM belongs to the store of the present phrase alone.
  private func openPrevious(
    of content: VaultContent
  ) throws(StateDirectoryError) -> (vault: OpenVault, store: CredentialDB)? {
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
    return (OpenVault(keys: keys, ed25519Root: previous.ed25519Root, store: store, signatures: signatures), store)
  }
}
