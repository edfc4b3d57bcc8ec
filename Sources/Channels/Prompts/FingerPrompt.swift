import CTAP2
import CTAPHID
import EventLoop
import Fingerprint
import Logind
import Messages
import ProcessIO
import Recovery

extension UserPrompter {
  /// How long the reader is released again and again if fprintd may claim it late.
  private static let freeing = Duration.seconds(60)
  /// The pause between two tries.
  private static let freeingPause = Duration.milliseconds(500)

  private enum Event: Sendable {
    /// The dialog with this number is open; `canBeQueued` if the user may not see it.
    case opened(dialog: Int, canBeQueued: Bool)
    /// A finger matched for the dialog with this number; whether the screen was locked then, `nil` if that is unknown.
    case matched(dialog: Int, isLocked: Bool?)
    /// Another result of the finger that was read for the dialog with this number, or why the reader failed.
    case read(Result<FingerprintResult, FingerprintFailure>, dialog: Int)
    /// The user answered the dialog with this number.
    case answered(Result<PromptAnswer, UserInteractionError>, dialog: Int)
    /// The screen was locked.
    case locked
    /// The reader has waited long enough.
    case expired
  }

  /// Shows a dialog, and waits for a finger at the same time; after each finger that does not match, the dialog says so.
  ///
  /// A finger agrees to the dialog that is shown. The wait for a finger therefore starts when the dialog is open, or
  /// half a second later if the user must read the page first. Each dialog starts a new wait, and a match counts only
  /// while its dialog is open. After three fingers that do not match, or if the reader fails, the next means verifies.
  /// After five wrong tries of fingers and PAM over several requests, no finger is read until the passphrase has verified.
  /// After two minutes, the next means follows: other programs cannot use the reader meanwhile, and a finger that is
  /// meant for them would agree to this prompt.
  ///
  /// No finger is read while the screen is locked, and a match counts only if it is still unlocked. If the desktop can
  /// queue the dialog behind prompts of other programs, the user must first press a button in a dialog with the page.
  ///
  /// This does not wait until the reader is free, because fprintd can hang.
  func readFinger(for page: PromptText) async throws(UserInteractionError) -> MeansOutcome {
    if let outcome = outcome(ofLock: await isScreenLocked()) { return outcome }
    let (events, sender) = AsyncStream.makeStream(of: Event.self)
    var watch = watchScreen { sender.yield(.locked) }
    var (dialog, isSeen) = (0, false)
    var asking = presentPage(page.forFinger(nil), number: dialog, isSeen: isSeen, to: sender)
    var reading: Task<Void, Never>?
    var expiry: Task<Void, Never>?
    let outcome = await withTaskCancellationHandler { () -> Result<MeansOutcome, UserInteractionError> in
      var triesLeft = Self.triesPerDialog
      for await event in events {
        var advice: Message?
        switch event {
        case .opened(dialog, canBeQueued: true) where !isSeen:
          await withdraw(asking)
          do throws(UserInteractionError) { try await agreeByButton(to: page.beforeFinger) } catch {
            return .failure(error)
          }
          isSeen = true
        case .opened(dialog, _):
          let pause = page.needsReading ? Self.shortestReading : .zero
          reading = read(after: pause, dialog: dialog, watch, to: sender)
          if expiry == nil { expiry = expire(to: sender) }
          continue
        case .matched(dialog, let isLocked):
          // The dialog is not open while another back end takes the place of one that failed.
          if await backEnd.isOpen { return .success(self.outcome(ofLock: isLocked) ?? .verified) }
          watch = watchScreen { sender.yield(.locked) }
        case .read(.success(.noMatch), dialog):
          triesLeft = min(triesLeft - 1, triesOfMeans)
          guard triesLeft > 0 else { return .success(.next(remark: PromptText.noFinger)) }
          advice = PromptText.wrongFinger(triesLeft: triesLeft)
        case .read(.success(.unread(let words)), dialog): advice = words
        case .read(.failure(let failure), dialog):
          if case .failed(let words) = failure {
            failed(.fingerprint, words, remedy: failure == .noFinger ? FingerprintFailure.enrolling : nil)
          }
          return .success(.next(remark: nil))
        case .answered(let answer, dialog): return answer.map { _ in .next(remark: nil) }
        case .locked:
          let isLocked = await isScreenLocked()
          return .success(self.outcome(ofLock: isLocked) ?? .next(remark: PromptText.screenLocked))
        case .expired: return .success(.next(remark: nil))
        case .opened, .matched, .read, .answered: continue
        }
        dialog += 1
        await withdraw(asking)
        asking = presentPage(page.forFinger(advice), number: dialog, isSeen: isSeen, to: sender)
      }
      return .failure(.cancelled)
    } onCancel: {
      sender.finish()
    }
    watch?.cancel()
    expiry?.cancel()
    reading?.cancel()
    await withdraw(asking)
    return try outcome.get()
  }

  /// - Parameter isSeen: whether the user has seen the page; otherwise a dialog that can be queued is not shown.
  private func presentPage(
    _ dialog: PromptText, number: Int, isSeen: Bool, to sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    present(
      dialog, evenIfQueued: isSeen, opened: { sender.yield(.opened(dialog: number, canBeQueued: $0)) },
      answered: { sender.yield(.answered($0, dialog: number)) })
  }

