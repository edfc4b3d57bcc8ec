import ArgumentParser
import CBOR
import CTAP2
import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO
import Recovery

/// `liquid-auth blobs`.
struct BlobsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blobs",
    abstract: "List and change the large blobs that sites and programs store on this key.",
    discussion: """
      Some sites and programs store data with a passkey, as a large blob: an SSH certificate, for instance. The key stores at \
      most 8192 bytes of them. Each is sealed with a secret of its passkey. They do not come back from the phrase, \
      but from a backup. Each command asks for the vault's passphrase on the terminal, or reads it from the first line of \
      standard input. Name a passkey by the first digits of its id, as `credentials list` shows them.
      """,
    subcommands: [List.self, Get.self, Set.self, Delete.self, Export.self, Import.self])

  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the large blobs, and which passkey of this machine opens each.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      let serialized = try connection.largeBlobArray()
      let report = LargeBlobReport(
        try LargeBlobArray(serialized: serialized), used: serialized.count,
        capacity: try connection.keyInformation().largeBlobCapacity, holders: try connection.largeBlobHolders())
      output.write(report.text, json: report.json)
    }
  }

  struct Get: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write the large blob of a passkey to a file, or to standard output if that is not a terminal.")
    @Argument(
      help: "The first digits of the passkey's id, 4 or more.", completion: .list([]),
      transform: CredentialsCommand.digits)
    var id: String
    @Argument(help: "A file that does not exist yet.", completion: .file()) var file: String?
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard file != nil || !output.json else { throw ValidationError("--json needs a file for the large blob") }
    }

    func run() throws {
      // A site chose these bytes: they could control a terminal.
      guard file != nil || isatty(STDOUT_FILENO) == 0 else {
        throw CommandFailure(
          "a large blob is not shown on a terminal; name a file, or redirect the output with | or >", code: .usage)
      }
      if let file { try NamedFile(file).checkNew() }
      let connection = try place.connectAsOwner()
      let holder = try connection.largeBlobHolder(id)
      guard let content = try LargeBlobArray(serialized: connection.largeBlobArray()).content(key: holder.key) else {
        throw CommandFailure.noLargeBlob
      }
      guard let file else {
        guard Descriptor.write(content, to: STDOUT_FILENO) else { throw CommandFailure.unwritten }
        return
      }
      try NamedFile(file).create(content)
      output.write("wrote \(content.count) bytes", json: ["bytes": .number(Int64(content.count))])
    }
  }

  struct Set: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Store a file as the large blob of a passkey. It replaces the present one.",
      discussion: "The passkey must have been registered with the extension largeBlob, or largeBlobKey.")
    @Argument(
      help: "The first digits of the passkey's id, 4 or more.", completion: .list([]),
      transform: CredentialsCommand.digits)
    var id: String
    @Argument(help: "The file with its new content.", completion: .file()) var file: String
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let content = try NamedFile(file).read(atMost: NamedFile.largestBlob)
      let connection = try place.connectAsOwner()
      let holder = try connection.largeBlobHolder(id)
      let serialized = try connection.largeBlobArray()
      var array = try LargeBlobArray(serialized: serialized)
      try array.set(content, key: holder.key)
      try connection.replace(serialized, with: array)
      output.write("stored \(content.count) bytes", json: ["bytes": .number(Int64(content.count))])
    }
  }

  struct Delete: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete the large blob of a passkey, or those that nothing opens.",
      discussion: """
        With --unopened, the command deletes the large blobs that no passkey of this machine opens, such as those of removed \
        passkeys. It asks first: a passkey that comes back later cannot open a deleted blob. In a script, give --yes.
        """)
    @Argument(help: "The first digits of the passkey's id, 4 or more.", transform: CredentialsCommand.digits)
    var id: String?
    @Flag(help: "Delete the large blobs that no passkey of this machine opens.") var unopened = false
    @Flag(help: "With --unopened: do not ask.") var yes = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard (id != nil) != unopened else { throw ValidationError("give either the id of a passkey or --unopened") }
      guard unopened || !yes else { throw ValidationError("--yes is only for --unopened") }
    }

    func run() throws {
      guard let id else { return try deleteUnopened() }
      let connection = try place.connectAsOwner()
      let holder = try connection.largeBlobHolder(id)
      let serialized = try connection.largeBlobArray()
      var array = try LargeBlobArray(serialized: serialized)
      guard array.remove(key: holder.key) else { throw CommandFailure.noLargeBlob }
      try connection.replace(serialized, with: array)
      output.write("deleted", json: ["deleted": .hex(holder.credential.credentialID)])
    }

    private func deleteUnopened() throws(CommandFailure) {
      let terminal = try TerminalDevice.forQuestion(unless: yes, to: "delete them")
      let connection = try place.connectAsOwner()
      // During a move, the list of passkeys has only those of the new phrase.
      guard try connection.ask(GetStatus()).vault.previousFingerprint == nil else {
        throw CommandFailure(
          "the passkeys of the old phrase still open their large blobs",
          hint: "first end the move to the new phrase:", run: ["liquid-auth", "rotate", "list"])
      }
      let unopened = try Self.unopened(connection)
      guard unopened.count > 0 else {
        return output.write(
          "nothing to delete: every large blob belongs to a passkey of this machine", json: ["count": .number(0)])
      }
      let blobs = "\(unopened.count) large \(unopened.count == 1 ? "blob" : "blobs")"
      try terminal?.confirm(
        "Delete \(blobs) that no passkey of this machine opens? A passkey that comes back later cannot open them again. "
          + "There is no undo.", orThrow: "nothing was deleted")
      // A passkey may have come back meanwhile.
      let now = try Self.unopened(connection)
      guard now.count == unopened.count else {
        throw CommandFailure("the passkeys or the large blobs changed meanwhile, and nothing was deleted; try again")
      }
      try connection.replace(now.serialized, with: now.rest)
      output.write("deleted \(blobs)", json: ["count": .number(Int64(now.count))])
    }

    /// The array, the array without the large blobs that no passkey opens, and the number of these.
    private static func unopened(
      _ connection: ControlConnection
    ) throws(CommandFailure) -> (serialized: [UInt8], rest: LargeBlobArray, count: Int) {
      let serialized = try connection.largeBlobArray()
      var rest = try LargeBlobArray(serialized: serialized)
      let count = rest.removeUnopened(by: try connection.largeBlobHolders().map(\.key))
      return (serialized, rest, count)
    }
  }

  struct Export: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write the whole array to a file, as it is on the key: sealed, with its digest.")
    @Argument(help: "A file that does not exist yet.", completion: .file()) var file: String
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try NamedFile(file).checkNew()
      let connection = try place.connectAsOwner()
      let serialized = try connection.largeBlobArray()
      try NamedFile(file).create(serialized)
      output.write("wrote \(serialized.count) bytes", json: ["bytes": .number(Int64(serialized.count))])
    }
  }

  struct Import: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replace all large blobs with an exported file.")
    @Argument(help: "A file of `liquid-auth blobs export`.", completion: .file()) var file: String
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let array = try LargeBlobArray(serialized: NamedFile(file).read(atMost: LargeBlobs.capacity))
      let connection = try place.connectAsOwner()
      try connection.ask(SetLargeBlobArray(array.serialized, changedFrom: nil))
      output.write(
        "stored \(array.entries.count) large \(array.entries.count == 1 ? "blob" : "blobs")",
        json: ["blobs": .number(Int64(array.entries.count))])
    }
  }
}

