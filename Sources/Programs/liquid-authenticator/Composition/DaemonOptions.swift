import ProcessIO
import Prompts
import Recovery
import StateDirectory

/// Built-in user verification.
enum VerificationChoice: String, CaseIterable, Sendable {
  case passphrase
  case none
}

/// What the device does while another FIDO key is plugged in.
enum BesideHardwareKeyChoice: String, CaseIterable, Sendable {
  case stay
  case stepAside = "step-aside"
}

/// Whether the daemon gives up the rights that it does not need: ``DaemonSandbox``.
enum SandboxChoice: String, CaseIterable, Sendable {
  case on
  case off
}

/// The options of the daemon.
///
/// They are not parsed by the library that `liquid-auth` uses: it needs Foundation, which is twice as much code as all
/// of the key.
struct DaemonOptions: Equatable, Sendable {
  var transport = TransportChoice.preferred
  var verification = VerificationChoice.passphrase
  var prompt = PromptChoice.auto
  var pinentry = "pinentry"
  /// The program like `ssh-askpass` that takes the place of a pinentry.
  var askpass: String?
  var stateDir: String?
  var control: String?
  /// Only with `--transport uhid`; the default is to stay.
  var besideHardwareKey: BesideHardwareKeyChoice?
  /// The most passkeys that the store holds after a registration, at least 1.
  var maximumPasskeys = OpenVault.defaultMaximumDiscoverableCredentials

  var session = SessionPolicy()
  var sandbox = SandboxChoice.on
  var logLevel = LogLevelChoice.info
  /// Whether a notification follows each successful registration and sign-in.
  var notifiesOfSuccess = false

  /// Whether something depends on the lock of the screen: a finger, or what a notification may name.
  var readsScreenLock: Bool { verification == .passphrase || notifiesOfSuccess }

  /// Whether the device is detached while the user's session is in the background.
  var detachesInBackground: Bool { session.detachesInBackground && transport.isHIDRaw }

  /// The options for the state directory and the socket, as messages add them to commands.
  var place: CommandPlace { CommandPlace(stateDirectory: stateDir, control: control) }

  /// Why a command line does not start the daemon.
  enum Refusal: Error, Equatable {
    /// The user asks for help.
    case help
    /// The user asks for the version.
    case version
    /// Lower case, no full stop: what is wrong.
    case usage(String)
  }

