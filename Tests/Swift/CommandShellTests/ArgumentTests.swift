import ArgumentParser
import ControlProtocol
import Testing

@testable import liquid_auth

@Suite struct ArgumentTests {
  static let refused: [[String]] = [
    ["bogus"],
    ["init", "--words", "13"],
    ["rotate", "begin", "--words", "twelve"],
    ["init", "--import", "--words", "24"],
    ["init", "--import", "--shares", "2-of-3"],
    ["init", "--shares"],
    ["init", "--shares", "1-of-3"],
    ["init", "--words", "12", "--import"],
    ["policy", "list"],
    ["policy", "show"],
    ["policy", "*.example.com", "deny"],
    ["policy", "*", "allow"],
    ["policy", ".example.com", "always-verify"],
    ["policy", "--appid", "https://*.example.com/id.json", "deny"],
    ["policy", "--appid", "https://.example.com/", "deny"],
    ["policy", "--appid", "http://evil.example/", "deny"],
    ["policy", "--appid", "evil.example", "deny"],
    ["policy", "--appid", "https://evil.example/b\u{FC}cher", "deny"],
    ["policy", "--appid", "https://evil.example/", "evil.example", "deny"],
    ["policy", "--appid", "https://evil.example/", "evil.example"],
    ["policy", "--appid", "https://evil.example/", "--default", "deny"],
    ["policy", "evil.example", "--default", "deny"],
    ["policy", "https://evil.example"],
    ["policy", "ssh:" + String(repeating: "a", count: 250), "deny"],
    ["init", "--credential-ids", "short"],
    ["derive"],
    ["derive", "--rp", "a"],
    ["derive", "--rp", "a", "--user-handle", "b", "--user-handle-hex", "62"],
    ["derive", "--rp", "a", "--user-handle-hex", "6"],
    ["derive", "--rp", "a", "--user-handle-hex", "6g"],
    ["derive", "--rp", "a", "--user-handle", "b", "--counter", "-1"],
    ["derive", "--rp", "a", "--user-handle", "b", "--counter", "4294967296"],
    ["credentials", "show", "zz"],
    ["credentials", "remove", "012"],
    ["blobs", "get", "０１２３"],
    ["status", "--control", ""],
    ["status", "--control", String(repeating: "c", count: 108)],
    ["status", "--state-dir", ""],
    ["recover"],
    ["recover", "--new-store", "--accept-before-reset"],
    ["recover", "--new-store", "--shares"],
    ["recover", "--new-store", "--credential-ids", "hash"],
    ["recover", "--rp", "a"],
    ["recover", "--rp", "", "--user-handle", "b"],
    ["recover", "--rp", "a", "--user-handle", ""],
    ["recover", "--rp", "a", "--user-handle", String(repeating: "b", count: 65)],
    ["recover", "--rp", "a", "--user-handle", "b", "--alg", "RS256"],
    ["recover", "--rp", "a", "--user-handle", "b", "--cred-protect", "4"],
    ["credentials", "show"],
    ["credentials", "rename", "0123"],
    ["credentials", "rename", "0123", "--name", String(repeating: "n", count: 256)],
    ["device", "explode"],
    ["pin", "set", "1234"],
    ["blobs", "get"],
    ["blobs", "set", "0123"],
    ["blobs", "delete"],
    ["blobs", "delete", "0123", "--unopened"],
    ["blobs", "delete", "0123", "--yes"],
    ["blobs", "import"],
    ["setup", "everything"],
    ["setup", "--json"],
    ["demo", "--port", "8080"],
    ["demo", "--no-open"],
    ["demo", "--browser", "--dapp"],
    ["demo", "--dapp", "--port", "0"],
    ["demo", "--browser", "--port", "0"],
    ["demo", "--browser", "--port", "65536"],
    ["config", "always-uv"],
    ["config", "always-uv", "maybe"],
    ["config", "min-pin-length"],
    ["config", "min-pin-length", "3"],
    ["config", "min-pin-length", "64"],
    ["config", "min-pin-length", "6", "--rp", "https://a.example/"],
    ["config", "min-pin-length", "6", "--rp", "a.example", "--no-rp"],
  ]

