import Assuan
package import CTAP2
import DeterministicKeys
import DisplayText
package import Messages
import Recovery

/// The text of one dialog, the same in every back end, in the user's language.
///
/// The headline has only our own words. Text from a client is on lines of its own after a label of ours, escaped and
/// cut by `DisplayText`, so that it can neither pose as ours nor push ours away. A toolkit that looks for markup in the
/// first line finds none.
package struct PromptText: Sendable, Equatable {
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
    var label: Message {
      switch self {
      case .passphrase: Message("Vault passphrase:")
      case .pin: Message("PIN of the slot:")
      case .account: Message("Your answer:")
      }
    }
    /// The field's error line after an empty entry.
    var nothingTyped: Message {
      switch self {
      case .passphrase: Message("No passphrase entered")
      case .pin: Message("No PIN entered")
      case .account: Message("No answer entered")
      }
    }
    /// The field's error line after a wrong entry.
    func wrong(triesLeft: Int) -> Message {
      switch self {
      case .passphrase:
        Message(
          "Wrong passphrase, \(triesLeft) try left", plural: "Wrong passphrase, \(triesLeft) tries left",
          count: triesLeft)
      case .pin:
        Message("Wrong PIN, \(triesLeft) try left", plural: "Wrong PIN, \(triesLeft) tries left", count: triesLeft)
      case .account:
        Message(
          "Wrong answer, \(triesLeft) try left", plural: "Wrong answer, \(triesLeft) tries left", count: triesLeft)
      }
    }
  }

  /// What will happen, as a question.
  var headline: String
  /// The requester, the account, and what else the user should know: one line each.
  var details: [String]
  /// The action and the site, for a back end that shows a heading; `nil` without a site, and for one of several pages.
  var act: String?
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
  /// Whether it only says why the request fails, whatever the user answers.
  var isNotice = false
  /// Whether an OK counts only after ``UserPrompter/shortestReading``.
  var needsReading = false
  /// Whether the user agrees by typing ``entry``, and not with a button.
  var takesPassphrase = false
  /// What may verify in place of the passphrase, in this order.
  var means: [VerificationMeans] = []
  /// What the user types.
  var entry = Entry.passphrase
  /// What was wrong with the previous entry; shown beside the field.
  var remark: String?
  /// The short form of the warning in ``details``, shown in place of ``remark`` until there is one.
  var warning: String?
  /// The line of ``details`` that names the button that refuses; `nil` if none does.
  var lineAboutRefusal: String?
  /// The language of all its texts.
  var catalogue = Catalogue.english
  /// The request that shows it.
  var request: PromptRequest?

  /// The label of the field for the passphrase or PIN, in the user's language.
  var label: String { catalogue.text(entry.label) }

  /// The same, for a request that came in there.
  ///
  /// - Parameter shown: as ``PromptRequest/shown``.
  package func asked(from origin: RequestOrigin?, shown: (@Sendable () -> Void)? = nil) -> PromptText {
    var text = self
    text.request = PromptRequest(origin, shown: shown)
    return text
  }

  /// The whole text: the headline, an empty line, the details.
  var description: String { ([headline, ""] + details).joined(separator: "\n") }

  /// The heading, for a back end that shows one.
  var heading: String { act ?? headline }

  /// What a back end with a heading shows below it; the label of its field comes last.
  var textBelowHeading: String {
    // PAM's question is the last line already.
    let label = takesPassphrase && entry != .account ? ["", self.label] : []
    return (details + label).joined(separator: "\n")
  }

  /// How the user refuses in a back end that does not show the words of ``refuse`` on a button.
  enum Refusal {
    /// Enter alone, as the terminal says.
    case enter
    /// The button of a program like `ssh-askpass`.
    case cancel
  }

  /// The same dialog where the user refuses in this way.
  func refused(by refusal: Refusal) -> PromptText {
    guard let place = details.firstIndex(where: { $0 == lineAboutRefusal }) else { return self }
    let line =
      switch refusal {
      case .enter: Message("To make a backup first, press Enter alone, then run: liquid-auth backup FILE")
      case .cancel: Message("To make a backup first, choose Cancel, then run: liquid-auth backup FILE")
      }
    var text = self
    text.details[place] = catalogue.text(line)
    return text
  }

  /// The dialog for a command that needs the locked vault: the requester and the operation.
  package static func unlock(for reason: UnlockReason?, in catalogue: Catalogue) -> PromptText {
    let (operation, details): (Message, [String]) =
      switch reason {
      case .prompt(let prompt), .silent(let prompt): prompt.unlockWords(in: catalogue)
      case .wallet(let reason): reason.words(in: catalogue)
      case nil: (Message("use this authenticator"), [])
      }
    let mayConcernAnotherKey =
      switch reason {
      case .prompt(let prompt), .silent(let prompt): prompt.mayConcernAnotherKey
      case .wallet, nil: false
      }
    let site: String? =
      switch reason {
      case .prompt(let prompt), .silent(let prompt): prompt.namedSite
      case .wallet, nil: nil
      }
    return PromptText(
      headline: catalogue.text(Message("Unlock your passkeys?")),
      details: details + [catalogue.text(Message("A program wants to \(operation), and the vault is locked."))],
      act: site.map { catalogue.text(Message("Unlock your passkeys for \($0)")) },
      agree: catalogue.text(Message("Unlock")), refuse: catalogue.text(Message("Deny")),
      mayConcernAnotherKey: mayConcernAnotherKey, catalogue: catalogue)
  }

  /// The dialog for the PIN of a slot; who refuses is asked for the passphrase.
  ///
  /// - Parameter name: what opens the slot.
  package static func pin(
    ofSlot number: Int, _ name: String, for reason: UnlockReason?, in catalogue: Catalogue
  ) -> PromptText {
    var text = unlock(for: reason, in: catalogue)
    text.details.append(
      catalogue.text(Message("Type the PIN of slot \(number) (\(name)) of the vault, or use the passphrase.")))
    (text.entry, text.mayConcernAnotherKey) = (.pin, false)
    text.refuse = catalogue.text(Message("Use passphrase"))
    return text
  }

  /// The dialog before a slot that opens without the person is used after a lock; after a refusal, the passphrase is
  /// asked for.
  ///
  /// - Parameter name: what opens the slot.
  package static func agreement(
    toSlot number: Int, _ name: String, for reason: UnlockReason?, in catalogue: Catalogue
  ) -> PromptText {
    var text = unlock(for: reason, in: catalogue)
    text.details.append(
      catalogue.text(Message("You do not need to type the passphrase: slot \(number) (\(name)) unlocks the vault.")))
    // A refusal beside another key would wait for that key.
    text.mayConcernAnotherKey = false
    text.refuse = catalogue.text(Message("Use passphrase"))
    return text
  }

  /// The dialog while a security key waits for a touch; it takes the passphrase instead.
  ///
  /// It names no other keys, because their line about a touch would contradict its own.
  package static func touch(for reason: UnlockReason?, in catalogue: Catalogue) -> PromptText {
    var text = unlock(for: reason, in: catalogue)
    text.details.append(catalogue.text(Message("Touch the security key that blinks, or type the passphrase.")))
    text.mayConcernAnotherKey = false
    return text
  }

  /// The lines about the other keys that are plugged in, by their names; none if there are none.
  static func lines(naming others: [String]) -> [Message] {
    guard !others.isEmpty else { return [] }
    let names = others.prefix(3).map { Message("Also plugged in: \(DisplayText.name($0))") }
    return names + [Message("To use another key instead, touch it.")]
  }

  /// The same question, answered by a finger; its button goes on to the next means.
  ///
  /// - Parameter advice: what the reader said of the last finger.
  func forFinger(_ advice: Message?) -> PromptText {
    var text = self
    text.takesPassphrase = false
    // Not as a notification: the desktop can hide it while the reader waits.
    text.isPresence = false
    text.details += ["", catalogue.text(advice ?? Message("Touch the fingerprint reader to agree."))]
    text.agree = catalogue.text(nextMeans)
    return text
  }

  /// The line after a finger that is none of the user's.
  static func wrongFinger(triesLeft: Int) -> Message {
    Message(
      "The finger was not recognized, \(triesLeft) try left.",
      plural: "The finger was not recognized, \(triesLeft) tries left.", count: triesLeft)
  }
  /// The line beside the field for the passphrase after too many of them.
  static let noFinger = Message("The finger was not recognized")

  /// The same question, with a question of PAM and a field for the answer; without a question of PAM, its button goes on
  /// to the next means.
  ///
  /// - Parameters:
  ///   - question: what PAM asks.
  ///   - remarks: what PAM said before; the last two are shown.
  ///
  /// Long texts of PAM are cut. On a page with little room, remarks are left out, and the rest is cut shorter.
  func forAccount(_ question: String?, _ remarks: [String]) -> PromptText {
    var text = self
    // A notification can be hidden while PAM waits.
    text.isPresence = false
    text.entry = .account
    if question == nil {
      text.takesPassphrase = false
      text.agree = catalogue.text(nextMeans)
    }
    let fewest = question == nil ? 1 : 0
    for (count, limit) in [(2, 60), (1, 60), (fewest, 60), (fewest, 30), (fewest, 4)] {
      let lines =
        remarks.suffix(count).map { Message("The system says: \(DisplayText.quoted($0, limit: limit))") }
        + (question.map { [Message("The system asks: \(DisplayText.quoted($0, limit: limit))")] } ?? [])
      text.details = details + [""] + catalogue.texts(lines)
      if text.hasRoom { break }
    }
    return text
  }

  /// Whether it fits into one Assuan command, and has at most two lines more than the largest page.
  private var hasRoom: Bool {
    let size = AssuanLine.size(of: "SETDESC \(description)") + 1
    return size <= AssuanLine.limit && details.count <= WalletText.height + 2
  }

  /// The line beside the field for the next means after too many wrong answers.
  static let noAccount = Message("The system did not verify you")
  /// The error line after an answer that PAM cannot take.
  static let answerTooLong = Message("The answer is too long")

  /// The words on the button that goes on to the next means.
  var nextMeans: Message {
    switch means.first {
    case .fingerprint: Message("Use fingerprint")
    case .pam: Message("Use system login")
    case nil: Message("Use passphrase")
    }
  }
}

