import ArgumentParser
import Glibc
import ProcessIO

/// `liquid-auth setup`: leads from nothing to the first sign-in, on a terminal.
struct SetupCommand: ParsableCommand, PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup",
    abstract: "Set up everything, step by step: phrase, passphrase, start, first sign-in.",
    discussion: """
      Makes the vault from a new phrase, an existing one or its shares, explains how the key verifies you, starts the \
      authenticator, and offers a sign-in in your own browser. It needs a terminal. It skips a step that is already done, so you can end \
      the command with Ctrl-C and run it again later.
      """)

  @Flag(help: "Wait for Enter at the end, so that a terminal window stays open.")
  var hold = false

  @OptionGroup var place: PlaceOptions

  func run() throws {
    guard isatty(STDIN_FILENO) == 1, let terminal = try? TerminalDevice() else {
      throw CommandFailure(
        "standard input is not a terminal", hint: "run setup in a terminal, or in a script use:",
        run: ["liquid-auth", "init", "--import"], code: .usage)
    }
    do throws(CommandFailure) {
      try Setup(terminal: terminal, place: place).run()
      if hold { Self.waitForEnter(on: terminal) }
    } catch {
      let failure =
        error == .cancelled
        ? CommandFailure("cancelled", hint: "to continue later, run:", run: ["liquid-auth", "setup"]) : error
      guard hold else { throw failure }
      StandardStream.error.write(failure.completed(by: place).text)
      Self.waitForEnter(on: terminal)
      throw ExitCode(failure.code.rawValue)
    }
  }

  private static func waitForEnter(on terminal: TerminalDevice) {
    // Any input, and Ctrl-C too, closes the window.
    _ = try? terminal.askLine("\nPress Enter to close this window. ")
  }
}
