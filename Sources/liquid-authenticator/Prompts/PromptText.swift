import CTAP2

/// The words of one dialog, the same in every back end.
///
/// The headline holds our words only. What comes from a client stands on lines of its own behind a label of ours, escaped
/// and cut by `ShownText`, so that it can neither pose as ours nor push ours away; nor does any toolkit that looks for
/// markup in a text's first line find any.
struct PromptText: Sendable, Equatable {
  /// The window's title.
  static let title = "Liquid Auth"
  /// What the field for the passphrase is called.
  static let entryLabel = "Vault passphrase:"

  /// What will happen, as a question.
  var headline: String
  /// Who asks, for which account, and what else the person should know: a line each.
  var details: [String]
  /// The words on the button that agrees.
  var agree: String
  /// The words on the button that refuses.
  var refuse: String
  /// Whether the request may have gone to other keys too, one of which the person may want to use.
  var mayConcernAnotherKey = false

  /// The whole text: the headline, an empty line, the details.
  var description: String { ([headline, ""] + details).joined(separator: "\n") }

  /// Asked when a command needs the vault and it is locked: who wants it, and what for.
  static func unlock(for prompt: UserPrompt? = nil) -> PromptText {
    let (wish, details) =
      switch prompt?.purpose {
      case .register, .alreadyRegistered: ("make a new passkey", prompt?.siteLines ?? [])
      case .signIn: ("sign in with a passkey", prompt?.siteLines ?? [])
      case .authorize(let permissions):
        (
          permissions.isDisjoint(with: [.makeCredential, .getAssertion])
            ? "manage this authenticator"
            : permissions.contains(.makeCredential) ? "make a new passkey" : "sign in with a passkey",
          prompt?.rpID == nil ? [] : prompt?.siteLines ?? []
        )
      case .reset: ("reset this authenticator", [])
      case .setPIN: ("set a PIN", [])
      case .registerSecondFactor: ("make a new second factor", [])
      case .signInSecondFactor: ("sign in with a second factor", [])
      case .tellAccount, .tellPasskey:
        ("see your Algorand account", prompt?.rpID == nil ? [] : prompt?.siteLines ?? [])
      case .signTransactions: ("have Algorand transactions signed", prompt?.dAppLines ?? [])
      case .signMessage: ("have a message signed by your Algorand account", prompt?.dAppLines ?? [])
      case .tellAssociationKey(let publicUserID):
        ("see your key for Keyri", ["User: \(ShownText.name(publicUserID))"])
      case .signAssociation(let publicUserID, _, let service):
        (
          "sign in with Keyri",
          WalletText.service(service) + WalletText.wrapped("User: \(ShownText.name(publicUserID))")
        )
      case .select, nil: ("use this authenticator", [])
      }
    return PromptText(
      headline: "Unlock your passkeys?", details: details + ["A program wants to \(wish), and the vault is locked."],
      agree: "Unlock", refuse: "Deny", mayConcernAnotherKey: prompt?.mayConcernAnotherKey ?? false)
  }

  /// The same, where these other keys are plugged in.
  func naming(_ others: [OtherKey]) -> PromptText {
    var text = self
    text.details += others.prefix(3).map { "Also plugged in: \(ShownText.name($0.name.isEmpty ? $0.node : $0.name))" }
    text.details.append("To use another key instead, touch it.")
    return text
  }

  /// What the field's error line says after a wrong passphrase.
  static func wrongPassphrase(triesLeft: Int) -> String {
    "Wrong passphrase, \(triesLeft) \(triesLeft == 1 ? "try" : "tries") left"
  }
}

extension PromptText {
  /// The words for a ceremony.
  init(_ prompt: UserPrompt) {
    switch prompt.purpose {
    case .register:
      self.init(
        headline: "Make a new passkey?", details: prompt.siteLines + prompt.replacementLines + prompt.algorandLines,
        agree: "Make passkey", refuse: "Deny")
    case .alreadyRegistered:
      self.init(
        headline: "You already have a passkey here",
        details: prompt.siteLines + ["The site asked for another one. Nothing new is made."],
        agree: "OK", refuse: "Close")
    case .signIn:
      self.init(
        headline: "Sign in with your passkey?", details: prompt.siteLines + prompt.algorandLines,
        agree: "Sign in", refuse: "Deny")
    case .setPIN:
      self.init(
        headline: "Set a PIN for this authenticator?",
        details: ["A program has typed it for you. Who knows it can sign in where your passphrase would be asked for."],
        agree: "Set PIN", refuse: "Deny")
    case .registerSecondFactor:
      self.init(
        headline: "Make a new second factor?", details: [UserPrompt.hiddenSite], agree: "Make it", refuse: "Deny")
    case .signInSecondFactor:
      self.init(
        headline: "Sign in with your second factor?",
        details: prompt.rpID == nil ? [UserPrompt.hiddenSite] : prompt.siteLines, agree: "Sign in", refuse: "Deny")
    case .select:
      self.init(
        headline: "Is this the authenticator you mean?",
        details: ["A site or a program asks which of your security keys to use. It signs you in nowhere."],
        agree: "Use this one", refuse: "Not this one")
    case .authorize(let permissions):
      let isNamed = prompt.rpID != nil
      self.init(
        headline: permissions.headline,
        details: prompt.siteLines(named: isNamed) + permissions.lines(ofSite: isNamed), agree: permissions.agree,
        refuse: "Deny")
    case .reset(let importedPasskeys):
      self.init(
        headline: "Reset this authenticator?", details: Self.resetLines(importedPasskeys), agree: "Reset",
        refuse: "Keep")
    case .tellAccount, .tellAssociationKey: self = .unlock(for: prompt)
    case .tellPasskey:
      self.init(
        headline: "Tell a program of your passkey?",
        details: prompt.siteLines + ["The site has it protected. The program cannot sign in with it by itself."],
        agree: "Tell", refuse: "Deny")
    case .signTransactions, .signMessage, .signAssociation: self = PromptPages(prompt).last
    }
    mayConcernAnotherKey = prompt.mayConcernAnotherKey
  }

