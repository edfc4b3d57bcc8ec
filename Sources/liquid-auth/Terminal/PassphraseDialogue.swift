import ControlDoor
import CryptoPrimitives

/// What a passphrase of a vault must be like.
enum PassphraseRule {
  /// The fewest bytes.
  static let minimumSize = 8

  /// Why a new passphrase is not taken; `nil` when it is.
  ///
  /// Argon2id makes each guess cost a quarter of a gigabyte, so a moderate passphrase holds; a short or uniform one does not.
  static func objection(to passphrase: SecretBytes) -> String? {
    let longest = ControlMessage.maximumPassphraseSize
    return passphrase.withUnsafeBytes { bytes in
      if bytes.count < minimumSize { return "a passphrase needs at least \(minimumSize) characters" }
      if bytes.count > longest { return "a passphrase has at most \(longest) bytes" }
      // No prompt can take one in again.
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "a passphrase has no control characters" }
      if Set(bytes).count < 4 { return "a passphrase needs at least 4 different characters" }
      return nil
    }
  }
}

/// Asks for a passphrase at the terminal.
enum PassphraseDialogue {
  /// How often a person may try again.
  static let tries = 3

  /// A new passphrase, typed twice.
  static func new(on terminal: borrowing Terminal) throws(CommandFailure) -> SecretBytes {
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
