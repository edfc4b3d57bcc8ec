import CTAP2
import CTAPHID
import Fingerprint
import Messages
import ProcessIO
import Recovery

extension UserPrompter {
  private enum Event: Sendable {
    /// The dialog with this number is open.
    case opened(dialog: Int)
    /// The result of the finger that was read for the dialog with this number, or why the reader failed.
    case read(Result<FingerprintResult, FingerprintFailure>, dialog: Int)
    /// The user answered the dialog with this number.
    case answered(Result<PromptAnswer, UserInteractionError>, dialog: Int)
  }

  /// Shows a dialog, and waits for a finger at the same time; after each finger that does not match, the dialog says so.
  ///
  /// A finger agrees to the dialog that is shown. The wait for a finger therefore starts when the dialog is open, or
  /// half a second later if the user must read the page first. Each dialog starts a new wait, and a match counts only
  /// while its dialog is open. After three fingers that do not match, or if the reader fails, the next means verifies.
  /// After five wrong tries of fingers and PAM over several requests, no finger is read until the passphrase has verified.
  ///
  /// This does not wait until the reader is free, because fprintd can hang.
  func readFinger(for page: PromptText) async throws(UserInteractionError) -> MeansOutcome {
    let (events, sender) = AsyncStream.makeStream(of: Event.self)
    var dialog = 0
    var asking = ask(page.forFinger(nil), number: dialog, to: sender)
    var reading: Task<Void, Never>?
    let outcome = await withTaskCancellationHandler {
      var triesLeft = Self.triesPerDialog
      for await event in events {
        var advice: Message?
        switch event {
        case .opened(dialog):
          let pause = page.needsReading ? Self.shortestReading : .zero
          reading = read(after: pause, dialog: dialog, to: sender)
          continue
        case .read(.success(.match), dialog):
          // The dialog is not open while another back end takes the place of one that failed.
          if await backEnd.isOpen { return Result<MeansOutcome, UserInteractionError>.success(.verified) }
        case .read(.success(.noMatch), dialog):
          triesLeft = min(triesLeft - 1, triesOfMeans)
          guard triesLeft > 0 else { return .success(.next(remark: PromptText.noFinger)) }
          advice = PromptText.wrongFinger(triesLeft: triesLeft)
        case .read(.success(.unread(let words)), dialog): advice = words
        case .read(.failure(let failure), dialog):
          if case .failed(let words) = failure { failed(.fingerprint, words) }
          return .success(.next(remark: nil))
        case .answered(let answer, dialog): return answer.map { _ in .next(remark: nil) }
        case .opened, .read, .answered: continue
        }
        dialog += 1
        await withdraw(asking)
        asking = ask(page.forFinger(advice), number: dialog, to: sender)
      }
      return .failure(.cancelled)
    } onCancel: {
      sender.finish()
    }
    reading?.cancel()
    await withdraw(asking)
    return try outcome.get()
  }

  private func ask(
    _ dialog: PromptText, number: Int, to sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    present(
      dialog, opened: { sender.yield(.opened(dialog: number)) },
      answered: { sender.yield(.answered($0, dialog: number)) })
  }

  /// Shows a dialog in a task of its own.
  func present(
    _ dialog: PromptText, opened: @escaping @Sendable () -> Void,
    answered: @escaping @Sendable (Result<PromptAnswer, UserInteractionError>) -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) {
      do throws(UserInteractionError) {
        try await self.open(dialog)
      } catch {
        answered(.failure(error))
        return
      }
      opened()
      answered(await self.ask(dialog))
    }
  }

  /// Closes a dialog that ``present(_:opened:answered:)`` shows.
  func withdraw(_ asking: Task<Void, Never>) async {
    asking.cancel()
    await asking.value
    await backEnd.close()
  }

  private func read(
    after pause: Duration, dialog: Int, to sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) { [clock, readFingers, freeReader, verifier] in
      do throws(CancellationError) { try await clock.sleep(until: clock.now.advanced(by: pause)) } catch { return }
      guard let readFingers else { return }
      let result = await OwnThread.run(cancellable: readFingers) ?? .failure(.failed(PromptFailure.nothingLeft))
      // A wrong finger counts even if the client has withdrawn the request.
      if result == .success(.noMatch) { verifier?.count(.fingerprint, isRight: false) }
      sender.yield(.read(result, dialog: dialog))
      if let freeReader { await OwnThread.run(freeReader) }
    }
  }
}

extension FingerprintReader {
  /// As ``verify(_:)``; returns the error.
  func read(_ cancellation: Cancellation) -> Result<FingerprintResult, FingerprintFailure> {
    Result { () throws(FingerprintFailure) in try verify(cancellation) }
  }
}
