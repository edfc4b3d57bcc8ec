import CTAP2
import CryptoPrimitives
import Recovery
import Synchronization

/// Shows one dialog at a time, and the dialogs of one request one behind the other: an answer is meant for the question
/// that the person sees, and for what he has read before.
///
/// Ceremonies wait in one line anyway, but U2F asks beside it, between two messages of its host.
struct OneDialog: DialogBackEnd {
  private let base: any DialogBackEnd
  private let fault: DialogFault
  private let turns = RequestQueue(())

  /// - Parameter fault: is forgotten when a dialog is shown; `base` notes what goes wrong.
  init(_ base: any DialogBackEnd, fault: DialogFault) {
    self.base = base
    self.fault = fault
  }

  /// Whether somebody is being asked something now.
  var isOpen: Bool { turns.isTaken }

  func confirm(_ text: PromptText) async throws(UserInteractionError) {
    let base = base
    try await inTurn { () async throws(UserInteractionError) in try await base.confirm(text) }
  }

  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    let base = base
    return try await withoutActuallyEscaping(check) { check async throws(UserInteractionError) in
      try await inTurn { () async throws(UserInteractionError) in try await base.passphrase(text, check: check) }
    }
  }

  func inOneTurn<Answer: Sendable>(
    _ body: @escaping @Sendable (any DialogBackEnd) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    let base = base
    return try await inTurn { () async throws(UserInteractionError) in try await body(base) }
  }

  /// Shows a request's dialogs when those before it are closed; whoever is cancelled while he waits never sees his.
  private func inTurn<Answer: Sendable>(
    _ show: @Sendable () async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    let answer: Result<Answer, UserInteractionError>
    do throws(CancellationError) {
      answer = try await turns.submit { _ in
        fault.forget()
        do throws(UserInteractionError) {
          let answer = try await show()
          fault.noteAnswer()
          return .success(answer)
        } catch {
          if error != .timedOut, error != .cancelled { fault.noteAnswer() }
          return .failure(error)
        }
      }
    } catch {
      throw .cancelled
    }
    return try answer.get()
  }
}

/// What was wrong with the last dialog, shown or not, for `liquid-auth status`; nothing when it went well.
final class DialogFault: Sendable {
  private let state = Mutex((words: String?.none, isAnswered: false))

  /// What went wrong, and what to do.
  var last: String? { state.withLock { $0.words } }
  /// Whether a person has answered a dialog since one failed: dialogs work, whatever the environment suggests.
  var isAnswered: Bool { state.withLock { $0.isAnswered } }

  func note(_ line: String) { state.withLock { $0 = (line, false) } }
  func noteAnswer() { state.withLock { $0.isAnswered = $0.words == nil } }
  func forget() { state.withLock { $0.words = nil } }
}
