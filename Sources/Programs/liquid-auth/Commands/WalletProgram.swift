import ArgumentParser
import ControlClient
import Glibc
import Hybrid
import ProcessIO

/// `liquid-auth connect`: runs liquid-auth-wallet, a separate program because only it uses the Internet.
struct ConnectPassthrough: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "connect",
    abstract: "Open a dApp's liquid:// link: sign in, and answer the dApp's requests. Needs liquid-auth-wallet.",
    helpNames: [])

  @Argument(parsing: .captureForPassthrough, help: "The link and options; see --help.")
  var arguments: [String] = []

  func run() throws { throw WalletProgram.run(["connect"] + arguments) }
}

/// The program that uses the Internet; it is installed beside this one.
enum WalletProgram {
  private static let name = "liquid-auth-wallet"
  /// The commands of this program that the wallet program runs.
  private static let commands = [
    ConnectPassthrough.configuration.commandName, AnswerPassthrough.configuration.commandName,
    KeyriPassthrough.configuration.commandName,
  ]

  /// Turns `help connect …` into `connect … --help`, because the wallet program has the longer help.
  static func withHelpAsked(_ arguments: [String]) -> [String] {
    guard arguments.count > 1, arguments[0] == "help", commands.contains(arguments[1]) else { return arguments }
    return arguments.dropFirst() + ["--help"]
  }

  /// Replaces this process by the wallet program, under this program's name, which its help then shows; returns only on
  /// failure.
  static func run(_ arguments: [String]) -> CommandFailure {
    guard let path = OwnProgram.path(of: name), access(path, X_OK) == 0 else {
      return CommandFailure(
        "\(name) is not installed beside this program; install its package, or in a clone run: scripts/run --wallet")
    }
    return CommandFailure("cannot start \(path): \(OwnProgram.takeOver(path, ["liquid-auth"] + arguments))")
  }
}

/// `liquid-auth answer`: runs liquid-auth-wallet, as ``ConnectPassthrough`` does.
struct AnswerPassthrough: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "answer",
    abstract: "Answer the FIDO:/ code of a browser on another computer. Needs liquid-auth-wallet.",
    helpNames: [])

  /// The bytes that a pipe accepts at once: PIPE_BUF.
  private static let maximumSize = 4096

  @Argument(parsing: .captureForPassthrough, help: "The code and options; see --help.")
  var arguments: [String] = []

  /// The code is a secret, and others on this machine can read a command line: so it goes on through standard input.
  func run() throws {
    let (passed, code) = Self.split(arguments)
    if let code {
      let line = Array((code + "\n").utf8)
      // Writing to the empty pipe cannot block.
      guard line.count <= Self.maximumSize, let ends = try? Descriptor.pipe(), Descriptor.write(line, to: ends.write),
        dup2(ends.read, STDIN_FILENO) == STDIN_FILENO
      else { throw CommandFailure("cannot pass the code on; give -, and the code on standard input") }
    }
    throw WalletProgram.run(["answer"] + passed)
  }

  /// The arguments with `-` in place of the code, and the code; `nil` if there is none.
  static func split(_ arguments: [String]) -> (passed: [String], code: String?) {
    // White space around a link is ignored.
    let isCode = { (word: String) in
      word.drop(while: \.isWhitespace).lowercased().hasPrefix(FIDOURI.scheme.lowercased())
    }
    guard let place = arguments.firstIndex(where: isCode) else { return (arguments, nil) }
    var passed = arguments
    passed[place] = "-"
    return (passed, arguments[place])
  }
}

/// `liquid-auth keyri`: runs liquid-auth-wallet, as ``ConnectPassthrough`` does.
struct KeyriPassthrough: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyri",
    abstract: "Sign in to services that use Keyri. Needs liquid-auth-wallet.",
    helpNames: [])

  @Argument(parsing: .captureForPassthrough, help: "The action and options; see --help.")
  var arguments: [String] = []

  func run() throws { throw WalletProgram.run(["keyri"] + arguments) }
}
