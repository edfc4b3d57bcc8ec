package import CTAP2
import DisplayText
import Messages
import Recovery

extension UserPrompt {
  /// The number of its dialogs in English, without the lines that say where the request came in.
  package var pageCount: Int { PromptPages(self, in: .english).all.count }
}

/// The dialogs of each purpose, in words.
extension PromptPages {
  /// The dialogs of a ceremony or a wallet's request.
  ///
  /// - Parameters:
  ///   - doorLines: the lines that say where the request came in. They come after the others, except in a wallet's prompt.
  ///   - others: the names of the other keys that are plugged in, which are in the last lines.
  init(
    _ prompt: UserPrompt, askedThrough doorLines: [String] = [], beside others: [String] = [], in catalogue: Catalogue
  ) {
    switch prompt.purpose {
    case .register:
      self.init(
        headline: Message("Make a new passkey?"),
        details: prompt.resemblanceLines + prompt.siteLines + prompt.replacementLines
          + prompt.extraLines(payment: Message("Other sites may start payments with this passkey."))
          + prompt.algorandLines + prompt.backupLines,
        agree: prompt.replacesPasskey ? Message("Replace passkey") : Message("Make passkey"), in: catalogue)
    case .alreadyRegistered:
      self.init(
        headline: Message("You already have a passkey here"),
        details: prompt.siteLines + [Message("The site requested another one. No new passkey is made.")],
        agree: Message("OK"), refuse: Message("Close"), in: catalogue)
    case .signIn:
      self.init(
        headline: Message("Sign in with your passkey?"),
        details: prompt.siteLines + prompt.otherAccountLines + prompt.noPasskeyLines + prompt.previousPhraseLines
          + prompt.extraLines(payment: Message("This may confirm a payment that another site started."))
          + prompt.algorandLines,
        agree: Message("Sign in"), in: catalogue)
    case .setPIN:
      self.init(
        headline: Message("Set a PIN for this authenticator?"),
        details: [
          Message("A program chose this PIN."),
          Message(
            "Anyone who knows it can pass verification at sites, list and remove your passkeys, and change settings."),
        ],
        agree: Message("Set PIN"), in: catalogue)
    case .registerSecondFactor:
      self.init(
        headline: Message("Make a new second factor?"), details: [UserPrompt.hiddenSite],
        agree: Message("Make second factor"), in: catalogue)
    case .signInSecondFactor:
      self.init(
        headline: Message("Sign in with your second factor?"),
        details: (prompt.rpID == nil ? [UserPrompt.hiddenSite] : prompt.siteLines) + prompt.previousPhraseLines,
        agree: Message("Sign in"),
        in: catalogue)
    case .select where prompt.unservedSite != nil:
      self.init(
        headline: Message("You have no passkey for this sign-in"), details: prompt.unservedLines,
        agree: Message("OK"), refuse: Message("Not this one"), in: catalogue)
    case .select:
      self.init(
        headline: Message("Is this the authenticator you mean?"),
        details: [
          Message("A site or a program asks which of your security keys to use."),
          Message("This does not sign you in."),
        ],
        agree: Message("Use this one"), refuse: Message("Not this one"), in: catalogue)
    case .authorize(let permissions):
      let isNamed = prompt.rpID != nil
      self.init(
        headline: permissions.headline,
        details: prompt.resemblanceLines + prompt.siteLines(named: isNamed) + prompt.storedAccountLines
          + permissions.lines(ofSite: isNamed) + prompt.backupLines,
        agree: permissions.agree, in: catalogue)
    case .change(let change):
      self.init(
        question: change.headline, heading: [],
        body: WalletText.wrapped(change.lines, in: catalogue), agree: change.agree, in: catalogue)
    case .reset(let importedPasskeys, let unsaved, let lastBackup):
      self.init(
        headline: Message("Reset this authenticator?"),
        details: Self.resetLines(importedPasskeys) + Self.backupLines(unsaved, lastBackup),
        agree: Message("Reset"), refuse: Message("Keep"), in: catalogue)
    case .export(let passkeys, let sites):
      self.init(
        headline: Message("Export passkeys with their private keys?"),
        details: Self.exportLines(passkeys, sites, leavesOutPreviousPhrase: prompt.leavesOutPreviousPhrase),
        agree: Message("Export"), in: catalogue)
    case .wallet(let purpose): self = purpose.pages(of: prompt, askedThrough: doorLines, in: catalogue)
    }
    if !prompt.isOfWallet { append(doorLines, others, in: catalogue) }
    let lineAboutRefusal: String? =
      if case .reset = prompt.purpose { catalogue.text(Self.backupFirst) } else { nil }
    for page in before.indices {
      before[page].lineAboutRefusal = lineAboutRefusal
      before[page].mayConcernAnotherKey = prompt.mayConcernAnotherKey
      before[page].needsReading = prompt.needsReading
    }
    last.lineAboutRefusal = lineAboutRefusal
    if before.isEmpty { last.act = prompt.act.map(catalogue.text) }
    last.warning = prompt.warning.map(catalogue.text)
    last.mayConcernAnotherKey = prompt.mayConcernAnotherKey
    last.needsReading = prompt.needsReading
    last.isNotice = prompt.isNotice
    last.isPresence = before.isEmpty && !prompt.needsReading && !prompt.isOfWallet
  }

