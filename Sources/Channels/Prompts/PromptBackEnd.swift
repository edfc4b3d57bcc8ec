import CTAP2
import ControlProtocol
import CryptoPrimitives
import HelperProcess
import ProcessIO

/// A way to show dialogs to the person.
///
/// ``UserPrompter`` opens one dialog at a time, enforces the time limits, and judges the answers. A new back end is a
/// new file and a case of ``PromptChoice``.
protocol PromptBackEnd: Sendable {
  /// What `liquid-auth status` says about it.
  var report: PromptReport { get }

  /// Why dialogs cannot, or may not, be shown, and what to do; `nil` if no reason is known.
  var problem: Problem? { get }

  /// Whether it can show this dialog at all.
  func suits(_ dialog: PromptText) -> Bool

  /// What shows notifications, for a dialog of any kind; `nil` if nothing does.
  var notifications: (any PromptBackEnd)? { get }

  /// Checks whether it can show a dialog now, without showing one.
  ///
  /// - Parameter limit: how long the check may take.
  /// - Returns: why it cannot; `nil` if it can, or if that cannot be known.
  func selfTest(within limit: Duration) async -> String?

  /// Prepares a dialog without showing it.
  func open(_ dialog: PromptText) async throws(PromptFailure)

  /// Whether the dialog is open: `false` while another back end takes the place of one that failed.
  var isOpen: Bool { get async }

  /// Whether the desktop may show the dialog only after a prompt of another program is closed.
  ///
  /// For an open dialog, before ``ask(_:)``.
  var canBeQueued: Bool { get async }

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
  /// The name in messages.
  var name: String { report.text }
  var problem: Problem? { nil }
  func suits(_ dialog: PromptText) -> Bool { true }
  var notifications: (any PromptBackEnd)? { nil }
  func selfTest(within limit: Duration) async -> String? { nil }
  func open(_ dialog: PromptText) async throws(PromptFailure) {}
  var isOpen: Bool { get async { true } }
  var canBeQueued: Bool { get async { false } }
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
  /// The user closed the dialog without pressing a button; only some back ends can detect this.
  case closed
  /// The dialog could not be shown; the log gets what happened, then what to do.
  case unavailable(String)
}

/// The back ends, by their names on the command line.
package enum PromptChoice: String, CaseIterable, Sendable {
  case auto
  /// As `auto`, but with notification daemons that show buttons only in a menu, too.
  case notifications
  case pinentry
  case askpass
  case terminal

  /// The help text of `--prompt`.
  package static let help = """
      --prompt auto|notifications|pinentry|askpass|terminal
                                        Where prompts appear: in a window, in the
                                        program of --askpass, or on this terminal.
                                        With auto, a notification asks for presence,
                                        and pinentry or the terminal for everything
                                        else. notifications does the same, also with
                                        dunst and mako, which show buttons only in a
                                        menu.
                                        (default: auto, or what --pinentry or
                                        --askpass names)
    """

  /// - Parameters:
  ///   - helper: starts the programs.
  ///   - hasAskpass: whether `--askpass` names a program, which takes the place of the pinentry.
  ///   - terminal: the authenticator's own terminal; `nil` if it has none.
  ///   - log: gets a line if `auto` has to use another way.
  func backEnd(
    _ helper: HelperProcess, hasAskpass: Bool, terminal: String?, executor: any TaskExecutor,
    log: @escaping @Sendable (String) -> Void
  ) -> any PromptBackEnd {
    let program = { (kind: Pinentry.Kind) in
      Pinentry(
        kind, helper: helper, environment: environmentVariable, terminal: terminal,
        acceptsMenus: kind == .notifications && self == .notifications, executor: executor)
    }
    switch self {
    case .auto, .notifications:
      let window = program(hasAskpass ? .askpass : .pinentry)
      let last: [any PromptBackEnd] = terminal == nil ? [] : [TerminalBackEnd()]
      return PromptChain([program(.notifications), window] + last, choice: rawValue, log: log)
    case .pinentry: return program(.pinentry)
    case .askpass: return program(.askpass)
    case .terminal: return TerminalBackEnd()
    }
  }
}
