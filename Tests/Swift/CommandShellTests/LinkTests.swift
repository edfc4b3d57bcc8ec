import TestVectors
import Testing

@testable import liquid_auth

@Suite struct LinkTests {
  // Holds: INPUT-14
  @Test func `white space around a link is ignored`() throws {
    let link = try Vector("fido-uri").uris[0].uri.text
    let read = try LinkCommand.read(link)
    #expect(try LinkCommand.read(" \t\u{A0}\(link)\r\n") == read)
    #expect(throws: CommandFailure.self) { try LinkCommand.read("\(link.prefix(20)) \(link.dropFirst(20))") }
  }

  static let others: [(String, String)] = [
    (" liquid://dapp.example/?requestId=1", "this is a dApp's link; open it with: liquid-auth connect"),
    ("LIQUID://DAPP.EXAMPLE/?REQUESTID=1", "this is a dApp's link; open it with: liquid-auth connect"),
    (
      "https://acme.onekey.to?sessionId=1\n", "this is the link of a Keyri login; open it with: liquid-auth keyri qr"
    ),
    ("https://acme.example/?sessionId=1", "this is not a FIDO:/ link; copy the link from the browser's code"),
    ("FIDO:/1", "the FIDO:/ link is incomplete; scan the code again"),
  ]

  // The list of CTAP 2.3, with only a channel that a later version defines.
  @Test func `channels that this version does not know are called unknown`() throws {
    let link = try LinkCommand.read(
      "FIDO:/137889844732888716493967245858557956776322519370660272603755265175724942044927404329"
        + "0095888422481286484321571783608017900844351341902762001815242778877460179817130740634001921")
    let rows = FIDOLinkReport(link: link, now: 0).text.split(separator: "\n")
    #expect(rows.contains { $0.hasPrefix("channels ") && $0.hasSuffix(" unknown") })
  }

  @Test(arguments: ["", " ", "\t\u{A0}\r\n"]) func `blank text is no link`(_ text: String) {
    #expect(
      throws: CommandFailure("there is no link; give it as an argument, or on standard input", code: .usage)
    ) { try LinkCommand.read(text) }
  }

  // Holds: INPUT-14
  @Test(arguments: others)
  func `a link of another kind is named, with the command that opens it`(_ text: String, _ sentence: String) {
    #expect(throws: CommandFailure(sentence)) { try LinkCommand.read(text) }
  }

  @Test(
    arguments: [
      (["help", "connect"], ["connect", "--help"]),
      (["help", "keyri"], ["keyri", "--help"]),
      (["help", "keyri", "qr"], ["keyri", "qr", "--help"]),
      (["help"], ["help"]),
      (["help", "pin"], ["help", "pin"]),
      (["connect", "help"], ["connect", "help"]),
      ([], []),
    ])
  func `help before a wallet command becomes its --help option`(_ typed: [String], _ meant: [String]) {
    #expect(WalletProgram.withHelpAsked(typed) == meant)
  }
}

struct AnswerArgumentsTests {
  // Holds: HYBRID-9
  @Test(
    arguments: [
      (["FIDO:/123"], ["-"], "FIDO:/123"), (["--json", "--", "fido:/1"], ["--json", "--", "-"], "fido:/1"),
      (["--image", "code.png"], ["--image", "code.png"], nil), (["-"], ["-"], nil), ([], [], nil),
      (["liquid://a"], ["liquid://a"], nil), ([" FIDO:/1"], ["-"], " FIDO:/1"),
    ] as [([String], [String], String?)])
  func `the code does not stay among the arguments`(_ arguments: [String], _ passed: [String], _ code: String?) {
    let split = AnswerPassthrough.split(arguments)
    #expect(split.passed == passed && split.code == code)
  }
}
