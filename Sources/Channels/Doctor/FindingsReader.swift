import ControlProtocol
import Glibc
package import ProcessIO
import UHID

/// Collects the findings of a system; changes nothing.
package struct FindingsReader {
  let tree: SystemTree
  /// The user's home directory, a path in the tree.
  let home: String
  let user: UInt32
  let userName: String
  /// Whether the user service is the one of this authenticator.
  let isUserService: Bool
  /// The release of the running kernel.
  let kernel: String
  let environment: (String) -> String?
  /// Runs a program that answers a question.
  let ask: ([String]) -> Tool.Result
  /// Unix seconds.
  let now: Int64
  /// Whether the kernel's clock is synchronized.
  let isClockSynchronized: Bool
  /// The file of this program, a path in the tree.
  let program: String

  package init(
    tree: SystemTree, home: String, user: UInt32, userName: String, isUserService: Bool, kernel: String,
    environment: @escaping (String) -> String?, ask: @escaping ([String]) -> Tool.Result, now: Int64,
    isClockSynchronized: Bool, program: String
  ) {
    (self.tree, self.home, self.user, self.userName) = (tree, home, user, userName)
    (self.isUserService, self.kernel, self.environment, self.ask) = (isUserService, kernel, environment, ask)
    (self.now, self.isClockSynchronized, self.program) = (now, isClockSynchronized, program)
  }

  /// - Parameter authenticator: asks the authenticator, which can start it; so its units are read before.
  package func findings(
    _ authenticator: () -> DoctorFindings.Authenticator, vault: VaultFinding, system: SystemFindings
  ) -> DoctorFindings {
    let socketUnit = unit(["--user"], "liquid-authenticator.socket")
    let serviceUnit = unit(["--user"], "liquid-authenticator.service")
    let sessionUnit = unit(["--user"], "graphical-session.target")
    let authenticator = authenticator()
    var prompt = "pinentry"
    var process: Int32?
    if case .running(let status, _, _) = authenticator {
      process = status.processID
      prompt = status.prompts.backEnd(.pinentry)?.program ?? prompt
    }
    // The service has the environment of systemd; an authenticator that was started by hand has that of a terminal.
    let isActive = [socketUnit, serviceUnit].contains { $0.value?.active == "active" }
    let isService = isUserService && serviceUnit.value?.load == "loaded" && (process == nil || isActive)
    let prompts = isService ? serviceEnvironment : environment
    let packages = packages
    let sets = { (name: String) in prompts(name)?.isEmpty == false }
    let pinentry = self.pinentry(prompt, prompts)
    let needsPrompter = pinentry.target == "pinentry-gnome3" && (sets("DISPLAY") || sets("WAYLAND_DISPLAY"))
    return DoctorFindings(
      user: user, isSudo: user == 0 && ![nil, "", "0"].contains(environment("SUDO_UID")), authenticator: authenticator,
      vault: vault, hasSystemd: tree.isDirectory("/run/systemd/system"),
      system: system, isUserService: isUserService, socketUnit: socketUnit, serviceUnit: serviceUnit,
      sessionUnit: sessionUnit, driver: driver,
      brokerUnit: unit([], "liquid-auth-broker.socket"),
      hasBrokerSocket: tree.attributes(BrokerMessage.path).map { $0.st_mode & S_IFMT == S_IFSOCK } ?? false,
      rule: rule, otherRules: otherRules, uhid: access(to: UHIDConnection.path), groupName: groupName,
      group: group, member: member,
      hasFIDORule: Self.ruleDirectories.contains { tree.exists("\($0)/60-fido-id.rules") }, nodes: nodes, snaps: snaps,
      snapApplications: snapApplications, flatpaks: flatpaks, firefoxProfiles: profiles.count, firefoxOff: firefoxOff,
      pinentry: pinentry,
      prompter: needsPrompter ? prompter(hasBus: sets("DBUS_SESSION_BUS_ADDRESS")) : .known(nil),
      hasX: sets("DISPLAY"), hasWayland: sets("WAYLAND_DISPLAY"),
      desktop: prompts("XDG_CURRENT_DESKTOP") ?? environment("XDG_CURRENT_DESKTOP") ?? "",
      notifications: notifications, session: session,
      memory: memoryLimit(of: process), clock: clock, packages: packages.found,
      packageManager: DoctorFindings.PackageManager.allCases.first { isProgram("/usr/bin/\($0.rawValue)") },
      // The other packages install there, and scripts/run elsewhere.
      isPackaged: packages.hasOurs ?? program.hasPrefix("/usr/bin/"), bluetooth: bluetooth)
  }

  // MARK: Programs that are asked

  private func unit(_ options: [String], _ name: String) -> Asked<DoctorFindings.Unit> {
    let words = ["systemctl"] + options + ["show", "--property=LoadState,ActiveState,UnitFileState", name]
    switch ask(words).output(of: "systemctl") {
    case .unknown(let reason): return .unknown(reason)
    case .known(let output):
      let found = Self.assignments(output)
      guard let load = found["LoadState"], let active = found["ActiveState"] else {
        return .unknown("systemctl did not give the state of \(name)")
      }
      return .known(DoctorFindings.Unit(load: load, active: active, file: found["UnitFileState"] ?? ""))
    }
  }

  /// The environment of the user's systemd, in which the service runs; ours if it is not known.
  private var serviceEnvironment: (String) -> String? {
    guard case .known(let output) = ask(["systemctl", "--user", "show-environment"]).output(of: "systemctl") else {
      return environment
    }
    let found = Self.assignments(output)
    return { found[$0] }
  }

  private var session: Asked<DoctorFindings.Session?> {
    let words = ["loginctl", "show-user", String(user), "--property=Display", "--property=Sessions"]
    let result = ask(words)
    // loginctl fails for a user who has not logged in.
    if case .ended(let status, let output) = result, status != 0, output.contains("not logged in") {
      return .known(nil)
    }
    switch result.output(of: "loginctl") {
    case .unknown(let reason): return .unknown(reason)
    case .known(let output):
      // The user's main session, or else any.
      let found = Self.assignments(output)
      let sessions = ["Display", "Sessions"].flatMap { (found[$0] ?? "").split(separator: " ").map(String.init) }
      guard let id = sessions.first else { return .known(nil) }
      let properties = ["Active", "Remote", "Seat", "LockedHint"].map { "--property=\($0)" }
      let answer = ask(["loginctl", "show-session", id] + properties)
      switch answer.output(of: "loginctl") {
      case .unknown(let reason): return .unknown(reason)
      case .known(let output):
        let found = Self.assignments(output)
        guard let active = found["Active"] else { return .unknown("loginctl did not give the state of the session") }
        return .known(
          DoctorFindings.Session(
            id: id, isActive: active == "yes", isRemote: found["Remote"] == "yes",
            isAtSeat: found["Seat"]?.isEmpty == false,
            isLocked: found["LockedHint"] == "yes"))
      }
    }
  }

  /// Asks the daemon that runs, and starts none.
  private var notifications: Asked<[String]?> {
    let name = "org.freedesktop.Notifications"
    let result = ask([
      "busctl", "--user", "--auto-start=no", "--timeout=2", "call", name, "/org/freedesktop/Notifications", name,
      "GetCapabilities",
    ])
    if case .ended(let status, let output) = result, status != 0,
      ["not provided by any", "was not activat", "not known", "does not exist"].contains(where: output.contains)
    {
      return .known(nil)
    }
    switch result.output(of: "busctl") {
    case .unknown(let reason): return .unknown(reason)
    case .known(let output):
      // as 3 "actions" "body" "icon-static"
      let words = output.split(separator: "\"", omittingEmptySubsequences: false)
      return .known(words.indices.filter { !$0.isMultiple(of: 2) }.map { String(words[$0]) })
    }
  }

  /// Starts no bluetoothd.
  private var bluetooth: DoctorFindings.Bluetooth {
    var found = DoctorFindings.Bluetooth(tree)
    guard let adapter = found.adapters.first else { return found }
    let answer = ask([
      "busctl", "--system", "--auto-start=no", "--timeout=2", "get-property", "org.bluez", "/org/bluez/\(adapter)",
      "org.bluez.Adapter1", "Powered",
    ])
    switch answer.output(of: "busctl") {
    case .unknown(let reason): found.isOn = .unknown(reason)
    case .known(let output): found.isOn = .known(output.hasPrefix("b true"))
    }
    // bluetoothctl: 5.66
    switch ask(["bluetoothctl", "--version"]).output(of: "bluetoothctl") {
    case .unknown(let reason): found.version = .unknown(reason)
    case .known(let output):
      found.version = .known(output.split(whereSeparator: \.isWhitespace).last.map(String.init) ?? "")
    }
    return found
  }

  /// Calls GNOME's prompter; the bus starts it if it can, as it does for each dialog of pinentry-gnome3.
  ///
  /// - Parameter hasBus: whether the bus is in the environment of the authenticator, where that pinentry looks for it.
  private func prompter(hasBus: Bool) -> Asked<String?> {
    guard hasBus else { return .known("DBUS_SESSION_BUS_ADDRESS is not set") }
    let result = ask([
      "busctl", "--user", "--timeout=2", "call", "org.gnome.keyring.SystemPrompter", "/org/gnome/keyring/Prompter",
      "org.freedesktop.DBus.Peer", "Ping",
    ])
    switch result.output(of: "busctl") {
    case .known: return .known(nil)
    case .unknown(let reason):
      guard case .ended(_, let output) = result, !output.contains("Failed to connect to bus") else {
        return .unknown(reason)
      }
      return .known(output.split(separator: "\n").first.map(String.init) ?? reason)
    }
  }

  /// Lines of the form NAME=VALUE.
  static func assignments(_ text: String) -> [String: String] {
    var found: [String: String] = [:]
    for line in text.split(separator: "\n") {
      guard let sign = line.firstIndex(of: "=") else { continue }
      found[String(line[..<sign])] = String(line[line.index(after: sign)...])
    }
    return found
  }

  // MARK: Desktop

  private func pinentry(_ program: String, _ environment: (String) -> String?) -> DoctorFindings.Pinentry {
    let directories = (environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
    let path = { (name: String) in
      name.contains("/") ? name : directories.map { "\($0)/\(name)" }.first { isProgram($0) }
    }
    var found = DoctorFindings.Pinentry(
      program: program, others: DoctorFindings.Pinentry.graphical.compactMap(path),
      hasAlternatives: isProgram("/usr/bin/update-alternatives"))
    guard let path = path(program), isProgram(path) else { return found }
    found.path = path
    found.target = DoctorFindings.Pinentry.name(tree.resolved(path))
    return found
  }

  private func isProgram(_ path: String) -> Bool { !tree.isDirectory(path) && tree.allows(path, X_OK) }

  // MARK: System

  private func memoryLimit(of process: Int32?) -> DoctorFindings.MemoryLimit? {
    let name = "Max locked memory"
    let folder = "/proc/\(process.map(String.init) ?? "self")"
    // The number is from the control socket, and --fix changes the limit: not that of another program. The kernel keeps 15
    // bytes of the name.
    guard process == nil || tree.lines("\(folder)/comm") == ["liquid-authenti"],
      let line = tree.lines("\(folder)/limits").first(where: { $0.hasPrefix(name) })
    else { return nil }
    let fields = line.dropFirst(name.count).split(separator: " ")
    guard fields.count >= 2 else { return nil }
    var limits: [UInt64?] = []
    for field in fields.prefix(2) {
      if field == "unlimited" {
        limits.append(nil)
      } else {
        guard let bytes = UInt64(field) else { return nil }
        limits.append(bytes)
      }
    }
    return DoctorFindings.MemoryLimit(soft: limits[0], hard: limits[1], process: process)
  }

  private var clock: DoctorFindings.Clock {
    DoctorFindings.Clock(
      now: now, program: tree.attributes(program).map { Int64($0.st_mtim.tv_sec) },
      isSynchronized: isClockSynchronized || tree.exists("/run/systemd/timesync/synchronized"))
  }

  /// The findings, and whether our package is there; `nil` without dpkg.
  private var packages: (found: DoctorFindings.Packages?, hasOurs: Bool?) {
    let database = "/var/lib/dpkg"
    // A large desktop has some thousand packages, and 10 MB.
    guard let bytes = tree.bytes("\(database)/status", atMost: 1 << 26) else { return (nil, nil) }
    var found = DoctorFindings.Packages()
    var hasOurs = false
    var name = ""
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      if line.starts(with: "Package: ".utf8) {
        name = String(decoding: line.dropFirst(9), as: UTF8.self)
      } else if line.starts(with: "Status: ".utf8) {
        // The selection, the error flag and the state.
        let words = String(decoding: line.dropFirst(8), as: UTF8.self).split(separator: " ")
        guard words.count == 3 else { continue }
        if name == "liquid-auth", !Self.absent.contains(String(words[2])) { hasOurs = true }
        guard !Self.finished.contains(String(words[2])) else { continue }
        found.broken.append(DoctorFindings.Package(name: name, state: String(words[2])))
      }
    }
    found.isInterrupted = tree.names("\(database)/updates").contains { $0.allSatisfy(\.isNumber) }
    return (found, hasOurs)
  }

  private static let absent: Set = ["config-files", "not-installed"]
  private static let finished = absent.union(["installed"])
}
