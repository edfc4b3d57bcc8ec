import CTAP2

/// The dialogs of one prompt: all but the last are agreed to by a button, and nothing is done before the last.
///
/// A window and an Assuan line hold only so much. What a person has to read to agree goes on in further dialogs and is
/// never cut.
struct PromptPages: Sendable, Equatable {
  /// Those before the last.
  var before: [PromptText] = []
  /// The one that decides, with verification where it is set up.
  var last: PromptText

  /// The dialogs of a ceremony or a wallet's request: one transaction a dialog, or more where it is long.
  init(_ prompt: UserPrompt) {
    switch prompt.purpose {
    case .signTransactions(let transactions): self.init(transactions: transactions, prompt)
    case .signMessage(let message):
      self.init(
        question: "Sign this message?", heading: prompt.dAppLines + prompt.accountLines,
        body: WalletText.quoted(message))
    case .signAssociation(let publicUserID, let data, let service):
      self.init(
        question: "Sign in with Keyri?", heading: WalletText.service(service),
        body: ["User:"] + WalletText.quoted(publicUserID) + ["It signs:"] + WalletText.quoted(data))
    default: self.init(last: PromptText(prompt))
    }
  }

  private init(last: PromptText) { self.last = last }

  /// The parts of one text, headed the same.
  private init(question: String, heading: [String], body: [String]) {
    self.init(
      WalletText.parts(of: body, under: heading).map { part in
        PromptText(headline: question + part.words, details: heading + part.lines, agree: "Next", refuse: "Deny")
      })
  }

  private init(transactions: [UserPrompt.TransactionText], _ prompt: UserPrompt) {
    let count = transactions.count
    let signed = transactions.count(where: \.isToBeSigned)
    let whatIsSigned = signed == count ? "all \(count)" : "\(signed) of the \(count)"
    var pages: [PromptText] = []
    for (index, transaction) in transactions.enumerated() {
      let headline =
        switch (count, transaction.isToBeSigned) {
        case (1, _): "Sign this transaction?"
        case (_, true): "Sign transaction \(index + 1) of \(count)?"
        case (_, false): "Transaction \(index + 1) of \(count), which you do not sign"
        }
      let body = transaction.lines.flatMap(WalletText.wrapped)
      let isLastOfSeveral = count > 1 && index == count - 1
      let ending = isLastOfSeveral ? ["This is the last. Your account signs \(whatIsSigned)."] : []
      pages += WalletText.parts(of: body, under: prompt.dAppLines, ending: ending).map { part in
        PromptText(
          headline: headline + part.words, details: prompt.dAppLines + part.lines, agree: "Next", refuse: "Deny")
      }
    }
    self.init(pages)
  }

  private init(_ pages: [PromptText]) {
    guard var last = pages.last else { preconditionFailure("there is nothing to agree to") }
    last.agree = "Sign"
    self.last = last
    before = pages.dropLast()
  }
}

/// How a wallet's texts are laid out for dialogs.
///
/// The smallest window is a terminal of 24 rows and 80 columns with pinentry-curses in it. What is too high for it is not
/// shown at all; what is too wide it breaks, without the spaces at the beginning: so we break first, and what goes on
/// stands behind a mark. Nothing that others wrote comes to stand where a line of ours begins.
enum WalletText {
  /// The most bytes of one dialog's lines, as Assuan writes them: with the headline they fit into one line of 1000.
  static let room = 880
  /// The most lines of one dialog, beside headline and empty line, where a wrong passphrase is said as well.
  static let height = 14
  /// The most columns of one line without its mark; an address with its label fits.
  static let width = 70

  /// Some lines of a text, and which part of it they are, in words behind the question.
  struct Part: Equatable {
    var lines: [String]
    var words: String
  }

  /// A text that others wrote, whole: each of its lines behind a mark, so that none can pose as one of ours, and what
  /// goes on in another line behind a second one.
  static func quoted(_ text: String) -> [String] {
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
      chunks(of: line.map(ShownText.exact)).enumerated().map { "\($0 == 0 ? ">" : "+") \($1)" }
    }
  }

  /// A line of ours; what goes on in another line stands behind a mark.
  static func wrapped(_ line: String) -> [String] {
    chunks(of: line.unicodeScalars.map(ShownText.visible)).enumerated().map { $0 == 0 ? $1 : "+ \($1)" }
  }

  /// Who asks for a signature by an association key.
  static func service(_ service: String) -> [String] { wrapped("Service: \(ShownText.host(service))") }

  /// Spreads lines over as many dialogs as they need; none is left out.
  ///
  /// - Parameters:
  ///   - heading: stands in each of them.
  ///   - ending: stands behind the last line; there is room for it in each.
  static func parts(of lines: [String], under heading: [String], ending: [String] = []) -> [Part] {
    let room = room - (heading + ending).reduce(0) { $0 + AssuanLine.size(of: $1 + "\n") }
    let height = height - heading.count - ending.count
    var parts: [[String]] = [[]]
    var left = room
    for line in lines {
      let size = AssuanLine.size(of: line + "\n")
      if size > left || parts[parts.count - 1].count == height {
        parts.append([])
        left = room
      }
      left -= size
      parts[parts.count - 1].append(line)
    }
    parts[parts.count - 1] += ending
    return parts.enumerated().map { index, lines in
      Part(lines: lines, words: parts.count == 1 ? "" : " (part \(index + 1) of \(parts.count))")
    }
  }

  /// Joins pieces to lines of ``width`` columns at most, which end behind a space where one is not too near to their
  /// beginning; no pieces are one empty line.
  private static func chunks(of pieces: [String]) -> [String] {
    var chunks: [[String]] = [[]]
    var left = width
    for piece in pieces {
      if columns(piece) > left {
        let line = chunks[chunks.count - 1]
        let space = line.lastIndex(of: " ").map { $0 + 1 } ?? 0
        let end = space > line.count / 4 ? space : line.count
        chunks[chunks.count - 1] = Array(line[..<end])
        chunks.append(Array(line[end...]))
        left = width - line[end...].reduce(0) { $0 + columns($1) }
      }
      chunks[chunks.count - 1].append(piece)
      left -= columns(piece)
    }
    return chunks.map { $0.joined() }
  }

  /// At most so wide; from U+1100 on there are characters of two columns.
  private static func columns(_ piece: String) -> Int {
    piece.unicodeScalars.reduce(0) { $0 + ($1.value < 0x1100 ? 1 : 2) }
  }
}

extension UserPrompt {
  /// The origin that the wallet names; it is the wallet that saw it, not the authenticator.
  var dAppLines: [String] { WalletText.wrapped("dApp: \(ShownText.host(origin ?? ""))") }

  fileprivate var accountLines: [String] { algorandAddress.map { ["Account: \($0)"] } ?? [] }
}
