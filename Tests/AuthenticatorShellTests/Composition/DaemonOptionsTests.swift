import ArgumentParser
import Testing

@testable import liquid_authenticator

struct DaemonOptionsTests {
  @Test func `without options it is the kernel's device, asked for in a window, verified by the passphrase`() throws {
    let options = try DaemonOptions.parse([])
    #expect(options.transport == .uhid)
    #expect(options.verification == .passphrase)
    #expect(options.prompt == .pinentry)
    #expect(options.pinentry == "pinentry")
    #expect(options.stateDir == nil)
    #expect(options.control == nil)
  }

  @Test(arguments: [
    ("uhid", TransportChoice.uhid), ("pty", .pty), ("unix:/run/key.sock", .unix("/run/key.sock")),
    ("unix:a", .unix("a")),
  ])
  func `a transport is read as it is told`(text: String, transport: TransportChoice) throws {
    #expect(try DaemonOptions.parse(["--transport", text]).transport == transport)
    #expect(transport.defaultValueDescription == text)
  }

  @Test(arguments: [
    ["--transport", "usb"], ["--transport", "unix:"], ["--transport"], ["--verification", "always"],
    ["--prompt", "none"], ["--approve-everything"], ["--presence-timeout", "1"], ["extra"],
  ])
  func `what is not an option is refused`(arguments: [String]) {
    #expect(throws: (any Error).self) { try DaemonOptions.parse(arguments) }
  }

  @Test func `all options are taken`() throws {
    let options = try DaemonOptions.parse([
      "--verification", "none", "--prompt", "terminal", "--pinentry", "/bin/true", "--state-dir", "/s", "--control",
      "/c",
    ])
    #expect(options.verification == VerificationChoice.none)
    #expect(options.prompt == .terminal)
    #expect(options.pinentry == "/bin/true")
    #expect(options.stateDir == "/s")
    #expect(options.control == "/c")
  }
}
