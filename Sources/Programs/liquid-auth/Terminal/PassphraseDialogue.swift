import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import ProcessIO

/// The rules for a vault's passphrase.
enum PassphraseRule {
  /// The fewest characters, counted as Unicode scalars.
  static let fewestCharacters = 8
  /// The fewest different characters.
  static let fewestDifferent = 4

  /// Why a new passphrase is rejected; `nil` if it is accepted.
  ///
  /// It must differ from the present one, if there is one: the two are compared in constant time.
  ///
  /// Argon2id makes each guess cost a quarter of a gigabyte, so a moderate passphrase is enough; a short or uniform one
  /// is not. A recovery phrase is refused, because it would then be typed at each unlocking.
  static func violation(by passphrase: SecretBytes, replacing present: SecretBytes? = nil) -> String? {
    if present?.isEqual(to: passphrase) == true { return "the new passphrase is the present one" }
    if (try? BIP39Phrase(parsing: passphrase)) != nil {
      return "this is a recovery phrase, which belongs on paper only; the passphrase must be another secret"
    }
    let longest = ControlMessage.maximumPassphraseSize
    return passphrase.withUnsafeBytes { bytes in
      if bytes.count > longest { return "a passphrase has at most \(longest) bytes" }
      // No prompt accepts them.
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "a passphrase cannot have control characters" }
      var (count, seen): (Int, [Unicode.Scalar]) = (0, [])
      let text: (Unicode.Scalar) -> Void = { character in
        count += 1
        if seen.count < fewestDifferent, !seen.contains(character) { seen.append(character) }
      }
      guard let isComposed = TypedText.read(bytes, text) else { return "a passphrase must be UTF-8" }
      // A dialog could not send it.
      if !isComposed {
        return "a passphrase must be in the Unicode form NFC; type an accented letter as one character"
      }
      if count < fewestCharacters { return "a passphrase needs at least \(fewestCharacters) characters" }
      if seen.count < fewestDifferent { return "a passphrase needs at least \(fewestDifferent) different characters" }
      return isCommon(bytes) ? "this is one of the most common passwords, which are guessed first" : nil
    }
  }

  /// The most common passwords of published lists, without those that the other rules refuse.
  private static let commonPasswords = [
    "password", "passwort", "password1", "password123", "passw0rd", "p@ssw0rd", "12345678", "123456789", "1234567890",
    "87654321", "987654321", "11223344", "qwertyui", "qwertyuiop", "qwerty123", "qwertz123", "1q2w3e4r", "1qaz2wsx",
    "q1w2e3r4", "abcd1234", "iloveyou", "sunshine", "princess", "football", "baseball", "superman", "trustno1",
    "letmein1", "welcome1", "changeme", "starwars", "computer",
  ]

  /// Whether it is one of these, in upper or lower case.
  private static func isCommon(_ bytes: UnsafeRawBufferPointer) -> Bool {
    commonPasswords.contains { common in bytes.elementsEqual(common.utf8, by: { $0 == $1 || $0 | 0x20 == $1 }) }
  }
}

/// Asks for a passphrase at the terminal.
enum PassphraseDialogue {
  /// How often the user may try.
  static let tries = 3

  /// Asks for a new passphrase, twice, until it is accepted; a new phrase may be on paper already.
  static func new(
    on terminal: TerminalDevice, replacing present: SecretBytes? = nil
  ) throws(CommandFailure) -> SecretBytes {
    terminal.show(
      "A passphrase has at least \(PassphraseRule.fewestCharacters) characters, \(PassphraseRule.fewestDifferent) of them "
        + "different.\n")
    while true {
      let passphrase = try terminal.askSecret("New passphrase for the vault: ")
      if let violation = PassphraseRule.violation(by: passphrase, replacing: present) {
        terminal.show("\(violation); try another\n")
        continue
      }
      if try terminal.askSecret("The passphrase again: ").isEqual(to: passphrase) { return passphrase }
      terminal.show("the two are not the same; try again\n")
    }
  }
}
