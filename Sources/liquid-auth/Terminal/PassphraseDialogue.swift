import ControlProtocol
import CryptoPrimitives
import ProcessIO

/// What a passphrase of a vault must be like.
enum PassphraseRule {
  /// The fewest characters, counted as Unicode scalars.
  static let fewestCharacters = 8
  /// The fewest different ones.
  static let fewestDifferent = 4

  /// Why a new passphrase is not taken; `nil` when it is.
  ///
  /// Argon2id makes each guess cost a quarter of a gigabyte, so a moderate passphrase holds; a short or uniform one does not.
  static func objection(to passphrase: SecretBytes) -> String? {
    let longest = ControlMessage.maximumPassphraseSize
    return passphrase.withUnsafeBytes { bytes in
      if bytes.count > longest { return "a passphrase has at most \(longest) bytes" }
      // No prompt can take one in again.
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "a passphrase cannot have control characters" }
      let (count, different) = characters(in: bytes)
      if count < fewestCharacters { return "a passphrase needs at least \(fewestCharacters) characters" }
      if different < fewestDifferent { return "a passphrase needs at least \(fewestDifferent) different characters" }
      return nil
    }
  }

  /// How many characters there are, and how many different ones, as far as that is asked for; a byte that is no UTF-8
  /// counts as one.
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
  /// How often a person may try again.
  static let tries = 3

  /// A new passphrase, typed twice.
  static func new(on terminal: TerminalDevice) throws(CommandFailure) -> SecretBytes {
    for _ in 0..<tries {
      let passphrase = try terminal.askSecret("New passphrase for the vault: ")
      if let objection = PassphraseRule.objection(to: passphrase) {
        terminal.show("\(objection); try another\n")
        continue
      }
      if try terminal.askSecret("The passphrase again: ").isEqual(to: passphrase) { return passphrase }
      terminal.show("the two are not the same; try again\n")
    }
    throw CommandFailure("no passphrase was chosen; nothing was made")
  }
}
