import CTAP2
import DisplayText
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
  private var question = ""

  /// All of them, in their order.
  var all: [PromptText] { before + [last] }

  /// The dialogs of a ceremony or a wallet's request.
  ///
  /// - Parameter doorLines: where the request came in: the last lines, or with a wallet's first ones.
  init(_ prompt: UserPrompt, askedThrough doorLines: [String] = []) {
    switch prompt.purpose {
    case .register:
      self.init(
        headline: "Make a new passkey?",
        details: prompt.resemblanceLines + prompt.siteLines + prompt.replacementLines
          + prompt.extraLines(
            payment: "Other sites may start payments with this passkey.") + prompt.algorandLines,
        agree: prompt.replacesPasskey ? "Replace passkey" : "Make passkey", refuse: "Deny")
    case .alreadyRegistered:
      self.init(
        headline: "You already have a passkey here",
        details: prompt.siteLines + ["The site requested another one. No new passkey is made."],
        agree: "OK", refuse: "Close")
    case .signIn:
      self.init(
        headline: "Sign in with your passkey?",
        details: prompt.siteLines
          + prompt.extraLines(
            payment: "This may confirm a payment that another site started.") + prompt.algorandLines,
        agree: "Sign in", refuse: "Deny")
    case .setPIN:
      self.init(
        headline: "Set a PIN for this authenticator?",
        details: [
          "A program chose this PIN. Anyone who knows it can pass verification",
          "at sites, list and remove your passkeys, and change settings.",
        ],
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
        details: ["A site or a program asks which of your security keys to use. This does not sign you in."],
        agree: "Use this one", refuse: "Not this one")
    case .authorize(let permissions):
      let isNamed = prompt.rpID != nil
      self.init(
        headline: permissions.headline,
        details: prompt.resemblanceLines + prompt.siteLines(named: isNamed) + permissions.lines(ofSite: isNamed),
        agree: permissions.agree,
        refuse: "Deny")
    case .change(let change):
      self.init(
        question: change.headline, heading: [], body: change.lines.flatMap(WalletText.wrapped), agree: change.agree)
    case .reset(let importedPasskeys):
      self.init(
        headline: "Reset this authenticator?", details: Self.resetLines(importedPasskeys), agree: "Reset",
        refuse: "Keep")
    case .wallet(let purpose): self = purpose.pages(of: prompt, askedThrough: doorLines)
    }
    if !prompt.isOfWallet { append(doorLines) }
    for page in before.indices {
      before[page].mayConcernAnotherKey = prompt.mayConcernAnotherKey
      before[page].needsReading = prompt.needsReading
    }
    last.mayConcernAnotherKey = prompt.mayConcernAnotherKey
    last.needsReading = prompt.needsReading
    last.isPresence = before.isEmpty && !prompt.needsReading && !prompt.isOfWallet
  }

  /// Adds lines at the end of dialogs that have no heading; they need one more if there is no room.
  private mutating func append(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    self = PromptPages(
      headline: question, details: all.flatMap(\.details) + lines, agree: last.agree, refuse: last.refuse)
  }

  /// Makes one dialog, or more if a client's texts do not fit into one Assuan line.
  init(headline: String, details: [String], agree: String, refuse: String) {
    let parts = WalletText.parts(of: details, under: [])
    let pages = parts.map {
      PromptText(headline: headline + $0.words, details: $0.lines, agree: "Next", refuse: refuse)
    }
    self.init(pages, agree: agree)
    question = headline
  }

  /// - Parameter agree: the words on the last dialog's button.
  private init(_ pages: NonEmpty<PromptText>, agree: String) {
    (before, last) = (pages.before, pages.last)
    last.agree = agree
    for page in before.indices { before[page].isFollowed = true }
  }

  /// The parts of one text, under the same heading.
  init(question: String, heading: [String], body: [String], agree: String) {
    self.init(
      WalletText.parts(of: body, under: heading).map { part in
        PromptText(headline: question + part.words, details: heading + part.lines, agree: "Next", refuse: "Deny")
      }, agree: agree)
    self.question = question
  }

  /// One transaction, on one page if it fits; or the totals of several, and then each of them.
  ///
  /// If there is more than one page, the last is a summary, and asks for the passphrase. If the summary does not fit,
  /// warnings come first, and the page says how much it leaves out.
  ///
  /// - Parameter doorLines: where the request came in: after the only transaction, or with the totals.
  init(_ transactions: UserPrompt.TransactionTexts, heading: [String], askedThrough doorLines: [String]) {
    let count = transactions.each.count
    let blocks = transactions.each.numbered { $1.block($0, of: count) }.all
    let reading = WalletText.pages(of: count == 1 ? blocks + [doorLines] : blocks, under: heading)
    var pages = reading
    if count > 1 || reading.count > 1 {
      let overview = count == 1 ? [] : WalletText.pages(of: [transactions.overview + doorLines], under: heading).all
      pages = NonEmpty(overview + reading.all, last: transactions.ending(under: heading))
    }
    let question = count == 1 ? "Sign this transaction?" : "Sign these \(count) transactions?"
    self.init(
      WalletText.parts(of: pages).map { part in
        PromptText(headline: question + part.words, details: heading + part.lines, agree: "Next", refuse: "Deny")
      }, agree: "Sign")
  }

  private static func resetLines(_ importedPasskeys: Int) -> [String] {
    let lines = [
      "Every passkey that was made or used on this machine stops working here.",
      "The PIN, the settings and the large blobs of sites are removed too.", "Your recovery phrase is kept.",
    ]
    return switch importedPasskeys {
    case 0: lines
    case 1: lines + ["1 imported passkey is lost for good."]
    default: lines + ["\(importedPasskeys) imported passkeys are lost for good."]
    }
  }
}

