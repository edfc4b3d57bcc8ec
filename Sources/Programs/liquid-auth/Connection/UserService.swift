import Doctor
import Glibc
import ProcessIO
import StateDirectory

extension UserService {
  /// The command that ``enable()`` runs.
  static var command: String { enabling.joined(separator: " ") }

  /// Whether the service is for this place: its vault and its socket are always the default ones.
  static func isFor(
    _ place: PlaceOptions, environment: (String) -> String? = environmentVariable
  ) -> Bool {
    guard place.stateDir == nil, place.control == nil, environment("XDG_RUNTIME_DIR") != nil else { return false }
    let path = try? StateDirectory.defaultPath(environment: environment)
    return path != nil && path == environment("HOME").map { "\($0)/.local/state/liquid-auth" }
  }

  /// The command that starts the authenticator for this place.
  static func starting(_ place: PlaceOptions) -> String {
    isFor(place) && isInstalled ? command : SystemFindings.current.starting.joined(separator: " ")
  }

  /// Whether systemd runs for this user and has both units.
  static var isInstalled: Bool { (try? run(["systemctl", "--user", "cat"] + units)) == 0 }

  /// Enables and starts the service.
  static func enable() throws(CommandFailure) {
    let status: Int32
    do { status = try run(enabling) } catch { throw CommandFailure("cannot run systemctl: \(error)") }
    guard status == 0 else {
      throw CommandFailure("systemctl failed; to see its message, run: \(command)")
    }
  }

  /// Restarts the service if systemd runs it; returns whether that succeeded.
  static func restart() -> Bool {
    let systemctl = ["systemctl", "--user"]
    guard (try? run(systemctl + ["is-active", units[1]])) == 0 else { return false }
    // Not every desktop tells systemd where its display is.
    let display = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"].filter { environmentVariable($0) != nil }
    if !display.isEmpty { _ = try? run(systemctl + ["import-environment"] + display) }
    return (try? run(systemctl + ["restart", units[1]])) == 0
  }

  /// Runs a program without input and output, and returns its status, as waitpid(2) does.
  fileprivate static func run(_ arguments: [String]) throws(SystemNumber) -> Int32 {
    let null = open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null >= 0 else { throw SystemNumber() }
    defer { close(null) }
    return Child.reap(try Child.start(arguments, input: null, output: null, errorOutput: null))
  }
}

/// The user service of systemd that runs `liquid-auth backup follow`.
enum BackupService {
  static let unit = "liquid-auth-backup.service"
  /// The command that starts it.
  static let starting = systemctl + ["start", unit]

  private static let systemctl = ["systemctl", "--user"]

  /// Whether systemd runs for this user and has the unit, and the unit is for this place.
  static func isFor(_ place: PlaceOptions) -> Bool {
    UserService.isFor(place) && (try? UserService.run(systemctl + ["cat", unit])) == 0
  }

  /// Starts the service now and with each start of the authenticator; returns whether that succeeded.
  static func enable() -> Bool { (try? UserService.run(systemctl + ["enable", "--now", unit])) == 0 }

  /// Stops the service, and no longer starts it.
  static func disable() { _ = try? UserService.run(systemctl + ["disable", "--now", unit]) }

  /// Whether the service runs.
  static var isActive: Bool { (try? UserService.run(systemctl + ["is-active", unit])) == 0 }

  /// Starts the service.
  static func start() { _ = try? UserService.run(systemctl + ["start", unit]) }

  /// Stops the service until its next start.
  static func stop() { _ = try? UserService.run(systemctl + ["stop", unit]) }
}