  private static func resetLines(_ importedPasskeys: Int) -> [Message] {
    let lines = [
      Message("Every passkey that was made or used on this machine stops working here."),
      Message("The PIN, the settings and the large blobs of sites are removed too."),
      Message("Your recovery phrase is kept."),
    ]
    guard importedPasskeys > 0 else { return lines }
    let lost = Message(
      "\(importedPasskeys) imported passkey is lost, unless a backup has it.",
      plural: "\(importedPasskeys) imported passkeys are lost, unless a backup has them.", count: importedPasskeys)
    return lines + [lost]
  }

  private static func exportLines(
    _ passkeys: Int, _ sites: [String]?, leavesOutPreviousPhrase: Bool
  ) -> [Message] {
    let file = Message(
      "A program wants to write \(passkeys) passkey to a file that is not encrypted.",
      plural: "A program wants to write \(passkeys) passkeys to a file that is not encrypted.", count: passkeys)
    var lines = [file]
    if let sites {
      lines += sites.flatMap(UserPrompt.siteLines(of:))
    } else if !leavesOutPreviousPhrase {
      lines.append(Message("These are all passkeys of this machine."))
    }
    if leavesOutPreviousPhrase { lines.append(Message("Passkeys of your old phrase are not among them.")) }
    return lines + [
      Message("Anyone who reads the file can sign in as you, and the sites cannot tell."),
      Message("Neither your passphrase nor your recovery phrase protects it."),
      Message("Delete the file as soon as you no longer need it."),
    ]
  }

  /// How to make a backup before the reset; ``PromptText/refused(by:)`` has the words for back ends without this button.
  private static let backupFirst = Message("To make a backup first, choose Keep, then run: liquid-auth backup FILE")

  /// What a backup has of the passkeys, and how to make one before the reset.
  private static func backupLines(_ unsaved: Int, _ lastBackup: UInt64?) -> [Message] {
    let date = lastBackup.map { UTCTime(milliseconds: $0).date }
    guard unsaved > 0 else { return date.map { [Message("The last backup was made on \($0).")] } ?? [] }
    let lacking =
      if let date {
        Message(
          "\(unsaved) passkey was made or changed after the last backup, on \(date).",
          plural: "\(unsaved) passkeys were made or changed after the last backup, on \(date).", count: unsaved)
      } else {
        Message(
          "There is no backup of \(unsaved) passkey.", plural: "There is no backup of \(unsaved) passkeys.",
          count: unsaved)
      }
    return [lacking, backupFirst]
  }
}

extension TokenPermissions {
  /// The announced operation; with a site, that is a registration or a sign-in.
  fileprivate var headline: Message {
    if contains(.makeCredential) { return Message("Make a new passkey?") }
    if contains(.getAssertion) { return Message("Sign in with your passkey?") }
    return Message("Let a program manage this authenticator?")
  }

  fileprivate var agree: Message {
    if contains(.makeCredential) { return Message("Make passkey") }
    return contains(.getAssertion) ? Message("Sign in") : Message("Allow")
  }

