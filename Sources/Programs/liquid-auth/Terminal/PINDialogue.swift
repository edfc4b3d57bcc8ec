import CryptoPrimitives
import Glibc
import ProcessIO
import Recovery

/// The rules for a PIN: CTAP §6.5.1, and text that every platform can send.
enum PINRule {
  /// Why a PIN is rejected; `nil` if it is accepted.
  ///
  /// - Parameter minimum: the fewest characters, counted as Unicode code points.
  static func violation(by pin: SecretBytes, minimum: Int) -> String? {
    pin.withUnsafeBytes { bytes in
      if bytes.count > StoredPIN.longestSize { return "a PIN has at most \(StoredPIN.longestSize) bytes" }
      // No prompt of a browser accepts them.
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "a PIN cannot have control characters" }
      var count = 0
      guard let isComposed = TypedText.read(bytes, { _ in count += 1 }) else { return "a PIN must be UTF-8" }
      // A platform sends the PIN in NFC, CTAP §6.5.1, and could not send this one.
      if !isComposed { return "a PIN must be in the Unicode form NFC; type an accented letter as one character" }
      return count < minimum ? "a PIN needs at least \(minimum) characters" : nil
    }
  }
}

/// Reads a new PIN from the user.
enum PINInput {
  /// Reads from the terminal, twice and without echo, if standard input is one; otherwise reads its next line.
  static func new(minimum: Int) throws(CommandFailure) -> SecretBytes {
    if isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() {
      return try new(minimum: minimum, on: terminal)
    }
    return try check(StandardInput.secretLine("the PIN"), minimum: minimum)
  }

  /// Throws if a PIN is not accepted; returns it otherwise.
  static func check(_ pin: SecretBytes, minimum: Int) throws(CommandFailure) -> SecretBytes {
    if let violation = PINRule.violation(by: pin, minimum: minimum) {
      throw CommandFailure("\(violation); nothing was changed")
    }
    return pin
  }

  /// Reads from the terminal, twice and without echo.
  static func new(minimum: Int, on terminal: TerminalDevice) throws(CommandFailure) -> SecretBytes {
    for _ in 0..<PassphraseDialogue.tries {
      let pin = try terminal.askSecret("New PIN: ")
      if let violation = PINRule.violation(by: pin, minimum: minimum) {
        terminal.show("\(violation); try another\n")
        continue
      }
      if try terminal.askSecret("The PIN again: ").isEqual(to: pin) { return pin }
      terminal.show("the two are not the same; try again\n")
    }
    throw CommandFailure("no PIN was chosen; nothing was changed")
  }

  /// Reads the present PIN of a security key, once: from the terminal without echo, or the next line of standard input.
  static func ofSecurityKey() throws(CommandFailure) -> SecretBytes {
    if isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() {
      return try terminal.askSecret("PIN of the security key: ")
    }
    return try StandardInput.secretLine("the PIN of the security key")
  }
}
