import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import ProcessIO
import Recovery
import StateDirectory

/// `liquid-auth backup`.
struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Make a backup of what the phrase does not bring back, or check one.",
    usage: """
      liquid-auth backup [--replace] FILE
      liquid-auth backup --to FOLDER
      liquid-auth backup --off
      liquid-auth backup follow
      liquid-auth backup --paper PDF
      liquid-auth backup check [--shares] FILE
      """,
    discussion: """
      `liquid-auth backup FILE` makes a backup. `liquid-auth backup --to FOLDER` keeps one up to date in a folder, and \
      merges the backups of your other machines there. `liquid-auth backup --paper PDF` makes a page with QR codes to \
      print. `liquid-auth backup check FILE` asks for the phrase, and checks that everything would come back. If a file \
      has the name of a subcommand, give its directory: ./check

      `liquid-auth backup FILE` is short for `liquid-auth backup write FILE`. For its options, run `liquid-auth backup \
      write --help`.
      """,
    subcommands: [Write.self, Check.self, Follow.self], defaultSubcommand: Write.self)

  /// Throws if the name cannot be that of a file.
  static func checkName(_ file: String) throws {
    guard !file.isEmpty, !file.hasSuffix("/") else { throw ValidationError("FILE must be the path of a file") }
    guard !["-", "help"].contains(file) else {
      throw ValidationError("FILE must be the path of a file; to name one like that, give its directory: ./\(file)")
    }
  }

  struct Write: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a backup, or keep one up to date in a folder.",
      usage: """
        liquid-auth backup [--replace] FILE
        liquid-auth backup --to FOLDER
        liquid-auth backup --off
        liquid-auth backup --paper PDF
        """,
      discussion: """
        The file has the site, account, names and credBlob of each passkey, the keys of imported passkeys, the large \
        blobs, and which passkeys were removed. It is sealed with a key that is derived from the phrase. The settings, \
        the PIN, the policies and the history of this machine are not in it.

        A file that exists is replaced only if it is empty, or a backup of the same phrase that has nothing that the store \
        lacks. The command asks for the vault's passphrase on the terminal, or reads it from the first line of standard \
        input. It also works without a running authenticator.

        With --to, the authenticator must run. Syncthing, Nextcloud or git can copy the folder between your machines, or it \
        can be on a USB stick. After each change, this machine writes its own file there. It merges the files of the \
        other machines when they change, and never changes or removes them. --off stops this.

        With --paper, the backup is an A4 page with QR codes, and with blanks into which you write the words of the phrase \
        by hand. About 20 passkeys fit on it; it names the others. Large blobs are left out. \
        `liquid-auth restore --image` reads pictures of the page.
        """)

    @Option(
      help: ArgumentHelp("Keep a backup in this folder, and merge those of other machines.", valueName: "folder"),
      completion: .directory)
    var to: String?
    @Flag(help: "Stop following the folder; its files stay.") var off = false
    @Option(
      help: ArgumentHelp("Make a page with QR codes, as a new PDF file.", valueName: "pdf"),
      completion: .file(extensions: ["pdf"]))
    var paper: String?
    @Flag(help: "Also replace a file that has large blobs, or imported passkeys that cannot be merged here.")
    var replace = false
    @Argument(help: "The file.", completion: .file()) var file: String?
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard [file != nil, to != nil, off, paper != nil].count(where: { $0 }) == 1 else {
        throw ValidationError("give one of FILE, --to FOLDER, --off and --paper PDF")
      }
      guard file != nil || !replace else { throw ValidationError("--replace is only for FILE") }
      guard to != "" else { throw ValidationError("FOLDER must be the path of a folder") }
      if let file = file ?? paper { try BackupCommand.checkName(file) }
      // `backup chek` is no wish for a file of that name.
      let commands = BackupCommand.configuration.subcommands.map { $0._commandName }
      if let file, !CommandLineMistake.suggestion(for: file, in: commands).isEmpty {
        throw ValidationError("\(file) resembles a subcommand; to name a file like that, give its directory: ./\(file)")
      }
    }

    func run() throws {
      if let to {
        try FollowSetup(place: place, output: output).begin(to)
      } else if let paper {
        try PaperBackup.write(to: paper, at: place, output: output)
      } else if let file {
        try write(to: file)
      } else {
        try FollowSetup(place: place, output: output).end()
      }
    }

    private func write(to file: String) throws {
      let named = NamedFile(file)
      // Before the user types a secret.
      if try named.stamp() != nil { try checkForm(of: named, file) }
      try named.checkWritable()
      let vault = try OwnedVault(at: place)
      // Compared before and after the backup is made, to notice a restore, a reset or another backup in between.
      let before = try comparedStamp(of: named, file, in: vault)
      let start = unixMilliseconds()
      let made = try vault.makeBackup()
      guard try comparedStamp(of: named, file, in: vault) == before else { throw named.wasChanged }
      try named.replace(before, with: made.file)
      vault.record(.written, file: BackupFile.digest(of: made.file), at: start)
      let removals = made.removals > 0 ? " and \(count(made.removals, "removal"))" : ""
      output.write(
        "wrote \(file.printable): \(made.file.count) bytes with \(count(made.passkeys, "passkey"))\(removals)",
        json: [
          "bytes": .number(Int64(made.file.count)), "passkeys": .number(Int64(made.passkeys)),
          "removals": .number(Int64(made.removals)),
        ])
    }

    /// Throws if the existing file is neither empty nor a backup.
    private func checkForm(of named: NamedFile, _ file: String) throws(CommandFailure) {
      let present = try named.read(atMost: BackupFile.maximumSize)
      guard !present.isEmpty else { return }
      do throws(RecoveryError) { try BackupReader.checkForm(of: present) } catch {
        throw notReplaced(file, error.reason)
      }
    }

    /// Without the hint of the reason, which is for a person who wants to read the file.
    private func notReplaced(_ file: String, _ reason: String) -> CommandFailure {
      CommandFailure("\(file) is not replaced: \(reason); name another file")
    }

    /// Compares the existing file with the store.
    ///
    /// - Returns: the stamp of the file; `nil` if there is none.
    /// - Throws: a failure if it has anything that the store lacks.
    private func comparedStamp(
      of named: NamedFile, _ file: String, in vault: OwnedVault
    ) throws(CommandFailure) -> FileStamp? {
      guard let stamp = try named.stamp() else { return nil }
      let present = try named.read(atMost: BackupFile.maximumSize)
      guard !present.isEmpty else { return stamp }
      let result = try vault.merge(present, onlyCompares: true) { notReplaced(file, $0.reason) }
      if result.backupHasMore, !BackupText.isReplaced(result, always: replace) {
        throw CommandFailure(BackupText.hasMore(result, file, at: place))
      }
      return stamp
    }
  }
}

