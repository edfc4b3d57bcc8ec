import Prompts
import Testing

@testable import liquid_authenticator

struct DaemonOptionsTests {
  @Test func `the defaults are the kernel's device, --prompt auto and the vault's passphrase`() throws {
    let options = try DaemonOptions([])
    #expect(options.transport == .uhid)
    #expect(options.verification == .passphrase)
    #expect(options.prompt == .auto)
    #expect(options.pinentry == "pinentry" && options.askpass == nil)
    #expect(options.stateDir == nil)
    #expect(options.control == nil)
    #expect(options.besideHardwareKey == nil)
    #expect(options.maximumPasskeys == 10_000)
    #expect(!options.notifiesOfSuccess)
  }

  @Test(arguments: [("notify", true), ("nothing", false)])
  func `a notification of a success is a choice`(value: String, notifies: Bool) throws {
    #expect(try DaemonOptions(["--on-success", value]).notifiesOfSuccess == notifies)
  }

  @Test(arguments: [
    ("uhid", TransportChoice.uhid), ("pty", .pty), ("unix:/run/key.sock", .unix("/run/key.sock")),
    ("unix:a=b", .unix("a=b")),
  ])
  func `each transport is parsed from its name`(text: String, transport: TransportChoice) throws {
    #expect(try DaemonOptions(["--transport", text]).transport == transport)
    #expect(try DaemonOptions(["--transport=" + text]).transport == transport)
    #expect(transport.name == text)
  }

  @Test func `the paths that messages repeat become absolute`() throws {
    var options = try DaemonOptions(["--state-dir", "s", "--control", "c.sock", "--transport", "unix:k.sock"])
    options.resolvePaths { "/home/me/\($0)" }
    #expect(options.stateDir == "/home/me/s" && options.control == "/home/me/c.sock")
    #expect(options.transport == .unix("/home/me/k.sock"))
    options = try DaemonOptions(["--transport", "pty"])
    options.resolvePaths { "/home/me/\($0)" }
    #expect(try DaemonOptions(["--transport", "pty"]) == options)
  }

  @Test(arguments: [
    (
      ["--transport", "usb"],
      "the value 'usb' is invalid for '--transport'; the values are: broker, uhid, unix:PATH, pty"
    ),
    (
      ["--transport", "unix:"],
      "the value 'unix:' is invalid for '--transport'; the values are: broker, uhid, unix:PATH, pty"
    ),
    (["--transport"], "missing value for '--transport'"),
    (["--control="], "missing value for '--control'"),
    (["--state-dir", ""], "missing value for '--state-dir'"),
    (
      ["--verification", "always"],
      "the value 'always' is invalid for '--verification'; the values are: passphrase, none"
    ),
    (
      ["--beside-hardware-key", "leave"],
      "the value 'leave' is invalid for '--beside-hardware-key'; the values are: stay, step-aside"
    ),
    (["--sandbox", "of"], "the value 'of' is invalid for '--sandbox'; the values are: on, off"),
    (["--log-level", "all"], "the value 'all' is invalid for '--log-level'; the values are: info, debug"),
    (["--on-success", "beep"], "the value 'beep' is invalid for '--on-success'; the values are: nothing, notify"),
    (["--in-background", "hide"], "the value 'hide' is invalid for '--in-background'; the values are: detach, stay"),
    (
      ["--lock-on", "suspend,foo"],
      "the value 'suspend,foo' is invalid for '--lock-on'; the values are: never, or one or more of suspend, "
        + "screen-lock, switch, separated by commas"
    ),
    (
      ["--lock-after", "0"],
      "the value '0' is invalid for '--lock-after'; the values are: never, or a number of hours, 1 to 1000"
    ),
    (
      ["--beside-hardware-key", "stay", "--transport", "pty"],
      "the option --beside-hardware-key is for hidraw devices (--transport broker or uhid), not for 'pty'"
    ),
    (
      ["--max-passkeys", "0"],
      "the value '0' is invalid for '--max-passkeys'; the values are: a whole number, at least 1"
    ),
    (
      ["--max-passkeys", "many"],
      "the value 'many' is invalid for '--max-passkeys'; the values are: a whole number, at least 1"
    ),
    (
      ["--prompt", "none"],
      "the value 'none' is invalid for '--prompt'; the values are: auto, notifications, pinentry, askpass, terminal"
    ),
    (
      ["--prompt", "notification"],
      "the value 'notification' is invalid for '--prompt'; the values are: auto, notifications, pinentry, askpass, terminal"
    ),
    (["--prompt", "askpass"], "--prompt askpass needs --askpass PROGRAM"),
    (["--askpass", "a", "--prompt", "pinentry"], "--askpass cannot be used with --prompt pinentry"),
    (["--askpass", "a", "--prompt", "terminal"], "--askpass cannot be used with --prompt terminal"),
    (["--askpass", "a", "--pinentry", "p"], "--pinentry and --askpass cannot be used together"),
    (["--approve-everything"], "unknown option '--approve-everything'"),
    (["--presence-timeout", "1"], "unknown option '--presence-timeout'"),
    (["--transprt=pty"], "unknown option '--transprt'; did you mean '--transport'?"),
    (["extra"], "unexpected argument 'extra'"), ([""], "unexpected argument ''"), (["-x"], "unknown option '-x'"),
  ])
  func `an invalid option is refused with its reason`(arguments: [String], reason: String) {
    #expect(throws: DaemonOptions.Refusal.usage(reason)) { try DaemonOptions(arguments) }
  }

