import CLinux
import CTAPHID
import CVersion
import Glibc
import ProcessIO
import ProtectorProtocol

/// `liquid-auth-pam`: the only program that uses PAM.
///
/// systemd starts it for each connection of the authenticator, as the user of both and outside the authenticator's sandbox:
/// a module that starts a set-user-ID program, such as pam_unix, does not work where new privileges are forbidden.
enum AccountCommand {
  /// How long the request may take; the authenticator sends it at once.
  private static let limit = Duration.seconds(10)

  static func start() -> Never {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.elementsEqual(["--version"]) {
      StandardStream.output.write(
        "liquid-auth-pam \(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))")
      exit(EXIT_SUCCESS)
    }
    guard arguments.isEmpty else {
      StandardStream.error.write("liquid-auth-pam: systemd starts this program; see: man liquid-auth-pam")
      exit(EX_USAGE)
    }
    signal(SIGPIPE, SIG_IGN)
    var peer = uid_t.max
    guard clinux_peer_user(STDIN_FILENO, &peer) == 0, peer == getuid() else {
      StandardStream.error.write("liquid-auth-pam: standard input is not a connection of user \(getuid())")
      exit(EX_NOPERM)
    }
    AccountPipe.write(serve(), to: STDOUT_FILENO)
    exit(EXIT_SUCCESS)
  }

  private static func serve() -> AccountMessage {
    do { try Hardening.apply() } catch { return failure("cannot forbid core dumps: \(error)") }
    // Overwrites memory when it is freed: libpam and its modules can free passwords without wiping them.
    mallopt(M_PERTURB, 0xA5)
    guard let request = AccountPipe.request(from: STDIN_FILENO, until: .now + limit) else {
      return failure("the request to liquid-auth-pam is malformed", hint: "install all programs from the same version")
    }
    return Account(input: STDIN_FILENO, output: STDOUT_FILENO).serve(request)
  }

  static func failure(_ reason: String, hint: String? = nil) -> AccountMessage {
    .failed(ProtectorFailure(.failed, reason, hint: hint))
  }
}
