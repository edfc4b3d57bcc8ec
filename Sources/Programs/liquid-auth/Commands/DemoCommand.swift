import ArgumentParser
import ControlProtocol
import ProcessIO
import Synchronization

/// `liquid-auth demo`.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show a registration and a sign-in: in one process, in your browser, or with your wallet.",
    discussion: """
      Runs the authenticator in this process, for a site of its own, with a temporary phrase that it does not show. The \
      demo answers the prompts itself, and prints that it does. It verifies every signature, flag and hash; the exit \
      status is 0 only if all checks succeed. It reads and writes no file.

      With --browser, it serves a site for your own browser instead, at http://localhost on this machine, and opens \
      its page. You register and sign in with your running key; the page and the terminal show each check. It needs no \
      Internet. The demo ends with "Done" in the page, with Ctrl-C, or after 15 minutes without a request. The exit \
      status is 0 if all checks succeed, and there was at least one registration and one sign-in; otherwise it is 1. \
      With --json, it writes one line for each event.

      With --dapp, the page is a dApp with a liquid:// link for your wallet, and the site is a Liquid Auth service. The \
      wallet signs in, and signs one transaction of the test network, which is not sent. The exit status is 0 if all \
      checks succeed, and there was at least one signature.
      """)

  @Flag(help: "Serve a page for your own browser and key.")
  var browser = false

  @Flag(help: "Serve a dApp with a liquid:// link for your own wallet.")
  var dapp = false

  @Option(
    help: ArgumentHelp("The port of the page. (default: a free one)", valueName: "number"),
    transform: wholeNumber(1...65535))
  var port: Int?

  @Flag(help: "Do not open a browser; only print the page's address.")
  var noOpen = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !(browser && dapp) else { throw ValidationError("give --browser or --dapp, not both") }
    guard browser || dapp || port == nil && !noOpen else {
      throw ValidationError("--port and --no-open need --browser or --dapp")
    }
  }

  func run() async throws {
    if browser || dapp {
      if browser, let obstacle = try Self.obstacle(at: PlaceOptions.parse([])) {
        StandardStream.error.write("liquid-auth: \(obstacle.printable)")
      }
      let demo = BrowserDemo(port: port ?? 0, opensBrowser: !noOpen, isJSON: output.json)
      let holds = try dapp ? demo.runDApp().holds : demo.run().holds
      guard holds else { throw ExitCode(1) }
      return
    }
    let transcript = Transcript(isQuiet: output.json)
    let holds: Bool
    do {
      holds = try await Demonstration { transcript.add($0) }.run()
    } catch {
      throw CommandFailure("the demo stopped early: \(error)")
    }
    if output.json { writeResult(transcript.json(holds: holds).description, isJSON: true) }
    guard holds else { throw CommandFailure("a check of the demo failed") }
    if !output.json { writeResult("\nall \(transcript.checkCount) checks succeeded", isJSON: false) }
  }
}

extension DemoCommand {
  /// Why browsers cannot use an authenticator in this place, lower case, no full stop; `nil` if they can.
  static func obstacle(at place: PlaceOptions) -> String? {
    do throws(CommandFailure) {
      let status = try place.connect().ask(GetStatus())
      let (vault, device) = (status.vault.condition, status.device)
      if vault == .missing { return "the authenticator has no vault; make one with: liquid-auth setup" }
      if let other = device.otherTransport { return "the authenticator uses \(other), which browsers do not see" }
      return device.attached ? nil : "the device is detached, so browsers do not see it; run: liquid-auth status"
    } catch {
      return error.description
    }
  }
}
