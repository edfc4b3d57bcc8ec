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
      let (count, different) = characters(in: bytes)
      if count < fewestCharacters { return "a passphrase needs at least \(fewestCharacters) characters" }
      if different < fewestDifferent { return "a passphrase needs at least \(fewestDifferent) different characters" }
      return nil
    }
  }

  /// Counts the characters, and the different ones up to ``fewestDifferent``; invalid UTF-8 counts as U+FFFD.
  private static func characters(in bytes: UnsafeRawBufferPointer) -> (count: Int, different: Int) {
    var decoder = Unicode.UTF8()
    var rest = bytes.makeIterator()
    var count = 0
    var seen: [Unicode.Scalar] = []
    while true {
      let scalar: Unicode.Scalar
      switch decoder.decode(&rest) {
      case .scalarValue(let value): scalar = value
      case .error: scalar = "\u{FFFD}"
      case .emptyInput: return (count, seen.count)
      }
      count += 1
      if seen.count < fewestDifferent, !seen.contains(scalar) { seen.append(scalar) }
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
