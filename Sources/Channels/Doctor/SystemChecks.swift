import ControlProtocol
import DisplayText

// The lines about the desktop and the system.
extension DoctorFindings {
  /// A problem that a pinentry with a window solves: one that is installed, or one in a package.
  private func pinentryProblem(_ text: String) -> Check {
    let installed = pinentry.others.first { path in
      path != pinentry.path && pinentry.target != Pinentry.name(path) && !needsX(Pinentry.name(path))
    }
    if let installed, pinentry.hasAlternatives, pinentry.program == "pinentry" {
      return .problem(
        .pinentry, text, remedy: Remedy(["sudo", "update-alternatives", "--set", "pinentry", installed]))
    }
    let isQt = desktop.contains("KDE") || pinentry.path != nil && pinentry.target == "pinentry-gnome3"
    let name = isQt ? "pinentry-qt" : "pinentry-gnome3"
    return packageProblem(.pinentry, text, [.apt: name, .dnf: name, .pacman: "pinentry"])
  }

  /// Whether a pinentry needs an X display, and there is none: GTK 2 and FLTK do not support Wayland.
  private func needsX(_ name: String) -> Bool { !hasX && Pinentry.needingX.contains(name) }

  /// Whether the authenticator reports that its pinentry has no display and no terminal; without an authenticator, whether
  /// there is no display.
  private var mayLackDisplay: Bool {
    guard let status else { return !hasX && !hasWayland }
    return status.problem(.noDisplay) != nil
  }

  /// The variables with which the bus and systemd start programs on the desktop.
  private static let ofDesktop = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"]

  var prompts: Check {
    if let status, status.prompts.answerByThemselves {
      return .note(.pinentry, "prompts: \(status.prompts.text); \(AuthenticatorStatus.quickAnswers)")
    }
    if let prompts = status?.prompts {
      if prompts.isTerminal { return .ok(.pinentry, "not used: prompts are on the authenticator's terminal") }
      if prompts.backEnd(.askpass) != nil { return .ok(.pinentry, "not used; prompts: \(prompts.text)") }
    }
    guard let path = pinentry.path else {
      return pinentryProblem("\(pinentry.program) is not installed: no prompt can be shown")
    }
    if hasX || hasWayland, ["pinentry-curses", "pinentry-tty"].contains(pinentry.target) {
      return pinentryProblem("\(path) is \(pinentry.target), which has no window")
    }
    if hasWayland, needsX(pinentry.target) {
      return pinentryProblem("\(path) is \(pinentry.target), which needs an X display, and there is only Wayland")
    }
    let named = path == pinentry.target ? path : "\(path) (\(pinentry.target))"
    if case .known(let reason?) = prompter {
      let text = "\(named) shows dialogs through GNOME's prompter on the session bus, which does not answer: \(reason)"
      if reason.contains("not provided by any") { return pinentryProblem(text) }
      let update = ["dbus-update-activation-environment", "--systemd"] + Self.ofDesktop
      return .problem(.pinentry, text, remedy: Remedy([update] + (restarting?.commands ?? [])))
    }
    guard !mayLackDisplay else {
      return .note(.pinentry, "\(named) may be unable to show a dialog: it needs a display, or a terminal in GPG_TTY")
    }
    return .ok(.pinentry, named)
  }

  /// Never a problem: without a notification daemon, the next kind of prompt asks.
  var notificationDaemon: Check {
    guard let prompts = status?.prompts else { return notificationDaemon("prompts do not need it") }
    guard let notifications = prompts.backEnd(.notifications) else {
      return notificationDaemon("prompts do not need it; they use \(prompts.text)")
    }
    if let fault = notifications.fault {
      return notificationDaemon("prompts do not need it, and could not use it: \(fault)")
    }
    return notificationDaemon("it asks for presence", without: "the next kind of prompt asks for presence")
  }

  private func notificationDaemon(_ use: String, without: String? = nil) -> Check {
    let without = without.map { ", so notifications cannot be shown; \($0)" } ?? "; \(use)"
    switch notifications {
    case .unknown(let reason): return .note(.notificationDaemon, "cannot be checked: \(reason); \(use)")
    case .known(nil): return .note(.notificationDaemon, "none runs\(without)")
    case .known(let capabilities?):
      return capabilities.contains("actions")
        ? .ok(.notificationDaemon, "it runs, and has actions; \(use)")
        : .note(.notificationDaemon, "it has no actions\(without)")
    }
  }

  var sessions: Check {
    if let other = otherTransport {
      return .note(.session, "not needed: the authenticator uses \(other), which browsers do not see")
    }
    if status?.device.transport == "uhid" { return .note(.session, "not needed with --transport uhid") }
    guard hasSystemd else { return .note(.session, "not used without systemd") }
    switch session {
    case .unknown(let reason): return .note(.session, "cannot be checked: \(reason)")
    case .known(nil):
      return .problem(.session, "you have no session: the broker makes a key for a user at this machine; log in there")
    case .known(let session?):
      guard !session.isRemote, session.isAtSeat else {
        return .problem(
          .session,
          "your session is not at this machine: the broker makes a key for a user who sits there; log in there")
      }
      guard session.isActive else {
        return .note(.session, "it is in the background: the device is detached until it is in the foreground")
      }
      return .ok(.session, "in the foreground of its seat")
    }
  }

