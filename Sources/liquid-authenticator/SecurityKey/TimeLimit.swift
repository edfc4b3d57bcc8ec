import CTAP2
import CTAPHID
import Synchronization

/// Ends a ceremony's prompt that nobody answers.
///
/// A wallet's prompts have the limit that each of their dialogs has by itself.
struct TimeLimitedInteraction: UserInteraction {
  /// How long a person has to answer a ceremony's prompt (CTAP §6.1.2 wants 30 s).
  static let presence = Duration.seconds(30)

  let base: any UserInteraction
  let limit: Duration
  let timepiece: any Timepiece
  let workers: any TaskExecutor

  var canVerify: Bool { base.canVerify }
  var verificationTriesLeft: Int { base.verificationTriesLeft }

  func confirm(
    _ prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> UserConsent {
    guard !prompt.isOfWallet else { return try await base.confirm(prompt, verification: verification) }
    // A consent cannot be copied, so it is handed from the asking task to this one.
    let handover = Handover<UserConsent>()
    try await withTimeLimit(limit, timepiece, workers) { () async throws(UserInteractionError) in
      handover.put(try await base.confirm(prompt, verification: verification))
    }
    guard let consent = handover.take() else { throw .declined }
    return consent
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
