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
      Reads the phrase from all of standard input; it can be on several lines. On a terminal it is read without echo. \
      Prints the public key (X then Y, 64 bytes) and the credential id of the hash form (32 bytes) as hexadecimal \
      digits. It never prints a private key, and does not use the vault.
      """)

  @Option(
    help: ArgumentHelp("The site's relying party id, such as example.com, not its address.", valueName: "id"),
    transform: RelyingPartyID.readWithNote)
  var rp: String

  @OptionGroup var registration: RegistrationOptions
  @OptionGroup var output: OutputOptions

  func validate() throws { _ = try registration.handle() }

  func run() throws {
    let handle = try registration.handle()
    let derived = try Self.derive(
      from: PhraseInput.read(), origin: rp, userHandle: handle, counter: registration.counter)
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

/// The options that name a registration of an account: its user handle, as text or as digits, and its number.
struct RegistrationOptions: ParsableArguments {
  @Option(help: "The account's user handle, as text.")
  var userHandle: String?

  @Option(help: ArgumentHelp("The account's user handle, as hexadecimal digits.", valueName: "hex"))
  var userHandleHex: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The number of the account's registration; the first is 0. (default: 0)", valueName: "number"),
    transform: wholeNumber(0...UInt32.max))
  var counter: UInt32 = 0

  /// The user handle.
  ///
  /// - Throws: `ValidationError` unless exactly one of its options is given, with a value that can be read.
  func handle() throws -> [UInt8] {
    switch (userHandle, userHandleHex) {
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
