import CTAP2
import CTAPHID
import CryptoPrimitives
import Synchronization

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
    let naming = DialogsNamingOtherKeys(base: base, others: others)
    try await told(naming) { () async throws(UserInteractionError) in try await naming.confirm(text) }
  }

  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    let naming = DialogsNamingOtherKeys(base: base, others: others)
    return try await told(naming) { () async throws(UserInteractionError) in
      try await naming.passphrase(text, check: check)
    }
  }

  func inOneTurn<Answer: Sendable>(
    _ body: @escaping @Sendable (any DialogBackEnd) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    let naming = DialogsNamingOtherKeys(base: base, others: others)
    return try await told(naming) { () async throws(UserInteractionError) in try await naming.inOneTurn(body) }
  }

  /// Keeps silent about a refusal beside another key, when the turn has been passed on: no other dialog waits for that.
  private func told<Answer: Sendable>(
    _ naming: DialogsNamingOtherKeys, _ show: () async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    do throws(UserInteractionError) {
      return try await show()
    } catch  where naming.isLeftToOthers {
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

/// Shows dialogs that name the other keys, and remembers a refusal beside one.
private struct DialogsNamingOtherKeys: DialogBackEnd {
  /// Shared by the dialogs of one turn.
  final class Refusal: Sendable {
    let isThere = Atomic(false)
  }

  let base: any DialogBackEnd
  let others: @Sendable () -> [OtherKey]
  var refusal = Refusal()

  /// Whether somebody has refused who may mean another key.
  var isLeftToOthers: Bool { refusal.isThere.load(ordering: .acquiring) }

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
    try await base.inOneTurn { [others, refusal] base async throws(UserInteractionError) in
      try await body(DialogsNamingOtherKeys(base: base, others: others, refusal: refusal))
    }
  }

  private func beside<Answer: Sendable>(
    _ text: PromptText, _ show: (PromptText) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    let others = text.mayConcernAnotherKey ? others() : []
    guard !others.isEmpty else { return try await show(text) }
    do throws(UserInteractionError) {
      return try await show(text.naming(others))
    } catch {
      if error == .declined || error == .wrongPassphrase { refusal.isThere.store(true, ordering: .releasing) }
      throw error
    }
  }
}
