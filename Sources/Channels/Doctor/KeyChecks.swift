import ControlProtocol

// The lines about the authenticator and what it holds.
extension DoctorFindings {
  private func systemctl(_ verb: String) -> [String] { ["systemctl", "--user", verb] }

  private var units: [Unit] { [socketUnit, serviceUnit].compactMap(\.value) }

  /// Whether systemd has the user service, and it is the one of this authenticator.
  private var hasUserService: Bool { isUserService && units.count == 2 && units.allSatisfy { $0.load == "loaded" } }

  private var isMasked: Bool { isUserService && units.contains { $0.load == "masked" } }

  private static let makingVault = Remedy(["liquid-auth", "setup"])

  /// What starts the authenticator, which needs a vault.
  var starting: Remedy {
    if status == nil, vault.isThere == false { return Self.makingVault }
    if isMasked { return Remedy(systemctl("unmask") + UserService.units, UserService.enabling) }
    return hasUserService ? Remedy(UserService.enabling, isSafe: true) : Remedy(system.starting)
  }

  /// What starts the running authenticator again, if systemd can.
  ///
  /// It locks the vault and withdraws a prompt.
  var restarting: Remedy? {
    guard hasUserService, !isByHand else { return nil }
    let isSafe = status.map { $0.vault.condition != .unlocked && !$0.prompts.isWaiting } ?? true
    return Remedy(systemctl("restart") + [UserService.units[1]], isSafe: isSafe)
  }

  /// The repair of a problem of the authenticator or of the vault's file.
  ///
  /// - Returns: the text of the problem, and the commands, if there are any.
  private func repair(_ problem: Problem) -> (text: String, remedy: Remedy?) {
    let text = problem.text(with: options)
    // Only the owner knows whether somebody else put an old copy back.
    if problem.kind == .counter { return (text, Remedy(["man", "liquid-auth-vault"])) }
    if problem.kind == .prepared { return (text, nil) }
    guard problem.kind == .vault, let remedy = problem.remedy else { return (text, problem.remedy) }
    var commands = remedy.commands
    // An existing vault is never overwritten.
    if status.map({ $0.vault.condition != .missing }) ?? (vault.isThere == true) {
      guard let path = status.map({ "\($0.stateDirectory)/vault" }) ?? vault.path else { return (text, remedy) }
      commands.insert(["mv", "--no-clobber", path, "\(path).damaged"], at: 0)
    }
    if case .notRunning = authenticator { return (text, Remedy(commands)) }
    // The vault cannot be made while an authenticator runs, which holds the lock of the state directory.
    guard hasUserService, units.contains(where: { $0.active == "active" }) else {
      var stopping = problem
      stopping.hint = problem.hint.map { "stop the authenticator first, then \($0)" }
      return (stopping.text(with: options), nil)
    }
    let stop = systemctl("stop") + UserService.units
    // Setup starts the service.
    let start = remedy == Self.makingVault ? [] : [systemctl("start") + [UserService.units[0]]]
    return (text, Remedy([stop] + commands + start))
  }

  var runs: Check {
    switch authenticator {
    case .notRunning(let problem):
      let stopped = "the authenticator is not running, because"
      if vault.isThere == false { return .problem(.authenticator, "\(stopped) there is no vault", remedy: starting) }
      // The line about the vault has the repair.
      if vault.problem != nil { return .problem(.authenticator, "\(stopped) the vault cannot be used") }
      return .problem(.authenticator, problem.text(with: options), remedy: starting)
    case .unknown(let reason): return .problem(.authenticator, reason, remedy: restarting)
    case .running(let status, _, _):
      let waiting =
        status.prompts.isTerminal
        ? "a prompt waits for you on the authenticator's terminal"
        : "a prompt waits for you (\(status.prompts.text)); it can be behind another window"
      // The line about verification gives the problem of the PIN.
      let problems = status.problems.filter { $0.kind != .pin }
      guard problems.isEmpty else {
        let repairs = problems.map(repair)
        let texts = repairs.map(\.text) + (status.prompts.isWaiting ? [waiting] : [])
        // A restart gets the present display and limits; it does not repair a vault or a broker.
        let isUsable = status.vault.condition != .unusable && status.device.attached
        let restart = isUsable && (hasX || hasWayland) ? restarting : nil
        return .problem(
          .authenticator, texts.joined(separator: "; also: "),
          remedy: repairs.lazy.compactMap(\.remedy).first ?? restart)
      }
      if status.prompts.isWaiting { return .note(.authenticator, waiting) }
      let text = "it answers as process \(status.processID)"
      guard !status.device.attached, status.device.steppedAsideFor == nil else { return .ok(.authenticator, text) }
      // The line about the node is only for devices of the kernel.
      guard otherTransport != nil else { return .ok(.authenticator, "\(text); its device is detached") }
      return .problem(
        .authenticator, "\(text); its device is detached", remedy: Remedy(["liquid-auth", "device", "attach"]))
    }
  }

