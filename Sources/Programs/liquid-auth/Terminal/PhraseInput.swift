import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import Glibc
import ProcessIO

/// Reads a phrase from the user.
enum PhraseInput {
  /// Reads from the terminal, without echo, if standard input is one; otherwise reads the rest of it.
  static func read() throws(CommandFailure) -> BIP39Phrase {
    let text: SecretBytes
    if isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() {
      text = try terminal.askSecret("Phrase: ")
    } else {
      text = try StandardInput.secretRest("the phrase")
    }
    return try parse(text)
  }

  /// Reads from the terminal, without echo, until the phrase is valid.
  ///
  /// If the command gave up, a phrase that is still being typed would reach the shell, in clear.
  static func valid(on terminal: TerminalDevice) throws(CommandFailure) -> BIP39Phrase {
    while true {
      do throws(CommandFailure) {
        return try parse(terminal.askSecret("Phrase, all words on one line (not shown): "))
      } catch {
        guard error.code == .failed, error != .cancelled else { throw error }
        terminal.show("\(error.description); try again\n")
      }
    }
  }

  /// Reads from the terminal until the phrase is valid, if standard input is one; otherwise reads the rest of it.
  static func valid() throws(CommandFailure) -> BIP39Phrase {
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else {
      return try parse(StandardInput.secretRest("the phrase"))
    }
    return try valid(on: terminal)
  }

  /// The same where another secret follows the phrase: reads the first line of standard input.
  ///
  /// - Parameter command: the command that takes shares, for the error if a share is in standard input.
  static func valid(forShares command: [String]) throws(CommandFailure) -> BIP39Phrase {
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else {
      return try parse(StandardInput.secretLine("the phrase"), forShares: command)
    }
    return try valid(on: terminal)
  }

  static func parse(_ line: SecretBytes, forShares command: [String]? = nil) throws(CommandFailure) -> BIP39Phrase {
    do { return try BIP39Phrase(parsing: line) } catch {
      guard error.isOfWord, ShareInput.hasOnlyWordsOfShares(line) else { throw CommandFailure(error.description) }
      let reason = "these are words of a SLIP-39 share, not of a phrase"
      throw CommandFailure(command.map { Problem(reason, hint: "for shares, run:", run: $0) } ?? Problem(reason))
    }
  }

  /// Whether all words are in the BIP39 list, even if they do not make a phrase.
  static func hasOnlyWordsOfPhrases(_ line: SecretBytes) -> Bool {
    do { _ = try BIP39Phrase(parsing: line) } catch { return !error.isOfWord }
    return true
  }
}

extension BIP39Phrase {
  /// Warns of a phrase that is an example of BIP39: its bytes are all the same.
  func warnIfExample() {
    guard entropy.withUnsafeBytes({ bytes in bytes.allSatisfy { $0 == bytes[0] } }) else { return }
    StandardStream.error.write(
      "liquid-auth: this phrase is a published example, so anyone can derive its keys; use it only for tests")
  }
}

extension DeterministicKeysError {
  /// Whether a word is not in the list.
  fileprivate var isOfWord: Bool {
    switch self {
    case .unknownWord, .notASCII: true
    default: false
    }
  }
}