extension TokenPermissions {
  /// The announced operation; with a site, that is a registration or a sign-in.
  fileprivate var headline: String {
    if contains(.makeCredential) { return "Make a new passkey?" }
    if contains(.getAssertion) { return "Sign in with your passkey?" }
    return "Let a program manage this authenticator?"
  }

  fileprivate var agree: String {
    if contains(.makeCredential) { return "Make passkey" }
    return contains(.getAssertion) ? "Sign in" : "Allow"
  }

  /// What else the program may do until the device is plugged in again, or ten minutes are over.
  fileprivate func lines(ofSite isOfSite: Bool) -> [String] {
    let operations: [(TokenPermissions, String)] = [
      ([.makeCredential, .getAssertion], "The program may also sign in there with a passkey."),
      (.credentialManagement, "It may list, rename and remove your passkeys\(isOfSite ? " of this site" : "")."),
      (
        .persistentCredentialManagementReadOnly,
        "It may list your passkeys until you set a new PIN, or run: liquid-auth config forget-readers"
      ),
      (.largeBlobWrite, "It may change the data that sites keep here."),
      (.authenticatorConfiguration, "It may change this authenticator's settings."),
    ]
    return operations.filter { contains($0.0) }.map(\.1)
  }
}

extension UserPrompt.TransactionText {
  /// The lines of one transaction, under its number and kind.
  fileprivate func block(_ number: Int, of count: Int) -> [String] {
    let which = count == 1 ? "" : " \(number) of \(count)\(isToBeSigned ? "" : " (not signed by you)")"
    return (["Transaction\(which): \(kind)"] + lines).flatMap(WalletText.wrapped)
  }
}

extension UserPrompt.TransactionTexts {
  /// The overview of several transactions, before the first of them.
  fileprivate var overview: [String] {
    let together = isGroup ? "They commit together or not at all." : "Each can be committed alone."
    let shared = common.isEmpty ? [] : ["In each of them:"] + common
    return (["\(whatIsSigned) \(together)"] + inShort + shared).flatMap(WalletText.wrapped)
  }

  /// The summary on the last page, with the final button.
  fileprivate func ending(under heading: [String]) -> [String] {
    WalletText.summary(
      of: (["Summary:"] + inShort).map(WalletText.wrapped), closing: WalletText.wrapped(whatIsSigned), under: heading)
  }

  private var whatIsSigned: String {
    let signed = each.all.count(where: \.isToBeSigned)
    let which =
      each.count == 1
      ? "this one transaction" : signed == each.count ? "all \(signed)" : "\(signed) of the \(each.count)"
    return "Your account signs \(which)."
  }
}