  /// What else the program may do until the device is plugged in again, or ten minutes are over.
  fileprivate func lines(ofSite isOfSite: Bool) -> [Message] {
    let operations: [(TokenPermissions, Message)] = [
      ([.makeCredential, .getAssertion], Message("The program may also sign in there with a passkey.")),
      (
        .credentialManagement,
        isOfSite
          ? Message("It may list, rename and remove your passkeys of this site.")
          : Message("It may list, rename and remove your passkeys.")
      ),
      (
        .persistentCredentialManagementReadOnly,
        Message("It may list your passkeys until you set a new PIN, or run: liquid-auth config forget-readers")
      ),
      (.largeBlobWrite, Message("It may change the data that sites keep here.")),
      (.authenticatorConfiguration, Message("It may change this authenticator's settings.")),
    ]
    return operations.filter { contains($0.0) }.map(\.1)
  }
}

extension UserPrompt.Change {
  fileprivate var headline: Message {
    switch self {
    case .alwaysUV(true): Message("Ask for verification every time?")
    case .alwaysUV(false): Message("Stop asking for verification every time?")
    case .minimumPINLength: Message("Change the rule for PINs?")
    case .largeBlobs: Message("Replace the data that sites keep here?")
    }
  }

  fileprivate var agree: Message {
    if case .largeBlobs = self { Message("Replace") } else { Message("Change") }
  }

  /// What will change, in whole sentences.
  fileprivate var lines: [Message] {
    switch self {
    case .alwaysUV(true):
      [
        Message("Every registration and sign-in would then ask for verification."),
        Message("This needs a PIN."), Message("Until you set one, no site can use this authenticator."),
      ]
    case .alwaysUV(false):
      [Message("A program asks to require verification only when a site does.")]
    case .minimumPINLength(let old, let new, let rpIDs):
      (old == new
        ? []
        : [
          Message("A program wants a PIN to have at least \(new) characters (now: \(old))."),
          Message("Only a reset undoes this."),
        ]) + (rpIDs.map(Self.lines) ?? [])
    case .largeBlobs(let old, let new):
      [
        Message("A program wants to replace all \(old) bytes of it by \(new) bytes."),
        Message("Anything that it does not write back is lost."),
      ]
    }
  }

  private static func lines(ofSitesThatReadTheLength rpIDs: [String]) -> [Message] {
    guard !rpIDs.isEmpty else { return [Message("No site can read the minimum PIN length.")] }
    return [Message("Only these sites can read the minimum PIN length:")] + rpIDs.flatMap(UserPrompt.siteLines(of:))
  }
}

extension UserPrompt {
  /// U2F sends a hash of the site's name only.
  fileprivate static let hiddenSite = Message("An older kind of request (U2F). It does not name its site.")

  /// The action and the site: the heading of a dialog; `nil` if the headline is the heading.
  fileprivate var act: Message? {
    guard let site = namedSite else { return nil }
    return switch purpose {
    case .register: Message("Make a passkey at \(site)")
    case .authorize(let permissions) where permissions.contains(.makeCredential): Message("Make a passkey at \(site)")
    case .alreadyRegistered: Message("You already have a passkey at \(site)")
    case .signIn, .signInSecondFactor: Message("Sign in at \(site)")
    case .authorize(let permissions) where permissions.contains(.getAssertion): Message("Sign in at \(site)")
    case .registerSecondFactor, .setPIN, .select, .authorize, .change, .reset, .export, .wallet: nil
    }
  }

  /// The short form of the warning; it has no text from others.
  fileprivate var warning: Message? {
    if resembles != nil { return Message("This site resembles one that you know.") }
    guard case .wallet(.signTransactions(let transactions)) = purpose else { return nil }
    return switch transactions.surrender {
    case .control: Message("This gives away control of an account.")
    case .rest: Message("This sends all that is left.")
    case nil: nil
    }
  }

  /// The warning for a new site whose name resembles a known one.
  fileprivate var resemblanceLines: [Message] {
    guard let resembles else { return [] }
    let how =
      switch resembles.kind {
      case .looksAlike: Message("The names look alike.")
      case .oneLetter: Message("One letter differs.")
      case .otherSuffix: Message("The end of the name differs.")
      }
    return [Message("This is not: \(DisplayText.host(resembles.known))"), how]
  }