  private static func resetLines(_ importedPasskeys: Int) -> [String] {
    let lines = [
      "Every passkey that was made or used on this machine stops working here.",
      "The PIN, the settings and what sites keep here as large blobs are gone too.", "Your recovery phrase is kept.",
    ]
    return switch importedPasskeys {
    case 0: lines
    case 1: lines + ["1 imported passkey is lost: nothing brings it back."]
    default: lines + ["\(importedPasskeys) imported passkeys are lost: nothing brings them back."]
    }
  }
}

extension TokenPermissions {
  /// What the program says that it will do next; with a site, that is a registration or a sign-in.
  fileprivate var headline: String {
    if contains(.makeCredential) { return "Make a new passkey?" }
    if contains(.getAssertion) { return "Sign in with your passkey?" }
    return "Let a program manage this authenticator?"
  }

  fileprivate var agree: String {
    if contains(.makeCredential) { return "Make passkey" }
    return contains(.getAssertion) ? "Sign in" : "Allow"
  }

  /// What else it may do until the device is plugged in anew, or ten minutes are over.
  fileprivate func lines(ofSite isOfSite: Bool) -> [String] {
    let deeds: [(TokenPermissions, String)] = [
      ([.makeCredential, .getAssertion], "It may sign in there with a passkey as well."),
      (.credentialManagement, "It may list, rename and remove your passkeys\(isOfSite ? " of this site" : "")."),
      (.persistentCredentialManagementReadOnly, "It may list your passkeys until the PIN is changed."),
      (.largeBlobWrite, "It may change the data that sites keep here."),
      (.authenticatorConfiguration, "It may change this authenticator's settings."),
    ]
    return deeds.filter { contains($0.0) }.map(\.1)
  }
}

extension UserPrompt {
  /// Browsers send these to every key that is plugged in; the others go to one that was chosen before.
  fileprivate var mayConcernAnotherKey: Bool {
    // No browser sends the `liquid` extension: who did so talks to us alone.
    guard algorandAddress == nil else { return false }
    return switch purpose {
    case .select, .register, .alreadyRegistered, .signIn, .registerSecondFactor, .signInSecondFactor: true
    case .setPIN, .authorize, .reset: false
    case .tellAccount, .tellPasskey, .signTransactions, .signMessage, .tellAssociationKey, .signAssociation: false
    }
  }

  /// U2F sends a hash of the site's name only.
  fileprivate static let hiddenSite = "An older kind of request (U2F): it does not say which site it is from."

  fileprivate func siteLines(named isNamed: Bool) -> [String] { isNamed ? siteLines : [] }

  fileprivate var siteLines: [String] {
    var lines = ["Site: \(rpID.flatMap { $0.isEmpty ? nil : ShownText.host($0) } ?? "(not named)")"]
    if accountCount > 1 { return lines + ["Accounts: \(accountCount), to choose from next"] }
    if let accountName, !accountName.isEmpty { lines.append("Account: \(ShownText.name(accountName))") }
    if let accountDisplayName, !accountDisplayName.isEmpty,
      !accountDisplayName.utf8.elementsEqual((accountName ?? "").utf8)
    {
      lines.append("Name: \(ShownText.name(accountDisplayName))")
    }
    return lines
  }

  fileprivate var replacementLines: [String] {
    replacesPasskey ? ["It replaces the passkey that this account has here."] : []
  }

  fileprivate var algorandLines: [String] {
    guard let algorandAddress else { return [] }
    let signed = origin.map { "It signs for: \(ShownText.host($0))" } ?? "It signs for this site only"
    let hostBelow = "The host is not the site itself, but one below it. Make sure that it is the one you mean."
    let firstUse =
      "First use: this account has no passkey of this site here yet. Make sure that it is the one you mean."
    return ["Algorand account: \(ShownText.host(algorandAddress))", signed] + (isOfHostBelow ? [hostBelow] : [])
      + (isFirstUse ? [firstUse] : [])
  }

  /// Whether the origin's host is below the relying party's id; nothing is signed for any other but the id itself
  /// (Recovery §11, E2).
  private var isOfHostBelow: Bool {
    guard let origin, let rpID else { return false }
    let host = origin.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).prefix { $0 != UInt8(ascii: ":") }
    return host.suffix(rpID.utf8.count + 1).elementsEqual(".\(rpID)".utf8)
  }
}
