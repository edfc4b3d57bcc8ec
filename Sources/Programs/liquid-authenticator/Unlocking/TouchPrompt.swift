import CTAP2
import Prompts
import ProtectorProtocol
import Recovery

extension SlotKeys {
  fileprivate enum Event: Sendable {
    case touchNeeded
    /// The dialog is shown.
    case shown
    case answered(Result<ProtectorAnswer, ProtectorFailure>)
    /// The user typed the right passphrase, refused, or did not answer.
    case typed(Result<OpenVault, UserInteractionError>)
  }

  /// A request that the protector serves.
  struct Wait: Sendable {
    fileprivate let asking: Task<Void, Never>
    fileprivate let events: AsyncStream<Event>
    fileprivate let sender: AsyncStream<Event>.Continuation

    /// Waits for the answer; returns `nil` if a security key waits for a touch first.
    func answer() async -> Result<ProtectorAnswer, ProtectorFailure>? {
      for await event in events {
        switch event {
        case .answered(let answer): return answer
        case .touchNeeded, .shown, .typed: return nil
        }
      }
      // The task was cancelled.
      asking.cancel()
      await asking.value
      return .failure(ProtectorFailure(.failed, "it was cancelled"))
    }
  }

  /// What ended the wait for a protector.
  enum TouchOutcome: Sendable {
    case answered(Result<ProtectorAnswer, ProtectorFailure>)
    /// The user typed the passphrase first.
    case opened(OpenVault)
  }

  /// Asks the protector; ``Wait/answer()`` or ``touch(in:for:from:orBy:needsDialog:)`` must follow.
  func startRequest(_ request: ProtectorRequest, while isWanted: @escaping @Sendable () -> Bool) -> Wait {
    let (events, sender) = AsyncStream.makeStream(of: Event.self)
    let asking = Task(executorPreference: prompter.executor) {
      let answer = await self.answer(to: request, while: isWanted) { sender.yield(.touchNeeded) }
      sender.yield(.answered(answer))
    }
    return Wait(asking: asking, events: events, sender: sender)
  }

  /// Waits while a security key waits for a touch: a dialog says so, and takes the passphrase instead.
  ///
  /// The first answer ends both waits. A refusal ends them, too: the request is denied. If the dialog cannot be shown, a
  /// touch still unlocks. After a lock, a touch counts only once the dialog is shown.
  ///
  /// - Parameters:
  ///   - origin: where the request came in that needs the vault.
  ///   - passphrase: opens the vault with a typed passphrase; `nil` to show no dialog.
  ///   - needsDialog: whether a dialog that cannot be shown ends the wait, and a touch waits for the dialog.
  func touch(
    in wait: Wait, for reason: UnlockReason?, from origin: RequestOrigin?,
    orBy passphrase: UserPrompter.Judge<OpenVault>?, needsDialog: Bool
  ) async throws(UserInteractionError) -> TouchOutcome {
    let dialog = passphrase.map { passphrase in
      let text = PromptText.touch(for: reason, in: prompter.catalogue)
      let asked =
        needsDialog ? text.asked(from: origin, shown: { wait.sender.yield(.shown) }) : text.asked(from: origin)
      return show(asked, passphrase) { wait.sender.yield(.typed($0)) }
    }
    let isDialogAwaited = needsDialog && dialog != nil
    let outcome = await withTaskCancellationHandler { () -> Result<TouchOutcome, UserInteractionError> in
      var isShown = !isDialogAwaited
      var early: Result<ProtectorAnswer, ProtectorFailure>?
      for await event in wait.events {
        switch event {
        case .touchNeeded: continue
        case .shown:
          isShown = true
          if let early { return .success(.answered(early)) }
        case .answered(.success(let answer)) where !isShown: early = .success(answer)
        case .answered(let answer): return .success(.answered(answer))
        case .typed(.success(let vault)): return .success(.opened(vault))
        case .typed(.failure(.unavailable)) where await prompter.problem != nil && !needsDialog: continue
        case .typed(.failure(let error)): return .failure(error)
        }
      }
      return .failure(.cancelled)
    } onCancel: {
      wait.sender.finish()
    }
    wait.asking.cancel()
    dialog?.cancel()
    await wait.asking.value
    // The vault can be open although another event came first, such as the end of the protector after the passphrase.
    if let vault = await dialog?.value { return .opened(vault) }
    return try outcome.get()
  }

  private func show(
    _ dialog: PromptText, _ judge: @escaping UserPrompter.Judge<OpenVault>,
    typed: @escaping @Sendable (Result<OpenVault, UserInteractionError>) -> Void
  ) -> Task<OpenVault?, Never> {
    Task(executorPreference: prompter.executor) { [prompter] () async -> OpenVault? in
      do throws(UserInteractionError) {
        let vault = try await prompter.passphrase(dialog, judge)
        typed(.success(vault))
        return vault
      } catch {
        typed(.failure(error))
        return nil
      }
    }
  }
}