  /// Shows a dialog in a task of its own.
  ///
  /// - Parameters:
  ///   - evenIfQueued: whether to show a dialog that the desktop can queue.
  ///   - opened: gets whether the desktop can queue the dialog.
  func present(
    _ dialog: PromptText, evenIfQueued: Bool, opened: @escaping @Sendable (_ canBeQueued: Bool) -> Void,
    answered: @escaping @Sendable (Result<PromptAnswer, UserInteractionError>) -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) {
      do throws(UserInteractionError) {
        try await self.open(dialog)
      } catch {
        answered(.failure(error))
        return
      }
      let canBeQueued = await self.backEnd.canBeQueued
      opened(canBeQueued)
      if evenIfQueued || !canBeQueued { answered(await self.ask(dialog)) }
    }
  }

  /// Closes a dialog that ``present(_:evenIfQueued:opened:answered:)`` shows.
  func withdraw(_ asking: Task<Void, Never>) async {
    asking.cancel()
    await asking.value
    await backEnd.close()
  }

  /// - Parameter watch: ends before the screen is checked after a match, because both use one connection.
  private func read(
    after pause: Duration, dialog: Int, _ watch: Task<Void, Never>?, to sender: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) { [clock, executor, readFingers, freeReader, verifier] in
      do throws(CancellationError) { try await clock.sleep(until: clock.now.advanced(by: pause)) } catch { return }
      guard let readFingers else { return }
      let result = await OwnThread.run(cancellable: readFingers) ?? .failure(.failed(OwnThread.nothingLeft))
      // A wrong finger counts even if the client has withdrawn the request.
      if result == .success(.noMatch) { verifier?.count(.fingerprint, isRight: false) }
      if result == .success(.match) {
        watch?.cancel()
        // The check can take seconds; a refusal in this time is handled before the match.
        sender.yield(.matched(dialog: dialog, isLocked: await self.isScreenLocked()))
      } else {
        sender.yield(.read(result, dialog: dialog))
      }
      guard let freeReader else { return }
      // In a task of its own, because the end of the request cancels this one.
      Task(executorPreference: executor) {
        let deadline = clock.now.advanced(by: Self.freeing)
        while await OwnThread.run(freeReader), clock.now < deadline {
          try? await clock.sleep(until: clock.now.advanced(by: Self.freeingPause))
        }
      }
    }
  }

  /// Ends the wait for a finger after two minutes.
  private func expire(to sender: AsyncStream<Event>.Continuation) -> Task<Void, Never> {
    Task(executorPreference: executor) { [clock] in
      do throws(CancellationError) {
        try await clock.sleep(until: clock.now.advanced(by: Self.answer))
      } catch {
        return
      }
      sender.yield(.expired)
    }
  }

  // MARK: The screen

  /// What to do in place of waiting for a finger; `nil` if the screen is not locked.
  private func outcome(ofLock isLocked: Bool?) -> MeansOutcome? {
    switch isLocked {
    case false?: return nil
    case true?: return .next(remark: PromptText.screenLocked)
    case nil:
      if !Task.isCancelled {
        failed(
          .fingerprint, "logind does not report whether the screen is locked; see: systemctl status systemd-logind")
      }
      return .next(remark: nil)
    }
  }

  /// Whether the screen is locked; `nil` if logind does not answer, or after a cancellation.
  func isScreenLocked() async -> Bool? {
    guard let screen else { return false }
    return await OwnThread.runUnlessCancelled { screen.isLocked() } ?? nil
  }

  private func watchScreen(_ locked: @escaping @Sendable () -> Void) -> Task<Void, Never>? {
    guard let screen else { return nil }
    return Task(executorPreference: executor) {
      if await OwnThread.run(cancellable: screen.waitUntilLocked) ?? true { locked() }
    }
  }
}

/// The lock of the user's screen.
protocol LockableScreen: Sendable {
  /// Whether it is locked; `nil` if that is unknown. Blocks for a few seconds at most.
  func isLocked() -> Bool?
  /// Waits until it is locked, or until that is unknown; blocks.
  ///
  /// - Returns: `false` after a cancellation.
  func waitUntilLocked(_ cancellation: Cancellation) -> Bool
}

extension ScreenLock: LockableScreen {
  func waitUntilLocked(_ cancellation: Cancellation) -> Bool { waitUntilLocked(orReadable: cancellation.descriptor) }
}

extension PromptText {
  /// The same question with a button that leads to ``forFinger(_:)``.
  fileprivate var beforeFinger: PromptText {
    var text = self
    (text.takesPassphrase, text.isPresence) = (false, false)
    text.means = [.fingerprint]
    text.agree = catalogue.text(text.nextMeans)
    return text
  }

  /// The line beside the field for the next means.
  static let screenLocked = Message("The screen was locked")
}

extension FingerprintReader {
  /// As ``verify(_:)``; returns the error.
  func read(_ cancellation: Cancellation) -> Result<FingerprintResult, FingerprintFailure> {
    Result { () throws(FingerprintFailure) in try verify(cancellation) }
  }
}
