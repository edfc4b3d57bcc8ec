import ArgumentParser
import Testing

@testable import liquid_auth_wallet

struct OptionsTests {
  @Test(arguments: [
    [], ["liquid://a.example/?requestId=1", "--image", "code.png"], ["-", "--register", "--authenticate"],
    ["-", "--no-ice-servers", "--ice-server", "stun:a"], ["-", "--timeout", "0"], ["-", "--timeout", "3601"],
    ["-", "--ice-server", ""], ["-", "--ice-server", "stun:a", "--ice-server", "turns:b"],
    ["-", "--again", "a.example"], ["--again", "a.example", "--image", "code.png"],
    ["--again", "a.example", "--register"], ["--again", "a.example", "--authenticate"],
    ["--again", "a.example", "--remember"],
  ])
  func `contradictory, missing or invalid options are refused`(arguments: [String]) {
    #expect(throws: (any Error).self) { try ConnectCommand.parse(arguments) }
  }

  @Test func `all options are read`() throws {
    let command = try ConnectCommand.parse([
      "-", "--authenticate", "--json", "--once", "--yes", "--timeout", "9", "--control", "/c", "--config", "/w",
      "--ca-file", "/p", "--ice-server", "stun:a", "--ice-server", "turn:b",
    ])
    #expect(command.link == "-" && command.authenticate && command.options.json && command.once && command.yes)
    #expect(command.timeout == 9 && command.iceServer == ["stun:a", "turn:b"])
    #expect(command.options.control == "/c" && command.options.config == "/w" && command.options.caFile == "/p")
    #expect(command.again == nil && !command.remember && !command.showAll)
    let again = try ConnectCommand.parse(["--again", "a.example", "--show-all"])
    #expect(again.link == nil && again.again == "a.example" && again.showAll)
    #expect(try ConnectCommand.parse(["-", "--remember"]).remember)
  }

  @Test(arguments: [
    [], ["a", "b"], ["a", "--count", "0"], ["a", "--count", "33"], ["a", "--account", "2147483648"],
  ])
  func `the balance of no network, account or address is refused`(arguments: [String]) {
    #expect(throws: (any Error).self) { try BalancesCommand.parse(arguments) }
  }

  @Test func `the options of the balance are read`() throws {
    let command = try BalancesCommand.parse(["--account", "2", "--count", "32", "--json", "--", "testnet-v1.0"])
    #expect(command.network == "testnet-v1.0" && command.account == 2 && command.count == 32)
    #expect(command.options.json)
  }
}

struct LinksTests {
  @Test(arguments: [
    ("FIDO:/123", LinkKind.browser), ("fido:/123", .browser), ("liquid://fido:/", .dApp), ("LIQUID://a", .dApp),
    ("https://acme.onekey.to?sessionId=1", .keyri), ("https://acme.example?sessionId=1", nil), ("", nil),
  ])
  func `the kind of a link follows from its beginning`(text: String, kind: LinkKind?) {
    #expect(LinkKind(of: text) == kind)
  }

  // Holds: DAPPSERVER-3
  @Test(arguments: [
    (LinkKind.dApp, "this is a dApp's link; open it with: liquid-auth connect"),
    (
      .browser,
      "this is the FIDO:/ link of a browser; if it is on another computer, answer it with: liquid-auth answer"
    ), (.keyri, "this is the link of a Keyri login; open it with: liquid-auth keyri qr"),
  ])
  func `a link of another kind names its command`(kind: LinkKind, text: String) {
    #expect(kind.isAnother.description == text && kind.isAnother.code == .failed)
  }

  // Holds: DAPPSERVER-3
  @Test func `white space around a link is ignored`() async throws {
    #expect(try await LinkSource(link: " \tliquid://a \r\n", image: nil).read() == "liquid://a")
    let failure = WalletFailure("there is no link; copy the one that the page shows, and try again", code: .mistake)
    await #expect(throws: failure) {
      try await LinkSource(link: " ", image: nil).read()
    }
  }
}

struct MistakesTests {
  @Test func `an unknown option is escaped for the terminal`() throws {
    let arguments = ["connect", "-", "--\u{1B}[2J"]
    let error = try #require(throws: (any Error).self) { try LiquidAuthWalletCommand.parseAsRoot(arguments) }
    let text = LiquidAuthWalletCommand.mistake(error, in: arguments)
    #expect(text.hasPrefix("liquid-auth-wallet: unknown option '--\\u{1B}[2J'\nUsage: "))
    #expect(!text.contains("\u{1B}"))
  }
}

