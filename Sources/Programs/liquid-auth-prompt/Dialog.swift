import Assuan

/// One dialog, as a client describes it with the commands of pinentry.
struct Dialog: Equatable {
  /// The name of the program that asks.
  var title = ""
  /// The question, and after an empty line what else the person should know.
  var description = ""
  /// The label of the field: what to type.
  var label = ""
  /// The words on the button that agrees.
  var agree = "OK"
  /// The words on the button that refuses.
  var refuse = "Cancel"
  /// What was wrong with the previous passphrase, or a short warning; shown only with the next question.
  var remark: String?
  /// How long the person has.
  var limit = Self.defaultLimit
  /// Whether a notification may have its buttons only in a menu.
  var acceptsMenu = false

  /// The option of a client that accepts a menu.
  static let menuOption = "notification-menu"
  static let defaultLimit = Duration.seconds(120)

  /// What a client asks for.
  enum Request: Equatable {
    /// Nothing: the command only described the dialog.
    case nothing
    /// Agree or refuse.
    case confirmation
    /// A passphrase.
    case passphrase
    /// Nothing: the text is only shown.
    case message
    /// Whether questions can be shown now.
    case selfTest
    case end
  }

  /// Takes one command.
  mutating func handle(_ command: AssuanCommand) throws(PromptError) -> Request {
    let text = command.argument
    switch command.name {
    case "SETTITLE": title = text
    case "SETDESC": description = text
    case "SETPROMPT": label = text
    case "SETOK": agree = text
    case "SETCANCEL", "SETNOTOK": refuse = text
    case "SETERROR": remark = text
    case "SETTIMEOUT":
      guard let seconds = UInt16(text) else { throw PromptError(.malformed, "the time limit is not a number") }
      limit = seconds == 0 ? Self.defaultLimit : .seconds(Int(seconds))
    case "NOP": break
    // Other options have no effect.
    case "OPTION": acceptsMenu = acceptsMenu || text == Self.menuOption
    case "RESET": self = Dialog()
    case "CONFIRM": return .confirmation
    case "GETPIN": return .passphrase
    case "MESSAGE": return .message
    case "GETINFO" where text == "self-test": return .selfTest
    case "BYE": return .end
    default: throw PromptError(.unknownCommand, "unknown command")
    }
    return .nothing
  }
}

/// Why there is no answer: an error of Assuan, and its words.
struct PromptError: Error, Equatable {
  let error: AssuanError
  /// Lower case, no full stop.
  let words: String

  /// The user closed the dialog without pressing a button.
  static let closed = PromptError(.cancelled, "closed")

  init(_ error: AssuanError, _ words: String) { (self.error, self.words) = (error, words) }
}