  var service: Check {
    guard hasSystemd else {
      return .note(.service, "not used without systemd: start the authenticator by hand after each login")
    }
    for unit in [socketUnit, serviceUnit] {
      if case .unknown(let reason) = unit { return .note(.service, "cannot be checked: \(reason)") }
    }
    guard isUserService else {
      return .note(.service, "not used: it has the default directory and socket, and this authenticator has others")
    }
    if isMasked { return .problem(.service, "the user service is masked, so nothing starts it", remedy: starting) }
    guard hasUserService, let socket = socketUnit.value, let service = serviceUnit.value else {
      return .note(.service, "the user service is not installed: start the authenticator by hand after each login")
    }
    let name = UserService.units[1]
    if service.active == "failed" {
      guard status == nil else {
        return .note(
          .service, "\(name) had failed, and this command started it again",
          remedy: Remedy(["journalctl", "--user", "--unit", name]))
      }
      return .problem(
        .service, "\(name) has failed",
        remedy: Remedy(
          systemctl("reset-failed") + [name], systemctl("restart") + [UserService.units[0]], isSafe: true))
    }
    let disabled = zip(UserService.units, [socket, service]).filter { $0.1.file != "enabled" }.map(\.0)
    guard disabled.isEmpty else {
      let text = "\(disabled.joined(separator: " and ")) \(disabled.count == 1 ? "is" : "are") not enabled"
      // Without an authenticator before this question, browsers saw no key.
      return isByHand || service.active == "active"
        ? .note(.service, "\(text), so the key does not start with your next session", remedy: starting)
        : .problem(.service, "\(text), so the key does not start with your session", remedy: starting)
    }
    guard socket.active == "active" || status != nil else {
      return .problem(.service, "\(UserService.units[0]) is \(socket.active)", remedy: starting)
    }
    if hasX || hasWayland, let session = sessionUnit.value, session.active != "active" {
      return .note(
        .service,
        "this desktop does not start graphical-session.target, so the key starts only for its first client; add this "
          + "command to the session's autostart", remedy: Remedy(systemctl("start") + [name]))
    }
    return .ok(.service, "it starts with your session")
  }

  var vaults: Check {
    guard let status else {
      if vault.isThere == false {
        return .problem(.vault, "there is no vault", remedy: Self.makingVault)
      }
      if let problem = vault.problem.map(repair) { return .problem(.vault, problem.text, remedy: problem.remedy) }
      return .ok(.vault, "there is one, and no authenticator uses it")
    }
    switch status.vault.condition {
    case .missing, .unusable:
      let problem = status.problems.first.map(repair) ?? (text: "it cannot be used", remedy: nil)
      return .problem(.vault, problem.text, remedy: problem.remedy)
    case .unlocked: return .ok(.vault, "unlocked")
    case .locked:
      let reason = status.vault.lockReason.map { " \($0)" } ?? ""
      return .ok(
        .vault, "locked\(reason); the next request asks for the passphrase, unless another slot unlocks the vault")
    }
  }

  var verification: Check {
    if let problem = status?.problem(.pin).map(repair) {
      return .problem(.verification, problem.text, remedy: problem.remedy)
    }
    guard case .running(let status, let information?, let tries) = authenticator else {
      return .note(.verification, "cannot be checked: the authenticator gives no information")
    }
    if information.isPINSet, tries?.pin == 0 {
      let blocked = Problem(
        "the PIN is blocked", hint: "to see why, wait until the present request ends, then run:",
        run: ["liquid-auth", "status"])
      return .problem(.verification, blocked.text(with: options))
    }
    if information.isPINSet, tries?.needsReplug == true {
      return .problem(
        .verification, "three wrong PINs in a row: the PIN can be tried again after a power cycle",
        remedy: Remedy(["liquid-auth", "device", "replug", "--power-cycle"]))
    }
    if information.isPINSet, information.forcePINChange {
      let problem = repair(OwnerSettings.pinMustBeChanged)
      return .problem(.verification, problem.text, remedy: problem.remedy)
    }
    if information.isPINSet, tries == nil {
      return .note(
        .verification, "the tries of the PIN cannot be checked: the authenticator does not give them")
    }
    guard information.canVerify || information.isPINSet else {
      return .note(
        .verification, "nothing verifies you, so sites that require verification refuse the key",
        remedy: Remedy(["liquid-auth", "pin", "set"]))
    }
    guard information.canVerify else { return .ok(.verification, "by PIN") }
    let means = status.verification.joined(separator: ", ")
    return .ok(.verification, "by \(means)" + (information.isPINSet ? " or PIN" : ""))
  }

  var u2f: Check {
    guard case .running(_, let information?, _) = authenticator else {
      return .note(.u2f, "cannot be checked: the authenticator gives no information")
    }
    return information.alwaysUV
      ? .note(
        .u2f, "off while always-uv is on: sites that know only U2F do not work",
        remedy: Remedy(["liquid-auth", "config", "always-uv", "off"]))
      : .ok(.u2f, "on, beside FIDO2")
  }

  /// PRF of WebAuthn is hmac-secret of CTAP.
  var prf: Check {
    guard case .running(_, let information?, _) = authenticator else {
      return .note(.prf, "cannot be checked: the authenticator gives no information")
    }
    guard information.extensions.contains("hmac-secret") else {
      return .problem(
        .prf, "the authenticator does not have hmac-secret, so sites get no PRF; install its newest version")
    }
    guard information.extensions.contains("hmac-secret-mc") else {
      return .note(
        .prf, "it works at sign-in (hmac-secret), but not at registration (hmac-secret-mc), where Chromium uses it")
    }
    return .ok(.prf, "Chromium uses it at registration (hmac-secret-mc), and Firefox at sign-in (hmac-secret)")
  }

  /// The authenticator sets both flags in each answer, except those to U2F.
  var backupFlags: Check {
    .note(
      .backupFlags,
      "each passkey reports that it can be backed up and is backed up (BE and BS), and this never changes: a site that "
        + "requires a single-device passkey may refuse it")
  }

  var backup: Check {
    .note(
      .backup, "passkeys come back from the phrase and a backup; check it before you need it: man liquid-auth-backup")
  }
}
