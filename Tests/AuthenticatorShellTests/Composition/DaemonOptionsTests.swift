import Testing

@testable import liquid_authenticator

struct DaemonOptionsTests {
  @Test func `without options it is the kernel's device, asked for in a window, verified by the passphrase`() throws {
    let options = try DaemonOptions([])
    #expect(options.transport == .uhid)
    #expect(options.verification == .passphrase)
    #expect(options.prompt == .pinentry)
    #expect(options.pinentry == "pinentry")
    #expect(options.stateDir == nil)
    #expect(options.control == nil)
    #expect(options.besideHardwareKey == nil)
  }

  @Test(arguments: [
    ("uhid", TransportChoice.uhid), ("pty", .pty), ("unix:/run/key.sock", .unix("/run/key.sock")),
    ("unix:a=b", .unix("a=b")),
  ])
  func `a transport is read as it is told`(text: String, transport: TransportChoice) throws {
    #expect(try DaemonOptions(["--transport", text]).transport == transport)
    #expect(try DaemonOptions(["--transport=" + text]).transport == transport)
    #expect(transport.name == text)
  }

  @Test(arguments: [
    (["--transport", "usb"], "the option --transport cannot be ‘usb’"),
    (["--transport", "unix:"], "the option --transport cannot be ‘unix:’"),
    (["--transport"], "the option --transport wants a value"),
    (["--control="], "the option --control wants a value"),
    (["--state-dir", ""], "the option --state-dir wants a value"),
    (["--verification", "always"], "the option --verification cannot be ‘always’"),
    (["--beside-hardware-key", "leave"], "the option --beside-hardware-key cannot be ‘leave’"),
    (
      ["--beside-hardware-key", "stay", "--transport", "pty"],
      "the option --beside-hardware-key is for --transport uhid, not for ‘pty’"
    ),
    (["--prompt", "none"], "the option --prompt cannot be ‘none’"),
    (["--approve-everything"], "there is no option ‘--approve-everything’"),
    (["--presence-timeout", "1"], "there is no option ‘--presence-timeout’"),
    (["extra"], "there is no argument ‘extra’"), ([""], "there is no argument ‘’"),
  ])
  func `what is no option is refused, and the reason told`(arguments: [String], reason: String) {
    #expect(throws: DaemonOptions.Refusal.usage(reason)) { try DaemonOptions(arguments) }
  }

  @Test(arguments: [["--help"], ["-h"], ["--prompt", "terminal", "--help"]])
  func `help is help wherever it stands`(arguments: [String]) {
    #expect(throws: DaemonOptions.Refusal.help) { try DaemonOptions(arguments) }
  }

  @Test func `all options are taken, and of two the last counts`() throws {
    let options = try DaemonOptions([
      "--verification", "none", "--prompt", "terminal", "--pinentry", "/bin/false", "--pinentry=/bin/true",
      "--state-dir", "/s", "--control", "/c", "--beside-hardware-key", "stay", "--beside-hardware-key=step-aside",
    ])
    #expect(options.verification == VerificationChoice.none)
    #expect(options.prompt == .terminal)
    #expect(options.pinentry == "/bin/true")
    #expect(options.stateDir == "/s")
    #expect(options.control == "/c")
    #expect(options.besideHardwareKey == .stepAside)
  }

  @Test func `help names every option`() {
    let names = [
      "--transport", "--verification", "--prompt", "--pinentry", "--state-dir", "--control", "--beside-hardware-key",
      "--help",
    ]
    for name in names {
      #expect(DaemonOptions.help.contains("  \(name) ") || DaemonOptions.help.contains(", \(name) "))
    }
  }
}
