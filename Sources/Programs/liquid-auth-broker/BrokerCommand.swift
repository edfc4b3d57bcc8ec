import CLinux
import CTAPHID
import CVersion
import Glibc
import Logind
import UHID

/// `liquid-auth-broker`: the only program that needs access to `/dev/uhid`.
enum BrokerCommand {
  /// Serves the socket that systemd passes, until no client is left.
  static func start() -> Never {
    for argument in CommandLine.arguments.dropFirst() {
      switch argument {
      case "--help", "-h":
        print(help)
        exit(EXIT_SUCCESS)
      case "--version":
        print("liquid-auth-broker \(DeviceIdentity(capabilities: []).version)\(String(cString: cversion_snapshot()))")
        exit(EXIT_SUCCESS)
      default: fail("unknown argument; see: liquid-auth-broker --help", status: 64)
      }
    }
    mallopt(M_ARENA_MAX, 1)
    // A failure is ignored: the process then uses more memory.
    _ = clinux_forbid_huge_pages()
    guard clinux_forbid_dumps() == 0 else { fail("cannot forbid core dumps: \(systemMessage())") }
    let listener: Int32
    do throws(PassedSocket.Failure) { listener = try PassedSocket.take() } catch {
      switch error {
      case .notOne:
        fail(
          "this program needs one socket from systemd; "
            + "enable it with: systemctl enable --now liquid-auth-broker.socket")
      case .otherType: fail("the socket of systemd is not of type SOCK_SEQPACKET")
      }
    }
    var broker = Broker(
      listener: listener, open: UHIDConnection.open, isAtSeat: LoginSession.isAtSeat, log: log)
    broker.run(sessions: LoginSession.changes(), isReplaced: isReplaced)
    exit(EXIT_SUCCESS)
  }

  /// Whether the file of this program was replaced or removed.
  private static func isReplaced() -> Bool {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    let mark = " (deleted)".utf8CString.dropLast()
    return path.prefix(max(0, count)).suffix(mark.count).elementsEqual(mark)
  }

  private static func fail(_ reason: String, status: Int32 = EXIT_FAILURE) -> Never {
    write("liquid-auth-broker: \(reason)\n")
    exit(status)
  }

  /// Writes a line of the log; the journal reads its level from `<6>`, info.
  private static func log(_ line: String) { write("<6>\(line)\n") }

  private static func write(_ text: String) {
    var text = text
    _ = text.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  private static let help = """
    Make a security key for the liquid-authenticator of each user who sits at this
    machine, and relay its reports.

    Usage: liquid-auth-broker

    systemd starts it when a program connects to \(BrokerMessage.path).
    See liquid-auth-broker(8).

      --version    Show the version.
      -h, --help   Show this help.
    """
}

/// The system's message for `errno`.
func systemMessage() -> String { String(cString: strerror(errno)) }
