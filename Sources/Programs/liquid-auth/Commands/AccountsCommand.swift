import ArgumentParser
import ControlProtocol
import Glibc
import ProcessIO

/// `liquid-auth accounts`.
struct AccountsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accounts",
    abstract: "Show the Algorand accounts of the phrase.",
    discussion: """
      The accounts follow ARC-52 (xHD): m/44'/283'/account'/0/index. The wallet uses account 0, index 0. If the vault \
      is locked, the command asks for its passphrase on the terminal, or reads it from the first line of standard input.
      """,
    subcommands: [List.self, Export.self], defaultSubcommand: List.self)

  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "List addresses, or draw one as a QR code.",
      discussion: "The code contains only the address, which every wallet and explorer can read.")

    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("The account number, 0 to 2147483647. (default: 0)", valueName: "number"),
      transform: wholeNumber(0...UInt32.max >> 1))
    var account: UInt32 = 0

    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("The number of addresses, 1 to 32, from index 0 on. (default: 1)", valueName: "number"),
      transform: wholeNumber(1...GetAddresses.maximumCount))
    var count: UInt32 = 1

    // A text, because ArgumentParser treats an unreadable value as absent, and the command would draw another address.
    @Option(
      defaultAsFlag: "0", parsing: .next,
      help: ArgumentHelp("Draw one address; without an index, that of index 0.", valueName: "index"))
    var qr: String?

    @Option(
      help: ArgumentHelp(
        "Show the ALGO on this network, such as testnet-v1.0, from its node in wallet.conf. Needs liquid-auth-wallet.",
        valueName: "name"))
    var network: String?

    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard network == nil || qr == nil else { throw ValidationError("--qr and --network cannot be combined") }
      guard try drawnIndex() != nil else { return }
      guard count == 1 else { throw ValidationError("--qr and --count cannot be combined") }
      guard !output.json else { throw ValidationError("--qr and --json cannot be combined") }
    }

    func run() throws {
      if let network { throw WalletProgram.run(walletArguments(for: network)) }
      let drawn = try drawnIndex()
      let first = drawn ?? 0
      let connection = try place.connect()
      if try connection.ask(GetStatus()).vault.condition != .unlocked { try connection.unlock() }
      let answer = try connection.ask(GetAddresses(account: account, first: first, count: count))
      let list = AccountList(account: account, first: first, addresses: answer.addresses)
      guard drawn != nil else { return output.write(list.text, json: list.json) }
      writeResult(try list.drawing(inColour: isatty(STDOUT_FILENO) == 1), isJSON: false)
    }

    /// The same command of the wallet's program, which alone uses the network.
    private func walletArguments(for network: String) -> [String] {
      ["accounts", "--account", "\(account)", "--count", "\(count)"] + (output.json ? ["--json"] : []) + place.words
        + ["--", network]
    }

    /// The index of the address to draw; `nil` for a list.
    func drawnIndex() throws(ValidationError) -> UInt32? {
      guard let qr else { return nil }
      guard let index = UInt32(qr), index < 1 << 31 else {
        throw ValidationError("the value '\(qr)' is invalid for '--qr': an index is a whole number, 0 to 2147483647")
      }
      return index
    }
  }

  struct Export: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Explain why these accounts have no 25 words.",
      discussion: """
        Algorand's 25 words encode a seed of 32 bytes. The keys of ARC-52 do not come from such a seed, so there are no \
        25 words to export. The command explains this, and exits with status 4.
        """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      throw CommandFailure(
        "nothing is exported: these accounts have no 25 words, because their keys (ARC-52, xHD) do not come from a 32-byte seed; "
          + "the recovery phrase, 12 to 24 words, opens them in every wallet that supports ARC-52",
        code: .absent)
    }
  }
}

/// The result of `liquid-auth accounts`, before it is text or JSON.
struct AccountList: Equatable {
  /// The account of the addresses.
  let account: UInt32
  /// The index of the first.
  let first: UInt32
  let addresses: [String]

  private var rows: [(index: UInt32, address: String, isInUse: Bool)] {
    addresses.enumerated().map { offset, address in
      let index = first + UInt32(offset)
      return (index, address, account == 0 && index == 0)
    }
  }

  /// For people.
  var text: String {
    table(
      [["index", "address"]]
        + rows.map { ["\($0.index)", $0.address.printable] + ($0.isInUse ? ["used by the wallet"] : []) })
  }

  /// For programs.
  var json: JSON {
    .array(
      rows.map { row in
        [
          "index": .number(Int64(row.index)), "path": .string("m/44'/283'/\(account)'/0/\(row.index)"),
          "address": .string(row.address), "inUse": .bool(row.isInUse),
        ]
      })
  }

  /// The first address as a QR code, and beneath it in letters.
  func drawing(inColour: Bool) throws(CommandFailure) -> String {
    guard let address = addresses.first, let code = QRCode(address) else {
      throw CommandFailure("the authenticator returned no address; restart it after an update")
    }
    return ((inColour ? code.coloured : code.lines) + [address.printable]).joined(separator: "\n")
  }
}