/// `liquid-auth backup follow`.
extension BackupCommand {
  struct Follow: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Keep the folder of backups up to date, in the foreground.",
      discussion: """
        Runs until the folder is no longer followed. It needs no passphrase: while the vault is locked, it waits. With \
        systemd, `liquid-auth backup --to` starts it as a user service.
        """)

    @OptionGroup var place: PlaceOptions

    func run() throws {
      var follower = try BackupFollower(at: place)
      try follower.run()
    }
  }
}

/// `liquid-auth backup check`.
extension BackupCommand {
  struct Check: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check that everything would come back from the phrase and a backup.",
      discussion: """
        Derives each passkey, PRF secret and large-blob key from the phrase and the file, in a separate store that is \
        removed at the end. Compares them with the store of this machine, and names each passkey that would be \
        missing. The exit status is 0 if the backup is complete, and otherwise 1. If it is complete and has \
        passkeys, `liquid-auth status` shows the time of the check.

        The command asks for the phrase, or with --shares for its shares, then for the vault's passphrase. If standard \
        input is not a terminal, its first lines are these. It also works without a running authenticator.
        """)

    @Argument(help: "The backup file.", completion: .file()) var file: String
    @Flag(help: "Ask for shares of the phrase instead of the phrase.") var shares = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try BackupCommand.checkName(file) }

    func run() throws {
      let content = try NamedFile(file).read(atMost: BackupFile.maximumSize)
      guard !content.isEmpty else { throw CommandFailure("\(file) is empty; nothing was checked") }
      let fault = { [file] (error: RecoveryError) in CommandFailure("cannot check \(file): \(error.description)") }
      let fingerprint: [UInt8]
      do throws(RecoveryError) { fingerprint = try BackupReader.checkForm(of: content) } catch { throw fault(error) }
      let (command, end) = (["liquid-auth", "backup", "check"], [CommandPlace.quoted(file)])
      let keys = try Self.keys(
        of: shares
          ? ShareInput.valid(forPhrase: command + end)
          : PhraseInput.valid(forShares: command + ["--shares"] + end))
      let vault = try OwnedVault(at: place)
      let phrases = try vault.fingerprints()
      guard keys.fingerprint == phrases.present else {
        throw CommandFailure(BackupText.wrongPhrase(keys.fingerprint, vault: phrases, file, backup: fingerprint))
      }
      let backup: BackupReader
      do throws(RecoveryError) {
        backup = try BackupReader(file: content, keys: keys, previous: phrases.previous)
      } catch {
        throw fault(error)
      }
      let challenge = randomBytes(StoreDigests.challengeSize)
      let digests = StoreDigests(keys: keys, challenge: challenge)
      let live = try vault.digests(challenge: challenge)
      guard live.phrase == digests.ofPhrase else {
        throw CommandFailure("this is not the phrase of this vault; nothing was checked")
      }
      let directory = try vault.stateDirectory()
      let report: BackupCheckReport
      do throws(StateDirectoryError) {
        report = try directory.withScratchStore(keys: keys) { (store) throws(RecoveryError) in
          _ = try BackupMerge(backup, now: unixMilliseconds()).run(on: store)
          return try BackupCheckReport(
            of: live.accounts, largeBlobs: live.largeBlobs, in: store, digests: digests)
        }
      } catch {
        throw CommandFailure(Problem(error).after("cannot check \(file): "))
      }
      if report.isComplete, report.passkeys > 0 { vault.record(.checked, at: unixMilliseconds()) }
      output.write(BackupText.checked(report, file, at: place), json: report.json)
      guard report.isComplete else { throw ExitCode(CommandFailure.Code.failed.rawValue) }
    }

    private static func keys(of phrase: BIP39Phrase) throws(CommandFailure) -> CredentialKeys {
      do { return CredentialKeys(mainKey: try MainKey.derive(from: phrase)) } catch {
        throw CommandFailure(error.description)
      }
    }
  }
}

