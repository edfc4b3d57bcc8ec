import CryptoPrimitives
import DeterministicKeys
import Messages
import TestVectors
import Testing

@testable import AlgorandTransaction

@Suite struct SummaryTests {
  private let vectors: Vector
  init() throws { vectors = try SDKVectors.load() }

  @Test func `every type shows all its members in a fixed order`() throws {
    let shown = try vectors.transactions.array.map { vector in
      try ["# \(vector.name.text)"] + lines(of: Transaction(decoding: vector["bytes"].bytes))
    }
    let expected = Self.everyType.split(separator: "\n\n").map { $0.split(separator: "\n").map(String.init) }
    #expect(shown.count == expected.count)
    for (one, other) in zip(shown, expected) { #expect(one == other) }
  }

  @Test func `a member of a group names the group`() throws {
    let vector = try #require(vectors.groups.array.last)
    let id = vector.id.bytes.base64
    let summary = try Transaction(decoding: vector.transactions[0].bytes).summary
    #expect(summary.last?.text == "Group: \(id.prefix(12))...")
  }

  @Test(arguments: [(1_000, false), (10_000, false), (10_001, true), (.max, true)] as [(UInt64, Bool)])
  func `a fee above ten times the minimum is a warning`(fee: UInt64, isWarning: Bool) throws {
    let line = try #require(try changed("fee", to: .unsigned(fee)).summary.first { $0.label.description == "Fee" })
    #expect(line.isWarning == isWarning)
    #expect(line.value.description.hasSuffix("unusually high") == isWarning)
  }

  @Test(arguments: [
    (UInt64(1), "0.000001 ALGO"), (999_999, "0.999999 ALGO"), (1_000_000, "1.000000 ALGO"),
    (10_000_000_000_000_000, "10000000000.000000 ALGO"), (.max, "18446744073709.551615 ALGO"),
  ])
  func `an amount is never rounded`(microalgos: UInt64, text: String) throws {
    #expect(try changed("amt", to: .unsigned(microalgos)).summary.map(\.text).contains("Amount: \(text)"))
  }

  // Holds: TXN-5
  @Test func `no Unicode scalar ends a line, is hidden, or reorders its neighbours`() throws {
    let hostile = (0...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init).filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: true
      default: scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isBidiControl
      }
    }
    #expect(hostile.count > 4_000)
    let values = hostile.flatMap { [Array("a\($0)b".utf8).shown.description, "a\($0)b".quoted] }
    let scalars = Set(values.flatMap(\.unicodeScalars))
    #expect(scalars.isDisjoint(with: hostile))
    #expect(scalars.isSuperset(of: #"ab"\u{}"#.unicodeScalars))
  }

  // Holds: TXN-5
  @Test(arguments: [
    ("ok", #""ok""#), ("Amount: 1.000000 ALGO", #""Amount: 1.000000 ALGO""#),
    ("\"\nAmount: 1.000000 ALGO\n\"", #""\"\u{A}Amount: 1.000000 ALGO\u{A}\"""#),
    ("\u{202E}OGLA 1", #""\u{202E}OGLA 1""#), ("a\u{2028}b\u{2029}", #""a\u{2028}b\u{2029}""#),
    ("caf\u{E9} \u{5C71}", "\"caf\u{E9} \u{5C71}\""), ("\u{A0}\u{3000}", "\"  \""),
    ("a\u{301}\u{301}\u{301}\u{301}", "\"a\u{301}\u{301}\u{301}" + #"\u{301}""#), (#"\u{41}"#, #""\\u{41}""#),
    ("a\u{2800}", #""a\u{2800}""#), ("\0", "1 byte 00"), ("\u{1B}[2J", "4 bytes 1b5b324a"),
    ("\u{9B}2J", "4 bytes c29b324a"),
    (String(repeating: "x", count: 1024), "\"" + String(repeating: "x", count: 1024) + "\""),
  ])
  func `a note is text in quotation marks, or bytes`(note: String, shown: String) throws {
    let line = try #require(
      try changed("note", to: .bytes(Array(note.utf8))).summary.first { $0.label.description == "Note" })
    #expect(Array(line.value.description.unicodeScalars) == Array(shown.unicodeScalars))
    #expect(!line.isWarning)
  }

  @Test(
    arguments: [
      ([0x66, 0xE9] + [UInt8](repeating: 0x61, count: 20), #"22 bytes "f\x{e9}aaaaaaaaaaaaaaaaaaaa""#),
      (Array("\\x{e9} \"ok\"".utf8) + [0x00], #"12 bytes "\\x{e9} \"ok\"\x{00}""#),
      ([0x00, 0x05] + Array("hello, caf\u{E9}".utf8), "14 bytes \"\\x{00}\\x{05}hello, caf\u{E9}\""),
      ([0x00] + Array("\u{301}hello".utf8), "8 bytes \"\\x{00}\u{301}hello\""),
      ([0x00] + Array("hello \u{20000}".utf8), "11 bytes \"\\x{00}hello \u{20000}\""),
      (Array("hello, caf".utf8) + [0xC3], #"11 bytes "hello, caf\x{c3}""#),
      ([0x61, 0x62, 0x63, 0x64, 0x00], "5 bytes 6162636400"), ([0x61, 0x62, 0x63, 0xFF], "4 bytes 616263ff"),
    ] as [([UInt8], String)])
  func `bytes that are nearly all text are text, the others escaped in place`(note: [UInt8], shown: String) throws {
    let line = try #require(
      try changed("note", to: .bytes(note)).summary.first { $0.label.description == "Note" })
    #expect(Array(line.value.description.unicodeScalars) == Array(shown.unicodeScalars))
  }

  // Holds: TXN-6
  @Test func `a field of more than eight lines also has a short form, with length, beginning and SHA-256`() throws {
    for (note, beginning) in [
      ([UInt8](repeating: 0x61, count: 4096), "\"aaaaaaaaaaaaaaaa\"..."),
      ([UInt8](repeating: 0xAB, count: 4096), "abababababababab..."),
    ] {
      let line = try #require(
        try changed("note", to: .bytes(note)).summary.first { $0.label.description == "Note" })
      #expect(
        line.short?.description
          == "4096 bytes, beginning with \(beginning), SHA-256 \(SHA256.hash(note).hexadecimal)")
      #expect(line.value.description.count > 4096, "the whole is there, too")
    }
    let note = try changed("note", to: .bytes([UInt8](repeating: 0x61, count: 500)))
    #expect(note.summary.allSatisfy { $0.short == nil }, "eight lines are shown whole")
  }

  // Holds: TXN-6
  @Test func `eight lines of a dialog are shown whole, and a character of two columns counts twice`() throws {
    for (letter, count, isLong) in [
      ("n", 582, false), ("n", 583, true), ("\u{1100}", 291, false), ("\u{1100}", 292, true),
    ] {
      let note = Array(String(repeating: letter, count: count).utf8)
      let line = try #require(
        try changed("note", to: .bytes(note)).summary.first { $0.label.description == "Note" })
      #expect((line.short != nil) == isLong, "\(count) times \(letter)")
    }
  }

  @Test func `only a transfer of nothing to oneself, and not of another's, is an opt-in`() throws {
    let (alice, bob) = (GroupSummaryTests.alice, GroupSummaryTests.bob)
    for (amount, receiver, holder, isOptIn) in [
      (0, alice, nil, true), (5, alice, nil, false), (0, bob, nil, false), (0, alice, bob, false),
    ] as [(UInt64, AlgorandAddress, AlgorandAddress?, Bool)] {
      var members: [String: MessagePack] = [
        "xaid": .unsigned(7), "aamt": .unsigned(amount), "arcv": .bytes(receiver.publicKey),
      ]
      members["asnd"] = holder.map { .bytes($0.publicKey) }
      let labels = try GroupSummaryTests.transaction("axfer", members).summary.map(\.label.description)
      #expect(labels.contains("Opt-in") == isOptIn, "\(amount)")
    }
  }

  @Test(arguments: [0, 1] as [UInt64]) func `only what the zero address gets is lost`(amount: UInt64) throws {
    for (type, members) in [
      ("pay", ["amt": .unsigned(amount)]), ("axfer", ["xaid": .unsigned(7), "aamt": .unsigned(amount)]),
    ] as [(String, [String: MessagePack])] {
      let summary = try GroupSummaryTests.transaction(type, members).summary
      let line = try #require(summary.first { $0.label.description == "To" })
      #expect(line.isWarning == (amount > 0), "\(type)")
    }
  }

  @Test func `a state of one kind of value, and a single decimal, are shown`() throws {
    func one(_ key: String) -> MessagePack { .map([MessagePack.Member(key: key, value: .unsigned(1))]) }
    let application = try GroupSummaryTests.transaction("appl", ["apgs": one("nui"), "apls": one("nbs")])
    let texts = application.summary.map(\.text)
    #expect(texts.contains("Global state: 1 integer, 0 byte strings"))
    #expect(texts.contains("Local state: 0 integers, 1 byte string"))
    let asset = try GroupSummaryTests.transaction("acfg", ["apar": one("dc")])
    #expect(asset.summary.map(\.text).contains("Decimals: 1"))
  }

  // Holds: TXN-3
  @Test func `a private network cannot take a public one's name`() throws {
    let hash = MessagePack.bytes([UInt8](repeating: 7, count: 32))
    #expect(throws: TransactionError.contradiction("gen", "gh")) { try changed("gh", to: hash) }
    for network in Network.allCases {
      #expect(throws: (any Error).self) { try changed("gen", to: .text(network.genesisID), beside: ("gh", hash)) }
    }
    let named = try changed("gen", to: .text("mainnet-v1.0\u{200B}"), beside: ("gh", hash))
    #expect(
      named.summary.map(\.text).contains(
        "! Network: genesis hash \([UInt8](repeating: 7, count: 32).base64), "
          + #"calls itself "mainnet-v1.0\u{200B}""#))
  }

  // Holds: TXN-6
  @Test func `a long name of a private network also has a short form`() throws {
    let (name, hash) = (String(repeating: "n", count: 2000), [UInt8](repeating: 7, count: 32))
    let line = try changed("gen", to: .text(name), beside: ("gh", .bytes(hash))).networkLine
    #expect(line.value.description == "genesis hash \(hash.base64), calls itself \"\(name)\"")
    #expect(
      line.short?.description == "genesis hash \(hash.base64), name of 2000 bytes, beginning with "
        + "\"nnnnnnnnnnnnnnnn\"..., SHA-256 \(SHA256.hash(Array(name.utf8)).hexadecimal)")
    #expect(line.isWarning)
    #expect(try changed("gen", to: .text("n"), beside: ("gh", .bytes(hash))).networkLine.short == nil)
  }

  @Test func `a private network without a name is shown by its hash`() throws {
    let hash = [UInt8](repeating: 7, count: 32)
    let named = try changed("gen", to: .text("x"), beside: ("gh", .bytes(hash)))
    let bytes = named.bytes.split(separator: MessagePack.text("gen").encoded + MessagePack.text("x").encoded)
    let unnamed = try Transaction(decoding: [0x88] + bytes.joined().dropFirst())
    #expect(unnamed.summary.map(\.text).contains("! Network: genesis hash \(hash.base64)"))
  }

  // Holds: TXN-6
  /// A transfer of an ARC-200 token shows only as selector, receiver and amount.
  @Test func `every argument of an application call is shown whole, 32 bytes also as an address`() throws {
    let receiver = AlgorandAddress(publicKey: [UInt8](repeating: 7, count: 32))
    let amount = [UInt8](repeating: 0, count: 31) + [5]
    let arguments = [
      [0xDA, 0x70, 0x25, 0xB9], receiver.publicKey, amount, [UInt8](repeating: 0xAB, count: 2000),
      Array("swap".utf8), Array("swap!".utf8),
    ]
    let call = try changed("apaa", to: .array(arguments.map { .bytes($0) }), of: "application call")
    let values = call.summary.filter { $0.label.description.hasPrefix("Argument") }.map(\.value.description)
    #expect(
      values == [
        "4 bytes da7025b9",
        "32 bytes \(receiver.publicKey.hexadecimal), as an address \(receiver.grouped)",
        "32 bytes \(amount.hexadecimal), as an address \(AlgorandAddress(publicKey: amount).grouped)",
        "2000 bytes " + String(repeating: "ab", count: 2000), "4 bytes 73776170", #"5 bytes "swap!""#,
      ])
  }

  // Holds: TXN-6
  @Test func `the name of a box is shown whole`() throws {
    let name = [UInt8](repeating: 0, count: 64)
    let box = MessagePack.map([MessagePack.Member(key: "n", value: .bytes(name))])
    let call = try changed("apbx", to: .array([box]), of: "application call")
    #expect(call.summary.map(\.text).contains("Boxes: 1: 64 bytes \(name.hexadecimal) of this application"))
  }

  @Test func `a program's hash equals that of Algorand's tools`() throws {
    let vector = try Vector("algorand").programHash
    let update = try changed("apap", to: .bytes(vector.programBase64.base64), of: "application update")
    #expect(update.summary.map(\.text).contains("Approval program: 5 bytes, hash \(vector.address.text)"))
  }

  /// A transaction of the vectors with another value of a member.
  private func changed(
    _ key: String, to value: MessagePack, beside other: (String, MessagePack)? = nil, of name: String = "payment"
  ) throws -> Transaction {
    let vector = try #require(vectors.transactions.array.first { $0.name.text == name })
    guard case .map(var members) = try MessagePackDecoder.decode(vector["bytes"].bytes) else {
      throw TransactionError.notAMap
    }
    for (key, value) in [(key, value)] + (other.map { [$0] } ?? []) {
      members.removeAll { $0.key == key }
      members.append(MessagePack.Member(key: key, value: value))
    }
    return try Transaction(decoding: MessagePack.map(members.sorted { $0.key < $1.key }).encoded)
  }

  /// One text per line, with "!" before a warning and names for accounts.
  private func lines(of transaction: Transaction) -> [String] {
    let names = [
      vectors.address.text: "ALICE", vectors.anotherAddress.text: "BOB",
      "EVB3SL7RBFKRCR3K3SBWTW3N3SJTMZNBDF4N3IKAJ3QQM3FJKWOSV3D4SE": "CAROL",
    ]
    return transaction.summary.map { line in
      let value = names.reduce(line.value.description) { text, name in
        let address = AlgorandAddress(text: Array(name.key.utf8))?.grouped ?? name.key
        return text.split(separator: address, omittingEmptySubsequences: false).joined(separator: name.value)
      }
      return "\(line.isWarning ? "!" : " ") \(line.label): \(value)"
    }
  }

  private static let everyType = #"""
    # payment
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 1.000000 ALGO
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # payment of everything, with every header member
      Transaction: payment
      From: ALICE
      To: CAROL
      Amount: 0.000250 ALGO
      Fee: 0.001000 ALGO
    ! Close account: sends ALL that is left to BOB
    ! Rekey: gives control of the account to CAROL
      Note: "rent, € 5"
      Network: testnet-v1.0
      Valid: rounds 1 to 1001
      Lease: AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=

    # payment of the most there is, for the highest fee
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 18446744073709.551615 ALGO
    ! Fee: 18446744073709.551615 ALGO, unusually high
    ! Over the limit: valid for 9223372036854775807 rounds; the network accepts at most 1000
      Network: testnet-v1.0
      Valid: rounds 9223372036854775808 to 18446744073709551615

    # payment of nothing, without a fee and from round 0
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 0.000000 ALGO
      Fee: 0.000000 ALGO
    ! Over the limit: valid for 1001 rounds; the network accepts at most 1000
      Network: testnet-v1.0
      Valid: rounds 0 to 1001

    # payment to the zero address
      Transaction: payment
      From: ALICE
    ! To: the zero address, whose key nobody has
      Amount: 0.000001 ALGO
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # payment on a private network
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 1.000000 ALGO
      Fee: 0.001000 ALGO
    ! Network: genesis hash AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=, calls itself "dockernet-v1"
      Valid: rounds 1 to 1001

    # payment on the main network, without its name
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 1.000000 ALGO
      Fee: 0.001000 ALGO
      Network: mainnet-v1.0
      Valid: rounds 1 to 1001

    # payment with a note of 1024 bytes
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 1.000000 ALGO
      Fee: 0.001000 ALGO
      Note: 1024 bytes \#(String(repeating: "0", count: 2048))
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # payment with a note of 300 letters
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 1.000000 ALGO
      Fee: 0.001000 ALGO
      Note: "\#(String(repeating: "n", count: 300))"
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # payment with a hostile note
      Transaction: payment
      From: ALICE
      To: BOB
      Amount: 1.000000 ALGO
    ! Fee: 0.010001 ALGO, unusually high
      Note: "ok\"\u{A}Amount: 0.000001 ALGO\u{D}\u{202E}OGLA\u{200B}\\"
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset transfer
      Transaction: asset transfer
      From: ALICE
      Asset: 31566704
      To: BOB
      Amount: 4294967296 smallest units
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset opt-in
      Transaction: asset transfer
      From: ALICE
      Asset: 31566704
      To: ALICE
      Amount: 0 smallest units
      Fee: 0.001000 ALGO
      Opt-in: the account can hold the asset; its minimum balance is raised
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset close-out
      Transaction: asset transfer
      From: ALICE
      Asset: 31566704
      To: BOB
      Amount: 0 smallest units
      Fee: 0.001000 ALGO
    ! Close asset: sends ALL that is left of asset 31566704 to BOB
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset clawback
      Transaction: asset clawback
      From: ALICE
      Asset: 31566704
    ! Taken from: BOB
      To: CAROL
      Amount: 7 smallest units
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset creation
      Transaction: asset creation
      From: ALICE
      Fee: 0.001000 ALGO
    ! Creation: raises the account's minimum balance until the asset is destroyed
      Asset name: "A \u{202E}coin"
      Unit name: "COIN"
      Total: 1000000000000 smallest units
      Decimals: 6
      Holdings: frozen by default
      Manager: ALICE
      Reserve: BOB
      Freeze: CAROL
      Clawback: ALICE
      URL: "https://example.com/a"
      Metadata hash: AgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICE=
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # smallest asset creation
      Transaction: asset creation
      From: ALICE
      Fee: 0.001000 ALGO
    ! Creation: raises the account's minimum balance until the asset is destroyed
      Total: 1 smallest unit
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset reconfiguration
      Transaction: asset reconfiguration
      From: ALICE
      Asset: 99
      Fee: 0.001000 ALGO
      Manager: ALICE
      Reserve: BOB
      Freeze: CAROL
      Clawback: ALICE
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset reconfiguration that gives up two roles
      Transaction: asset reconfiguration
      From: ALICE
      Asset: 99
      Fee: 0.001000 ALGO
    ! Freeze: nobody, permanently
    ! Clawback: nobody, permanently
      Manager: ALICE
      Reserve: BOB
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset destruction
      Transaction: asset destruction
      From: ALICE
      Asset: 99
      Fee: 0.001000 ALGO
    ! Destruction: the asset is destroyed permanently
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset freeze
      Transaction: asset freeze
      From: ALICE
      Asset: 99
      Freezes: BOB
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # asset unfreeze
      Transaction: asset unfreeze
      From: ALICE
      Asset: 99
      Unfreezes: BOB
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application call
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: NoOp
      Fee: 0.001000 ALGO
      Argument 1: 4 bytes 3b0a8c11
      Argument 2: 0 bytes
      Argument 3: 40 bytes 00000000000000000000000000000000000000000000000000000000000000000000000000000000
      Accounts: 2: BOB, AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA Y5HFKQ
      Applications: 2: 7, 0
      Assets: 1: 8
      Boxes: 3: "mine" of no. 2, 9 bytes 000000000000000000 of no. 1, "" of no. 2
      Rejected from: version 3
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application call with an access list
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: NoOp
      Fee: 0.001000 ALGO
      Argument 1: 2 bytes 676f
      Access: 11: account BOB, asset 8, application 7, holding of no. 1 in no. 2, asset 9, holding of the sender in no. 5, state of no. 1 in no. 3, account CAROL, state of no. 8 in this application, box "b" of no. 3, box "c" of this application
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application call with room for boxes
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: NoOp
      Fee: 0.001000 ALGO
      Access: 2: none, none
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application call with every list as long as it may be
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: NoOp
      Fee: 0.001000 ALGO
    ! Over the limit: 32 arguments; the network accepts at most 16
    ! Over the limit: 128 references; the network accepts at most 8
    \#((1...32).map { "  Argument \($0): 0 bytes" }.joined(separator: "\n"))
      Accounts: 32: BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB, BOB
      Applications: 32: 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7
      Assets: 32: 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8
      Boxes: 32: "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1, "" of no. 1
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application opt-in
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: OptIn
      Fee: 0.001000 ALGO
      Opt-in: the application keeps data for the account; its minimum balance is raised
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application close-out
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: CloseOut
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application clear state
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: ClearState
      Fee: 0.001000 ALGO
    ! Clear state: the application's data for the account are lost
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application update
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: UpdateApplication
      Fee: 0.001000 ALGO
    ! Update: the application's programs are replaced
      Approval program: 3 bytes, hash IOXND5F5PZVNTUAOVFE6GHFDRN26DKKSVSRSSGXC75X5NGYALTH5XWGIZE
      Clear state program: 4 bytes, hash RQVU74KV6DLORKPZ3AJPR3BYRVOOIWB4LEKPHWPGEFUL66HCM3IRGNP664
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application deletion
      Transaction: application call
      From: ALICE
      Application: 1002
      On completion: DeleteApplication
      Fee: 0.001000 ALGO
    ! Deletion: the application is deleted permanently
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # application creation
      Transaction: application creation
      From: ALICE
      On completion: OptIn
      Fee: 0.001000 ALGO
    ! Creation: raises the account's minimum balance until the application is deleted
      Opt-in: the application keeps data for the account; its minimum balance is raised
      Global state: 1 integer, 2 byte strings
      Local state: 0 integers, 16 byte strings
      Approval program: 3000 bytes, hash I2ZJMUFGBF7P4OVYTAEHAL475Z52BMDGGXQXH5BU4NIBBZXRXSS6YWMUP4
      Clear state program: 4 bytes, hash RQVU74KV6DLORKPZ3AJPR3BYRVOOIWB4LEKPHWPGEFUL66HCM3IRGNP664
      Extra pages: 1
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # key registration, online
      Transaction: key registration, online
      From: ALICE
    ! Fee: 2.000000 ALGO, unusually high
    ! Participation: anyone who has these keys votes with the account's stake
      Vote key: AwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISI=
      Selection key: BAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiM=
      State proof key: BQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDRA==
      Takes part: rounds 1 to 3000000, key dilution 1732
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # key registration, offline
      Transaction: key registration, offline
      From: ALICE
      Fee: 0.001000 ALGO
      Network: testnet-v1.0
      Valid: rounds 1 to 1001

    # key registration, nonparticipating
      Transaction: key registration, nonparticipating
      From: ALICE
      Fee: 0.001000 ALGO
    ! Participation: the account can never take part again
      Network: testnet-v1.0
      Valid: rounds 1 to 1001
    """#
}

extension SummaryLine {
  /// The English line, with "! " before a warning.
  var text: String { "\(isWarning ? "! " : "")\(label): \(value)" }
}