extension UserPrompt.Change {
  fileprivate var headline: String {
    switch self {
    case .alwaysUV(true): "Ask for verification every time?"
    case .alwaysUV(false): "Stop asking for verification every time?"
    case .minimumPINLength: "Change the rule for PINs?"
    case .largeBlobs: "Replace the data that sites keep here?"
    }
  }

  fileprivate var agree: String {
    if case .largeBlobs = self { "Replace" } else { "Change" }
  }

  /// What will change, in whole sentences.
  fileprivate var lines: [String] {
    switch self {
    case .alwaysUV(true):
      [
        "A program asks to require verification for every registration",
        "and sign-in. This needs a PIN. Until you set one, no site can",
        "use this authenticator.",
      ]
    case .alwaysUV(false):
      ["A program asks to require verification only when a site does."]
    case .minimumPINLength(let old, let new, let rpIDs):
      (old == new
        ? []
        : [
          "A program wants a PIN to have at least \(new) characters (now: \(old)).",
          "Only a reset undoes this.",
        ]) + (rpIDs.map(Self.lines) ?? [])
    case .largeBlobs(let old, let new):
      [
        "A program wants to replace all \(old) bytes of large blobs kept here",
        "with \(new) bytes. Anything that it does not write back is lost.",
      ]
    }
  }

  private static func lines(ofSitesThatReadTheLength rpIDs: [String]) -> [String] {
    guard !rpIDs.isEmpty else { return ["No site can read the minimum PIN length any more."] }
    return ["Only these sites can read the minimum PIN length:"] + rpIDs.map { UserPrompt.siteLine($0) }
  }
}

extension UserPrompt {
  /// U2F sends a hash of the site's name only.
  fileprivate static let hiddenSite = "An older kind of request (U2F). It does not name its site."

  /// The warning for a new site whose name resembles a known one.
  fileprivate var resemblanceLines: [String] {
    guard let resembles else { return [] }
    let how =
      switch resembles.kind {
      case .looksAlike: "The names look alike."
      case .oneLetter: "One letter differs."
      case .otherSuffix: "The end of the name differs."
      }
    let decoded = resembles.decoded.map { ["In its own letters the new site is \(DisplayText.name($0))"] } ?? []
    return ["This is not: \(DisplayText.host(resembles.known))", how] + decoded
  }

  fileprivate var replacementLines: [String] {
    replacesPasskey ? ["It replaces the passkey that this account has here."] : []
  }

  /// The extras, in words; `payment` is the sentence for a payment.
  fileprivate func extraLines(payment: String) -> [String] {
    let lines: [(Extras, String)] = [
      (.secret, "The site also gets a secret for encryption (PRF)."),
      (.largeBlobKey, "The site also gets a key for the data it keeps here (large blob)."), (.payment, payment),
    ]
    return lines.filter { extras.contains($0.0) }.map(\.1)
  }

  fileprivate var algorandLines: [String] {
    guard let algorandAddress else { return [] }
    let signed = origin.map { "It signs for: \(DisplayText.host($0))" } ?? "It signs for this site only"
    let firstUse =
      "First use: this account has no passkey for this site on this machine. Check that it is the right site."
    return ["Algorand account: \(DisplayText.host(algorandAddress))", signed] + hostBelowLines
      + (isFirstUse ? [firstUse] : [])
  }

  /// The line for an origin whose host is below the relying party's id; no other host is signed for, except the id
  /// itself (Recovery §11, E2).
  private var hostBelowLines: [String] {
    guard let origin, let rpID else { return [] }
    let host = origin.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).prefix { $0 != UInt8(ascii: ":") }
    return Self.isHost(host, below: rpID) ? [Self.hostBelow] : []
  }

  /// The lines for the host that a wallet names, if it is not the site.
  static func hostLines(_ host: String?, of rpID: String) -> [String] {
    guard let host else { return [] }
    return ["For: \(DisplayText.host(host))"] + (isHost(Substring(host).utf8, below: rpID) ? [hostBelow] : [])
  }

  private static let hostBelow =
    "The host is a subdomain of the site. Check that it is the right one."

  private static func isHost(_ host: Substring.UTF8View, below rpID: String) -> Bool {
    host.suffix(rpID.utf8.count + 1).elementsEqual(".\(rpID)".utf8)
  }
}