extension VerificationMeans {
  /// The subject of a sentence about it in the log and the status.
  var subject: String {
    switch self {
    case .fingerprint: "a fingerprint"
    case .pam: "PAM"
    }
  }
}

extension TokenPermissions {
  fileprivate var operation: Message {
    if isDisjoint(with: [.makeCredential, .getAssertion]) { return Message("manage this authenticator") }
    return contains(.makeCredential) ? Message("make a new passkey") : Message("sign in with a passkey")
  }
}

extension UserPrompt {
  /// For the dialog that unlocks the vault: the requested operation, and the lines about the site or the dApp.
  fileprivate func unlockWords(in catalogue: Catalogue) -> (operation: Message, details: [String]) {
    let site = catalogue.texts(siteLines)
    return switch purpose {
    case .register, .alreadyRegistered: (Message("make a new passkey"), site)
    case .signIn: (Message("sign in with a passkey"), site)
    case .authorize(let permissions): (permissions.operation, rpID == nil ? [] : site)
    case .change, .export: (Message("manage this authenticator"), [])
    case .reset: (Message("reset this authenticator"), [])
    case .setPIN: (Message("set a PIN"), [])
    case .registerSecondFactor: (Message("make a new second factor"), [])
    case .signInSecondFactor: (Message("sign in with a second factor"), [])
    case .wallet(let purpose): purpose.words(of: self, in: catalogue)
    case .select: (Message("use this authenticator"), [])
    }
  }

