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

  /// One dialog for a passphrase or PIN; dialogs before it if its lines do not fit.
  ///
  /// - Parameters:
  ///   - takesPassphrase: whether the last dialog has a field; if not, a button agrees.
  ///   - doorLines: the lines that say where the request came in.
  ///   - others: the names of the other keys that are plugged in, which are in the last lines.
  init(
    _ dialog: PromptText, takesPassphrase: Bool = true, askedThrough doorLines: [String] = [],
    beside others: [String] = []
  ) {
    (last, question) = (dialog, Message(verbatim: dialog.headline))
    append(doorLines, others, in: dialog.catalogue)
    for page in before.indices { before[page].mayConcernAnotherKey = dialog.mayConcernAnotherKey }
    (last.entry, last.mayConcernAnotherKey) = (dialog.entry, dialog.mayConcernAnotherKey)
    if before.isEmpty { last.act = dialog.act }
    last.takesPassphrase = takesPassphrase
  }

  /// Adds lines at the end of dialogs without a heading; adds a dialog if there is no room.
  mutating func append(_ doorLines: [String], _ others: [String], in catalogue: Catalogue) {
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
      WalletText.parts(of: pages), question: question, heading: heading, agree: catalogue.text(transactions.agree),
      in: catalogue)
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
  /// The words on the last button, which name what is given away.
  fileprivate var agree: Message {
    switch surrender {
    case .control: Message("Sign rekey")
    case .rest: Message("Sign closing")
    case nil: Message("Sign")
    }
  }

  /// The overview of several transactions, before the first of them.
  fileprivate var overview: [Message] {
    let together = isGroup ? Message("They commit together or not at all.") : Message("Each can be committed alone.")
    let shared = common.isEmpty ? [] : [Message("In each of them:")] + common
    return [[whatIsSigned, together].joined(by: " ")] + inShort + shared
  }

  /// The most lines about networks for which sums are left out.
  private static let mostNetworkLines = 4

  /// The summary on the last page, with the final button.
  ///
  /// The short form of one transaction also has the warning about its network; the page says it once, after the sums.
  /// A dApp chooses the names of unknown networks, and can name many: without room for all, it only warns.
  fileprivate func ending(under heading: [String], in catalogue: Catalogue) -> [String] {
    let sums = [Message("Summary:")] + inShort.filter { !networks.contains($0) }
    let (places, signed) = (
      WalletText.wrapped(networks, in: catalogue), WalletText.wrapped([whatIsSigned], in: catalogue)
    )
    // The longest line that can count what is left out.
    let note = String(repeating: "-", count: WalletText.width)
    let fits = { (lines: [String]) in
      WalletText.pages(of: [lines + places + signed], under: heading).count == 1
    }
    let isNamed = places.count <= Self.mostNetworkLines && fits([note]) || fits(WalletText.wrapped(sums, in: catalogue))
    // The public networks always have room.
    let elsewhere = Message("Network: see earlier parts")
    return WalletText.summary(
      of: sums.map { WalletText.wrapped([$0], in: catalogue) },
      closing: (isNamed ? places : WalletText.wrapped([Message("WARNING \(elsewhere)")], in: catalogue)) + signed,
      under: heading, in: catalogue)
  }

  private var whatIsSigned: Message {
    let signed = each.all.count(where: \.isToBeSigned)
    if each.count == 1 { return Message("Your account signs this one transaction.") }
    return signed == each.count
      ? Message("Your account signs all \(signed).") : Message("Your account signs \(signed) of the \(each.count).")
  }
}
