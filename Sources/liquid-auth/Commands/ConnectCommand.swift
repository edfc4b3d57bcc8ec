import ArgumentParser
import ControlClient
import Glibc
import ProcessIO

/// `liquid-auth connect`: what liquid-auth-wallet does, which is another program because it alone has a network.
struct ConnectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "connect",
    abstract: "Open a dApp's liquid:// link: sign in, and answer the dApp's requests.",
    helpNames: [])

  @Argument(parsing: .captureForPassthrough, help: "The link and options; see --help.")
  var arguments: [String] = []

  func run() throws { throw WalletProgram.run(["connect"] + arguments) }
}

/// The program with the network, which lies beside this one where it is installed.
enum WalletProgram {
  private static let name = "liquid-auth-wallet"
  /// The commands of this program that are its.
  private static let commands = [ConnectCommand.configuration.commandName, KeyriCommand.configuration.commandName]

  /// A command line in which `help connect …` is `connect … --help`, so that the program itself is asked, which has more to
  /// say of its commands than this one.
  static func withHelpAsked(_ arguments: [String]) -> [String] {
    guard arguments.count > 1, arguments[0] == "help", commands.contains(arguments[1]) else { return arguments }
    return arguments.dropFirst() + ["--help"]
  }

  /// Puts it in the place of this process, under this one's name, by which its help then calls it; returns only the
  /// failure to do so.
  static func run(_ arguments: [String]) -> CommandFailure {
    guard let path = OwnProgram.path(of: name), access(path, X_OK) == 0 else {
      return CommandFailure(
        "\(name) is not installed beside this program; build and install it with: scripts/run --wallet")
    }
    return CommandFailure("cannot start \(path): \(OwnProgram.takeOver(path, ["liquid-auth"] + arguments))")
  }
}

/// `liquid-auth keyri`: what liquid-auth-wallet does, as ``ConnectCommand``.
struct KeyriCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyri",
    abstract: "Sign in to services that use Keyri.",
    helpNames: [])

  @Argument(parsing: .captureForPassthrough, help: "The action and options; see --help.")
  var arguments: [String] = []

  func run() throws { throw WalletProgram.run(["keyri"] + arguments) }
}
