import ControlDoor

/// Why a pinentry showed no dialog, for the log: what happened, then what to do.
enum PinentryFailure: Equatable, Sendable {
  /// It could not be started.
  case notStarted(SystemNumber)
  /// It closed its output, usually because it ended.
  case ended
  /// It said nothing, where an answer needs no person, for so many seconds.
  case silent(seconds: Int)
  /// What it said is not Assuan.
  case garbled
  /// It said that it cannot: its words.
  case refused(String)
  /// What was typed is longer than any passphrase.
  case overlong
  /// The system refused something else.
  case system(SystemNumber)

  /// The sentence for the log.
  ///
  /// - Parameter ending: how the program ended, when it did so by itself.
  func description(of program: String, ending: ChildProcess.Ending?) -> String {
    switch self {
    case .notStarted(let number):
      "cannot start \(program): \(number); install it (\(Self.packages)) or name another with --pinentry PROGRAM"
    case .ended:
      "\(program) \(Self.words(for: ending)) before it answered; run it by hand to see why, or \(Self.instead)"
    case .silent(let seconds):
      "\(program) did not answer within \(seconds) s and was ended; \(Self.instead)"
    case .garbled:
      "\(program) answers in something else than the Assuan protocol; is it a pinentry? \(Self.instead)"
    case .refused(let words):
      "\(program) cannot show a dialog: \(words); it needs DISPLAY or WAYLAND_DISPLAY, or a terminal in GPG_TTY: "
        + "set one, or \(Self.instead)"
    case .overlong:
      "\(program) answered with more than \(ControlMessage.maximumPassphraseSize) bytes; type the passphrase again"
    case .system(let number):
      "cannot talk to \(program): \(number)"
    }
  }

  private static func words(for ending: ChildProcess.Ending?) -> String {
    switch ending {
    case .exited(let status): "ended with status \(status)"
    case .killed(let signal): "was ended by signal \(signal)"
    case nil: "closed its output"
    }
  }

  private static let packages = "on Debian and Ubuntu: apt install pinentry-gnome3, pinentry-qt or pinentry-curses"
  private static let instead = "name another with --pinentry PROGRAM, or use --prompt terminal"
}
