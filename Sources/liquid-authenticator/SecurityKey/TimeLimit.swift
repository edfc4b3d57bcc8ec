import CTAP2
import CTAPHID
import Synchronization

/// Ends a prompt that nobody answers.
///
/// Each dialog has a limit of its own besides, in its back end: 120 s, which is more than a ceremony's and less than a
/// wallet's prompt has in all.
struct TimeLimitedInteraction: UserInteraction {
  /// How long a person has to answer a ceremony's prompt (CTAP §6.1.2 wants 30 s).
  static let presence = Duration.seconds(30)

  /// How long a person has for all dialogs of a wallet's prompt, which are read to be signed: ten minutes, or half a minute
  /// a page where there are more than 20.
  static func reading(pages: Int) -> Duration { max(.seconds(600), .seconds(30) * pages) }

  let base: any UserInteraction
  let timepiece: any Timepiece
  let workers: any TaskExecutor

  var canVerify: Bool { base.canVerify }
  var verificationTriesLeft: Int { base.verificationTriesLeft }

  func confirm(
    _ prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> Confirmation {
    let limit = prompt.isOfWallet ? Self.reading(pages: PromptPages(prompt).count) : Self.presence
    let handover = Handover<Confirmation>()
    try await withTimeLimit(limit, timepiece, workers) { () async throws(UserInteractionError) in
      handover.put(try await base.confirm(prompt, verification: verification))
    }
    guard let confirmation = handover.take() else { throw .declined }
    return confirmation
  }
}

/// Carries one value from one task to another.
private final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  func put(_ value: consuming Value) {
    var given = Optional(value)
    self.value.withLock { $0 = given.take() }
  }

  func take() -> sending Value? { value.withLock { $0.take() } }
}

/// Runs `body` and cancels it after `limit`: what was cancelled because of that ends as `timedOut`.
private func withTimeLimit(
  _ limit: Duration, _ timepiece: any Timepiece, _ workers: any TaskExecutor,
  _ body: @escaping @Sendable () async throws(UserInteractionError) -> Void
) async throws(UserInteractionError) {
  let deadline = timepiece.now.advanced(by: limit)
  let asking = Task(executorPreference: workers) { () -> UserInteractionError? in
    do throws(UserInteractionError) { try await body() } catch { return error }
    return nil
  }
  let watch = Task(executorPreference: workers) {
    do throws(CancellationError) { try await timepiece.sleep(until: deadline) } catch { return false }
    asking.cancel()
    return true
  }
  let error = await withTaskCancellationHandler {
    await asking.value
  } onCancel: {
    asking.cancel()
  }
  watch.cancel()
  let isOver = await watch.value
  if let error { throw error == .cancelled && isOver && !Task.isCancelled ? .timedOut : error }
}