  // Holds: INPUT-11
  @Test(arguments: refused)
  func `a wrong command line ends with 64 and shows the usage`(_ arguments: [String]) {
    do {
      _ = try LiquidAuthCommand.parseAsRoot(arguments)
      Issue.record("it is accepted")
    } catch {
      #expect(LiquidAuthCommand.exitCode(for: error).rawValue == 64)
      let lines = LiquidAuthCommand.mistake(error, in: arguments).text.split(separator: "\n")
      #expect(lines.first?.wholeMatch(of: #/liquid-auth: [^A-Z].*/#) != nil)
      #expect(lines.dropFirst().first?.hasPrefix("Usage: liquid-auth ") == true)
    }
  }

  static let told: [([String], String)] = [
    (
      ["credentials", "show", "zz"],
      "the value 'zz' is invalid for '<id>': it is not hexadecimal; see: liquid-auth credentials list"
    ),
    (
      ["blobs", "delete", "012"],
      "the value '012' is invalid for '<id>': give at least 4 digits of the id; see: liquid-auth credentials list"
    ),
    (["lock", "--control", ""], "--control takes a path of 1 to 107 bytes"),
    (
      ["init", "--words", "abc"],
      "the value 'abc' is invalid for '--words <count>': a phrase has 12, 15, 18, 21 or 24 words"
    ),
    (
      ["rotate", "begin", "--words", "13"],
      "the value '13' is invalid for '--words <number>': a phrase has 12, 15, 18, 21 or 24 words"
    ),
    (
      ["vault", "add"],
      "missing expected argument '<type>': what unlocks the vault: tpm, fido2, secret-service or systemd-creds"
    ),
    (["config", "always-uv"], "missing expected argument '<value>': on or off"),
    (
      ["config", "verification"],
      "missing expected argument '<way> ...': fingerprint, pam and passphrase, each at most once"
    ),
    (["credentials", "show"], "missing expected argument '<id>': the first digits of its id, 4 or more"),
    (["import"], "missing expected argument '<file>': the file of the other password manager"),
    (
      ["derive"],
      "missing expected argument '--rp <id>': the site's relying party id, such as example.com, not its address"
    ),
    (["lock", "--state-dir", ""], "--state-dir takes the path of a directory"),
    (
      ["recover", "--rp", "a", "--user-handle", "b", "--counter", "-1"],
      "the value '-1' is invalid for '--counter <number>': give a whole number, 0 to 4294967295"
    ),
    (
      ["recover", "--rp", "a", "--user-handle", "b", "--cred-protect=4"],
      "the value '4' is invalid for '--cred-protect <number>': give a whole number, 1 to 3"
    ),
    (
      ["derive", "--rp", "a", "--user-handle", "b", "--counter", "4294967296"],
      "the value '4294967296' is invalid for '--counter <number>': give a whole number, 0 to 4294967295"
    ),
    (
      ["config", "min-pin-length", "64"],
      "the value '64' is invalid for '<length>': give a whole number, 4 to 63"
    ),
    (
      ["policy", "a b", "deny"],
      "the value 'a b' is invalid for '<site>': a relying party id has no spaces or control characters; give one such as "
        + "example.com or ssh:"
    ),
    (
      ["policy", "example.com:443", "deny"],
      "the value 'example.com:443' is invalid for '<site>': this is an address, not a relying party id; give example.com"
    ),
    (
      ["policy", "https://evil.example/", "deny"],
      "the value 'https://evil.example/' is invalid for '<site>': this is an address, not a relying party id; give "
        + "evil.example, or for U2F: --appid https://evil.example/"
    ),
    (
      ["recover", "--rp", "https://anna@a.example:8443/login?b", "--user-handle", "b"],
      "the value 'https://anna@a.example:8443/login?b' is invalid for '--rp <id>': this is an address, not a relying party "
        + "id; give a.example"
    ),
    (
      ["config", "min-pin-length", "6", "--rp", "[::1]:80"],
      "the value '[::1]:80' is invalid for '--rp <id>': this is an address, not a relying party id; give an id such as "
        + "example.com or ssh:"
    ),
    (["policy", "deny"], "SITE is missing; give it before deny: liquid-auth policy SITE deny"),
    (["policy", "default"], "SITE is missing; give it before default: liquid-auth policy SITE default"),
    (
      ["policy", "https://evil.example", "deny"],
      "the value 'https://evil.example' is invalid for '<site>': this is an address, not a relying party id; give "
        + "evil.example"
    ),
    (
      ["policy", "--appid", "https://evil.example", "allow"],
      "an AppID without a path has the policy of its domain; run: liquid-auth policy evil.example POLICY"
    ),
    (
      ["policy", "B\u{FC}cher.example", "deny"],
      "the value 'B\u{FC}cher.example' is invalid for '<site>': the id of a site is ASCII; encode other letters, as in "
        + "xn--bcher-kva.example"
    ),
    (["log", "--site", ""], "--site takes a site as the list shows it, such as github.com or https://dapp.example"),
    (
      ["--generate-completion-script", "tcsh"],
      "can't generate completion scripts for 'tcsh'; use --generate-completion-script=<shell> with one of: zsh bash fish"
    ),
  ]

