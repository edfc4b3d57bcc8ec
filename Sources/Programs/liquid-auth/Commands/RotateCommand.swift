import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import ProcessIO
import Recovery
import StateDirectory

/// `liquid-auth rotate`: the move to a new phrase (Recovery §14).
struct RotateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Move to a new phrase, site by site.",
    discussion: """
      Only you can replace a key at a site: sign in there, and register a new passkey. Meanwhile, the keys of both phrases \
      work. `begin` adds the new phrase; from then on, new keys come from it. `list` shows which keys of the old phrase are \
      left, and `end` removes the old phrase from this machine.

      Make a backup before you begin: it is of the old phrase, and the backups that you make later are of the new one. To \
      move your Algorand account, see `liquid-auth-wallet rekey`.
      """,
    subcommands: [Begin.self, List.self, GiveUp.self, End.self])

  /// `liquid-auth rotate begin`.
  struct Begin: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a new phrase to the vault, beside the old one.",
      discussion: """
        The command shows a new phrase once, like `liquid-auth init`, and asks for three of its words. With --import, you \
        type a phrase. The passphrase and the other ways to unlock the vault stay as they are, and so do the PIN, the \
        settings and the policies. Afterwards, the vault is locked.

        The command asks for the vault's passphrase first. For scripts: with --import, if standard input is not a \
        terminal, its first line is the passphrase, and the rest is the phrase. It also works without a running \
        authenticator.
        """)

    @Flag(name: .customLong("import"), help: "Use an existing phrase instead of a new one.")
    var isImport = false
    @Option(
      help: ArgumentHelp("The number of words of the new phrase. (default: 24)", valueName: "number"),
      transform: InitCommand.wordCount)
    var words: Int?
    @Option(
      help: ArgumentHelp("Show the new phrase as SLIP-39 shares, such as 2-of-3.", valueName: "t-of-n"),
      transform: SharePolicy.init)
    var shares: SharePolicy?
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try InitCommand.check(isImport: isImport, words: words, shares: shares) }

    func run() throws {
      var typed: BIP39Phrase?
      let vault = try OwnedVault(at: place) { _ throws(CommandFailure) in
        if isImport { typed = try Self.typedPhrase() }
      }
      let old = try vault.checkRotation()
      let history = try vault.checkHistory()
      if !history.faults.isEmpty {
        StandardStream.error.write("liquid-auth: \(HistoryText.warning(history))\(place.arguments)")
      }
      let (mainKey, root) = try keys(of: typed)
      let new = Subkey.fingerprint(of: mainKey)
      // A signal can end this process while the authenticator adds the phrase.
      if !isImport {
        StandardStream.error.write(
          "liquid-auth: adding the phrase \(new.hexadecimal) to the vault; keep its paper, even if this fails")
      }
      do throws(CommandFailure) {
        try vault.beginRotation(mainKey: mainKey, ed25519Root: root)
      } catch {
        throw isImport ? error : error.afterNewPhrase(new, isShares: shares != nil)
      }
      output.write(
        """
        the vault has both phrases now, and is locked
        fingerprint \(new.hexadecimal), of the old phrase \(old.hexadecimal)
        make a backup of the new phrase with: liquid-auth backup FILE\(place.arguments)
        see what is left of the old phrase with: liquid-auth rotate list\(place.arguments)
        """,
        json: ["fingerprint": .hex(new), "previousFingerprint": .hex(old)])
    }

    private static func typedPhrase() throws(CommandFailure) -> BIP39Phrase {
      let phrase = try PhraseInput.valid()
      phrase.warnIfExample()
      return phrase
    }

    /// The main key (64 bytes) and the Ed25519 root (96 bytes) of the phrase that is made or typed.
    private func keys(of typed: BIP39Phrase?) throws(CommandFailure) -> (SecretBytes, SecretBytes) {
      if let typed { return try InitCommand.keys(of: typed) }
      if isImport { return try InitCommand.keys(of: Self.typedPhrase()) }
      let (phrase, _) = try InitCommand.newPhrase(words: words ?? 24, shares: shares, isSecond: true)
      return try InitCommand.keys(of: phrase)
    }
  }

  /// `liquid-auth rotate list`.
  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the keys of the old phrase, and which are moved.",
      discussion: """
        A passkey is moved if this machine has one of the new phrase for the same account. Keys that are not in the store, \
        such as second factors and SSH keys, are known from the history. They are moved if as many were registered at the \
        site again, besides the passkeys that were moved. Keys that are not in the history, for example those of another \
        machine, are not shown.
        """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let report = try OwnedVault(at: place).rotation()
      output.write(report.text + place.arguments, json: report.json)
    }
  }

  /// `liquid-auth rotate give-up`.
  struct GiveUp: PlacedCommand {
    static let configuration = CommandConfiguration(
      commandName: "give-up",
      abstract: "Give up the keys of the old phrase at sites.",
      discussion: """
        The keys work until `liquid-auth rotate end`. After that, this machine cannot sign in at these sites with them: \
        remove the keys there, or make sure that you can sign in there in another way.
        """)

    @Argument(help: "The sites, as the list shows them.") var sites: [String] = []
    @Flag(name: .customLong("u2f"), help: "Give up the keys of U2F, which name no site.") var isOfU2F = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard !sites.isEmpty || isOfU2F else { throw ValidationError("give a site, or --u2f") }
      guard sites.count <= GiveUpSites.maximumCount else {
        throw ValidationError("give at most \(GiveUpSites.maximumCount) sites")
      }
    }

    func run() throws {
      let vault = try OwnedVault(at: place)
      try vault.giveUp(GiveUpSites(sites, isOfU2F: isOfU2F))
      let report = try vault.rotation()
      output.write(report.text + place.arguments, json: report.json)
    }
  }

  /// `liquid-auth rotate end`.
  struct End: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove the old phrase from this machine.",
      discussion: """
        The command removes the old phrase and its passkeys. It fails if any key on the list is neither moved nor given \
        up. Keys that the list does not have, such as those of another machine, stop working here, too: keep the paper of \
        the old phrase as long as you may need one of its keys. Algorand accounts that the old phrase controls are not \
        checked: give them to the new phrase first, with `liquid-auth-wallet rekey`. Afterwards, the vault is locked.
        """)

    @Flag(
      help: "End even if the history was modified outside liquid-auth. Keys can then be missing from the list.")
    var acceptHistory = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try OwnedVault(at: place).endRotation(acceptsHistory: acceptHistory)
      output.write(
        "the old phrase is removed from this machine; the vault is locked", json: ["rotation": .string("ended")])
    }
  }
}
