import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import Glibc
import ProcessIO
import SLIP39

/// Reads shares of a phrase, one after the other, until there are enough.
struct ShareInput {
  /// The command that takes a phrase, for the error if one is given; `nil` on a terminal, where the user types again.
  private let phraseCommand: [String]?
  private var shares: [Share] = []
  /// The message about how many shares are missing.
  private var progress = ""

  private init(_ phraseCommand: [String]?) { self.phraseCommand = phraseCommand }

  /// Reads from the terminal, without echo, if standard input is one; otherwise reads as many of its first lines as are
  /// needed.
  ///
  /// - Parameter command: the command that takes a phrase, for the error if one is in standard input.
  static func valid(forPhrase command: [String]) throws(CommandFailure) -> BIP39Phrase {
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else { return try piped(command) }
    return try valid(on: terminal)
  }

  /// Reads from the terminal, without echo.
  ///
  /// Asks again for a share that is refused. After an empty line, or if the shares do not fit together, begins again
  /// with the first.
  static func valid(on terminal: TerminalDevice) throws(CommandFailure) -> BIP39Phrase {
    var input = ShareInput(nil)
    while true {
      let given = input.shares.count
      do throws(CommandFailure) {
        let line = try terminal.askSecret("Share \(given + 1), all words on one line (not shown): ")
        if line.count == 0, given > 0 {
          input = ShareInput(nil)
          continue
        }
        if let phrase = try input.add(line) { return phrase }
        terminal.show("\(input.progress)\n")
      } catch {
        guard error.code == .failed, error != .cancelled else { throw error }
        let advice =
          input.shares.count < given
          ? "begin again" : given == 0 ? "try again" : "try again, or press Enter to begin with share 1 again"
        terminal.show("\(error.description); \(advice)\n")
      }
    }
  }

  private static func piped(_ command: [String]) throws(CommandFailure) -> BIP39Phrase {
    var input = ShareInput(command)
    while true {
      let line = try StandardInput.secretLine("share \(input.shares.count + 1)")
      if let phrase = try input.add(line) { return phrase }
    }
  }

  /// Adds a share.
  ///
  /// - Returns: the phrase; `nil` while shares are missing.
  /// - Throws: the reason why the share is refused. If the shares do not fit together, all of them are forgotten.
  private mutating func add(_ line: SecretBytes) throws(CommandFailure) -> BIP39Phrase? {
    do throws(SLIP39Error) {
      let share = try Share(parsing: line)
      do throws(SLIP39Error) {
        return BIP39Phrase(entropy: try Shares.combine(shares + [share]))
      } catch {
        switch error {
        case .tooFewShares, .tooFewGroups:
          shares.append(share)
          progress = error.description
          return nil
        case .digest:
          shares = []
          throw error
        default: throw error
        }
      }
    } catch {
      guard error.isOfWord, PhraseInput.hasOnlyWordsOfPhrases(line) else { throw CommandFailure(error.description) }
      let reason = "these are words of a phrase, not of a SLIP-39 share"
      throw CommandFailure(
        phraseCommand.map { Problem(reason, hint: "for the phrase, run:", run: $0) } ?? Problem(reason))
    }
  }

  /// Whether all words are in the SLIP-39 list, even if they do not make a share.
  static func hasOnlyWordsOfShares(_ line: SecretBytes) -> Bool {
    do { _ = try Share(parsing: line) } catch { return !error.isOfWord }
    return true
  }
}

extension SLIP39Error {
  /// Whether a word is not in the list.
  fileprivate var isOfWord: Bool {
    switch self {
    case .unknownWord, .notASCII: true
    default: false
    }
  }
}