  // Holds: INPUT-11
  @Test(arguments: told)
  func `the error for a wrong value names the right ones`(_ arguments: [String], _ sentence: String) throws {
    let error = try #require(throws: (any Error).self) { try LiquidAuthCommand.parseAsRoot(arguments) }
    #expect(LiquidAuthCommand.mistake(error, in: arguments).description == sentence)
  }

  @Test(arguments: [
    ("keyring", ProtectorChoice.secretService), ("security-key", .fido2), ("systemd", .systemdCreds), ("tpm", .tpm),
  ])
  func `vault add takes the names that the list uses`(_ name: String, _ type: ProtectorChoice) throws {
    let command = try #require(try LiquidAuthCommand.parseAsRoot(["vault", "add", name]) as? VaultCommand.Add)
    #expect(command.type == type)
  }

  // Holds: INPUT-11
  @Test(arguments: [
    (["credentials", "show", "--jsno"], "unknown option '--jsno'; did you mean '--json'?"),
    (["vault", "add", "--autounlock"], "unknown option '--autounlock'; did you mean '--auto-unlock'?"),
    (["recover", "--shres"], "unknown option '--shres'; did you mean '--shares'?"),
    (["recover", "--rp", "a", "--user-handel=b"], "unknown option '--user-handel'; did you mean '--user-handle'?"),
    (["--state-dir", "/s", "status"], "unknown option '--state-dir'; give it after the command"),
    (["pin", "--json", "status"], "unknown option '--json'; give it after the command"),
    (["--nonsense", "status"], "unknown option '--nonsense'"),
    (["--state-dir=/s", "status"], "unknown option '--state-dir'; give it after the command"),
    (["log", "--json", "--nonsense"], "unknown option '--nonsense'"),
    (["pin", "--nonsense"], "unknown option '--nonsense'"), (["log", "--nonsense"], "unknown option '--nonsense'"),
    (
      ["credentials", "show", "--", "--jsno"],
      "the value '--jsno' is invalid for '<id>': it is not hexadecimal; see: liquid-auth credentials list"
    ),
    (["init", "--shares", "--json"], "missing value for '--shares <t-of-n>'"),
    (["log", "verfiy"], "unknown command 'verfiy'; did you mean 'verify'?"),
    (["backup", "chek", "a.liquid"], "unknown command 'chek'; did you mean 'check'?"),
    (["backup", "chek"], "unknown command 'chek'; did you mean 'check'?"),
    (["accounts", "extra"], "unexpected argument 'extra'"),
    (["config", "always-uv", "maybe"], "the value 'maybe' is invalid for '<value>'; give one of 'on' and 'off'"),
    (["recover", "--shares=2"], "the option '--shares' does not take any value, but '2' was specified"),
  ])
  func `an unknown option is named before a missing argument`(_ arguments: [String], _ sentence: String) throws {
    let error = try #require(throws: (any Error).self) { try LiquidAuthCommand.parseAsRoot(arguments) }
    #expect(LiquidAuthCommand.mistake(error, in: arguments).description == sentence)
  }

  @Test(arguments: [
    (["policy", "Evil.Example", "deny"], "evil.example"), (["policy", "MyApp", "deny"], "MyApp"),
    (["policy", "SSH:Work", "deny"], "SSH:Work"), (["policy", "com.example.App:Key", "deny"], "com.example.App:Key"),
    (["policy", "--appid", "https://Evil.Example/Id.json", "deny"], "https://evil.example/Id.json"),
  ])
  func `the capitals of a domain are folded, and those of a program's id are kept`(
    _ arguments: [String], _ target: String
  ) throws {
    let command = try #require(try LiquidAuthCommand.parseAsRoot(arguments) as? PolicyCommand)
    #expect(command.target == target)
  }

