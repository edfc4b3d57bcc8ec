import CTAP2
import DisplayText
import Messages
import Recovery

/// The dialogs of one prompt: all but the last are agreed to by a button, and nothing is done before the last.
///
/// A window and an Assuan line have little room. What a user must read to agree goes on in further dialogs and is never
/// cut. Every prompt becomes dialogs here, so that none is ever reduced to one of them.
struct PromptPages: Sendable, Equatable {
  /// Those before the last.
  var before: [PromptText] = []
  /// The one that decides, with verification where it is set up.
  var last: PromptText
  /// The headline without the number of a part.
  private let question: Message

  /// All of them, in their order.
  var all: [PromptText] { before + [last] }

  /// The dialogs of a ceremony or a wallet's request.
  ///
  /// - Parameters:
  ///   - doorLines: the lines that say where the request came in. They come after the others, except in a wallet's prompt.
  ///   - others: the other keys that are plugged in, which the last lines name.
  init(
    _ prompt: UserPrompt, askedThrough doorLines: [String] = [], beside others: [OtherKey] = [], in catalogue: Catalogue
  ) {
    switch prompt.purpose {
    case .register:
      self.init(
        headline: Message("Make a new passkey?"),
        details: prompt.resemblanceLines + prompt.siteLines + prompt.replacementLines
          + prompt.extraLines(payment: Message("Other sites may start payments with this passkey."))
          + prompt.algorandLines,
        agree: prompt.replacesPasskey ? Message("Replace passkey") : Message("Make passkey"), in: catalogue)
    case .alreadyRegistered:
      self.init(
        headline: Message("You already have a passkey here"),
        details: prompt.siteLines + [Message("The site requested another one. No new passkey is made.")],
        agree: Message("OK"), refuse: Message("Close"), in: catalogue)
    case .signIn:
      self.init(
        headline: Message("Sign in with your passkey?"),
        details: prompt.siteLines
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
        headline: Message("Make a new second factor?"), details: [UserPrompt.hiddenSite], agree: Message("Make it"),
        in: catalogue)
    case .signInSecondFactor:
      self.init(
        headline: Message("Sign in with your second factor?"),
        details: prompt.rpID == nil ? [UserPrompt.hiddenSite] : prompt.siteLines, agree: Message("Sign in"),
        in: catalogue)
    case .select:
      self.init(
        headline: Message("Is this the authenticator you mean?"),
        details: [
          Message("A site or a program asks which of your security keys to use. This does not sign you in.")
        ],
        agree: Message("Use this one"), refuse: Message("Not this one"), in: catalogue)
    case .authorize(let permissions):
      let isNamed = prompt.rpID != nil
      self.init(
        headline: permissions.headline,
        details: prompt.resemblanceLines + prompt.siteLines(named: isNamed) + permissions.lines(ofSite: isNamed),
        agree: permissions.agree, in: catalogue)
    case .change(let change):
      self.init(
        question: change.headline, heading: [],
        body: WalletText.wrapped(change.lines, in: catalogue), agree: change.agree, in: catalogue)
    case .reset(let importedPasskeys):
      self.init(
        headline: Message("Reset this authenticator?"), details: Self.resetLines(importedPasskeys),
        agree: Message("Reset"), refuse: Message("Keep"), in: catalogue)
    case .wallet(let purpose): self = purpose.pages(of: prompt, askedThrough: doorLines, in: catalogue)
    }
    if !prompt.isOfWallet { append(doorLines, others, in: catalogue) }
    for page in before.indices {
      before[page].mayConcernAnotherKey = prompt.mayConcernAnotherKey
      before[page].needsReading = prompt.needsReading
    }
    last.mayConcernAnotherKey = prompt.mayConcernAnotherKey
    last.needsReading = prompt.needsReading
    last.isPresence = before.isEmpty && !prompt.needsReading && !prompt.isOfWallet
  }