  /// The accounts that the store has at the site: a token does not say which of them will sign in.
  fileprivate var storedAccountLines: [Message] {
    let more = Message(
      "and \(moreStoredAccounts) more account", plural: "and \(moreStoredAccounts) more accounts",
      count: moreStoredAccounts)
    return storedAccounts.map { Message("Account: \(DisplayText.name($0))") }
      + (storedAccounts.isEmpty || moreStoredAccounts == 0 ? [] : [more])
  }

  /// The accounts that a sign-in leaves out, and how to sign in with one of them.
  fileprivate var otherAccountLines: [Message] {
    guard moreStoredAccounts > 0 else { return [] }
    let others = Message(
      "\(moreStoredAccounts) more account of this site is stored here.",
      plural: "\(moreStoredAccounts) more accounts of this site are stored here.", count: moreStoredAccounts)
    return [others, Message("To sign in with another one, refuse, and type its name at the site first.")]
  }

  /// The advice to make a backup after the first passkey.
  fileprivate var backupLines: [Message] {
    guard isFirstPasskey else { return [] }
    return [
      Message("No passkey is stored here yet."),
      Message("After you make the first one, run: liquid-auth backup FILE"),
    ]
  }

  fileprivate var replacementLines: [Message] {
    (replacesPasskey ? [Message("It replaces the passkey that this account has here.")] : [])
      + (movesFromPreviousPhrase ? [Message("It takes the place of your key of the old phrase at this site.")] : [])
  }

  /// The lines about a sign-in whose list has no passkey of this vault.
  fileprivate var unservedLines: [Message] {
    Self.siteLines(of: unservedSite ?? "") + [
      Message("The site accepts only certain passkeys."),
      Message("This authenticator has none of them, so the sign-in fails."),
    ]
  }

  /// Whether the request fails, whatever the user answers.
  fileprivate var isNotice: Bool {
    switch purpose {
    case .alreadyRegistered: true
    case .signIn: accountCount == 0
    case .select: unservedSite != nil
    default: false
    }
  }

  fileprivate var noPasskeyLines: [Message] {
    accountCount == 0 ? [Message("No passkey for this site is stored on this machine, so the sign-in fails.")] : []
  }

  fileprivate var previousPhraseLines: [Message] {
    isOfPreviousPhrase
      ? [Message("This key is of your old phrase."), Message("Register a new one at the site.")] : []
  }

  /// The extras, in words; `payment` is the sentence for a payment.
  fileprivate func extraLines(payment: Message) -> [Message] {
    let lines: [(Extras, Message)] = [
      (.secret, Message("The site also gets a secret for encryption (PRF).")),
      (.largeBlobKey, Message("The site also gets a key for the data it keeps here (large blob).")),
      (.payment, payment),
    ]
    return lines.filter { extras.contains($0.0) }.map(\.1)
  }

  fileprivate var algorandLines: [Message] {
    guard let groupedAddress else { return [] }
    let signed =
      origin.map { Message("It signs for: \(DisplayText.host($0))") } ?? Message("It signs for this site only")
    let firstUse = [
      Message("First use: this account has no passkey for this site on this machine."),
      Message("Check that it is the right site."),
    ]
    let letters = origin.map(Self.letterLines(of:)) ?? []
    return [Message("Algorand account: \(groupedAddress)"), signed] + letters + hostBelowLines
      + (isFirstUse ? firstUse : [])
  }

  /// The line for an origin whose host is below the relying party's id; no other host is signed for, except the id
  /// itself (Recovery §11, E2).
  private var hostBelowLines: [Message] {
    guard let origin, let rpID else { return [] }
    let host = origin.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).prefix { $0 != UInt8(ascii: ":") }
    return Self.isHost(host, below: rpID) ? [Self.hostBelow] : []
  }

  /// The lines for the host that a wallet names, if it is not the site.
  static func hostLines(_ host: String?, of rpID: String) -> [Message] {
    guard let host else { return [] }
    return [Message("For: \(DisplayText.host(host))")] + letterLines(of: host)
      + (isHost(Substring(host).utf8, below: rpID) ? [hostBelow] : [])
  }

  private static let hostBelow =
    Message("The host is a subdomain of the site. Check that it is the right one.")

  private static func isHost(_ host: Substring.UTF8View, below rpID: String) -> Bool {
    host.suffix(rpID.utf8.count + 1).elementsEqual(".\(rpID)".utf8)
  }
}
