import ArgumentParser
import ControlClient
import Glibc

/// `liquid-auth connect`: what liquid-auth-wallet does, which is another program because it alone has a network.
struct ConnectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "connect",
    abstract: "Open a dApp's liquid:// link: sign in, and sign what the dApp asks for.",
    helpNames: [])

  @Argument(parsing: .captureForPassthrough, help: "The link and options; --help tells of them.")
  var arguments: [String] = []

  func run() throws { throw WalletProgram.run(["connect"] + arguments) }
}

/// The program with the network, which lies beside this one where it is installed.
enum WalletProgram {
  private static let name = "liquid-auth-wallet"

  /// Puts it in the place of this process; returns only the failure to do so.
  static func run(_ arguments: [String]) -> CommandFailure {
    guard let path = OwnDirectory.path(of: name), access(path, X_OK) == 0 else {
      return CommandFailure(
        "\(name) is not installed beside this program; build and install it with: scripts/run --wallet")
    }
    let words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    execv(path, words)
    return CommandFailure("cannot start \(path): \(String(cString: strerror(errno)))")
  }
}
