import ArgumentParser
import CryptoPrimitives
import DeterministicKeys
import Glibc
import ProcessIO
import Recovery
import StateDirectory

/// `liquid-auth init`: makes the vault and its empty store.
struct InitCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make the vault, from a new or an existing phrase.",
    discussion: """
      A new phrase is shown once, on the terminal only, and the command then asks for three of its words. With --import \
      you type a phrase; it is not shown. Then choose a passphrase with at least 8 characters, 4 of them different. The \
      vault has the keys that come from the phrase, not the phrase. An existing vault is never overwritten. If the \
      command fails, it makes no vault; if it is killed, an empty directory can remain.

      For scripts: with --import, if standard input is not a terminal, its first line is the phrase and its second line \
      the passphrase. A new phrase always needs a terminal.
      """)

  @Flag(name: .customLong("import"), help: "Use an existing phrase instead of a new one.")
  var isImport = false

  @Option(
    help: ArgumentHelp("How many words a new phrase has: 12, 15, 18, 21 or 24. (default: 24)", valueName: "count"))
  var words: Int?

  @Option(
    help: ArgumentHelp("The form of the ids of new passkeys: sealed or hash. (default: sealed)", valueName: "form"))
  var credentialIds: IDForm?

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  enum IDForm: String, ExpressibleByArgument, CaseIterable {
    case sealed, hash

    var form: CredentialIDForm { self == .sealed ? .sealed : .hash }
  }

  func validate() throws {
    guard let words else { return }
    guard BIP39Phrase.wordCounts.contains(words) else {
      throw ValidationError("--words must be 12, 15, 18, 21 or 24")
    }
    guard !isImport else { throw ValidationError("--words is only for a new phrase; omit --words or --import") }
  }

  func run() throws {
    let source = isImport ? Source.existingPhrase : .newPhrase(words: words ?? 24)
    let made = try Self.make(in: place.statePath(), ask: source, form: credentialIds?.form)
    let store =
      made.passkeys.map { "\nfor the store that was there, with \($0) \($0 == 1 ? "passkey" : "passkeys")" } ?? ""
    output.write(
      """
      made \(made.path.printable)\(store)
      fingerprint \(made.fingerprint.hexadecimal)
      \(place.completing("next: start the authenticator with: \(UserService.starting(place))"))
      """,
      json: [
        "vault": .string(made.path), "fingerprint": .hex(made.fingerprint),
        "keptPasskeys": made.passkeys.map { .number(Int64($0)) } ?? .null,
      ])
  }

  /// Where the phrase comes from.
  enum Source {
    case existingPhrase
    case newPhrase(words: Int)
  }

  /// Makes the vault.
  ///
  /// - Returns: the vault's path, the fingerprint of the main key (4 bytes), and the number of passkeys in a store that
  ///   existed already.
  static func make(
    in path: String, ask source: Source, form: CredentialIDForm?
  ) throws(CommandFailure) -> (path: String, fingerprint: [UInt8], passkeys: Int?) {
    let isNew = access(path, F_OK) != 0
    let directory = try orFailure { () throws(StateDirectoryError) in try StateDirectory(creating: path) }
    // Checked first, so that the user types nothing in vain.
    let lock = try orFailure { () throws(StateDirectoryError) in
      try directory.checkNoVault()
      if case .newPhrase = source { try directory.checkNoStore() }
      return try directory.lock()
    }
    defer { withExtendedLifetime(lock) {} }
    do throws(CommandFailure) {
      let (phrase, passphrase) = try secrets(source)
      let (mainKey, root) = try keys(of: phrase)
      let passkeys = try orFailure { () throws(StateDirectoryError) in
        try directory.makeVaultAndStore(
          mainKey: mainKey, ed25519Root: root, passphrase: passphrase, credentialIDForm: form,
          created: unixMilliseconds())
      }
      return (directory.vaultPath, Subkey.fingerprint(of: mainKey), passkeys)
    } catch {
      if isNew { directory.removeIfUnused() }
      throw error
    }
  }

  /// - Throws: ``CommandFailure/cancelledAfterPhrase`` if it is cancelled when a new phrase is on paper.
  private static func secrets(
    _ source: Source
  ) throws(CommandFailure) -> (phrase: BIP39Phrase, passphrase: SecretBytes) {
    switch source {
    case .newPhrase(let words):
      guard let terminal = try? TerminalDevice() else {
        throw CommandFailure(
          "a new phrase is shown only on a terminal, and there is none; run this command in a terminal, or give --import",
          code: .usage)
      }
      let phrase = BIP39Phrase.generate(words: words)
      var generator = SystemRandomNumberGenerator()
      try PhraseDialogue.confirm(phrase, on: terminal, using: &generator)
      do throws(CommandFailure) {
        return (phrase, try PassphraseDialogue.new(on: terminal))
      } catch {
        throw error == .cancelled ? .cancelledAfterPhrase : error
      }
    case .existingPhrase:
      guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else { return try piped() }
      return (try existingPhrase(on: terminal), try PassphraseDialogue.new(on: terminal))
    }
  }

  /// Asks for the phrase until it is valid.
  ///
  /// If the command gave up, a phrase that is still being typed would reach the shell, in clear.
  private static func existingPhrase(on terminal: TerminalDevice) throws(CommandFailure) -> BIP39Phrase {
    while true {
      do throws(CommandFailure) {
        return try PhraseInput.parse(terminal.askSecret("Phrase, all words on one line (not shown): "))
      } catch {
        guard error.code == .failed, error != .cancelled else { throw error }
        terminal.show("\(error.description); try again\n")
      }
    }
  }

  /// The first two lines of standard input.
  private static func piped() throws(CommandFailure) -> (phrase: BIP39Phrase, passphrase: SecretBytes) {
    let phrase = try PhraseInput.parse(StandardInput.secretLine("the phrase"))
    return (phrase, try PassphraseInput.new())
  }

  private static func keys(of phrase: BIP39Phrase) throws(CommandFailure) -> (SecretBytes, SecretBytes) {
    do throws(CryptoError) {
      return (try MainKey.derive(from: phrase), try BIP32Ed25519.root(from: phrase))
    } catch {
      throw CommandFailure(error.description)
    }
  }
}

/// Turns an error of the state directory into the command's failure.
func orFailure<Result>(_ body: () throws(StateDirectoryError) -> Result) throws(CommandFailure) -> Result {
  do { return try body() } catch { throw CommandFailure(error) }
}

/// The present time, as records store it.
func unixMilliseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &now)
  return UInt64(max(0, now.tv_sec)) * 1000 + UInt64(now.tv_nsec) / 1_000_000
}