extension ControlConnection {
  /// The serialized array, fragment after fragment: authenticatorLargeBlobs, CTAP §6.10.2.
  func largeBlobArray() throws(CommandFailure) -> [UInt8] {
    var array: [UInt8] = []
    while true {
      let count = LargeBlobs.maxFragmentLength
      let fragment = try ctap(LargeBlobs.code, [1: .unsigned(UInt64(count)), 3: .unsigned(UInt64(array.count))])[1]?
        .bytes
      array += fragment ?? []
      guard let fragment, fragment.count == count else { return array }
    }
  }

  /// Replaces the array if it is still the one that was read: a site may have written meanwhile.
  func replace(_ serialized: [UInt8], with array: LargeBlobArray) throws(CommandFailure) {
    let digest = Array(serialized.suffix(LargeBlobs.digestSize))
    try ask(SetLargeBlobArray(array.serialized, changedFrom: digest))
  }

  /// All passkeys that can have a large blob.
  func largeBlobHolders() throws(CommandFailure) -> [LargeBlobHolder] {
    var holders: [LargeBlobHolder] = []
    for credential in try credentials() where credential.hasLargeBlobKey {
      if let holder = LargeBlobHolder(try ask(ShowCredential(credential.reference))) { holders.append(holder) }
    }
    return holders
  }

  /// The passkey whose id begins with these digits.
  fileprivate func largeBlobHolder(_ digits: String) throws(CommandFailure) -> LargeBlobHolder {
    let all = try credentials(beginning: digits)
    // An imported passkey has no large blob, and can have the id of a derived one.
    let isDerived = all.contains { !$0.isImported && $0.credentialID.hexadecimal.hasPrefix(digits) }
    let reference = try CredentialsCommand.find(digits, among: all, imported: isDerived ? false : nil).reference
    guard let holder = LargeBlobHolder(try ask(ShowCredential(reference))) else {
      throw CommandFailure("the passkey was registered without the extension largeBlob, and cannot have one")
    }
    return holder
  }
}

extension CommandFailure {
  fileprivate static let noLargeBlob = CommandFailure(
    "the passkey has no large blob", hint: "see:", run: ["liquid-auth", "blobs", "list"], code: .absent)
}
