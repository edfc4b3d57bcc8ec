import CryptoPrimitives
import DeterministicKeys
import ProcessIO

/// Shows a new phrase once, and makes sure that it is on paper.
///
/// The words go from locked memory to the terminal; none becomes a `String`.
enum PhraseDialogue {
  /// How many words the user must type back.
  static let confirmedWords = 3
  /// How often each may be typed.
  static let tries = 3

  /// Shows the phrase, then asks for words of it at random positions.
  ///
  /// - Throws: ``CommandFailure/cancelledAtPhrase`` if the user cancels.
  static func confirm(
    _ phrase: BIP39Phrase, on terminal: TerminalDevice, using generator: inout some RandomNumberGenerator
  ) throws(CommandFailure) {
    let secret = phrase.utf8
    let words = ranges(ofWordsIn: secret)
    do throws(CommandFailure) {
      try terminal.onSecondScreen { () throws(CommandFailure) in
        show(secret, words, on: terminal)
        try terminal.askForEnter("\nPress Enter when they are written down: ")
      }
      for position in words.indices.shuffled(using: &generator).prefix(confirmedWords).sorted() {
        try ask(for: position, of: secret, words, on: terminal)
      }
    } catch {
      throw error == .cancelled ? .cancelledAtPhrase : error
    }
  }

  private static func show(_ secret: SecretBytes, _ words: [Range<Int>], on terminal: TerminalDevice) {
    terminal.show("Your phrase, \(words.count) words. Write them down in this order, on paper.\n")
    terminal.show("Anyone who has them has your passkeys, on any machine.\n")
    terminal.show("They are not shown again.\n\n")
    for (position, word) in words.enumerated() {
      terminal.show("\(position < 9 ? "  " : " ")\(position + 1). ")
      secret.withUnsafeBytes { terminal.show(UnsafeRawBufferPointer(rebasing: $0[word])) }
      let endsRow = position % 4 == 3 || position == words.count - 1
      terminal.show(endsRow ? "\n" : String(repeating: " ", count: max(1, 10 - word.count)))
    }
  }

  private static func ask(
    for position: Int, of secret: SecretBytes, _ words: [Range<Int>], on terminal: TerminalDevice
  ) throws(CommandFailure) {
    for _ in 0..<tries {
      let typed = try terminal.askLine("Word \(position + 1): ")
      let isRight = secret.withUnsafeBytes { phrase in
        typed.withUnsafeBytes { trimmed($0).elementsEqual(phrase[words[position]], by: { $0 | 0x20 == $1 }) }
      }
      if isRight { return }
      terminal.show("this is not word \(position + 1); look at your paper\n")
    }
    // If the phrase was pasted here, the rest of it is still in the input.
    terminal.discardInput()
    throw CommandFailure(
      "the words on paper are not the phrase; no vault was made. Destroy the paper, and run the command again")
  }

  /// Words are separated by single spaces: Recovery §1.
  private static func ranges(ofWordsIn secret: SecretBytes) -> [Range<Int>] {
    secret.withUnsafeBytes { bytes in
      bytes.split(separator: 0x20).map { $0.startIndex..<$0.endIndex }
    }
  }

  private static func trimmed(_ line: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    return line[...].drop(while: isSpace).prefix { !isSpace($0) }
  }
}