  /// One dialog for a passphrase or PIN; dialogs before it if its lines do not fit.
  ///
  /// - Parameters:
  ///   - doorLines: the lines that say where the request came in.
  ///   - others: the other keys that are plugged in, which the last lines name.
  init(_ dialog: PromptText, askedThrough doorLines: [String] = [], beside others: [OtherKey] = []) {
    (last, question) = (dialog, Message(verbatim: dialog.headline))
    append(doorLines, others, in: dialog.catalogue)
    for page in before.indices { before[page].mayConcernAnotherKey = dialog.mayConcernAnotherKey }
    (last.entry, last.mayConcernAnotherKey) = (dialog.entry, dialog.mayConcernAnotherKey)
    last.takesPassphrase = true
  }

  /// Adds lines at the end of dialogs without a heading; adds a dialog if there is no room.
  private mutating func append(_ doorLines: [String], _ others: [OtherKey], in catalogue: Catalogue) {
    let lines = all.flatMap(\.details) + doorLines + catalogue.texts(PromptText.lines(naming: others))
    let parts = WalletText.parts(of: lines, under: [])
    self = PromptPages(
      parts, question: question, heading: [], agree: last.agree, refuse: last.refuse, in: catalogue)
  }

  /// Makes one dialog, or more if a client's texts do not fit into one Assuan line.
  ///
  /// - Parameter closing: the last lines.
  init(
    headline: Message, details: [Message], agree: Message, refuse: Message = Message("Deny"), closing: [String] = [],
    in catalogue: Catalogue
  ) {
    let parts = WalletText.parts(of: catalogue.texts(details) + closing, under: [])
    self.init(
      parts, question: headline, heading: [], agree: catalogue.text(agree), refuse: catalogue.text(refuse),
      in: catalogue)
  }

  /// - Parameter agree: the words on the last dialog's button.
  private init(
    _ parts: NonEmpty<WalletText.Part>, question: Message, heading: [String], agree: String, refuse: String? = nil,
    in catalogue: Catalogue
  ) {
    let pages = parts.map { part in
      PromptText(
        headline: catalogue.text(part.headline(question)), details: heading + part.lines,
        agree: catalogue.text(Message("Next")), refuse: refuse ?? catalogue.text(Message("Deny")),
        catalogue: catalogue)
    }
    (before, last) = (pages.before, pages.last)
    self.question = question
    last.agree = agree
    for page in before.indices { before[page].isFollowed = true }
  }

  /// The parts of one text, under the same heading.
  init(question: Message, heading: [String], body: [String], agree: Message, in catalogue: Catalogue) {
    let parts = WalletText.parts(of: body, under: heading)
    self.init(parts, question: question, heading: heading, agree: catalogue.text(agree), in: catalogue)
  }

  /// One transaction, on one page if it fits; or the totals of several, and then each of them.
  ///
  /// If there is more than one page, the last is a summary, and asks for the passphrase. If the summary does not fit,
  /// warnings come first, and the page says how much it leaves out.
  ///
  /// - Parameter doorLines: the lines that say where the request came in, after the only transaction or with the totals.
  init(
    _ transactions: UserPrompt.TransactionTexts, heading: [String], askedThrough doorLines: [String],
    in catalogue: Catalogue
  ) {
    let count = transactions.each.count
    let blocks = transactions.each.numbered { number, transaction in
      WalletText.wrapped(transaction.block(number, of: count), in: catalogue)
    }
    let reading = WalletText.pages(of: count == 1 ? blocks.all + [doorLines] : blocks.all, under: heading)
    var pages = reading
    if count > 1 || reading.count > 1 {
      let overview = WalletText.wrapped(transactions.overview, in: catalogue) + doorLines
      pages = NonEmpty(
        (count == 1 ? [] : WalletText.pages(of: [overview], under: heading).all) + reading.all,
        last: transactions.ending(under: heading, in: catalogue))
    }
    let question = count == 1 ? Message("Sign this transaction?") : Message("Sign these \(count) transactions?")
    self.init(
      WalletText.parts(of: pages), question: question, heading: heading, agree: catalogue.text(Message("Sign")),
      in: catalogue)
  }

