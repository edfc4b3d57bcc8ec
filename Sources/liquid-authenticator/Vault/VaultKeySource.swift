import CTAP2
import CredentialDB
import CryptoPrimitives
import StateDirectory
import Synchronization
import Vault

/// Holds what the vault keeps while it is open, and asks for its passphrase when it is not.
///
/// Opening takes a second and 256 MiB, which Argon2 gives back; it is done on a thread of its own. Nothing here touches a
/// file that is missing or damaged: the log names it and says what to do, and the command is declined.
final class VaultKeySource: KeySource {
  private let directory: StateDirectory
  private let dialogs: any DialogBackEnd
  private let log: @Sendable (String) -> Void
  private let verifier = PassphraseVerifier()
  private let state = Mutex(State())
  /// Held while a store is being opened, by one thread at a time.
  private let opening = Mutex(())

  private struct State {
    var open: OpenVault?
    /// A store that is still in use by a ceremony outlives a locking, and cannot be opened a second time beside itself.
    weak var store: CredentialDB?
    var storeID: [UInt8] = []
  }

  /// - Parameters:
  ///   - directory: locked by this process.
  ///   - dialogs: asks for the passphrase.
  ///   - log: takes a line where something is wrong.
  init(directory: StateDirectory, dialogs: any DialogBackEnd, log: @escaping @Sendable (String) -> Void) {
    self.directory = directory
    self.dialogs = dialogs
    self.log = log
  }

  // MARK: The port

  var current: OpenVault? { state.withLock { $0.open } }

  func open() async throws(UserInteractionError) -> OpenVault {
    if let current { return current }
    do {
      try directory.check()
    } catch {
      throw decline(error)
    }
    let tries = TriesLeft(DialogInteraction.triesPerDialog)
    return try await dialogs.passphrase(.unlock) { [self] passphrase in
      do throws(StateDirectoryError) {
        guard let content = try await content(passphrase) else { return .ended(.cancelled) }
        return .accepted(try await install(content, passphrase))
      } catch  where error.reason == .wrongPassphrase {
        let verdict: PassphraseVerdict<OpenVault> = tries.wrong(then: .declined)
        // Damage in a slot looks like a wrong passphrase, so the log names the file.
        if case .ended = verdict { log(error.description) }
        return verdict
      } catch {
        return .ended(decline(error))
      }
    }
  }

  // MARK: The control door

  /// Opens the vault with a passphrase that came through the control door; when it is open, the passphrase is compared
  /// in full all the same.
  ///
  /// - Throws: `wrongPassphrase`; or why vault or store cannot be opened.
  func unlock(passphrase: SecretBytes) async throws(StateDirectoryError) {
    let directory = directory
    let result = await OwnThread.run {
      Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
    }
    _ = try await install(result.get(), passphrase)
  }

  /// Forgets everything that the vault holds.
  func lock() {
    state.withLock { $0.open = nil }
    verifier.forget()
  }

  /// Compares a passphrase with that of the open vault; one wrong try too many locks it.
  func verify(_ passphrase: SecretBytes) -> PassphraseVerifier.Outcome {
    let outcome = verifier.verify(passphrase)
    if outcome == .blocked {
      lock()
      log("the passphrase was wrong \(PassphraseVerifier.triesPerUnlocking) times in a row: the vault is locked")
    }
    return outcome
  }

  // MARK: Opening

  /// `nil` when the task is cancelled meanwhile: Argon2 cannot be stopped, but nobody waits for it.
  private func content(_ passphrase: SecretBytes) async throws(StateDirectoryError) -> VaultContent? {
    let directory = directory
    return try await OwnThread.runUnlessCancelled {
      Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
    }?.get()
  }

  private func install(
    _ content: VaultContent, _ passphrase: SecretBytes
  ) async throws(StateDirectoryError) -> OpenVault {
    try await OwnThread.run { [self] in
      Result { () throws(StateDirectoryError) in
        try opening.withLock { _ throws(StateDirectoryError) -> OpenVault in
          let vault = if let current { current } else { try openVault(content) }
          verifier.remember(passphrase)
          return vault
        }
      }
    }.get()
  }

  private func openVault(_ content: VaultContent) throws(StateDirectoryError) -> OpenVault {
    let keys = CredentialKeys(mainKey: content.mainKey)
    let kept = state.withLock { $0.storeID == content.storeID ? $0.store : nil }
    let store = if let kept { kept } else { try directory.openStore(of: content, keys: keys) }
    let vault = OpenVault(keys: keys, ed25519Root: content.ed25519Root, store: store)
    state.withLock { $0 = State(open: vault, store: store, storeID: content.storeID) }
    return vault
  }

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
    do {
      try directory.check()
    } catch {
      status.fault = error
    }
    return status
  }
}
