import ArgumentParser
import Testing

@testable import liquid_auth

@Suite struct AccountsTests {
  static let address = "PPNHVQJGE6ZMEWPR35UHLUYMCCZV6VNTHLJMZDVCONXKUPV47K4WGQJWGI"

  @Test func `addresses are listed by index`() {
    let list = AccountList(account: 3, first: 9, addresses: [Self.address, "B"])
    #expect(
      list.text == """
        index  address
        9      \(Self.address)
        10     B
        """)
    #expect(
      list.json.description == """
        [
          {
            "index": 9,
            "path": "m/44'/283'/3'/0/9",
            "address": "\(Self.address)",
            "inUse": false
          },
          {
            "index": 10,
            "path": "m/44'/283'/3'/0/10",
            "address": "B",
            "inUse": false
          }
        ]
        """)
  }

  @Test func `the address in use is marked`() {
    let list = AccountList(account: 0, first: 0, addresses: [Self.address, "B"])
    #expect(
      list.text == """
        index  address
        0      \(Self.address)  used by the wallet
        1      B
        """)
    #expect(
      list.json.description.split(separator: "\n").filter { $0.contains("inUse") }.map { $0.suffix(5) }
        == [" true", "false"])
    #expect(!AccountList(account: 1, first: 0, addresses: [Self.address]).text.contains("used"))
    #expect(!AccountList(account: 0, first: 1, addresses: [Self.address]).text.contains("used"))
  }

  @Test func `a QR code has finder patterns and a quiet zone`() throws {
    let code = try #require(QRCode(Self.address))
    // Version 3 is enough for 58 letters and digits at level M.
    #expect(code.modules.count == 29)
    #expect(code.modules.allSatisfy { $0.count == 29 })
    for (row, column) in [(0, 0), (0, 22), (22, 0)] {
      for offset in 0..<7 {
        #expect(code.modules[row][column + offset] && code.modules[row + 6][column + offset])
        #expect(code.modules[row + offset][column] && code.modules[row + offset][column + 6])
      }
      #expect(code.modules[row + 3][column + 3] && !code.modules[row + 1][column + 1])
    }
    let lines = code.lines
    #expect(lines.count == 19)
    #expect(lines.allSatisfy { $0.count == 37 })
    #expect(lines.prefix(2).allSatisfy { $0 == String(repeating: " ", count: 37) })
    #expect(lines.suffix(2).joined().allSatisfy { $0 == " " })
    #expect(lines.allSatisfy { $0.hasPrefix("    ") && $0.hasSuffix("    ") })
    #expect(lines[2].dropFirst(4).prefix(8) == "█▀▀▀▀▀█ ")
  }

  @Test func `a coloured QR code is black on white, and resets the colours`() throws {
    let code = try #require(QRCode("A"))
    #expect(zip(code.coloured, code.lines).allSatisfy { $0 == "\u{1B}[30;107m\($1)\u{1B}[0m" })
  }

  @Test func `text that does not fit in a QR code gives none`() {
    #expect(QRCode("") == nil)
    #expect(QRCode(String(repeating: "a", count: 3000)) == nil)
  }

  @Test func `the address is printed below its QR code`() throws {
    let list = AccountList(account: 0, first: 0, addresses: [Self.address])
    #expect(try list.drawing(inColour: false).hasSuffix("\n\(Self.address)"))
    #expect(try !list.drawing(inColour: false).contains("\u{1B}"))
    #expect(try list.drawing(inColour: true).contains("\u{1B}[30;107m"))
    #expect(throws: CommandFailure.self) {
      try AccountList(account: 0, first: 0, addresses: []).drawing(inColour: false)
    }
  }

  @Test func `export fails with its own exit code, because there are no 25 words`() throws {
    let export = try #require(
      try LiquidAuthCommand.parseAsRoot(["accounts", "export", "--state-dir", "/s"]) as? AccountsCommand.Export)
    let failure = #expect(throws: CommandFailure.self) { try export.run() }
    #expect(failure?.code.rawValue == 4)
    #expect(failure?.description.contains("nothing is exported") == true)
  }

  @Test(
    arguments: [
      (["accounts"], 0, 1, nil), (["accounts", "--count", "32"], 0, 32, nil), (["accounts", "--qr"], 0, 1, 0),
      (["accounts", "--qr", "5"], 0, 1, 5), (["accounts", "list", "--qr", "--control", "/c"], 0, 1, 0),
      (["accounts", "--account", "2147483647", "--qr", "1"], 2_147_483_647, 1, 1),
    ] as [([String], UInt32, UInt32, UInt32?)])
  func `the options of accounts are parsed`(
    _ arguments: [String], _ account: UInt32, _ count: UInt32, _ qr: UInt32?
  ) throws {
    let list = try #require(try LiquidAuthCommand.parseAsRoot(arguments) as? AccountsCommand.List)
    #expect(list.account == account)
    #expect(list.count == count)
    #expect(try list.drawnIndex() == qr)
  }

  static let refused: [([String], String)] = [
    (["--count", "0"], "the value '0' is invalid for '--count <number>': give a whole number, 1 to 32"),
    (["--count", "33"], "the value '33' is invalid for '--count <number>': give a whole number, 1 to 32"),
    (["--count", "-1"], "the value '-1' is invalid for '--count <number>': give a whole number, 1 to 32"),
    (["--count=one"], "the value 'one' is invalid for '--count <number>': give a whole number, 1 to 32"),
    (
      ["--account", "2147483648"],
      "the value '2147483648' is invalid for '--account <number>': give a whole number, 0 to 2147483647"
    ),
    (
      ["--account=0'"], "the value '0'' is invalid for '--account <number>': give a whole number, 0 to 2147483647"
    ),
    (["--account"], "missing value for '--account <number>'"),
    (["--qr=-1"], "the value '-1' is invalid for '--qr': an index is a whole number, 0 to 2147483647"),
    (["--qr=zz"], "the value 'zz' is invalid for '--qr': an index is a whole number, 0 to 2147483647"),
    (
      ["--qr", "2147483648"],
      "the value '2147483648' is invalid for '--qr': an index is a whole number, 0 to 2147483647"
    ),
    (["--qr", "-1"], "unknown option '-1'"),
    (["--qr", "--json"], "--qr and --json cannot be combined"),
    (["--qr", "1", "--count", "2"], "--qr and --count cannot be combined"),
  ]

  // Holds: INPUT-12
  @Test(arguments: refused)
  func `an invalid option is refused by name`(
    _ options: [String], _ sentence: String
  ) throws {
    let error = #expect(throws: (any Error).self) { try LiquidAuthCommand.parseAsRoot(["accounts"] + options) }
    #expect(LiquidAuthCommand.mistake(try #require(error), in: ["accounts"] + options).description == sentence)
  }
}
