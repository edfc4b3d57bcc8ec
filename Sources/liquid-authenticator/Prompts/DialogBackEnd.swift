import CTAP2
import CTAPHID
import CryptoPrimitives

/// A way to show a dialog to a person: pinentry, or the terminal.
///
/// Cancelling the task withdraws the dialog. A dialog that cannot be shown is `declined`, and the log says why.
protocol DialogBackEnd: Sendable {
  /// Returns when the person agrees; throws when not.
  func confirm(_ text: PromptText) async throws(UserInteractionError)

  /// Asks for a passphrase until `check` is content or gives up.
  ///
  /// It stays one dialog: a wrong passphrase is said in it, and the field is there again.
  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted

  /// Shows the dialogs of one request, of which no other request's come in between.
  ///
  /// - Parameter body: shows them by the back end that it is given.
  func inOneTurn<Answer: Sendable>(
    _ body: @escaping @Sendable (any DialogBackEnd) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer
}

extension DialogBackEnd {
  /// A back end that shows what it is told knows nothing of other requests.
  func inOneTurn<Answer: Sendable>(
    _ body: @escaping @Sendable (any DialogBackEnd) async throws(UserInteractionError) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    try await body(self)
  }
}

extension PromptText {
  /// Shows a page, and shows it again when it needs reading and was agreed to sooner than anybody reads: by a key that was
  /// held down, or by a click that was meant for something else.
  ///
  /// A refusal counts at once, and so does a right passphrase, which nobody types by accident.
  ///
  /// - Parameters:
  ///   - cancelled: thrown where the task is cancelled between two showings.
  ///   - show: returns when the person agrees.
  func untilRead<Failure>(
    _ timepiece: any Timepiece, cancelled: Failure, _ show: () async throws(Failure) -> Void
  ) async throws(Failure) {
    while true {
      let opened = timepiece.now
      try await show()
      guard needsReading, timepiece.now < opened.advanced(by: Self.shortestReading) else { return }
      try await Self.pause(since: opened, timepiece, cancelled: cancelled)
    }
  }

  /// Waits until half a second has passed since a page was opened, so that a program that answers at once does not keep us
  /// busy.
  static func pause<Failure>(
    since opened: Instant, _ timepiece: any Timepiece, cancelled: Failure
  ) async throws(Failure) {
    do throws(CancellationError) {
      try await timepiece.sleep(until: opened.advanced(by: shortestReading))
    } catch {
      throw cancelled
    }
  }
}

/// What is thought of a passphrase that was typed.
enum PassphraseVerdict<Accepted: Sendable>: Sendable {
  /// It is right, and this is what it yields.
  case accepted(Accepted)
  /// It is wrong; the dialog says these words and asks again.
  case wrong(String)
  /// There is no other try.
  case ended(UserInteractionError)
}
