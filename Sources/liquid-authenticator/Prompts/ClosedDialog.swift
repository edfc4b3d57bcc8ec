import CTAP2
import CTAPHID

/// A dialog that the person closed, and pressed no button, while the client still waits.
///
/// That may be a mistake, and is no answer. The request stays pending, with keepalives, and the person can ask for the
/// dialog again. The tries of the passphrase go on where they were. A program can bring back only this dialog, once for
/// each time that the person closed it.
extension UserPrompter {
  /// What ends the wait for such a dialog.
  enum Recall: Sendable {
    /// The person asks for it again.
    case again
    /// Another request waits.
    case displaced
  }

  /// Does the same as ``ask(_:)``, but opens a closed dialog of a client that waits again, when the person asks for it.
  ///
  /// A notice leaves nothing to decide, so closing it refuses. So does closing a dialog beside which a finger, PAM or,
  /// after a lock, a touch is awaited: these count only while the person can see the dialog.
  ///
  /// - Returns: `nil` if it was closed, and is open again.
  func askOrReopen(_ dialog: PromptText) async -> Result<PromptAnswer?, UserInteractionError> {
    guard let status = RequestStatus.current, ShownDialog.current == nil, !dialog.isNotice else {
      return await ask(dialog).map(Optional.some)
    }
    do throws(PromptFailure) {
      return .success(try await backEnd.ask(dialog))
    } catch {
      guard error == .closed else { return .failure(refusal(error)) }
    }
    await backEnd.close()
    do throws(UserInteractionError) {
      try await waitForRecall(beside: status)
      try await open(dialog)
      return .success(nil)
    } catch {
      return .failure(error)
    }
  }

  /// Opens the dialog again that the person closed.
  ///
  /// - Returns: whether a closed dialog waits.
  func askAgain() -> Bool {
    guard let recalls else { return false }
    self.recalls = nil
    recalls.yield(.again)
    return true
  }

  /// Waits until the person asks for the dialog again; another request ends the wait at once.
  private func waitForRecall(beside status: RequestStatus) async throws(UserInteractionError) {
    let (recalls, sender) = AsyncStream.makeStream(of: Recall.self)
    self.recalls = sender
    let watching = Task(executorPreference: executor) { [clock] in
      while await !status.isAwaited() {
        do throws(CancellationError) {
          try await clock.sleep(until: clock.now.advanced(by: Self.interval))
        } catch {
          return
        }
      }
      sender.yield(.displaced)
    }
    var recall: Recall?
    for await first in recalls {
      recall = first
      break
    }
    self.recalls = nil
    watching.cancel()
    await watching.value
    switch recall {
    case .again?: return
    case .displaced?: throw .timedOut
    // The task was cancelled.
    case nil: throw .cancelled
    }
  }
}
