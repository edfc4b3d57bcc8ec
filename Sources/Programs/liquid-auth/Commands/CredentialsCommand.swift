import ArgumentParser
import ControlProtocol
import ProcessIO

/// `liquid-auth credentials`.
struct CredentialsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credentials",
    abstract: "List and change the passkeys of this machine.",
    discussion: """
      Each command asks for the vault's passphrase on the terminal, or reads it from the first line of standard input. \
      In a terminal where you typed it, `list` does not ask again for five minutes, while the vault is open. \
      Name a passkey by the first digits of its id, as `list` shows them. Only discoverable passkeys are stored on this \
      machine.
      """,
    subcommands: [List.self, Show.self, Rename.self, Remove.self])

  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "List the passkeys, the newest first.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      let all = try connection.readByTicket(connection.credentials)
      output.write(
        all.isEmpty ? noPasskeys(connection) : CredentialText.list(all), json: .array(all.map(\.json)))
    }

    /// The text of an empty list: during a move to a new phrase, the passkeys of the old one are in another list.
    private func noPasskeys(_ connection: ControlConnection) -> String {
      // Without an answer, the list is empty all the same.
      guard let previous = (try? connection.ask(GetStatus()))?.vault.previousFingerprint else {
        return CredentialText.list([])
      }
      return "no passkeys of the new phrase are stored on this machine; those of the old phrase "
        + "\(previous.hexadecimal) still work; see: liquid-auth rotate list\(place.arguments)"
    }
  }

  struct Show: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Show all data of one passkey.")
    @OptionGroup var passkey: PasskeyOptions
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      let credential = try connection.ask(ShowCredential(passkey.find(by: connection).reference))
      output.write(CredentialText.whole(credential), json: credential.json)
    }
  }

  struct Rename: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change the names of a passkey on this machine.",
      discussion: "An empty name removes the name. The site's own names do not change.")
    @OptionGroup var passkey: PasskeyOptions
    @Option(help: "The account's name.") var name: String?
    @Option(help: "The display name of the account.") var displayName: String?
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard name != nil || displayName != nil else { throw ValidationError("give --name or --display-name") }
      let longest = RenameCredential.maximumNameSize
      guard max(name?.utf8.count ?? 0, displayName?.utf8.count ?? 0) <= longest else {
        throw ValidationError("a name has at most \(longest) bytes")
      }
    }

    func run() throws {
      let connection = try place.connectAsOwner()
      let reference = try passkey.find(by: connection).reference
      try connection.ask(RenameCredential(reference, name: name, displayName: displayName))
      output.write("renamed", json: ["renamed": .hex(reference.credentialID)])
    }
  }

  struct Remove: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove a passkey from this machine.",
      discussion: """
        The command shows the passkey and asks whether to remove it; from a script, give --yes. \
        The passkey no longer works on this machine. The site is not informed: remove the passkey there too. \
        There is no undo: a restore of an older backup does not bring it back. Register again at the site. The large \
        blob of the passkey stays on the key and takes up space, but nothing can open it: --with-blob deletes it too.
        """)
    @OptionGroup var passkey: PasskeyOptions
    @Flag(help: "Delete its large blob too.") var withBlob = false
    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let terminal = try TerminalDevice.forQuestion(unless: yes, to: "remove the passkey")
      let connection = try place.connectAsOwner()
      let credential = try passkey.find(by: connection)
      let blob = try Blob(of: credential, by: connection, isNeeded: withBlob)
      if let terminal {
        terminal.show("\(table(rows(credential, blob)))\n")
        try terminal.confirm("Remove this passkey? There is no undo.", orThrow: "nothing was removed")
      }
      try connection.ask(RemoveCredential(credential.reference))
      let remedy = "delete it with: liquid-auth blobs delete --unopened\(place.arguments)"
      if withBlob, let blob {
        do {
          try blob.delete(by: connection)
        } catch {
          throw CommandFailure("removed the passkey; cannot delete its large blob: \(error); \(remedy)")
        }
      }
      let left = blob.map { _ in
        withBlob ? ", and its large blob" : "; its large blob is still on the key; \(remedy)"
      }
      output.write(
        "removed the passkey of \(CredentialText.account(credential)) at \(credential.rpID.printable)\(left ?? "")",
        json: [
          "removed": .hex(credential.credentialID),
          "largeBlob": blob.map { _ in .string(withBlob ? "deleted" : "kept") } ?? .null,
        ])
    }

    /// What a question shows of the passkey.
    private func rows(_ credential: CredentialDescription, _ blob: Blob?) -> [[String]] {
      let about = [
        ["site", credential.rpID.printable], ["account", CredentialText.account(credential)],
        ["id", String(credential.credentialID.hexadecimal.prefix(CredentialText.digitsShown))],
      ]
      guard let blob else { return about }
      let end = withBlob ? "also deleted" : "stays on the key; --with-blob deletes it"
      return about + [["large blob", "\(blob.size) bytes, \(end)"]]
    }

    /// The large blob of a passkey.
    private struct Blob {
      let holder: LargeBlobHolder
      let serialized: [UInt8]
      let array: LargeBlobArray
      let size: Int

      /// - Parameter isNeeded: whether large blobs that cannot be read are a failure. Any platform can write them, and they
      ///   must not prevent the removal of a passkey.
      init?(
        of credential: CredentialDescription, by connection: ControlConnection, isNeeded: Bool
      ) throws(CommandFailure) {
        guard credential.hasLargeBlobKey,
          let holder = LargeBlobHolder(try connection.ask(ShowCredential(credential.reference)))
        else { return nil }
        serialized = try connection.largeBlobArray()
        do {
          array = try LargeBlobArray(serialized: serialized)
        } catch {
          guard !isNeeded else { throw error }
          return nil
        }
        guard let size = array.size(key: holder.key) else { return nil }
        (self.holder, self.size) = (holder, size)
      }

      func delete(by connection: ControlConnection) throws(CommandFailure) {
        var rest = array
        _ = rest.remove(key: holder.key)
        try connection.replace(serialized, with: rest)
      }
    }
  }

  /// The beginning of the id of one passkey, and whether it is an imported one.
  struct PasskeyOptions: ParsableArguments {
    @Argument(help: "The first digits of its id, 4 or more.", transform: CredentialsCommand.digits) var id: String
    @Flag(
      inversion: .prefixedNo,
      help: "Select only imported passkeys, or only the others; an imported one can have the id of another.")
    var imported: Bool?

    func find(by connection: ControlConnection) throws(CommandFailure) -> CredentialDescription {
      try CredentialsCommand.find(id, among: connection.credentials(beginning: id), imported: imported)
    }
  }

  /// The fewest digits that identify a passkey.
  static let fewestDigits = 4

  /// Reads the first digits of an id, in lower case; does not check that a passkey has them.
  static func digits(_ text: String) throws(ValidationError) -> String {
    guard text.utf8.allSatisfy({ $0.hexadecimalValue != nil }) else {
      throw ValidationError("it is not hexadecimal; see: liquid-auth credentials list")
    }
    guard text.utf8.count >= fewestDigits else {
      throw ValidationError("give at least \(fewestDigits) digits of the id; see: liquid-auth credentials list")
    }
    return text.lowercased()
  }

  /// Finds the one credential with this id, or with an id that begins with these digits, which are lower case.
  ///
  /// - Parameter imported: `true` for imported ones only, `false` for the others only.
  static func find(
    _ digits: String, among all: [CredentialDescription], imported: Bool? = nil
  ) throws(CommandFailure) -> CredentialDescription {
    let candidates = all.filter { credential in
      credential.credentialID.hexadecimal.hasPrefix(digits)
        && (imported ?? credential.isImported) == credential.isImported
    }
    let whole = candidates.filter { $0.credentialID.hexadecimal == digits }
    let found = whole.isEmpty ? candidates : whole
    guard let first = found.first else {
      throw CommandFailure(
        "no passkey has an id that begins with \(digits)", hint: "see:", run: ["liquid-auth", "credentials", "list"],
        code: .absent)
    }
    guard found.count == 1 else {
      let haveOneID = found.allSatisfy { $0.credentialID == first.credentialID }
      if haveOneID, found.contains(where: \.isImported), !found.allSatisfy(\.isImported) {
        throw CommandFailure(
          "\(found.count) passkeys have the id \(first.credentialID.hexadecimal); give --imported or --no-imported")
      }
      throw CommandFailure("\(found.count) passkeys have an id that begins with \(digits); give more digits")
    }
    return first
  }
}

extension ControlConnection {
  /// All credentials.
  func credentials() throws(CommandFailure) -> [CredentialDescription] {
    try ListCredentials().allPages { (page) throws(CommandFailure) in try ask(page) }
  }

  /// The credentials whose ids begin with these digits, which are lower case.
  func credentials(beginning digits: String) throws(CommandFailure) -> [CredentialDescription] {
    try ListCredentials(digits: digits).allPages { (page) throws(CommandFailure) in try ask(page) }
  }
}

extension ListCredentials {
  /// The credentials of this page and all that follow it.
  func allPages(
    by ask: (ListCredentials) throws(CommandFailure) -> Answer
  ) throws(CommandFailure) -> [CredentialDescription] {
    var all: [CredentialDescription] = []
    var request = self
    while true {
      let page = try ask(request)
      all += page.credentials
      // Ignores a page that leads back, which would never end.
      guard let next = page.next, next < request.before ?? .max else { return all }
      request.before = next
    }
  }
}
