import CTAP2
import CryptoPrimitives
import ProcessIO

/// A way to show dialogs to the person.
///
/// ``UserPrompter`` opens one dialog at a time, enforces the time limits, and judges the answers. A new back end is a
/// new file and a case of ``PromptChoice``.
protocol PromptBackEnd: Sendable {
  /// The name in `liquid-auth status`.
  var name: String { get }

  /// Why dialogs cannot, or may not, be shown, and what to do; `nil` if no reason is known.
  var problem: String? { get }

  /// Prepares a dialog without showing it.
  func open(_ dialog: PromptText) async throws(PromptFailure)

  /// Shows the dialog and waits for the answer; cancelling the task withdraws it.
  ///
  /// After an answer that does not count, the dialog is shown again with a ``PromptText/remark``.
  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer

  /// Closes the dialog, answered or not.
  func close() async

  /// Waits until the programs and windows of closed dialogs have ended.
  func ended() async
}

extension PromptBackEnd {
  var problem: String? { nil }
  func open(_ dialog: PromptText) async throws(PromptFailure) {}
  func close() async {}
  func ended() async {}
}

/// The answer of a person who did not refuse.
enum PromptAnswer: Sendable {
  /// The person pressed the button that agrees.
  case agreed
  /// The person typed this as the passphrase.
  case typed(SecretBytes)
}

/// Why a back end has no answer.
enum PromptFailure: Error, Equatable {
  /// The user gave no answer, or the client withdrew the request.
  case noAnswer(UserInteractionError)
  /// The dialog could not be shown; the log gets what happened, then what to do.
  case unavailable(String)

  static let nothingLeft = "the system has no threads or descriptors left; stop other programs, or raise the limits"
}

/// The back ends, by their names on the command line.
enum PromptChoice: String, Sendable {
  case pinentry
  case terminal

  /// The help text of `--prompt`.
  static let help = """
      --prompt pinentry|terminal        Where you are asked: in a window, or on this
                                        terminal. (default: pinentry)
    """

  /// - Parameter helper: starts a pinentry.
  func backEnd(_ helper: HelperProcess, executor: any TaskExecutor) -> any PromptBackEnd {
    switch self {
    case .pinentry:
      Pinentry(
        helper: helper, environment: environmentVariable, terminal: ControllingTerminal.name, executor: executor)
    case .terminal: Terminal()
    }
  }
}