  private static func resetLines(_ importedPasskeys: Int) -> [Message] {
    let lines = [
      Message("Every passkey that was made or used on this machine stops working here."),
      Message("The PIN, the settings and the large blobs of sites are removed too."),
      Message("Your recovery phrase is kept."),
    ]
    guard importedPasskeys > 0 else { return lines }
    let lost = Message(
      "\(importedPasskeys) imported passkey is lost for good.",
      plural: "\(importedPasskeys) imported passkeys are lost for good.", count: importedPasskeys)
    return lines + [lost]
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

extension UserPrompt.TransactionText {
  /// The lines of one transaction, under its number and kind.
  fileprivate func block(_ number: Int, of count: Int) -> [Message] {
    let title =
      if count == 1 {
        Message("Transaction: \(kind)")
      } else if isToBeSigned {
        Message("Transaction \(number) of \(count): \(kind)")
      } else {
        Message("Transaction \(number) of \(count) (not signed by you): \(kind)")
      }
    return [title] + lines
  }
}

extension UserPrompt.TransactionTexts {
  /// The overview of several transactions, before the first of them.
  fileprivate var overview: [Message] {
    let together = isGroup ? Message("They commit together or not at all.") : Message("Each can be committed alone.")
    let shared = common.isEmpty ? [] : [Message("In each of them:")] + common
    return [[whatIsSigned, together].joined(by: " ")] + inShort + shared
  }

  /// The summary on the last page, with the final button.
  fileprivate func ending(under heading: [String], in catalogue: Catalogue) -> [String] {
    WalletText.summary(
      of: ([Message("Summary:")] + inShort).map { WalletText.wrapped([$0], in: catalogue) },
      closing: WalletText.wrapped([whatIsSigned], in: catalogue), under: heading, in: catalogue)
  }

  private var whatIsSigned: Message {
    let signed = each.all.count(where: \.isToBeSigned)
    if each.count == 1 { return Message("Your account signs this one transaction.") }
    return signed == each.count
      ? Message("Your account signs all \(signed).") : Message("Your account signs \(signed) of the \(each.count).")
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
    guard !rpIDs.isEmpty else { return [Message("No site can read the minimum PIN length any more.")] }
    return [Message("Only these sites can read the minimum PIN length:")] + rpIDs.map { UserPrompt.siteLine($0) }
  }
}

extension UserPrompt {
  /// U2F sends a hash of the site's name only.
  fileprivate static let hiddenSite = Message("An older kind of request (U2F). It does not name its site.")

  /// The warning for a new site whose name resembles a known one.
  fileprivate var resemblanceLines: [Message] {
    guard let resembles else { return [] }
    let how =
      switch resembles.kind {
      case .looksAlike: Message("The names look alike.")
      case .oneLetter: Message("One letter differs.")
      case .otherSuffix: Message("The end of the name differs.")
      }
    let decoded =
      resembles.decoded.map { [Message("In its own script the new site is \(DisplayText.name($0))")] } ?? []
    return [Message("This is not: \(DisplayText.host(resembles.known))"), how] + decoded
  }

  fileprivate var replacementLines: [Message] {
    replacesPasskey ? [Message("It replaces the passkey that this account has here.")] : []
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
    guard let algorandAddress else { return [] }
    let signed =
      origin.map { Message("It signs for: \(DisplayText.host($0))") } ?? Message("It signs for this site only")
    let firstUse =
      Message("First use: this account has no passkey for this site on this machine. Check that it is the right site.")
    return [Message("Algorand account: \(DisplayText.host(algorandAddress))"), signed] + hostBelowLines
      + (isFirstUse ? [firstUse] : [])
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
    return [Message("For: \(DisplayText.host(host))")] + (isHost(Substring(host).utf8, below: rpID) ? [hostBelow] : [])
  }

  private static let hostBelow =
    Message("The host is a subdomain of the site. Check that it is the right one.")

  private static func isHost(_ host: Substring.UTF8View, below rpID: String) -> Bool {
    host.suffix(rpID.utf8.count + 1).elementsEqual(".\(rpID)".utf8)
  }
}
