import CTAP2
import CryptoPrimitives
import ProcessIO

/// A way to show dialogs to the person.
///
/// ``UserPrompter`` shows one dialog at a time, keeps the time, and judges the answers. A new back end is a file of its own
/// and a case of ``PromptChoice``.
protocol PromptBackEnd: Sendable {
  /// What it is, for `liquid-auth status`.
  var name: String { get }

  /// Why dialogs cannot, or may not, be shown, and what to do; `nil` where no reason is known.
  var problem: String? { get }

  /// Makes a dialog ready, as far as that needs no person.
  func open(_ dialog: PromptText) async throws(PromptFailure)

  /// Shows the dialog and waits for the answer; cancelling the task withdraws it.
  ///
  /// After an answer that does not count the same dialog is shown again, with its ``PromptText/remark``.
  func ask(_ dialog: PromptText) async throws(PromptFailure) -> PromptAnswer

  /// The dialog is over, answered or not.
  func close() async

  /// Waits until nothing is left of the dialogs that are closed.
  func ended() async
}

extension PromptBackEnd {
  var problem: String? { nil }
  func open(_ dialog: PromptText) async throws(PromptFailure) {}
  func close() async {}
  func ended() async {}
}

/// What a person who did not refuse has done.
enum PromptAnswer: Sendable {
  /// Pressed the button that agrees.
  case agreed
  /// Typed this where the passphrase is asked for.
  case typed(SecretBytes)
}

/// Why a back end has no answer.
enum PromptFailure: Error, Equatable {
  /// For the person's reasons, or the client's.
  case noAnswer(UserInteractionError)
  /// The dialog could not be shown; for the log: what happened, then what to do.
  case unavailable(String)

  static let nothingLeft = "the system has no thread or no descriptor left; end other programs, or raise the limits"
}

/// The back ends, by their names on the command line.
enum PromptChoice: String, Sendable {
  case pinentry
  case terminal

  /// What `--help` says of them.
  static let help = """
      --prompt pinentry|terminal        Where you are asked: in a window, or on this
                                        terminal. (default: pinentry)
    """

  func backEnd(_ options: DaemonOptions, executor: any TaskExecutor) -> any PromptBackEnd {
    switch self {
    case .pinentry:
      Pinentry(
        program: options.pinentry, environment: environmentVariable, terminal: ControllingTerminal.name,
        executor: executor)
    case .terminal: Terminal()
    }
  }
}
