import CTAP2
import CTAPHID
import Fingerprint
import ProcessIO
import Recovery

extension UserPrompter {
  private enum Event: Sendable {
    case finger(FingerprintResult)
    /// The reader waits no longer; after a match or too many wrong fingers, without a failure.
    case readerEnded(FingerprintFailure?)
    /// The user answered the dialog with this number.
    case answered(Result<PromptAnswer, UserInteractionError>, dialog: Int)
  }

  /// Shows a dialog, and waits for a finger at the same time; after each finger that does not match, the dialog says so.
  ///
  /// The reader starts after the dialog, and where the page must be read, half a second later: a finger agrees to what
  /// is shown. Three fingers that do not match, or a failing reader, leave the means after it.
  func readFinger(for page: PromptText) async throws(UserInteractionError) -> MeansOutcome {
    let (events, sender) = AsyncStream.makeStream(of: Event.self)
    var dialog = 0
    var asking = ask(page.forFinger(nil), number: dialog, to: sender)
    let reading = read(after: page.needsReading ? Self.shortestReading : .zero, to: sender)
    let outcome = await withTaskCancellationHandler {
      var triesLeft = Self.triesPerDialog
      for await event in events {
        var advice: String
        switch event {
        case .finger(.match): return Result<MeansOutcome, UserInteractionError>.success(.verified)
        case .finger(.noMatch):
          triesLeft -= 1
          guard triesLeft > 0 else { return .success(.next(remark: PromptText.noFinger)) }
          advice = PromptText.wrongFinger(triesLeft: triesLeft)
        case .finger(.unread(let words)): advice = words
        case .readerEnded(let failure):
          if case .failed(let words)? = failure { failed(.fingerprint, words) }
          return .success(.next(remark: nil))
        case .answered(let answer, dialog): return answer.map { _ in .next(remark: nil) }
        case .answered: continue
        }
        dialog += 1
        await withdraw(asking)
        asking = ask(page.forFinger(advice), number: dialog, to: sender)
      }
      return .failure(.cancelled)
    } onCancel: {
      sender.finish()
    }
    reading.cancel()
    await withdraw(asking)
    await reading.value
    return try outcome.get()
  }

  private func ask(
    _ dialog: PromptText, number: Int, to sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    present(dialog) { sender.yield(.answered($0, dialog: number)) }
  }

  /// Shows a dialog in a task of its own.
  func present(
    _ dialog: PromptText, then answered: @escaping @Sendable (Result<PromptAnswer, UserInteractionError>) -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) {
      do throws(UserInteractionError) {
        try await self.open(dialog)
      } catch {
        answered(.failure(error))
        return
      }
      answered(await self.ask(dialog))
    }
  }

  /// Closes a dialog that ``present(_:then:)`` shows.
  func withdraw(_ asking: Task<Void, Never>) async {
    asking.cancel()
    await asking.value
    await backEnd.close()
  }

  private func read(after pause: Duration, to sender: AsyncStream<Event>.Continuation) -> Task<Void, Never> {
    Task(executorPreference: executor) { [clock, readFingers] in
      do throws(CancellationError) { try await clock.sleep(until: clock.now.advanced(by: pause)) } catch { return }
      guard let readFingers else { return }
      let result = await OwnThread.run(cancellable: { cancellation in
        readFingers(cancellation) { result in
          if case .terminated = sender.yield(.finger(result)) { return false }
          return true
        }
      })
      switch result {
      case nil: sender.yield(.readerEnded(.failed(PromptFailure.nothingLeft)))
      case .success: sender.yield(.readerEnded(nil))
      case .failure(let failure): sender.yield(.readerEnded(failure))
      }
    }
  }
}

extension FingerprintReader {
  /// As ``verify(_:_:)``, for the prompter.
  func read(
    _ cancellation: Cancellation, _ next: @escaping @Sendable (FingerprintResult) -> Bool
  ) -> Result<Void, FingerprintFailure> {
    Result { () throws(FingerprintFailure) in try verify(cancellation, next) }
  }
}
