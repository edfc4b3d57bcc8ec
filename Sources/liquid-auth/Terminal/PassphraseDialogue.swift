import ControlProtocol
import CryptoPrimitives
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
  /// is not.
  static func objection(to passphrase: SecretBytes, replacing present: SecretBytes? = nil) -> String? {
    if present?.isEqual(to: passphrase) == true { return "the new passphrase is the present one" }
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
        return "a passphrase cannot have combining characters; type accented letters as one character"
      }
      if count < fewestCharacters { return "a passphrase needs at least \(fewestCharacters) characters" }
      if seen.count < fewestDifferent { return "a passphrase needs at least \(fewestDifferent) different characters" }
      return nil
    }
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
    while true {
      let passphrase = try terminal.askSecret("New passphrase for the vault: ")
      if let objection = PassphraseRule.objection(to: passphrase, replacing: present) {
        terminal.show("\(objection); try another\n")
        continue
      }
      if try terminal.askSecret("The passphrase again: ").isEqual(to: passphrase) { return passphrase }
      terminal.show("the two are not the same; try again\n")
    }
  }
}
