import ArgumentParser
import PasskeyFiles
import ProcessIO
import Recovery

/// `liquid-auth import`.
struct ImportCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import passkeys from another password manager.",
    discussion: """
      Reads CXF, the Credential Exchange Format of FIDO, as JSON; an export of Bitwarden in the format .json; an export of \
      KeePassXC by `keepassxc-cli export -f xml`; or a passkey file of KeePassXC. The file must not be encrypted.

      The phrase does not bring imported passkeys back: make a backup afterwards. A passkey that is already in the store \
      stays as it is. The command names each passkey that it cannot import, with the reason, and imports the others. The \
      exit status is 0 if every passkey of the file was imported, now or earlier, and otherwise 1.

      PRF secrets are imported from CXF only, and large blobs never. Without its PRF secrets, an imported passkey cannot \
      decrypt data that a site encrypted with PRF in the other program.

      FILE has unencrypted private keys. Anyone who reads it can sign in with them: delete it after the import.

      The command asks for the vault's passphrase on the terminal, or reads it from the first line of standard input. It \
      also works without a running authenticator.
      """)

  @Argument(help: "The file of the other password manager.", completion: .file()) var file: String
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func validate() throws { try BackupCommand.checkName(file) }

  func run() throws {
    let content = try NamedFile(file).read(atMost: PasskeyFile.maximumSize, isSecret: true)
    guard !content.isEmpty else { throw CommandFailure("\(file) is empty; nothing was changed") }
    guard (try? BackupReader.checkForm(of: content)) == nil else {
      throw CommandFailure(
        "cannot import \(file): it is a liquid-auth backup; merge it with: liquid-auth restore FILE\(place.arguments)")
    }
    let read: PasskeyFile
    do throws(PasskeyFileError) { read = try PasskeyFile(consume content, now: unixMilliseconds()) } catch {
      throw CommandFailure("cannot import \(file): \(error.description); nothing was changed")
    }
    var outcomes: [PasskeyImportOutcome] = []
    if !read.passkeys.isEmpty {
      StandardStream.error.write("liquid-auth: \(ImportResult.notice(read, file: file))")
      outcomes = try OwnedVault(at: place).importPasskeys(read.list) { [file] reason in
        CommandFailure("cannot import \(file): \(reason); nothing was changed")
      }
    }
    let result = ImportResult(read, outcomes: outcomes)
    output.write(result.text(file: file, at: place), json: result.json)
    guard result.isComplete else { throw ExitCode(CommandFailure.Code.failed.rawValue) }
  }
}
