import ArgumentParser
import CryptoPrimitives
import DeterministicKeys
import Glibc
import ProcessIO
import Recovery

/// `liquid-auth derive`: the public side of one passkey, from the phrase.
struct DeriveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "derive",
    abstract: "Compute the public key and id of a passkey from a phrase.",
    discussion: """
      Reads the phrase from all of standard input; it can be on several lines. At a terminal it is read without echo. \
      Prints the public key (X then Y, 64 bytes) and the credential id of the hash form (32 bytes) as hexadecimal \
      digits. It never prints a private key, and does not use the vault.
      """)

  @Option(
    name: [.customLong("origin"), .customLong("rp")],
    help: "The site's relying party id, such as example.com, not its address.",
    transform: RelyingPartyID.readWithNote)
  var origin: String

  @Option(help: "The account's user handle, as text.")
  var userHandle: String?

  @Option(help: ArgumentHelp("The account's user handle, as hexadecimal digits.", valueName: "hex"))
  var userHandleHex: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The number of the account's registration; the first is 0. (default: 0)", valueName: "number"),
    transform: wholeNumber(0...UInt32.max))
  var counter: UInt32 = 0

  @OptionGroup var output: OutputOptions

  func validate() throws {
    _ = try UserHandleOption.bytes(text: userHandle, hexadecimal: userHandleHex)
  }

  func run() throws {
    let handle = try UserHandleOption.bytes(text: userHandle, hexadecimal: userHandleHex)
    let derived = try Self.derive(
      from: PhraseInput.read(), origin: origin, userHandle: handle, counter: counter)
    output.write(derived.text, json: derived.json)
  }

  /// The public part of a derived credential.
  struct Derived: Equatable {
    let publicKey: [UInt8]
    let credentialID: [UInt8]

    var json: JSON { ["publicKey": .hex(publicKey), "credentialId": .hex(credentialID)] }
    var text: String {
      table([["public key", publicKey.hexadecimal], ["credential id", credentialID.hexadecimal]])
    }
  }

  /// Derives by deterministic P-256, Recovery §3, and forgets the private key.
  static func derive(
    from phrase: BIP39Phrase, origin: String, userHandle: [UInt8], counter: UInt32
  ) throws(CommandFailure) -> Derived {
    do throws(CryptoError) {
      let publicKey = try DeterministicP256.privateKey(
        mainKey: MainKey.derive(from: phrase), origin: Array(origin.utf8), userHandle: userIDText(userHandle),
        counter: counter
      ).publicKey
      return Derived(publicKey: publicKey.raw, credentialID: SHA256.hash(publicKey.raw))
    } catch .scalarOutOfRange {
      throw CommandFailure("counter \(counter) gives no key; give the next --counter")
    } catch {
      throw CommandFailure(error.description)
    }
  }
}

/// A user handle on the command line, as text or as digits.
enum UserHandleOption {
  static func bytes(text: String?, hexadecimal: String?) throws -> [UInt8] {
    switch (text, hexadecimal) {
    case (let text?, nil): return Array(text.utf8)
    case (nil, let digits?):
      guard let bytes = [UInt8](hexadecimal: digits) else {
        throw ValidationError("--user-handle-hex takes an even number of hexadecimal digits")
      }
      return bytes
    default: throw ValidationError("give either --user-handle or --user-handle-hex")
    }
  }
}

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
  static func valid(forShares command: String) throws(CommandFailure) -> BIP39Phrase {
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else {
      return try parse(StandardInput.secretLine("the phrase"), forShares: command)
    }
    return try valid(on: terminal)
  }

  static func parse(_ line: SecretBytes, forShares command: String? = nil) throws(CommandFailure) -> BIP39Phrase {
    do { return try BIP39Phrase(parsing: line) } catch {
      guard error.isOfWord, ShareInput.hasOnlyWordsOfShares(line) else { throw CommandFailure(error.description) }
      let advice = command.map { "; for shares, run: \($0)" } ?? ""
      throw CommandFailure("these are words of a SLIP-39 share, not of a phrase\(advice)")
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
      "liquid-auth: this phrase is a published example, so anybody can derive its keys; use it only for tests")
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

/// Standard input that is not a terminal: one line for each secret, but for the last one.
enum StandardInput {
  /// Reads the rest of standard input, whose lines and byte order mark are no part of the secret.
  static func secretRest(_ what: String) throws(CommandFailure) -> SecretBytes {
    var lines: [SecretBytes] = []
    var size = 0
    while true {
      do throws(CommandFailure) {
        let line = try secretLine(what)
        // Empty lines count too, because an input can have any number of them.
        size += line.count + 1
        guard size <= SecretLine.maximumSize + 1 else {
          throw CommandFailure("\(what) is longer than \(SecretLine.maximumSize) bytes")
        }
        if line.count > 0 { lines.append(line) }
      } catch {
        guard error.code == .usage, !lines.isEmpty else { throw error }
        return joined(lines)
      }
    }
  }

  /// The lines with a space after each.
  private static func joined(_ lines: [SecretBytes]) -> SecretBytes {
    let text = SecretBytes(count: lines.reduce(0) { $0 + $1.count + 1 }) { memory in
      var rest = memory[...]
      for line in lines {
        line.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: rest).copyMemory(from: $0) }
        rest[rest.startIndex + line.count] = UInt8(ascii: " ")
        rest = rest.dropFirst(line.count + 1)
      }
    }
    return text.withUnsafeBytes { bytes in
      let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
      return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.starts(with: mark) ? bytes[3...] : bytes[...]))
    }
  }

  static func secretLine(_ what: String) throws(CommandFailure) -> SecretBytes {
    switch SecretLine.read(from: STDIN_FILENO, isEdited: false) {
    case .line(let line): return line
    case .tooLong: throw CommandFailure("\(what) is longer than \(SecretLine.maximumSize) bytes")
    case .ended, .cancelled: throw CommandFailure("standard input ended before \(what)", code: .usage)
    case .system(let number):
      throw CommandFailure("cannot read standard input: \(number)")
    }
  }
}