  var screenLock: Check {
    guard hasSystemd else { return .note(.screenLock, "cannot be checked without systemd") }
    return switch session {
    case .unknown(let reason): .note(.screenLock, "cannot be checked: \(reason)")
    case .known(nil): .note(.screenLock, "you have no session")
    case .known(let session?):
      session.isLocked
        ? .note(
          .screenLock, "the screen is locked, and hides prompts",
          remedy: Remedy(["loginctl", "unlock-session", session.id]))
        : .ok(.screenLock, "the session does not report a lock")
    }
  }

  /// Never a problem: only `liquid-auth answer` needs it.
  var bluetoothAdapter: Check {
    let use = "only liquid-auth answer needs it"
    if bluetooth.isBlocked {
      return .note(
        .bluetooth, "Bluetooth is blocked; \(use)", remedy: Remedy(["rfkill", "unblock", "bluetooth"]))
    }
    guard let adapter = bluetooth.adapters.first else {
      return .note(.bluetooth, "this machine has no Bluetooth adapter; \(use)")
    }
    switch bluetooth.isOn {
    case .unknown(let reason):
      return .note(.bluetooth, "bluetoothd cannot be asked about \(adapter): \(reason); \(use)")
    case .known(false):
      return .note(.bluetooth, "\(adapter) is off; \(use)", remedy: Remedy(["bluetoothctl", "power", "on"]))
    case .known(true):
      return .ok(.bluetooth, "\(adapter) is on\(bluetooth.version.value.map { ", with BlueZ \($0)" } ?? "")")
    }
  }

  /// What the authenticator needs, bytes.
  private static let neededMemory: UInt64 = 1 << 20

  var memlock: Check {
    guard let memory else { return .note(.memlock, "cannot be checked: there is no limit in /proc") }
    let owner = memory.process == nil ? "your limit" : "the authenticator's limit"
    guard let soft = memory.soft, soft < Self.neededMemory else {
      return .ok(.memlock, memory.soft.map { "\(owner) is \($0 >> 10) KiB" } ?? "\(owner) is unlimited")
    }
    let text = "\(owner) of locked memory is \(soft >> 10) KiB, and secrets need 1024 KiB"
    guard let process = memory.process else {
      if isUserService, serviceUnit.value?.load == "loaded" {
        return .note(.memlock, "\(text); the user service has a limit of its own (LimitMEMLOCK=)")
      }
      return .problem(
        .memlock, "\(text); raise it where you start the authenticator", remedy: Remedy(["ulimit", "-l", "1024"]))
    }
    let isAllowed = memory.hard.map { $0 >= Self.neededMemory } ?? true
    let raise = ["prlimit", "--pid", String(process), isAllowed ? "--memlock=1048576:" : "--memlock=1048576:1048576"]
    return .problem(
      .memlock,
      "\(text); the repair lasts until its next start: for later ones, set LimitMEMLOCK= in its unit or use ulimit -l",
      remedy: isAllowed ? Remedy(raise, isSafe: true) : Remedy(["sudo"] + raise))
  }

  var clocks: Check {
    let remedy = hasSystemd ? Remedy(["sudo", "timedatectl", "set-ntp", "true"]) : nil
    if let program = clock.program, clock.now < program {
      let (now, made) = (Self.date(clock.now), Self.date(program))
      return .problem(.clock, "it shows \(now), but this program was built on \(made)", remedy: remedy)
    }
    guard clock.isSynchronized else { return .note(.clock, "it is not synchronized over the network", remedy: remedy) }
    return .ok(.clock, "synchronized, \(Self.date(clock.now))")
  }

  private static func date(_ seconds: Int64) -> String {
    UTCTime(milliseconds: UInt64(clamping: seconds).multipliedReportingOverflow(by: 1000).partialValue).date
  }

  var dpkg: [Check] {
    guard let packages else { return [.note(.packages, "cannot be checked: there is no database of dpkg")] }
    var checks: [Check] = []
    let configure = Remedy(["sudo", "dpkg", "--configure", "-a"])
    if packages.isInterrupted { checks.append(.problem(.packages, "dpkg was interrupted", remedy: configure)) }
    checks += packages.broken.map { package in
      let text = "it is \(package.state)"
      var check = Check.problem(.packages, text, remedy: configure)
      if package.state == "half-installed" {
        check = packageProblem(.packages, text, again: true, [.apt: package.name])
      }
      check.subject = package.name
      return check
    }
    return checks.isEmpty ? [.ok(.packages, "dpkg has finished all of them")] : checks
  }
}
