import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import PasskeyFiles
import ProcessIO
import Recovery

/// `liquid-auth export`.
struct ExportCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export passkeys with their private keys, for another password manager.",
    usage: """
      liquid-auth export --all [--format FORMAT] FILE
      liquid-auth export --site SITE [--site SITE ...] [--format FORMAT] FILE
      """,
    discussion: """
      FILE is not encrypted. Anyone who reads it can sign in with the passkeys in it, and the sites cannot tell. Neither the \
      passphrase nor the phrase protects it. Delete it when the other program has the passkeys. They still work here too.

      For a copy of your passkeys, make a backup instead: `liquid-auth backup FILE`. It is encrypted.

      The format cxf is CXF, the Credential Exchange Format of FIDO, as JSON. The format keepassxc is XML for \
      `keepassxc-cli import`; it has no PRF secrets, so data that a site encrypted with PRF cannot be decrypted with the \
      exported passkey. The command names each passkey that it cannot export, with the reason, and exports the others. The \
      exit status is 0 if all are in FILE, and otherwise 1.

      The authenticator must run. The command asks for the vault's passphrase on the terminal, or reads it from the first \
      line of standard input. Then a dialog shows which passkeys are to be exported, and verifies you again.
      """)

  enum Choice: String, ExpressibleByArgument, CaseIterable {
    case cxf, keepassxc

    var format: PasskeyExportFile.Format {
      switch self {
      case .cxf: .credentialExchange
      case .keepassxc: .keePassXC
      }
    }
  }

  @Flag(help: "Export all passkeys of this machine.") var all = false
  @Option(
    help: ArgumentHelp(
      "Export the passkeys of this site: its relying party id, such as github.com, or an origin. You can repeat this "
        + "option.",
      valueName: "site"))
  var site: [String] = []
  @Option(help: "The format of FILE.") var format = Choice.cxf
  @Argument(help: "A file that does not exist yet.", completion: .file()) var file: String
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard all == site.isEmpty else { throw ValidationError("give either --all or --site SITE") }
    guard site.count <= ExportPasskeys.maximumSites else {
      throw ValidationError("give --site at most \(ExportPasskeys.maximumSites) times, or --all")
    }
    guard !site.map(Self.relyingPartyID).contains("") else {
      throw ValidationError("SITE is a relying party id, such as github.com, or an origin, such as https://github.com")
    }
    try BackupCommand.checkName(file)
  }

  /// The relying party's id of a site, which is given as the id, or as an origin such as `https://github.com`.
  static func relyingPartyID(_ site: String) -> String {
    for scheme in ["https://", "http://"] where site.lowercased().hasPrefix(scheme) {
      return site.dropFirst(scheme.count).prefix { !"/:?#".contains($0) }.lowercased()
    }
    return (try? RelyingPartyID.read(site)) ?? site
  }

  func run() throws {
    let new = try NewSecretFile(file)
    let connection = try place.connectAsOwner()
    let sites = all ? nil : site.map(Self.relyingPartyID)
    let stored = Set(try connection.credentials().map(\.rpID))
    // If a passkey is missing, the authenticator refuses the export, and no file is made.
    if sites.map({ stored.isSuperset(of: $0) }) ?? !stored.isEmpty {
      StandardStream.error.write("liquid-auth: \(ExportResult.warning(file: file))")
    }
    let exported = PasskeyExportFile(format.format, id: randomBytes(16), now: unixMilliseconds())
    var result = ExportResult(format.format)
    try connection.export(sites) { passkey in result.add(passkey, to: exported) }
    if exported.count > 0 {
      try exported.finish { bytes in Result { () throws(CommandFailure) in try new.finish(with: bytes) } }.get()
    }
    output.write(result.text(file: file, at: place), json: result.json)
    guard result.isComplete else { throw ExitCode(CommandFailure.Code.failed.rawValue) }
  }
}

extension ControlConnection {
  /// Exports passkeys of the authenticator page by page, and gives each one to `body`.
  ///
  /// - Parameter sites: the relying parties' ids; `nil` for all passkeys.
  func export(
    _ sites: [String]?, _ body: (PasskeyExportFile.Passkey) -> Void
  ) throws(CommandFailure) {
    var (start, count): (UInt64?, UInt64) = (0, 0)
    while let place = start {
      let page = try ask(ExportPasskeys(sites: place == 0 ? sites : nil, start: place))
      for (index, description) in page.passkeys.enumerated() {
        guard let record = CredentialSource(description, privateKey: page.privateKey(at: index)) else {
          throw CommandFailure("the authenticator sent a passkey that is not valid; nothing was written")
        }
        body(PasskeyExportFile.Passkey(record: record, credRandoms: page.credRandoms(at: index)))
      }
      count += UInt64(page.passkeys.count)
      guard page.next.map({ $0 == count }) ?? (count == page.total) else {
        throw CommandFailure("the authenticator sent an incomplete export; nothing was written")
      }
      start = page.next
    }
  }
}

extension CredentialSource {
  /// Makes the record of an imported passkey; `nil` for members that no record can have.
  fileprivate init?(_ passkey: CredentialDescription, privateKey: SecretBytes) {
    guard let algorithm = COSEAlgorithm(rawValue: passkey.algorithm),
      let policy = CredentialPolicy(byte: passkey.policy)
    else { return nil }
    self.init(
      rpID: passkey.rpID, userID: passkey.userID, name: passkey.name, displayName: passkey.displayName,
      id: passkey.credentialID, algorithm: algorithm, counter: 0, policy: policy, created: passkey.created,
      changed: passkey.changed, origin: .imported, credBlob: passkey.credBlob, importedKey: privateKey)
  }
}