struct UsageTests {
  // Holds: INPUT-11
  @Test func `the usage has each way to name a link`() {
    #expect(
      ConnectCommand.helpMessage(columns: 80).contains(
        """
        USAGE: liquid-auth-wallet connect [OPTION...] LINK
               liquid-auth-wallet connect [OPTION...] --image FILE
               liquid-auth-wallet connect [OPTION...] --again SITE

        """))
    #expect(
      AnswerCommand.helpMessage(columns: 80).contains(
        """
        USAGE: liquid-auth-wallet answer [OPTION...] LINK
               liquid-auth-wallet answer [OPTION...] --image FILE

        """))
  }
}

struct WrongCommandLineTests {
  private static let noEmail = "this is not an email address; type it as the service knows it"

  // Holds: INPUT-11
  @Test(arguments: [
    (["conect", "liquid://a.example"], "unknown command 'conect'; did you mean 'connect'?"),
    (["keyri", "regster"], "unknown command 'regster'; did you mean 'register'?"),
    (["connect", "--timout", "3", "-"], "unknown option '--timout'; did you mean '--timeout'?"),
    (["rekey", "--acount", "x"], "unknown option '--acount'; did you mean '--account'?"),
    (
      ["connect", "-", "--timeout", "x"],
      "the value 'x' is invalid for '--timeout <seconds>': give a whole number, 1 to 3600"
    ),
    (["connect", "a", "b"], "unexpected argument 'b'"),
    (["keyri", "login"], "missing expected argument '<email>': your email address at the service"),
    (["rekey"], "missing expected argument '<network>': the network: mainnet-v1.0, testnet-v1.0 or betanet-v1.0"),
    (["keyri", "register", "anna"], "the value 'anna' is invalid for '<email>': \(Self.noEmail)"),
    (["keyri", "qr", "x", "--as", "anna"], "the value 'anna' is invalid for '--as <email>': \(Self.noEmail)"),
    (
      ["keyri", "qr", "x", "--confirm", "a.example"],
      "the value 'a.example' is invalid for '--confirm <origin>': it does not begin with https://"
    ),
    (
      ["connect", "-", "--ice-server", "nonsense anna s3cr3t"],
      "--ice-server takes stun:HOST or turn:HOST; it begins with neither stun: nor turn:"
    ),
    (
      ["connect", "-", "--ice-server", "stun:a b"],
      "--ice-server takes stun:HOST or turn:HOST; a STUN server takes only an address"
    ),
    (["rekey", "main"], "the network is one of mainnet-v1.0, testnet-v1.0, betanet-v1.0"),
    (["accounts", "main"], "the network is one of mainnet-v1.0, testnet-v1.0, betanet-v1.0"),
  ])
  func `the error says what is wrong, and what is right`(_ arguments: [String], _ sentence: String) throws {
    let error = try #require(throws: (any Error).self) { try LiquidAuthWalletCommand.parseAsRoot(arguments) }
    #expect(LiquidAuthWalletCommand.mistake(error, in: arguments).hasPrefix("liquid-auth-wallet: \(sentence)\nUsage: "))
  }
}

struct WebSocketPlaceTests {
  @Test(arguments: [
    ("wss://a.example/socket.io/?EIO=4", "a.example", 443, "/socket.io/?EIO=4", "a.example"),
    ("ws://127.0.0.1:8080/", "127.0.0.1", 8080, "/", "127.0.0.1:8080"),
    ("ws://[::1]:81", "::1", 81, "/", "[::1]:81"), ("wss://a.example?x", "a.example", 443, "/?x", "a.example"),
  ])
  func `an address is split`(url: String, host: String, port: Int, target: String, authority: String) throws {
    let place = try #require(WebSocketPlace(url))
    #expect(place.host == host && place.port == port && place.target == target && place.authority == authority)
    #expect(place.isSecure == url.hasPrefix("wss"))
  }

  @Test(arguments: ["https://a.example", "wss://", "wss://a.example:x", "wss://a.example:65536"])
  func `other addresses are refused`(url: String) { #expect(WebSocketPlace(url) == nil) }
}
