import ArgumentParser

/// Where the key appears.
enum TransportChoice: ExpressibleByArgument, Equatable, Sendable {
  case uhid
  case unix(String)
  case pty

  init?(argument: String) {
    switch argument {
    case "uhid": self = .uhid
    case "pty": self = .pty
    case let socket where socket.hasPrefix("unix:") && socket.utf8.count > 5:
      self = .unix(String(socket.dropFirst(5)))
    default: return nil
    }
  }

  static var allValueStrings: [String] { ["uhid", "unix:PATH", "pty"] }

  /// As it was written on the command line.
  var defaultValueDescription: String {
    switch self {
    case .uhid: "uhid"
    case .unix(let path): "unix:" + path
    case .pty: "pty"
    }
  }
}

/// Built-in user verification.
enum VerificationChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
  case passphrase
  case none
}

/// Where the person is asked.
enum PromptChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
  case pinentry
  case terminal
}

/// The options of the daemon.
struct DaemonOptions: ParsableArguments {
  @Option(help: "Where the key appears.")
  var transport = TransportChoice.uhid

  @Option(help: "How a site's demand to verify you is met: by the vault's passphrase, or not at all.")
  var verification = VerificationChoice.passphrase

  @Option(help: "Where you are asked: in a window, or on this terminal.")
  var prompt = PromptChoice.pinentry

  @Option(help: ArgumentHelp("The program that shows the window.", valueName: "program"))
  var pinentry = "pinentry"

  @Option(
    help: ArgumentHelp(
      "Where vault and credentials are. Default: $XDG_STATE_HOME/liquid-auth or ~/.local/state/liquid-auth.",
      valueName: "dir"))
  var stateDir: String?

  @Option(
    help: ArgumentHelp(
      "The socket for liquid-auth. Default: $XDG_RUNTIME_DIR/liquid-auth/control.sock.", valueName: "path"))
  var control: String?
}
