import CTAP2
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

/// What is thought of a passphrase that was typed.
enum PassphraseVerdict<Accepted: Sendable>: Sendable {
  /// It is right, and this is what it yields.
  case accepted(Accepted)
  /// It is wrong; the dialog says these words and asks again.
  case wrong(String)
  /// There is no other try.
  case ended(UserInteractionError)
}