  /// Whether browsers send this request to every key that is plugged in, and not to one that was chosen before.
  var mayConcernAnotherKey: Bool {
    // No browser sends the `liquid` extension: its sender talks only to this authenticator.
    guard algorandAddress == nil else { return false }
    return switch purpose {
    case .select, .register, .alreadyRegistered, .signIn, .registerSecondFactor, .signInSecondFactor: true
    case .setPIN, .authorize, .change, .reset, .export, .wallet: false
    }
  }

  /// The Algorand address in groups of four characters.
  var groupedAddress: String? {
    algorandAddress.map { AlgorandAddress(text: Array($0.utf8))?.grouped ?? DisplayText.host($0) }
  }

  /// The site as a value in a heading; `nil` if the request names none, or only the dummy rp.id of a selection.
  var namedSite: String? {
    guard let rpID, !rpID.isEmpty, purpose != .select else { return nil }
    return DisplayText.host(rpID)
  }

  static func siteLines(of rpID: String) -> [Message] {
    rpID.isEmpty
      ? [Message("Site: (not named)")] : [Message("Site: \(DisplayText.host(rpID))")] + letterLines(of: rpID)
  }

  /// The line for the letters of an internationalized name, which its line shows encoded (`xn--`).
  ///
  /// - Parameter name: a domain, or an origin.
  static func letterLines(of name: String) -> [Message] {
    let parts = name.split(separator: "/")
    let host = (parts.first?.last == ":" ? parts.dropFirst() : parts[...]).first?.prefix { $0 != ":" } ?? ""
    guard let letters = SiteResemblance.letters(of: String(host)) else { return [] }
    // The end of a name shows who owns the site, so it is kept. Letters that are spelled out need more room.
    var end = letters.unicodeScalars.suffix(DisplayText.nameLimit)
    while DisplayText.name(String(end)).hasSuffix("...") { end.removeFirst() }
    let cut = end.startIndex == letters.startIndex ? "" : "..."
    return [Message("In its own script: \(cut + DisplayText.name(String(end)))")]
  }

  func siteLines(named isNamed: Bool) -> [Message] { isNamed ? siteLines : [] }

  var siteLines: [Message] {
    var lines = Self.siteLines(of: rpID ?? "")
    if accountCount > 1 { return lines + [Message("Accounts: \(accountCount); you choose one next")] }
    // A wallet's name for the account is the address, which has a line of its own.
    if let accountName, !accountName.isEmpty, accountName != algorandAddress {
      lines.append(Message("Account: \(DisplayText.name(accountName))"))
    }
    if let accountDisplayName, !accountDisplayName.isEmpty,
      !accountDisplayName.utf8.elementsEqual((accountName ?? "").utf8)
    {
      lines.append(Message("Name: \(DisplayText.name(accountDisplayName))"))
    }
    return lines
  }
}
