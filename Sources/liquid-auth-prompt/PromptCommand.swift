import CTAPHID
import Glibc
import Messages
import ProcessIO

/// `liquid-auth-prompt`: asks by a notification, or with a program of the person's choice.
///
/// It speaks as pinentry does, so the daemon needs no second protocol, and lives as long as one dialog. The daemon's
/// helper starts it outside the sandbox: with a connection to the session bus, code in the daemon could start anything.
enum PromptCommand {
  static func start() -> Never {
    let means: any Means
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case nil: means = Notifications()
    case "--askpass" where arguments.count == 2: means = Askpass(program: arguments[1], catalogue: .ofPerson())
    case "--version" where arguments.count == 1:
      StandardStream.output.write("liquid-auth-prompt \(DeviceIdentity(capabilities: []).version)")
      exit(EXIT_SUCCESS)
    default:
      StandardStream.error.write(
        "liquid-auth-prompt: liquid-authenticator starts this program; use: liquid-authenticator --prompt, --askpass")
      exit(EX_USAGE)
    }
    signal(SIGPIPE, SIG_IGN)
    // The end of standard input ends the program, after it has closed its notification.
    signal(SIGTERM, SIG_IGN)
    do {
      try Hardening.apply()
    } catch {
      StandardStream.error.write("liquid-auth-prompt: cannot forbid core dumps: \(error)")
      exit(EXIT_FAILURE)
    }
    var server = PromptServer(means)
    server.serve()
    exit(EXIT_SUCCESS)
  }
}
