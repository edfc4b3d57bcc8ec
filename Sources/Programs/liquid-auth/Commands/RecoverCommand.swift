import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import ProcessIO
import StateDirectory

/// `liquid-auth recover`.
struct RecoverCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Make the vault from shares, and recover passkeys and the store.",
    usage: """
      liquid-auth recover --shares [--credential-ids FORM]
      liquid-auth recover --rp ID --user-handle TEXT [OPTION...]
      liquid-auth recover --accept-before-reset
      liquid-auth recover --new-store
      liquid-auth recover --accept-store
      """,
    discussion: """
      Most passkeys come back without this command, when their site sends their id. Five cases need it. --shares asks for \
      shares and a new passphrase. The others ask for the vault's passphrase on the terminal, or read it from the first \
      line of standard input.

      --shares makes the vault from SLIP-39 shares of the phrase, as `liquid-auth init --import` does from the phrase.
      --rp and --user-handle write the record of a passkey whose id is a hash, for sites that send no id.
      --accept-before-reset undoes a reset of this machine, for passkeys that the phrase can open.
      --new-store makes an empty store if the store is lost. The names, settings and counter of the lost store do not \
      come back. To make a new counter, run `liquid-auth vault counter on`. It also works without a running authenticator.
      --accept-store opens a store that was modified outside liquid-auth, such as a partly restored copy, and accepts its \
      present content. Afterwards, check the passkeys (liquid-auth credentials list), and change the PIN if one is set \
      (liquid-auth pin change). It also works without a running authenticator.
      """)

  @Flag(help: "Make the vault from shares of the phrase.")
  var shares = false

  @Flag(help: "Make an empty store to replace a lost one.")
  var newStore = false

  @Flag(help: "Accept a store that was modified outside liquid-auth.")
  var acceptStore = false

  @Flag(help: "Accept the passkeys from before a reset again.")
  var acceptBeforeReset = false

  @Option(
    help: ArgumentHelp("The site: its relying party id, such as example.com.", valueName: "id"),
    transform: RelyingPartyID.readWithNote)
  var rp: String?

  @OptionGroup var registration: RegistrationOptions

  @Option(help: "The algorithm of its key: ES256 or EdDSA.")
  var alg: Algorithm = .es256

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The credProtect level that the site requested: 1 (the default), 2 or 3.", valueName: "number"),
    transform: wholeNumber(1...UInt8(3)))
  var credProtect: UInt8 = 1

  @Option(
    help: ArgumentHelp(
      "With --shares: the form of the ids of new passkeys, sealed or hash. (default: sealed)", valueName: "form"))
  var credentialIds: InitCommand.IDForm?

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  enum Algorithm: String, ExpressibleByArgument, CaseIterable {
    case es256 = "ES256"
    case edDSA = "EdDSA"

    var identifier: Int64 { self == .es256 ? -7 : -8 }
  }

  func validate() throws {
    guard [shares, newStore, acceptStore, acceptBeforeReset, rp != nil].count(where: { $0 }) == 1 else {
      throw ValidationError(
        "give one of --shares, --new-store, --accept-store, --accept-before-reset, or --rp with --user-handle")
    }
    guard shares || credentialIds == nil else { throw ValidationError("--credential-ids is only for --shares") }
    if let rp { _ = try recovery(rp) }
  }

  func run() throws {
    if shares { return try InitCommand.run(.existingShares, form: credentialIds, at: place, output) }
    if newStore {
      _ = try Self.repairStore(place, by: NewStore.init) { (directory, passphrase) throws(StateDirectoryError) in
        OwnedVault.warn(try directory.makeNewStore(passphrase: passphrase))
        return Done()
      }
      return output.write("made an empty store", json: ["store": .string("made")])
    }
    if acceptStore {
      let entries = try Self.repairStore(place, by: AcceptStore.init) {
        (directory, passphrase) throws(StateDirectoryError) in
        AcceptStore.Answer(entries: try directory.acceptStore(passphrase: passphrase, now: unixMilliseconds()))
      }.entries
      let history = entries == 0 ? "starts again" : "is intact, with \(entries) \(entries == 1 ? "entry" : "entries")"
      return output.write(
        "accepted the store as it is; its history \(history); check the passkeys with: liquid-auth credentials list"
          + place.arguments,
        json: ["store": .string("accepted"), "entries": .number(Int64(clamping: entries))])
    }
    let connection = try place.connectAsOwner()
    if let rp {
      let credential = try connection.ask(recovery(rp))
      return output.write(CredentialText.whole(credential), json: credential.json)
    }
    try connection.ask(AcceptBeforeReset())
    output.write(
      "accepted: passkeys from before a reset work again when their sites send their ids",
      json: ["beforeReset": .string("accepted")])
  }

  /// Runs the command in the authenticator that works on the directory; if none runs, changes the store here.
  private static func repairStore<Command: ControlCommand>(
    _ place: PlaceOptions, by command: (SecretBytes) -> Command,
    orHere repair: (StateDirectory, SecretBytes) throws(StateDirectoryError) -> Command.Answer
  ) throws(CommandFailure) -> Command.Answer {
    if let connection = try place.connectIfRunning() {
      return try PassphraseInput.tried { (passphrase) throws(CommandFailure) in
        try connection.ask(command(passphrase))
      }
    }
    let path = try place.statePath()
    let directory = try rethrowing { () throws(StateDirectoryError) in try StateDirectory(opening: path) }
    let lock = try rethrowing(directory.lock)
    defer { withExtendedLifetime(lock) {} }
    return try PassphraseInput.tried { (passphrase) throws(CommandFailure) in
      try rethrowing { () throws(StateDirectoryError) in try repair(directory, passphrase) }
    }
  }

  private func recovery(_ rpID: String) throws -> RecoverCredential {
    let handle = try registration.handle()
    guard 1...64 ~= handle.count else { throw ValidationError("a user handle has 1 to 64 bytes") }
    return RecoverCredential(
      rpID: rpID, userHandle: handle, counter: registration.counter, algorithm: alg.identifier, credProtect: credProtect
    )
  }
}