  // Holds: INPUT-11
  @Test(arguments: [
    (["conect", "liquid://a.example"], "'conect'; did you mean 'connect'?"),
    (["help", "conect"], "'conect'; did you mean 'connect'?"), (["Init"], "'Init'; did you mean 'init'?"),
    (["stauts"], "'stauts'; did you mean 'status'?"), (["lgo"], "'lgo'; did you mean 'log'?"),
    (["credential", "list"], "'credential'; did you mean 'credentials'?"),
    // Other words, also names of commands in several groups; and of one in a group.
    (["ping"], "'ping'"), (["list"], "'list'"), (["remove", "0123"], "'remove'"), (["Remove"], "'Remove'"),
    (["rename", "0123"], "'rename'; did you mean 'credentials rename'?"),
    (["verify"], "'verify'; did you mean 'log verify'?"),
    (["rekey", "testnet-v1.0"], "'rekey'; did you mean 'liquid-auth-wallet rekey'?"),
    (["version"], "'version'; did you mean '--version'?"),
    (["passkeys"], "'passkeys'; did you mean 'credentials'?"),
    (["Passkey", "list"], "'Passkey'; did you mean 'credentials'?"),
    (["extra"], "'extra'"), (["\u{1B}[2J"], "'\\u{1B}[2J'"), (["", "--json"], "''"),
  ])
  func `an unknown command is named in the error, also after help`(_ arguments: [String], _ name: String) throws {
    let failure = try #require(LiquidAuthCommand.unknownCommand(in: arguments))
    #expect(failure.code == .usage)
    let text = "liquid-auth: unknown command \(name)\nUsage: liquid-auth <subcommand>\n  See 'liquid-auth --help'"
    #expect(failure.text.hasPrefix(text))
  }

