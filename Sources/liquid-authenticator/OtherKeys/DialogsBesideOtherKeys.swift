import CTAP2
import CTAPHID
import CryptoPrimitives

/// Shows the dialogs of requests that a browser may have sent to all keys at once.
///
/// They name the other keys. Whoever refuses here may mean to use one of those, and Chromium ends a registration and a
/// sign-in for all keys when one of them answers OPERATION_DENIED. So a refusal beside another key is what not being
/// touched is for a key with a button: the request goes on until the client withdraws it, or its time is over.
struct DialogsBesideOtherKeys: DialogBackEnd {
  let base: any DialogBackEnd
  /// The other keys that are plugged in now.
  let others: @Sendable () -> [OtherKey]
  let timepiece: any Timepiece

  func confirm(_ text: PromptText) async throws(UserInteractionError) {
    let base = base
    try await beside(text) { text async throws(UserInteractionError) in try await base.confirm(text) }
  }

  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    let base = base
    return try await beside(text) { text async throws(UserInteractionError) in
      try await base.passphrase(text, check: check)
    }
  }

  func inOneTurn<Answer: Sendable>(
    _ body: @escaping @Sendable (any DialogBackEnd) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    try await base.inOneTurn { [others, timepiece] base async throws(UserInteractionError) in
      try await body(DialogsBesideOtherKeys(base: base, others: others, timepiece: timepiece))
    }
  }

  private func beside<Answer: Sendable>(
    _ text: PromptText, _ show: (PromptText) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    let others = text.mayConcernAnotherKey ? others() : []
    guard !others.isEmpty else { return try await show(text) }
    do throws(UserInteractionError) {
      return try await show(text.naming(others))
    } catch  where error == .declined || error == .wrongPassphrase {
      try await leaveToOthers()
    }
  }

  /// Says nothing for as long as a key has that nobody touches.
  private func leaveToOthers() async throws(UserInteractionError) -> Never {
    do throws(CancellationError) {
      try await timepiece.sleep(until: timepiece.now.advanced(by: TimeLimitedInteraction.presence))
    } catch {
      throw .cancelled
    }
    throw .timedOut
  }
}
