import ArgumentParser
import CryptoPrimitives
import DeterministicKeys
import Doctor
import Glibc
import ProcessIO
import Recovery
import SLIP39
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

      With --shares 2-of-3 the command shows three SLIP-39 shares instead of the phrase, one at a time. Write each on \
      its own paper. Any two of them give the phrase: see `liquid-auth recover --shares`.

      For scripts: with --import, if standard input is not a terminal, its first line is the phrase and its second line \
      the passphrase. A new phrase always needs a terminal.
      """)

  @Flag(name: .customLong("import"), help: "Use an existing phrase instead of a new one.")
  var isImport = false

  @Option(
    help: ArgumentHelp("How many words a new phrase has: 12, 15, 18, 21 or 24. (default: 24)", valueName: "count"),
    transform: InitCommand.wordCount)
  var words: Int?

  @Option(
    help: ArgumentHelp(
      "Show N shares of a new phrase, any T of which give it, for example 2-of-3.", valueName: "t-of-n"),
    transform: SharePolicy.init)
  var shares: SharePolicy?

  @Option(
    help: ArgumentHelp("The form of the ids of new passkeys: sealed or hash. (default: sealed)", valueName: "form"))
  var credentialIds: IDForm?

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  enum IDForm: String, ExpressibleByArgument, CaseIterable {
    case sealed, hash

    var form: CredentialIDForm { self == .sealed ? .sealed : .hash }
  }

  func validate() throws { try Self.check(isImport: isImport, words: words, shares: shares) }

  /// Checks the options for a phrase.
  static func check(isImport: Bool, words: Int?, shares: SharePolicy?) throws {
    guard isImport else { return }
    guard words == nil else { throw ValidationError("--words is only for a new phrase; omit --words or --import") }
    guard shares == nil else { throw ValidationError("--shares is only for a new phrase; omit --shares or --import") }
  }

  /// Reads how many words a new phrase has.
  @Sendable static func wordCount(_ text: String) throws(ValidationError) -> Int {
    guard let count = Int(text), BIP39Phrase.wordCounts.contains(count) else {
      throw ValidationError("a phrase has 12, 15, 18, 21 or 24 words")
    }
    return count
  }

  func run() throws {
    let source = isImport ? Source.existingPhrase : .newPhrase(words: words ?? 24, shares: shares)
    try Self.run(source, form: credentialIds, at: place, output)
  }

  /// Makes the vault, and writes the result.
  static func run(_ source: Source, form: IDForm?, at place: PlaceOptions, _ output: OutputOptions) throws {
    let made = try make(in: place.statePath(), ask: source, form: form?.form)
    let store =
      made.passkeys.map { "\nfor the store that was there, with \($0) \($0 == 1 ? "passkey" : "passkeys")" } ?? ""
    output.write(
      """
      made \(made.path.printable)\(store)
      fingerprint \(made.fingerprint.hexadecimal), the same on every machine; you can write it on the paper, too
      next: start the authenticator with: \(UserService.starting(place))\(place.arguments)
      """,
      json: [
        "vault": .string(made.path), "fingerprint": .hex(made.fingerprint),
        "keptPasskeys": made.passkeys.map { .number(Int64($0)) } ?? .null,
      ])
  }

  /// Where the phrase comes from.
  enum Source {
    case existingPhrase
    /// Shares of an existing phrase.
    case existingShares
    /// A new phrase, which is shown; with a policy, its shares are shown instead.
    case newPhrase(words: Int, shares: SharePolicy? = nil)
  }

  /// Makes the vault.
  ///
  /// - Returns: the vault's path, the fingerprint of the main key (4 bytes), and the number of passkeys in a store that
  ///   existed already.
  static func make(
    in path: String, ask source: Source, form: CredentialIDForm?
  ) throws(CommandFailure) -> (path: String, fingerprint: [UInt8], passkeys: Int?) {
    let isNew = access(path, F_OK) != 0
    let directory = try rethrowing { () throws(StateDirectoryError) in try StateDirectory(creating: path) }
    // Checked first, so that the user types nothing in vain.
    let lock = try rethrowing { () throws(StateDirectoryError) in
      try directory.checkNoVault()
      if case .newPhrase = source { try directory.checkNoStore() }
      return try directory.lock()
    }
    defer { withExtendedLifetime(lock) {} }
    do throws(CommandFailure) {
      let (phrase, passphrase) = try secrets(source)
      let (mainKey, root) = try keys(of: phrase)
      let (passkeys, warning) = try rethrowing { () throws(StateDirectoryError) in
        try directory.makeVaultAndStore(
          mainKey: mainKey, ed25519Root: root, passphrase: passphrase, credentialIDForm: form,
          created: unixMilliseconds())
      }
      OwnedVault.warn(warning)
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
    case .newPhrase(let words, let policy):
      let (phrase, terminal) = try newPhrase(words: words, shares: policy)
      do throws(CommandFailure) {
        return (phrase, try PassphraseDialogue.new(on: terminal))
      } catch {
        guard error == .cancelled else { throw error }
        throw policy == nil ? .cancelledAfterPhrase : .cancelledAfterShares
      }
    case .existingPhrase:
      let phrase = try PhraseInput.valid(forShares: ["liquid-auth", "recover", "--shares"])
      phrase.warnIfExample()
      return (phrase, try newPassphrase())
    case .existingShares:
      let (phrase, passphrase) = (
        try ShareInput.valid(forPhrase: ["liquid-auth", "init", "--import"]), try newPassphrase()
      )
      guard (try? Share(parsing: passphrase)) == nil else {
        throw CommandFailure("the passphrase is a share; give only as many shares as are needed")
      }
      return (phrase, passphrase)
    }
  }

  /// Makes a phrase and shows it once, or its shares if there is a policy; then asks for words of it.
  ///
  /// - Parameter isSecond: whether the vault has another phrase, so that the user has another paper.
  static func newPhrase(
    words: Int, shares policy: SharePolicy?, isSecond: Bool = false
  ) throws(CommandFailure) -> (phrase: BIP39Phrase, terminal: TerminalDevice) {
    guard let terminal = try? TerminalDevice() else {
      throw CommandFailure(
        "a new phrase is shown only on a terminal, and there is none; run this command in a terminal, or give --import",
        code: .usage)
    }
    let phrase = BIP39Phrase.generate(words: words)
    var generator = SystemRandomNumberGenerator()
    if let policy {
      try PhraseDialogue.confirm(
        policy.split(phrase, using: &generator), isSecond: isSecond, on: terminal, using: &generator)
    } else {
      try PhraseDialogue.confirm(phrase, isSecond: isSecond, on: terminal, using: &generator)
    }
    return (phrase, terminal)
  }

  /// Asks on the terminal if standard input is one; otherwise reads the next line.
  private static func newPassphrase() throws(CommandFailure) -> SecretBytes {
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else { return try PassphraseInput.new() }
    return try PassphraseDialogue.new(on: terminal)
  }

  /// The main key (64 bytes) and the Ed25519 root (96 bytes).
  static func keys(of phrase: BIP39Phrase) throws(CommandFailure) -> (SecretBytes, SecretBytes) {
    do throws(CryptoError) {
      return (try MainKey.derive(from: phrase), try BIP32Ed25519.root(from: phrase))
    } catch {
      throw CommandFailure(error.description)
    }
  }
}

/// The number of shares of a phrase, and how many of them give it.
struct SharePolicy: Equatable, Sendable {
  let threshold: Int
  let count: Int

  /// - Parameter text: such as `2-of-3`.
  @Sendable init(_ text: String) throws {
    guard let numbers = text.wholeMatch(of: /([0-9]{1,2})-of-([0-9]{1,2})/),
      let threshold = Int(numbers.1), let count = Int(numbers.2)
    else { throw ValidationError("give two numbers, such as 2-of-3") }
    do { try Shares.check(threshold: threshold, count: count) } catch { throw ValidationError(error.description) }
    (self.threshold, self.count) = (threshold, count)
  }

  /// Splits the entropy of the phrase, with an empty passphrase: Recovery §1.
  func split(
    _ phrase: BIP39Phrase, using generator: inout some RandomNumberGenerator
  ) throws(CommandFailure) -> [Share] {
    do {
      return try Shares.split(phrase.entropy, threshold: threshold, count: count, using: &generator)
    } catch {
      throw CommandFailure(error.description)
    }
  }
}

/// Turns an error of the state directory into the command's failure.
func rethrowing<Result>(_ body: () throws(StateDirectoryError) -> Result) throws(CommandFailure) -> Result {
  do { return try body() } catch { throw CommandFailure(error) }
}

/// The present time, as records store it.
func unixMilliseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &now)
  return UInt64(max(0, now.tv_sec)) * 1000 + UInt64(now.tv_nsec) / 1_000_000
}
