import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import ProcessIO
import Prompts
import ProtectorProtocol
import Recovery
import Synchronization
import Vault

/// Gets the keys of slots from the programs that keep them, for one request at a time.
///
/// If a slot gives no key, the log says why.
final class SlotKeys: Sendable {
  /// Asks a protector, and blocks until it has answered; `touchNeeded` is called when a security key waits for a touch.
  typealias Ask =
    @Sendable (_ request: ProtectorRequest, Cancellation, _ touchNeeded: @Sendable () -> Void) ->
    Result<ProtectorAnswer, ProtectorFailure>

  /// The result of a request for the key of a slot.
  enum Outcome: Sendable {
    /// The key of the slot, 32 bytes; and the public key of its security key, if the slot has none.
    case key(SecretBytes, publicKey: [UInt8])
    /// The user typed the passphrase instead.
    case opened(OpenVault)
    /// There is no key, or the user did not give its PIN.
    case nothing
  }

  private let ask: Ask
  let prompter: UserPrompter
  let log: @Sendable (Problem) -> Void
  /// Ends the wait for a protector.
  private let asking = Mutex<Cancellation?>(nil)

  /// - Parameter prompter: asks for the PIN of a slot.
  init(ask: @escaping Ask, prompter: UserPrompter, log: @escaping @Sendable (Problem) -> Void) {
    (self.ask, self.prompter, self.log) = (ask, prompter, log)
  }

  /// Gets the key of a slot.
  ///
  /// A PIN is asked for only if a right one would give the key.
  ///
  /// - Parameters:
  ///   - reason: what the vault is unlocked for, as the dialogs show it.
  ///   - origin: where the request came in that needs the vault.
  ///   - number: the slot's number in `liquid-auth vault list`.
  ///   - passphrase: opens the vault with a passphrase that is typed while a security key waits for a touch; `nil` to show
  ///     no dialog for it.
  ///   - needsDialog: whether a touch counts only once the dialog for it is shown.
  ///   - isWanted: whether the vault must still be opened; if not, the wait for the protector ends.
  func key(
    of slot: VaultSlot, number: Int, for reason: UnlockReason?, from origin: RequestOrigin?,
    orBy passphrase: UserPrompter.Judge<OpenVault>?, needsDialog: Bool, while isWanted: @escaping @Sendable () -> Bool
  ) async throws(UserInteractionError) -> Outcome {
    if case .damaged = slot.protector {
      report(number, slot.protector, "it is damaged; remove the slot, and add it again")
    }
    guard let data = slot.protector.publicData else { return .nothing }
    var wait = startRequest(ProtectorRequest(.get, type: slot.protector.type, data: data), while: isWanted)
    var answer = await wait.answer()
    if case .failure(let failure)? = answer, failure.kind == .pinNeeded, isWanted() {
      let withPIN = try await askPIN(
        of: slot.protector, data, number: number, for: reason, from: origin, while: isWanted)
      guard let withPIN else { return .nothing }
      (wait, answer) = withPIN
    }
    if answer == nil {
      switch try await touch(in: wait, for: reason, from: origin, orBy: passphrase, needsDialog: needsDialog) {
      case .opened(let vault): return .opened(vault)
      case .answered(let result): answer = result
      }
    }
    switch answer {
    case .success(let answer)?: return .key(answer.key, publicKey: answer.data)
    case .failure(let failure)?:
      if !Task.isCancelled, isWanted() { report(number, slot.protector, Problem(failure.description)) }
      return .nothing
    case nil: return .nothing
    }
  }

  /// Asks whether a slot that opens without the person may open the vault, after it was locked.
  func agreement(
    toSlot number: Int, _ name: String, for reason: UnlockReason?, from origin: RequestOrigin?
  ) async throws(UserInteractionError) -> Bool {
    let dialog = PromptText.agreement(toSlot: number, name, for: reason, in: prompter.catalogue)
    do {
      try await prompter.agreement(to: dialog.asked(from: origin))
      return true
    } catch {
      // After a refusal, the person can still type the passphrase, as for the PIN of a slot.
      guard error == .declined || error == .unavailable else { throw error }
      return false
    }
  }

  /// Asks for the PIN of a slot; after a wrong PIN, the dialog says so and asks again.
  ///
  /// - Returns: the request with the right PIN, and its answer if no security key waits for a touch; `nil` if there is no
  ///   right PIN.
  private func askPIN(
    of protector: VaultSlot.Protector, _ data: [UInt8], number: Int, for reason: UnlockReason?,
    from origin: RequestOrigin?, while isWanted: @escaping @Sendable () -> Bool
  ) async throws(UserInteractionError) -> (Wait, Result<ProtectorAnswer, ProtectorFailure>?)? {
    do {
      let dialog = PromptText.pin(ofSlot: number, protector.name, for: reason, in: prompter.catalogue)
      return try await prompter.passphrase(dialog.asked(from: origin)) { [self] pin, isLastTry in
        guard pin.count <= ProtectorRequest.longestPIN else { return .wrong(then: .declined) }
        let wait = startRequest(ProtectorRequest(.get, type: protector.type, data: data, pin: pin), while: isWanted)
        let answer = await wait.answer()
        guard case .failure(let failure)? = answer else { return .accepted((wait, answer)) }
        guard isWanted(), !Task.isCancelled else { return .ended(.unavailable) }
        let isWrong = failure.kind == .wrongPIN
        if !isWrong || isLastTry { report(number, protector, Problem(failure.description)) }
        return isWrong ? .wrong(then: .declined) : .ended(.unavailable)
      }
    } catch {
      // After a refusal, the person can still type the passphrase; after a time-out, nobody is there.
      guard error == .declined || error == .unavailable else { throw error }
      return nil
    }
  }

  /// Ends the wait for a protector, which then withdraws its prompt.
  func cancel() { asking.withLock { $0?.cancel() } }

  /// Logs why a slot does not unlock the vault.
  func report(_ number: Int, _ protector: VaultSlot.Protector, _ problem: Problem) {
    log(problem.after("slot \(number) (\(protector.name)) did not unlock the vault: "))
  }

  /// Asks the protector, on a thread of its own.
  ///
  /// - Parameter touchNeeded: called on that thread when a security key waits for a touch.
  func answer(
    to request: ProtectorRequest, while isWanted: @escaping @Sendable () -> Bool,
    touchNeeded: @escaping @Sendable () -> Void = {}
  ) async -> Result<ProtectorAnswer, ProtectorFailure> {
    let answer = await OwnThread.run(cancellable: { [self] cancellation in
      asking.withLock { $0 = cancellation }
      defer { asking.withLock { $0 = nil } }
      if !isWanted() { cancellation.cancel() }
      return ask(request, cancellation, touchNeeded)
    })
    return answer ?? .failure(ProtectorFailure(.failed, OwnThread.nothingLeft))
  }
}