  /// Parses the arguments after the program's name: `--option value` or `--option=value`; the last of two counts.
  init(_ arguments: [String]) throws(Refusal) {
    var rest = arguments[...]
    var named: (prompt: PromptChoice?, pinentry: String?)
    while let argument = rest.popFirst() {
      if argument == "--help" || argument == "-h" { throw .help }
      if argument == "--version" { throw .version }
      guard argument.hasPrefix("-") else { throw .usage("unexpected argument '\(argument)'") }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard Self.names.contains(parts[0]) else {
        throw .usage("unknown option '\(parts[0])'\(CommandLineMistake.suggestion(for: parts[0], in: Self.names))")
      }
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
        throw .usage("missing value for '\(parts[0])'")
      }
      switch parts[0] {
      case "--prompt":
        named.prompt = try Self.choice(parts[0], value, of: PromptChoice.allCases, PromptChoice.init)
      case "--pinentry": named.pinentry = value
      default: try set(parts[0], value)
      }
    }
    guard named.pinentry == nil || askpass == nil else {
      throw .usage("--pinentry and --askpass cannot be used together")
    }
    // A program that is named without --prompt shows all dialogs.
    prompt = named.prompt ?? (askpass != nil ? .askpass : named.pinentry != nil ? .pinentry : .auto)
    pinentry = named.pinentry ?? pinentry
    switch prompt {
    case .askpass where askpass == nil: throw .usage("--prompt askpass needs --askpass PROGRAM")
    case .pinentry where askpass != nil, .terminal where askpass != nil:
      throw .usage("--askpass cannot be used with --prompt \(prompt.rawValue)")
    default: break
    }
    guard besideHardwareKey == nil || transport.isHIDRaw else {
      throw .usage(
        "the option --beside-hardware-key is for hidraw devices (--transport broker or uhid), not for '\(transport.name)'"
      )
    }
  }

  /// Makes the paths absolute that messages and the status repeat.
  mutating func resolvePaths(by absolute: (String) -> String) {
    (stateDir, control) = (stateDir.map(absolute), control.map(absolute))
    if case .unix(let path) = transport { transport = .unix(absolute(path)) }
  }

  private static let names = [
    "--transport", "--verification", "--prompt", "--pinentry", "--askpass", "--state-dir", "--control",
    "--beside-hardware-key", "--max-passkeys", "--lock-on", "--lock-after", "--in-background", "--sandbox",
    "--log-level", "--on-success",
  ]

  private mutating func set(_ name: String, _ value: String) throws(Refusal) {
    switch name {
    case "--transport": transport = try Self.choice(name, value, of: TransportChoice.values, TransportChoice.init)
    case "--verification":
      verification = try Self.choice(name, value, of: VerificationChoice.allCases, VerificationChoice.init)
    case "--askpass": askpass = value
    case "--state-dir": stateDir = value
    case "--beside-hardware-key":
      besideHardwareKey = try Self.choice(
        name, value, of: BesideHardwareKeyChoice.allCases, BesideHardwareKeyChoice.init)
    case "--max-passkeys":
      maximumPasskeys = try Self.choice(name, value, of: "a whole number, at least 1") {
        Int($0).flatMap { $0 > 0 ? $0 : nil }
      }
    case "--lock-on":
      session.lockEvents = try Self.choice(name, value, of: SessionPolicy.lockEventValues, SessionPolicy.lockEvents)
    case "--lock-after":
      session.idleLimit = try Self.choice(name, value, of: SessionPolicy.idleLimitValues, SessionPolicy.idleLimit)
    case "--sandbox": sandbox = try Self.choice(name, value, of: SandboxChoice.allCases, SandboxChoice.init)
    case "--log-level": logLevel = try Self.choice(name, value, of: LogLevelChoice.allCases, LogLevelChoice.init)
    case "--on-success":
      notifiesOfSuccess = try Self.choice(name, value, of: "nothing, notify") {
        ["nothing": false, "notify": true][$0]
      }
    case "--in-background":
      session.detachesInBackground = try Self.choice(name, value, of: "detach, stay") {
        ["detach": true, "stay": false][$0]
      }
    default: control = value
    }
  }

  private static func choice<Choice: RawRepresentable<String>>(
    _ name: String, _ value: String, of choices: [Choice], _ read: (String) -> Choice?
  ) throws(Refusal) -> Choice {
    try choice(name, value, of: choices.map(\.rawValue).joined(separator: ", "), read)
  }

  /// - Parameter values: as the refusal lists them.
  private static func choice<Choice>(
    _ name: String, _ value: String, of values: String, _ read: (String) -> Choice?
  ) throws(Refusal) -> Choice {
    guard let choice = read(value) else {
      throw .usage("the value '\(value)' is invalid for '\(name)'; the values are: \(values)")
    }
    return choice
  }

  /// What `--help` prints.
  static let help = """
    A security key whose passkeys come from a recovery phrase.

    It runs until SIGTERM or SIGINT, and then removes its device.
    Make a vault first with: liquid-auth init. While it runs, use liquid-auth to
    manage it.

    USAGE: liquid-authenticator [OPTION...]

    \(TransportChoice.help)
      --verification passphrase|none    How the key verifies you if a site needs it:
                                        by the vault's passphrase, or not at all.
                                        With none, a click signs transactions.
                                        (default: passphrase)
    \(PromptChoice.help)
      --pinentry PROGRAM                The program that shows dialogs.
                                        (default: pinentry)
      --askpass PROGRAM                 A program like ssh-askpass, in place of a
                                        pinentry.
      --state-dir DIR                   The directory of vault and store. (default:
                                        $XDG_STATE_HOME/liquid-auth, or
                                        ~/.local/state/liquid-auth)
      --control PATH                    The socket for liquid-auth. (default:
                                        $XDG_RUNTIME_DIR/liquid-auth/control.sock)
      --beside-hardware-key stay|step-aside
                                        Whether the device stays attached or is
                                        detached while another security key is
                                        plugged in. (default: stay)
      --max-passkeys NUMBER             The most discoverable passkeys that sites
                                        may register. Recovery can exceed it.
                                        (default: 10000)
      --lock-on EVENTS|never            Lock the vault on these events: a list of
                                        suspend, screen-lock and switch (another
                                        user's session comes to the foreground).
                                        (default: suspend)
      --lock-after HOURS|never          Lock the vault after this many hours
                                        without use. (default: 8)
      --in-background detach|stay       Whether the device is detached while another
                                        user's session is in the foreground.
                                        (default: detach)
      --on-success nothing|notify       What to do after a successful registration
                                        or sign-in: with notify, show a
                                        notification that names the site.
                                        (default: nothing)
      --sandbox on|off                  Whether the program gives up the rights that
                                        it does not need. Only debuggers such as
                                        valgrind need off. (default: on)
      --log-level info|debug            With debug, the log names the site of each
                                        request, also in a journal on disk.
                                        (default: info)
      --version                         Show the version.
      -h, --help                        Show this help.

    Exit status: 0 stopped; 1 could not start; 64 the command line is wrong;
    71 its helper process was ended; 75 stopped by SIGUSR1, to be started again;
    78 vault or store is missing, damaged, or open to others.

    """
}
