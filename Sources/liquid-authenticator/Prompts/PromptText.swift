import CTAP2
import DisplayText
import Recovery

/// The text of one dialog, the same in every back end.
///
/// The headline has only our own words. Text from a client is on lines of its own after a label of ours, escaped and
/// cut by `DisplayText`, so that it can neither pose as ours nor push ours away. A toolkit that looks for markup in the
/// first line finds none.
struct PromptText: Sendable, Equatable {
  /// The window's title.
  static let title = "Liquid Auth"

  /// What the person types in a field.
  enum Entry: Sendable {
    case passphrase
    /// The PIN of one slot of the vault.
    case pin
    /// The answer to a question of PAM, which ``PromptText/details`` have.
    case account

    /// The label of the field.
    var label: String {
      switch self {
      case .passphrase: "Vault passphrase:"
      case .pin: "PIN of the slot:"
      case .account: "Your answer:"
      }
    }
    fileprivate var word: String {
      switch self {
      case .passphrase: "passphrase"
      case .pin: "PIN"
      case .account: "answer"
      }
    }
    /// The field's error line after an empty entry.
    var nothingTyped: String { "No \(word) entered" }
    /// The field's error line after a wrong entry.
    func wrong(triesLeft: Int) -> String { "Wrong \(word), \(triesLeft) \(triesLeft == 1 ? "try" : "tries") left" }
  }

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
  /// Whether it only asks for presence at a registration or a sign-in, on one page of a few lines.
  var isPresence = false
  /// Whether an OK counts only after ``UserPrompter/shortestReading``.
  var needsReading = false
  /// Whether the user agrees by typing ``entry``, and not with a button.
  var takesPassphrase = false
  /// What may verify in the place of the passphrase, in this order.
  var means: [VerificationMeans] = []
  /// What the user types.
  var entry = Entry.passphrase
  /// What was wrong with the previous entry; shown beside the field.
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

  /// The dialog for the PIN of a slot; who refuses is asked for the passphrase.
  ///
  /// - Parameter name: what opens the slot.
  static func pin(ofSlot number: Int, _ name: String, for reason: UnlockReason?) -> PromptText {
    var text = unlock(for: reason)
    text.details.append("Type the PIN of slot \(number) (\(name)) of the vault, or use the passphrase.")
    (text.entry, text.refuse, text.mayConcernAnotherKey) = (.pin, "Use passphrase", false)
    return text
  }

  /// The same text, with the other keys that are plugged in.
  func naming(_ others: [OtherKey]) -> PromptText {
    var text = self
    text.details += others.prefix(3).map { "Also plugged in: \(DisplayText.name($0.name.isEmpty ? $0.node : $0.name))" }
    text.details.append("To use another key instead, touch it.")
    return text
  }

  /// The same question, answered by a finger; its button goes on to the next means.
  ///
  /// - Parameter advice: what the reader said of the last finger.
  func forFinger(_ advice: String?) -> PromptText {
    var text = self
    text.takesPassphrase = false
    text.details += ["", advice ?? "Touch the fingerprint reader to agree."]
    text.agree = "Use \(means.first?.noun ?? "passphrase")"
    return text
  }

  /// The line after a finger that is none of the user's.
  static func wrongFinger(triesLeft: Int) -> String {
    "The finger was not recognised, \(triesLeft) \(triesLeft == 1 ? "try" : "tries") left."
  }
  /// The line beside the field for the passphrase after too many of them.
  static let noFinger = "The finger was not recognised"

  /// The same question, answered to PAM; without a question of PAM, its button goes on to the next means.
  ///
  /// - Parameters:
  ///   - question: what PAM asks.
  ///   - remarks: what PAM said before; the last two are shown.
  func forAccount(_ question: String?, _ remarks: [String]) -> PromptText {
    func quoted(_ text: String) -> String { DisplayText.quoted(text, limit: 60) }
    var text = self
    text.details += [""] + remarks.suffix(2).map { "The system says: \(quoted($0))" }
    text.entry = .account
    if let question {
      text.details.append("The system asks: \(quoted(question))")
    } else {
      text.takesPassphrase = false
      text.agree = "Use \(means.first?.noun ?? "passphrase")"
    }
    return text
  }
  /// The line beside the field for the next means after too many wrong answers.
  static let noAccount = "Your account was not verified"
  /// The error line after an answer that PAM cannot take.
  static let answerTooLong = "The answer is too long"
}

extension VerificationMeans {
  /// The word for it in a button.
  var noun: String {
    switch self {
    case .fingerprint: "fingerprint"
    case .pam: "account"
    }
  }

  /// The first word of a sentence about it.
  var subject: String {
    switch self {
    case .fingerprint: "a fingerprint"
    case .pam: "PAM"
    }
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
