import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import Prompts
import Recovery
import StateDirectory
import Vault

/// The port to the vault: tries the slots whose keys other programs keep, and then prompts for the passphrase.
///
/// Opening with a passphrase takes a second and 256 MiB, which Argon2 frees; it runs on a thread of its own. A missing or
/// damaged file is not changed: the log names it and says what to do, and the command is declined.
///
/// Locks: none, only two queues, in which requests wait without a thread. So a lock can come between any two steps of an
/// unlocking; ``CurrentVault/install(_:_:unlessLockedSince:)`` takes no vault that was opened for a request from before it.
final class VaultKeySource: KeySource {
  let vault: CurrentVault
  private let prompter: UserPrompter
  private let log: @Sendable (Problem) -> Void
  /// Queues the passphrases from the control socket: each costs 256 MiB, so one is checked at a time.
  private let turns = RequestQueue(())
  /// Queues the requests to the protector, which may show a prompt.
  let protectorTurns = RequestQueue(())

  /// - Parameters:
  ///   - vault: holds what is opened here.
  ///   - prompter: asks for the passphrase.
  ///   - log: gets a line for each problem.
  init(vault: CurrentVault, prompter: UserPrompter, log: @escaping @Sendable (Problem) -> Void) {
    self.vault = vault
    self.prompter = prompter
    self.log = log
  }

  var files: VaultFiles { vault.files }

  // MARK: The port

  var current: OpenVault? { vault.current }

  var reported: ReportedSettings { vault.reported }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault {
    let origin = client as? RequestOrigin
    if let current { return current }
    do { try files.directory.check() } catch { throw unavailable(error) }
    let lockings = vault.lockings
    let judge = judge(unlessLockedSince: lockings)
    let opened = try await openByProtectors(for: reason, from: origin, orBy: judge, unlessLockedSince: lockings)
    if let opened { return opened }
    let dialog = PromptText.unlock(for: reason, in: prompter.catalogue).asked(from: origin)
    return try await prompter.passphrase(dialog, judge)
  }

  /// Opens the vault with a typed passphrase.
  func judge(unlessLockedSince lockings: Int) -> UserPrompter.Judge<OpenVault> {
    { [self] passphrase, isLastTry in
      do throws(StateDirectoryError) {
        guard let unlocked = try await files.unlocked(by: passphrase) else { return .ended(.cancelled) }
        guard let opened = try await vault.install(unlocked, passphrase, unlessLockedSince: lockings) else {
          return .ended(lockedMeanwhile())
        }
        return .accepted(opened.openedByPerson)
      } catch  where error.kind == .wrongPassphrase {
        // Damage in a slot looks like a wrong passphrase, so the log names the file.
        if isLastTry {
          log(
            Problem(
              "\(files.directory.vaultPath): \(error); if you are sure that it is right, the vault is damaged",
              hint: "see: man liquid-auth-vault"))
        }
        return .wrong(then: .wrongPassphrase)
      } catch {
        return .ended(unavailable(error))
      }
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
    let (lockings, directory) = (vault.lockings, files.directory)
    let opened: Result<UnlockedVault, StateDirectoryError>
    do {
      opened = try await turns.submit { _ in
        await OwnThread.run {
          Result { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
        }
      }.mapError(files.remembered)
    } catch {
      return nil
    }
    return try await vault.install(opened.get(), passphrase, unlessLockedSince: lockings)?.unlocking
  }

  /// Logs why the vault is not open.
  func unavailable(_ error: StateDirectoryError) -> UserInteractionError {
    log(Problem(error))
    return .unavailable
  }
}
