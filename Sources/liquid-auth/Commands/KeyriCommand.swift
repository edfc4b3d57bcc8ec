import ArgumentParser

/// `liquid-auth keyri`: what liquid-auth-wallet does, as ``ConnectCommand``.
struct KeyriCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyri",
    abstract: "Sign in to services that use Keyri.",
    helpNames: [])

  @Argument(parsing: .captureForPassthrough, help: "What to do, and options; --help tells of them.")
  var arguments: [String] = []

  func run() throws { throw WalletProgram.run(["keyri"] + arguments) }
}
