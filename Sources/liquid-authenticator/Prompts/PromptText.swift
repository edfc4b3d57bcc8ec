import CTAP2
import DisplayText

/// The text of one dialog, the same in every back end.
///
/// The headline has only our own words. Text from a client is on lines of its own after a label of ours, escaped and
/// cut by `DisplayText`, so that it can neither pose as ours nor push ours away. A toolkit that looks for markup in the
/// first line finds none.
struct PromptText: Sendable, Equatable {
  /// The window's title.
  static let title = "Liquid Auth"
  /// The label of the field for the passphrase.
  static let entryLabel = "Vault passphrase:"

  /// What will happen, as a question.
  var headline: String
  /// The requester, the account, and what else the user should know: one line each.
  var details: [String]
  /// The words on the button that agrees.
  var agree: String
  /// The words on the button that refuses.
  var refuse: String
  /// Whether other dialogs of the same request follow: refusing one refuses all.
  var isFollowed = false
  /// Whether the request may have gone to other keys too, one of which the user may want to use.
  var mayConcernAnotherKey = false
  /// Whether an OK counts only after ``UserPrompter/shortestReading``.
  var needsReading = false
  /// Whether the user agrees by typing the vault's passphrase, and not with a button.
  var takesPassphrase = false
  /// What was wrong with the previous passphrase; shown beside the field.
  var remark: String?

  /// The whole text: the headline, an empty line, the details.
  var description: String { ([headline, ""] + details).joined(separator: "\n") }

  /// The dialog for a command that needs the locked vault: the requester and the operation.
  static func unlock(for reason: UnlockReason? = nil) -> PromptText {
    let (operation, details): (String, [String]) =
      switch reason {
      case .prompt(let prompt): (prompt.operation, prompt.unlockLines)
      case .wallet(let reason): reason.words
      case nil: ("use this authenticator", [])
      }
    let mayConcernAnotherKey = if case .prompt(let prompt) = reason { prompt.mayConcernAnotherKey } else { false }
    return PromptText(
      headline: "Unlock your passkeys?",
      details: details + ["A program wants to \(operation), and the vault is locked."],
      agree: "Unlock", refuse: "Deny", mayConcernAnotherKey: mayConcernAnotherKey)
  }

  /// The same text, with the other keys that are plugged in.
  func naming(_ others: [OtherKey]) -> PromptText {
    var text = self
    text.details += others.prefix(3).map { "Also plugged in: \(DisplayText.name($0.name.isEmpty ? $0.node : $0.name))" }
    text.details.append("To use another key instead, touch it.")
    return text
  }

  /// The field's error line after an empty passphrase.
  static let nothingTyped = "No passphrase entered"

  /// The field's error line after a wrong passphrase.
  static func wrongPassphrase(triesLeft: Int) -> String {
    "Wrong passphrase, \(triesLeft) \(triesLeft == 1 ? "try" : "tries") left"
  }
}

extension TokenPermissions {
  fileprivate var operation: String {
    if isDisjoint(with: [.makeCredential, .getAssertion]) { return "manage this authenticator" }
    return contains(.makeCredential) ? "make a new passkey" : "sign in with a passkey"
  }
}

extension UserPrompt {
  /// The requested operation, if the vault is locked.
  fileprivate var operation: String {
    switch purpose {
    case .register, .alreadyRegistered: "make a new passkey"
    case .signIn: "sign in with a passkey"
    case .authorize(let permissions): permissions.operation
    case .change: "manage this authenticator"
    case .reset: "reset this authenticator"
    case .setPIN: "set a PIN"
    case .registerSecondFactor: "make a new second factor"
    case .signInSecondFactor: "sign in with a second factor"
    case .wallet(let purpose): purpose.words(of: self).operation
    case .select: "use this authenticator"
    }
  }

  /// The lines about the requester, if the vault is locked.
  fileprivate var unlockLines: [String] {
    switch purpose {
    case .register, .alreadyRegistered, .signIn: siteLines
    case .authorize: siteLines(named: rpID != nil)
    case .wallet(let purpose): purpose.words(of: self).details
    case .change, .reset, .setPIN, .registerSecondFactor, .signInSecondFactor, .select: []
    }
  }

  /// Whether browsers send this request to every key that is plugged in, and not to one that was chosen before.
  var mayConcernAnotherKey: Bool {
    // No browser sends the `liquid` extension: its sender talks only to this authenticator.
    guard algorandAddress == nil else { return false }
    return switch purpose {
    case .select, .register, .alreadyRegistered, .signIn, .registerSecondFactor, .signInSecondFactor: true
    case .setPIN, .authorize, .change, .reset, .wallet: false
    }
  }

  static func siteLine(_ rpID: String) -> String { "Site: \(rpID.isEmpty ? "(not named)" : DisplayText.host(rpID))" }

  func siteLines(named isNamed: Bool) -> [String] { isNamed ? siteLines : [] }

  var siteLines: [String] {
    var lines = [Self.siteLine(rpID ?? "")]
    if accountCount > 1 { return lines + ["Accounts: \(accountCount), you choose one next"] }
    // A wallet's name for the account is the address, which has a line of its own.
    if let accountName, !accountName.isEmpty, accountName != algorandAddress {
      lines.append("Account: \(DisplayText.name(accountName))")
    }
    if let accountDisplayName, !accountDisplayName.isEmpty,
      !accountDisplayName.utf8.elementsEqual((accountName ?? "").utf8)
    {
      lines.append("Name: \(DisplayText.name(accountDisplayName))")
    }
    return lines
  }
}
