import ArgumentParser
import ControlDoor
import Glibc

/// `liquid-auth accounts`.
struct AccountsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accounts",
    abstract: "See the Algorand accounts that the phrase gives.",
    discussion: """
      The accounts are those of ARC-52 (xHD): m/44'/283'/account'/0/index. Account 0 at index 0 is the one that signs \
      in and signs transactions. Where the vault is locked, the authenticator asks for its passphrase.
      """,
    subcommands: [List.self, Export.self], defaultSubcommand: List.self)

  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "List addresses, or draw one as a QR code.",
      discussion: "The code holds the address alone, which every wallet and explorer reads.")

    @Option(help: ArgumentHelp("Which account of the path, 0 to 2147483647.", valueName: "number"))
    var account: UInt32 = 0

    @Option(help: "How many addresses, 1 to 32, from index 0 on.")
    var count: UInt32 = 1

    @Option(
      defaultAsFlag: 0, parsing: .next,
      help: ArgumentHelp("Draw one address; without an index, that of index 0.", valueName: "index"))
    var qr: UInt32?

    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard account < 1 << 31 else { throw ValidationError("--account is 0 to 2147483647") }
      guard 1...AccountAddresses.maximumCount ~= UInt64(count) else {
        throw ValidationError("--count is 1 to \(AccountAddresses.maximumCount)")
      }
      guard qr ?? 0 < 1 << 31 else { throw ValidationError("an index is 0 to 2147483647") }
      guard qr == nil || count == 1 else { throw ValidationError("--qr draws one account; leave --count out") }
      guard qr == nil || !output.json else { throw ValidationError("--qr is for people; leave --json out") }
    }

    func run() throws {
      let range = AccountRange(account: account, first: qr ?? 0, count: count)
      let accounts: AccountAddresses = try place.connect().ask(.accounts(range))
      let list = AccountList(account: account, first: range.first, addresses: accounts.addresses)
      guard qr != nil else { return output.write(list.text, json: list.json) }
      StandardStream.output.write(try list.drawing(inColour: isatty(STDOUT_FILENO) == 1))
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Explain why these accounts have no 25 words.",
      discussion: """
        Algorand's 25 words stand for a seed of 32 bytes, whose hash is the account's key. The keys of ARC-52 come from \
        the phrase by another way, at the end of which there is a key and no seed; nobody can compute one that gives \
        the same address. So there is nothing that could be exported, and exit code 4 says so.
        """)

    func run() throws {
      throw CommandFailure(
        "nothing is exported: these accounts have no 25 words, for their keys (ARC-52, xHD) come from no 32-byte seed; "
          + "the recovery phrase, 12 to 24 words, opens them in every wallet that knows ARC-52",
        code: .impossible)
    }
  }
}

/// What a person or a program is told of accounts.
struct AccountList: Equatable {
  /// Whose addresses they are.
  let account: UInt32
  /// The index of the first.
  let first: UInt32
  let addresses: [String]

  private var rows: [(index: UInt32, address: String)] {
    addresses.enumerated().map { (first + UInt32($0.offset), $0.element) }
  }

  /// For people.
  var text: String {
    table([["index", "address"]] + rows.map { ["\($0.index)", $0.address.printable] })
  }

  /// For programs.
  var json: JSON {
    .array(
      rows.map { row in
        [
          "index": .number(Int64(row.index)), "path": .string("m/44'/283'/\(account)'/0/\(row.index)"),
          "address": .string(row.address),
        ]
      })
  }

  /// The first address as a QR code, and beneath it in letters.
  func drawing(inColour: Bool) throws(CommandFailure) -> String {
    guard let address = addresses.first, let code = QRCode(address) else {
      throw CommandFailure("the authenticator answers with no address; restart it after an update")
    }
    return ((inColour ? code.coloured : code.lines) + [address.printable]).joined(separator: "\n")
  }
}
