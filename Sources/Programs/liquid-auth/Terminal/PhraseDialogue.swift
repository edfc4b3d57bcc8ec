import CryptoPrimitives
import DeterministicKeys
import ProcessIO
import SLIP39

/// Shows a new phrase, or its shares, once, and checks that the user has written the words down.
///
/// The words go from locked memory to the terminal; none becomes a `String`.
enum PhraseDialogue {
  /// How many words of each paper the user must type back.
  static let confirmedWords = 3
  /// How often each may be typed.
  static let tries = 3

  /// Words to write on one paper, and the texts around them.
  private struct Paper {
    /// The words with single spaces between them: Recovery §1.
    let secret: SecretBytes
    /// The lines above the words.
    let heading: String
    /// The text of a prompt for a word, before the position.
    let prompt: String
    /// How many words at the beginning are not asked for.
    var unasked = 0
    /// The failure if wrong words are typed.
    let refusal: String
    /// The failure if the user cancels.
    let cancelled: CommandFailure

    /// The places of the words in the bytes.
    var words: [Range<Int>] {
      secret.withUnsafeBytes { bytes in
        bytes.split(separator: 0x20).map { $0.startIndex..<$0.endIndex }
      }
    }
  }

  /// Shows the phrase, then asks for words of it at random positions.
  ///
  /// - Parameter isSecond: whether the user has the paper of another phrase.
  /// - Throws: ``CommandFailure/cancelledAtPhrase(isSecond:)`` if the user cancels.
  static func confirm(
    _ phrase: BIP39Phrase, isSecond: Bool = false, on terminal: TerminalDevice,
    using generator: inout some RandomNumberGenerator
  ) throws(CommandFailure) {
    let paper = Paper(
      secret: phrase.utf8,
      heading: """
        Your \(isSecond ? "new phrase" : "phrase"), \(phrase.wordCount) words. Write them down in this order, on paper.
        Anyone who has them has your passkeys, on any machine.
        """,
      prompt: "Word",
      refusal: "the words on paper are not the phrase; \(CommandFailure.unused(isSecond: isSecond)); destroy the "
        + "paper, and run the command again",
      cancelled: .cancelledAtPhrase(isSecond: isSecond))
    try confirm(paper, on: terminal, using: &generator)
  }

  /// Shows each share, then asks for words of it at random positions.
  ///
  /// The first words are not asked for: they are almost the same in all shares.
  ///
  /// - Parameter isSecond: whether the user has the paper of another phrase.
  /// - Throws: ``CommandFailure/cancelledAtShares(isSecond:)`` if the user cancels.
  static func confirm(
    _ shares: [Share], isSecond: Bool = false, on terminal: TerminalDevice,
    using generator: inout some RandomNumberGenerator
  ) throws(CommandFailure) {
    let all = "\(shares.count)\(isSecond ? " of your new phrase" : "")"
    for (number, share) in zip(1..., shares) {
      let name = "Share \(number)"
      let enough = share.memberThreshold == 1 ? "it" : "\(share.memberThreshold) shares"
      let paper = Paper(
        secret: share.utf8,
        heading: """
          \(name) of \(all), \(share.wordCount) words. Write them down in this order, on their own paper.
          Anyone who has \(enough) has your passkeys, on any machine.
          """,
        prompt: "\(name), word", unasked: Share.headerWordCount,
        refusal: "the words on paper are not share \(number); \(CommandFailure.unused(isSecond: isSecond)); destroy "
          + "the papers of all shares, and run the command again",
        cancelled: .cancelledAtShares(isSecond: isSecond))
      try confirm(paper, on: terminal, using: &generator)
    }
  }

  private static func confirm(
    _ paper: Paper, on terminal: TerminalDevice, using generator: inout some RandomNumberGenerator
  ) throws(CommandFailure) {
    do throws(CommandFailure) {
      try terminal.onSecondScreen { () throws(CommandFailure) in
        show(paper, on: terminal)
        try terminal.askForEnter("\nPress Enter when they are written down: ")
      }
      terminal.show("Now type \(confirmedWords) of the words from your paper.\n")
      let asked = paper.words.indices.dropFirst(paper.unasked)
      for position in asked.shuffled(using: &generator).prefix(confirmedWords).sorted() {
        try ask(for: position, of: paper, on: terminal)
      }
    } catch {
      throw error == .cancelled ? paper.cancelled : error
    }
  }

  private static func show(_ paper: Paper, on terminal: TerminalDevice) {
    let words = paper.words
    terminal.show("\(paper.heading)\nThey are not shown again.\n\n")
    for (position, word) in words.enumerated() {
      terminal.show("\(position < 9 ? "  " : " ")\(position + 1). ")
      paper.secret.withUnsafeBytes { terminal.show(UnsafeRawBufferPointer(rebasing: $0[word])) }
      let endsRow = position % 4 == 3 || position == words.count - 1
      terminal.show(endsRow ? "\n" : String(repeating: " ", count: max(1, 10 - word.count)))
    }
  }

  private static func ask(for position: Int, of paper: Paper, on terminal: TerminalDevice) throws(CommandFailure) {
    let word = paper.words[position]
    for _ in 0..<tries {
      let typed = try terminal.askLine("\(paper.prompt) \(position + 1): ")
      let isRight = paper.secret.withUnsafeBytes { secret in
        typed.withUnsafeBytes { trimmed($0).elementsEqual(secret[word], by: { $0 | 0x20 == $1 }) }
      }
      if isRight { return }
      terminal.show("this is not word \(position + 1); check your paper\n")
    }
    // If the phrase was pasted here, the rest of it is still in the input.
    terminal.discardInput()
    throw CommandFailure(paper.refusal)
  }

  private static func trimmed(_ line: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    return line[...].drop(while: isSpace).prefix { !isSpace($0) }
  }
}
