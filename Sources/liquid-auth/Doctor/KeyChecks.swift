import ControlProtocol

// The lines about the authenticator and what it holds.
extension DoctorFindings {
  /// What starts the authenticator.
  var starting: Mend {
    socketUnit.value?.load == "loaded"
      ? Mend(["systemctl", "--user", "enable", "--now", "liquid-authenticator.socket"], isSafe: true)
      : Mend(["liquid-authenticator"])
  }

  var runs: Check {
    switch authenticator {
    case .notRunning(let reason): return .problem(.authenticator, reason, mend: starting)
    case .unknown(let reason): return .problem(.authenticator, reason)
    case .running(let status, _, _):
      let waiting =
        status.prompt == "terminal"
        ? "a prompt waits for you on the authenticator's terminal"
        : "a prompt waits for you (\(status.prompt)); it can be behind another window"
      guard status.problems.isEmpty else {
        let texts = status.problems + (status.waiting ? [waiting] : [])
        return .problem(.authenticator, texts.joined(separator: "; also: "))
      }
      if status.waiting { return .note(.authenticator, waiting) }
      return .ok(.authenticator, "it answers as process \(status.processID)")
    }
  }

  var service: Check {
    let socket: Unit
    switch socketUnit {
    case .unknown(let reason): return .note(.service, "cannot be checked: \(reason)")
    case .known(let unit): socket = unit
    }
    if serviceUnit.value?.active == "failed" {
      return .problem(
        .service, "liquid-authenticator.service has failed",
        mend: Mend(
          ["systemctl", "--user", "reset-failed", "liquid-authenticator.service"],
          ["systemctl", "--user", "restart", "liquid-authenticator.socket"], isSafe: true))
    }
    guard socket.load == "loaded" else {
      return .note(.service, "the user service is not installed: start the authenticator by hand after each login")
    }
    if socket.file == "disabled" {
      let text = "the authenticator does not start with your session"
      return status == nil ? .problem(.service, text, mend: starting) : .note(.service, text, mend: starting)
    }
    guard socket.active == "active" || status != nil else {
      return .problem(.service, "liquid-authenticator.socket is \(socket.active)", mend: starting)
    }
    return .ok(.service, "it starts with your session, or for its first client")
  }

  var vaults: Check {
    guard let status else {
      if vault.isThere == false {
        return .problem(.vault, "there is no vault", mend: Mend(["liquid-auth", "init"]))
      }
      if let problem = vault.problem { return .problem(.vault, problem, mend: Mend(endOf: problem)) }
      return .ok(.vault, "there is one, and no authenticator uses it")
    }
    return switch status.vault {
    case .missing: .problem(.vault, "there is no vault", mend: Mend(["liquid-auth", "init"]))
    case .unusable:
      .problem(
        .vault, status.problems.first ?? "it cannot be used", mend: status.problems.first.flatMap { Mend(endOf: $0) })
    case .unlocked: .ok(.vault, "unlocked")
    case .locked:
      .ok(.vault, "locked\(status.lockReason.map { " \($0)" } ?? ""); the next request asks for the passphrase")
    }
  }

  var verification: Check {
    guard case .running(let status, let information?, let tries) = authenticator else {
      return .note(.verification, "cannot be checked: the authenticator gives no information")
    }
    if information.isPINSet, tries?.pin == 0 {
      return .problem(.verification, "the PIN is blocked", mend: Mend(["liquid-auth", "pin", "change"]))
    }
    if information.isPINSet, tries?.needsReplug == true {
      return .problem(
        .verification, "three wrong PINs in a row: the PIN can be tried again after a power cycle",
        mend: Mend(["liquid-auth", "device", "replug", "--power-cycle"]))
    }
    if information.isPINSet, information.forcePINChange {
      return .problem(
        .verification, "the PIN must be changed before its next use", mend: Mend(["liquid-auth", "pin", "change"]))
    }
    if information.isPINSet, tries == nil {
      return .note(
        .verification,
        status.waiting
          ? "the tries of the PIN cannot be checked while a prompt waits"
          : "the tries of the PIN cannot be checked: the authenticator does not give them")
    }
    guard information.canVerify || information.isPINSet else {
      return .note(
        .verification, "nothing verifies you, so sites that require verification refuse the key",
        mend: Mend(["liquid-auth", "pin", "set"]))
    }
    return .ok(
      .verification,
      information.canVerify ? "by \(status.verification)" + (information.isPINSet ? " or PIN" : "") : "by PIN")
  }

  var u2f: Check {
    guard case .running(_, let information?, _) = authenticator else {
      return .note(.u2f, "cannot be checked: the authenticator gives no information")
    }
    return information.alwaysUV
      ? .note(
        .u2f, "off while always-uv is on: sites that know only U2F do not work",
        mend: Mend(["liquid-auth", "config", "always-uv", "off"]))
      : .ok(.u2f, "on, beside FIDO2")
  }

  var backup: Check {
    .note(
      .backup, "passkeys come back from the phrase; rehearse that before you need it",
      mend: Mend(["liquid-auth", "recover", "--help"]))
  }
}
