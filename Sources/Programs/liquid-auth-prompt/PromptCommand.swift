import CTAPHID
import CVersion
import Glibc
import Messages
import ProcessIO

/// `liquid-auth-prompt`: shows a dialog as a notification, or with a program that the user names.
///
/// It uses the protocol of pinentry, so the daemon needs no second one, and runs for one dialog. The daemon's helper
/// process starts it outside the sandbox: over a connection to the session bus, an attacker's code in the daemon could
/// make systemd start any program.
enum PromptCommand {
  static func start() -> Never {
    let backEnd: any DialogBackEnd
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case nil: backEnd = Notifications(catalogue: .ofPerson())
    case "--askpass" where arguments.count == 2: backEnd = Askpass(program: arguments[1], catalogue: .ofPerson())
    case "--version" where arguments.count == 1:
      StandardStream.output.write(
        "liquid-auth-prompt \(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))")
      exit(EXIT_SUCCESS)
    default:
      StandardStream.error.write(
        "liquid-auth-prompt: liquid-authenticator starts this program; "
          + "use: liquid-authenticator --prompt auto, or --askpass PROGRAM")
      exit(EX_USAGE)
    }
    signal(SIGPIPE, SIG_IGN)
    // At the end of standard input, the program closes its notification and ends. SIGTERM has the same effect.
    signal(SIGTERM) { _ in dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO) }
    do {
      try Hardening.apply()
    } catch {
      StandardStream.error.write("liquid-auth-prompt: cannot forbid core dumps: \(error)")
      exit(EXIT_FAILURE)
    }
    var server = PromptServer(backEnd)
    server.serve()
    exit(EXIT_SUCCESS)
  }
}