  @Test(arguments: [["--help"], ["-h"], ["--prompt", "terminal", "--help"]])
  func `--help counts at any position`(arguments: [String]) {
    #expect(throws: DaemonOptions.Refusal.help) { try DaemonOptions(arguments) }
  }

  @Test func `--version is recognized`() {
    #expect(throws: DaemonOptions.Refusal.version) { try DaemonOptions(["--version"]) }
  }

  @Test func `all options are parsed, and the last of a repeated option counts`() throws {
    let options = try DaemonOptions([
      "--verification", "none", "--prompt", "terminal", "--pinentry", "/bin/false", "--pinentry=/bin/true",
      "--state-dir", "/s", "--control", "/c", "--beside-hardware-key", "stay", "--beside-hardware-key=step-aside",
      "--max-passkeys", "1000000",
    ])
    #expect(options.verification == VerificationChoice.none)
    #expect(options.prompt == .terminal)
    #expect(options.pinentry == "/bin/true")
    #expect(options.stateDir == "/s")
    #expect(options.control == "/c")
    #expect(options.besideHardwareKey == .stepAside)
    #expect(options.maximumPasskeys == 1_000_000)
  }

  @Test(
    arguments: [
      ([], PromptChoice.auto, "pinentry", nil), (["--pinentry", "p"], .pinentry, "p", nil),
      (["--askpass", "a"], .askpass, "pinentry", "a"),
      (["--prompt=askpass", "--askpass", "a"], .askpass, "pinentry", "a"),
      (["--prompt", "auto", "--pinentry", "p"], .auto, "p", nil),
      (["--askpass", "a", "--prompt", "auto"], .auto, "pinentry", "a"),
      (["--pinentry", "p", "--prompt", "terminal"], .terminal, "p", nil),
      (["--prompt", "notifications", "--askpass", "a"], .notifications, "pinentry", "a"),
    ] as [([String], PromptChoice, String, String?)])
  func `a program that is named without --prompt shows all dialogs`(
    arguments: [String], prompt: PromptChoice, pinentry: String, askpass: String?
  ) throws {
    let options = try DaemonOptions(arguments)
    #expect((options.prompt, options.pinentry) == (prompt, pinentry) && options.askpass == askpass)
  }

  // Holds: PROMPT-19
  @Test(
    arguments: [
      ([], true), (["--verification", "none"], false),
      (["--verification", "none", "--on-success", "notify"], true),
    ] as [([String], Bool)])
  func `the lock of the screen is known where a success is told`(arguments: [String], isRead: Bool) throws {
    #expect(try DaemonOptions(arguments).readsScreenLock == isRead)
  }

  @Test func `help fits in 80 columns and mentions setsid`() {
    #expect(DaemonOptions.help.contains("(setsid)"))
    for line in DaemonOptions.help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
  }

  @Test func `help names every option`() {
    let names = [
      "--transport", "--verification", "--prompt", "--pinentry", "--state-dir", "--control", "--beside-hardware-key",
      "--max-passkeys", "--version", "--help",
    ]
    for name in names {
      #expect(DaemonOptions.help.contains("  \(name) ") || DaemonOptions.help.contains(", \(name) "))
    }
  }
}