  // Holds: INPUT-11
  @Test(arguments: [["vault", "passwd"], ["help", "vault", "passwd"], ["vault", "passwd", "--json"]])
  func `an unknown command of a group is named with the group`(_ arguments: [String]) throws {
    let failure = try #require(LiquidAuthCommand.unknownCommand(in: arguments))
    #expect(failure.code == .usage)
    #expect(
      failure.text == """
        liquid-auth: unknown command 'passwd'
        Usage: liquid-auth vault <subcommand>
          See 'liquid-auth vault --help' for more information.
        """)
  }

  // Holds: INPUT-11
  @Test(arguments: [
    (["credentials", "lsit"], "'lsit'; did you mean 'list'?"), (["vault", "show"], "'show'"),
    (["vault", "lock"], "'lock'; did you mean 'liquid-auth lock'?"),
    (["credentials", "delete"], "'delete'; did you mean 'blobs delete'?"),
  ])
  func `an unknown command of a group names the one that was meant`(_ arguments: [String], _ name: String) throws {
    let failure = try #require(LiquidAuthCommand.unknownCommand(in: arguments))
    #expect(failure.description == "unknown command \(name)")
  }

  @Test(arguments: [
    [], ["--help"], ["help"], ["help", "connect"], ["help", "keyri", "qr"], ["init", "conect"], ["---completion"],
    ["vault", "list"], ["vault", "list", "extra"], ["accounts", "conect"],
    ["--json", "conect"],
  ])
  func `other command lines are left to the parser`(_ arguments: [String]) {
    #expect(LiquidAuthCommand.unknownCommand(in: arguments) == nil)
  }

  // Holds: INPUT-11
  @Test func `control characters in an error are escaped`() throws {
    let arguments = ["lock", "--\u{1B}[2J"]
    let error = try #require(throws: (any Error).self) { try LiquidAuthCommand.parseAsRoot(arguments) }
    let text = LiquidAuthCommand.mistake(error, in: arguments).text
    #expect(text.hasPrefix("liquid-auth: unknown option '--\\u{1B}[2J'\nUsage: liquid-auth lock "))
    #expect(!text.contains("\u{1B}"))
  }

  // Holds: INPUT-11
  @Test func `the usage of recover has each of its forms`() {
    let help = RecoverCommand.helpMessage(columns: 80)
    for form in [
      "--shares [--credential-ids FORM]", "--rp ID --user-handle TEXT [OPTION...]", "--accept-before-reset",
      "--new-store", "--accept-store",
    ] {
      #expect(help.contains(" liquid-auth recover \(form)\n"))
    }
  }

  @Test func `the help fits a terminal of 80 columns`() {
    let text = LiquidAuthCommand.helpMessage(columns: 80)
    #expect(
      text.contains(
        "\n  64  the command line is wrong: a command name, an option or an argument;\n      or input that it needs is missing\n"
      ))
  }

  @Test func `the shell completes directories and files`() {
    let script = LiquidAuthCommand.completionScript(for: .fish)
    for (option, completes) in [("state-dir", "complete_directories"), ("control", "-rF")] {
      let lines = script.split(separator: "\n").filter { $0.contains("-l '\(option)'") }
      #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(completes) }, "\(lines.first ?? "")")
    }
  }

  /// fish counts only the arguments that have completions: one before them without any would shift their places.
  @Test func `the shell completes each argument at its place`() {
    let lines = LiquidAuthCommand.completionScript(for: .fish).split(separator: "\n")
    for (place, completes) in [
      (#""liquid-auth policy" -eq 2'"#, "-fka 'allow always-verify deny default'"),
      (#""liquid-auth blobs get" -eq 2'"#, "-F"), (#""liquid-auth blobs set" -eq 2'"#, "-F"),
      (#""liquid-auth blobs export" -eq 1'"#, "-F"),
    ] {
      #expect(lines.contains { $0.hasSuffix("\(place) \(completes)") }, "\(place)")
    }
  }

  // Holds: INPUT-13
  @Test func `a failure is one line of JSON`() throws {
    #expect(
      CommandFailure("it is not \"there\"\nat all", code: .absent).json.line
        == #"{"error": "it is not \"there\"\nat all", "exitCode": 4}"#)
  }

  @Test func `a suggested command names the same state directory and socket`() {
    let failure = CommandFailure(
      "it is not running", hint: "start it with:", run: ["liquid-authenticator"], code: .notRunning)
    #expect(failure.completed(by: nil) == failure)
    var place = PlaceOptions()
    (place.stateDir, place.control) = ("/s", "/c d")
    #expect(failure.completed(by: place).text.hasSuffix(" with: liquid-authenticator --state-dir /s --control '/c d'"))
    #expect(failure.completed(by: place).code == .notRunning)
    let onlyWords = CommandFailure(failure.description)
    #expect(onlyWords.completed(by: place) == onlyWords)
  }

  @Test func `a failure of the authenticator keeps its hint and its command`() {
    let problem = Problem("there is no vault", hint: "make one", with: ["liquid-auth", "setup"], kind: .vault)
    let failure = CommandFailure(ControlFailure(.noVault, problem))
    #expect(failure == CommandFailure(problem, code: .notRunning))
    var place = PlaceOptions()
    (place.stateDir, place.control) = ("/s", nil)
    let completed = "there is no vault; make one with: liquid-auth setup --state-dir /s"
    #expect(failure.completed(by: place) == CommandFailure(completed, code: .notRunning))
    let mismatch = CommandFailure(ControlFailure(.versionMismatch, "it is older"))
    #expect(mismatch.isVersionMismatch && mismatch.completed(by: place) == mismatch)
    #expect(CommandFailure(ControlFailure(.other, "")).description == "the authenticator answered with status 0x7f")
    #expect(
      CommandFailure(ControlFailure(.invalidCommand, Problem("a", hint: "b"))).description
        == "a; b; the authenticator is older than this command: restart it")
  }

  static let taken: [[String]] = [
    ["init"],
    ["init", "--import", "--credential-ids", "hash", "--state-dir", "/s"],
    ["init", "--words", "12"],
    ["init", "--words", "12", "--shares", "2-of-3"],
    ["status", "--json", "--control", "/c"],
    ["credentials", "list", "--json"],
    ["credentials", "show", "0123"], ["credentials", "show", "0123", "--imported"],
    ["credentials", "rename", "0123", "--display-name", ""],
    ["credentials", "remove", "0123"], ["credentials", "remove", "--no-imported", "0123", "--yes"],
    ["credentials", "remove", "0123", "--with-blob"],
    ["derive", "--rp", "a", "--user-handle", "", "--counter", "4294967295"],
    ["derive", "--rp", "a", "--user-handle-hex", "00fF", "--json"],
    ["recover", "--new-store"],
    ["recover", "--shares", "--credential-ids", "hash"],
    ["recover", "--accept-before-reset"],
    ["recover", "--rp", "pam://Host-001", "--user-handle", "b"],
    ["recover", "--rp", "a", "--user-handle-hex", "ff", "--counter", "1", "--alg", "EdDSA", "--cred-protect", "3"],
    ["lock"],
    ["log", "--site", "ssh:"],
    ["log", "--all", "--utc"],
    ["log", "list", "--site", "https://dapp.example:8443"],
    ["log", "--site", "dapp.example:8443"],
    ["log", "--site", "http://localhost:3000"],
    ["log", "--site", "BÜCHER.example"],
    ["log", "--site", "https://evil.example/login"],
    ["policy", "deny", "deny"],
    ["policy", "list", "deny"],
    ["policy", "intranet", "deny"],
    ["policy", "localhost", "always-verify"],
    ["policy", "pam://Host-001", "allow"],
    ["policy", "ssh:Work", "always-verify"],
    ["policy", "pam://Host-001"],
    ["policy", "*.example.com"],
    ["policy", "*.example.com", "default"],
    ["policy", "--appid", "https://evil.example"],
    ["policy", "--appid", "https://evil.example", "default"],
    ["policy", "--appid", "https://evil.example/"],
    ["policy", "--appid", "https://evil.example/", "deny"],
    ["policy", "always-verify", "--appid", "https://evil.example/Id.json"],
    ["unlock"],
    ["device", "attach"],
    ["device", "detach"],
    ["device", "replug"],
    ["device", "replug", "--power-cycle"],
    ["device", "ask-again"],
    ["device", "ask-again", "--json", "--control", "/c"],
    ["pin", "status", "--json"],
    ["pin", "set"],
    ["pin", "change", "--control", "/c"],
    ["pin", "remove"],
    ["config", "show", "--sites", "--json"],
    ["config", "always-uv", "on"],
    ["config", "always-uv", "off", "--json"],
    ["config", "min-pin-length", "63", "--rp", "a.example", "--rp", "b.example"],
    ["config", "min-pin-length", "6", "--rp", "pam://Host-001"],
    ["config", "min-pin-length", "4", "--no-rp"],
    ["config", "force-pin-change"],
    ["config", "forget-readers", "--json"],
    ["config", "trezor", "on"],
    ["config", "trezor", "off", "--json"],
    ["accounts", "--network", "dockernet-v1", "--account", "1", "--count", "2", "--json"],
    ["blobs", "list", "--json"],
    ["blobs", "get", "0123"],
    ["blobs", "get", "0123", "file"],
    ["blobs", "set", "0123", "file"],
    ["blobs", "delete", "0123"],
    ["blobs", "delete", "--unopened", "--yes"],
    ["blobs", "export", "file"],
    ["blobs", "import", "file"],
  ]

  @Test(arguments: taken)
  func `every documented command line is accepted`(_ arguments: [String]) throws {
    _ = try LiquidAuthCommand.parseAsRoot(arguments)
  }

  @Test(arguments: [
    [], ["init"], ["status"], ["credentials"], ["credentials", "list"], ["credentials", "show"],
    ["credentials", "rename"], ["credentials", "remove"], ["recover"], ["derive"], ["unlock"], ["lock"], ["device"],
    ["pin"], ["pin", "status"], ["pin", "set"], ["pin", "change"], ["pin", "remove"], ["config"], ["config", "show"],
    ["config", "always-uv"], ["config", "min-pin-length"], ["config", "force-pin-change"],
    ["config", "forget-readers"], ["config", "trezor"], ["blobs"], ["blobs", "list"], ["blobs", "get"],
    ["blobs", "set"], ["blobs", "delete"], ["blobs", "export"], ["blobs", "import"],
  ])
  func `every command has help`(_ command: [String]) {
    do {
      var help = try LiquidAuthCommand.parseAsRoot(command + ["--help"])
      try help.run()
      Issue.record("no help")
    } catch {
      #expect(LiquidAuthCommand.exitCode(for: error) == .success)
      #expect(LiquidAuthCommand.fullMessage(for: error).hasPrefix("OVERVIEW: "))
    }
  }

  @Test(
    arguments: [
      (nil, nil, "/run/user/7/liquid-auth/control.sock"),
      (nil, "/c", "/c"),
      ("/s", nil, "/s/control.sock"),
      ("/s", "/c", "/c"),
    ] as [(String?, String?, String)])
  func `the control path follows the options and XDG_RUNTIME_DIR`(
    _ stateDirectory: String?, _ control: String?, _ path: String
  ) throws {
    var place = PlaceOptions()
    place.stateDir = stateDirectory
    place.control = control
    let variables = ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/p"]
    #expect(try place.controlPath { variables[$0] } == path)
  }
}
