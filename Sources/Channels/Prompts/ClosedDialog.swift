import CTAP2
import CTAPHID
import EventLoop
import Messages

/// A dialog that the user closed without pressing a button, while the client still waits.
///
/// That may be a mistake, so it is not an answer. The request stays pending, with keepalives, and the user can ask for
/// the dialog again, with the tries of the passphrase that are left. A program can show only this dialog again, once
/// for each time that the user closed it.
extension UserPrompter {
  /// What ends the wait for such a dialog.
  enum Recall: Sendable {
    /// The person asks for it again.
    case again
    /// The person refuses the request.
    case refused
    /// Another request waits.
    case displaced
  }

  /// Does the same as ``ask(_:)``, but opens a closed dialog again when the user asks, if the client still waits.
  ///
  /// To close a notice refuses the request, because there is nothing to decide. So does closing a dialog that a finger,
  /// PAM or, after a lock, a touch can answer: these count only while the user can see the dialog.
  ///
  /// - Returns: `nil` if it was closed, and is open again.
  func askOrReopen(_ dialog: PromptText) async -> Result<PromptAnswer?, UserInteractionError> {
    guard let request = dialog.request, let status = request.origin?.status, request.shown == nil, !dialog.isNotice
    else {
      return await ask(dialog).map(Optional.some)
    }
    do throws(PromptFailure) {
      return .success(try await backEnd.ask(dialog))
    } catch {
      guard error == .closed else { return .failure(refusal(error)) }
    }
    await backEnd.close()
    do throws(UserInteractionError) {
      try await waitForRecall(of: dialog, beside: status)
      try await open(dialog)
      return .success(nil)
    } catch {
      return .failure(error)
    }
  }

  /// Opens the dialog again that the person closed.
  ///
  /// - Returns: whether a closed dialog waits.
  package func askAgain() -> Bool {
    guard let recalls else { return false }
    self.recalls = nil
    recalls.yield(.again)
    return true
  }

  /// Waits until the person asks for the dialog again, by command or in a notification; another request ends the wait at
  /// once.
  private func waitForRecall(
    of dialog: PromptText, beside status: RequestStatus
  ) async throws(UserInteractionError) {
    let (recalls, sender) = AsyncStream.makeStream(of: Recall.self)
    self.recalls = sender
    let offering = Task(executorPreference: executor) { await self.offer(dialog.offer, sender) }
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
    offering.cancel()
    watching.cancel()
    await offering.value
    await watching.value
    switch recall {
    case .again?: return
    case .refused?: throw .declined
    case .displaced?: throw .timedOut
    // The task was cancelled.
    case nil: throw .cancelled
    }
  }

  /// Shows a notification with the choice, if notifications are available; the user can close it, too.
  private func offer(_ offer: PromptText, _ sender: AsyncStream<Recall>.Continuation) async {
    guard let notifications = backEnd.notifications else { return }
    do throws(PromptFailure) {
      try await notifications.open(offer)
      _ = try await notifications.ask(offer)
      sender.yield(.again)
    } catch {
      if error == .noAnswer(.declined) { sender.yield(.refused) }
    }
    await notifications.close()
  }
}

extension PromptText {
  /// The question whether to show this dialog again; its other button refuses, with the same label as here.
  var offer: PromptText {
    PromptText(
      headline: catalogue.text(Message("A request still waits for your answer")),
      details: [headline] + details.prefix(2), agree: catalogue.text(Message("Ask again")), refuse: refuse,
      catalogue: catalogue)
  }
}