/// `liquid-auth restore`.
struct RestoreCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Merge a backup into the store of this machine.",
    usage: """
      liquid-auth restore FILE
      liquid-auth restore --image PICTURE ...
      """,
    discussion: """
      For each account at a site, the newer entry stays, as a whole. A passkey that was removed later on another \
      machine is removed here. You can restore files in any order, and more than once. The vault must be of the \
      phrase of the backup: on a new machine, first run `liquid-auth setup`.

      With --image, the command reads the backup from pictures of a page of `liquid-auth backup --paper`. Each picture can \
      show some of the codes, in any order.

      The command asks for the vault's passphrase on the terminal, or reads it from the first line of standard input. It \
      also works without a running authenticator.
      """)

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Read the backup from pictures of a page.", valueName: "picture"), completion: .file())
  var image: [String] = []
  @Argument(help: "The file.", completion: .file()) var file: String?
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (file == nil) != image.isEmpty else { throw ValidationError("give either FILE or --image PICTURE") }
    for path in image + (file.map { [$0] } ?? []) { try BackupCommand.checkName(path) }
  }

  func run() throws {
    let name = file ?? (image.count == 1 ? image[0] : "the pictures")
    let fault = { (reason: String) in CommandFailure("cannot restore \(name): \(reason)") }
    let content =
      if let file {
        try NamedFile(file).read(atMost: BackupFile.maximumSize)
      } else {
        try PaperBackup.file(inPictures: image, fault: fault)
      }
    guard !content.isEmpty else { throw CommandFailure("\(name) is empty; nothing was changed") }
    if let file, let advice = PaperBackup.advice(onPDF: content, file) { throw fault(advice) }
    do throws(RecoveryError) { try BackupReader.checkForm(of: content) } catch {
      throw fault(error.description + (file == nil ? "" : advice(on: content)))
    }
    let result = try OwnedVault(at: place).merge(content, onlyCompares: false) { fault($0.text) }
    output.write(BackupText.restored(result), json: result.json)
  }

  /// How to read a file that is no backup, as the end of its error; empty if that is not known.
  private func advice(on content: [UInt8]) -> String {
    // JPEG and PNG; then JSON and XML, which other password managers export.
    if content.starts(with: [0xFF, 0xD8, 0xFF]) || content.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
      return "; to read the codes in a picture, give it with --image"
    }
    guard content.starts(with: "{".utf8) || content.starts(with: "<".utf8) else { return "" }
    return "; to import the file of another password manager, run: liquid-auth import FILE\(place.arguments)"
  }
}
