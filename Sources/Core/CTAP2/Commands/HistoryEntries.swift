public import Recovery

// The entry of each command in the history: Recovery §6. A command sets what verified the user in
// `Authenticator.details`, and also a kind that does not depend on the request alone. Other commands leave no entry.

extension AuthenticatorCommand {
  /// Most requests are no ceremonies.
  public static func kind(of request: Request) -> HistoryEntry.Kind? { nil }
}

extension MakeCredential {
  /// A registration, unless it only selects a key.
  public static func kind(of request: Request) -> HistoryEntry.Kind? {
    SelectionByRegistration.isMeant(by: request) ? nil : .register
  }
}

extension GetAssertion {
  /// A sign-in, unless it asks nobody: browsers look for passkeys with such requests.
  public static func kind(of request: Request) -> HistoryEntry.Kind? {
    let verifies = request.options.uv == true && request.pinUvAuth.param == nil
    return request.asksForPresence || verifies ? .signIn : nil
  }
}

extension ClientPIN {
  /// A change of the PIN, or a token.
  public static func kind(of request: Request) -> HistoryEntry.Kind? {
    switch request.subcommand {
    case .setPIN, .changePIN: .changePIN
    case .getPinToken, .getPinUvAuthTokenUsingPinWithPermissions, .getPinUvAuthTokenUsingUvWithPermissions: .verify
    case .getPINRetries, .getKeyAgreement, .getUVRetries: nil
    }
  }
}

extension Reset {
  /// Every reset.
  public static func kind(of request: Request) -> HistoryEntry.Kind? { .reset }
}

extension Authenticator {
  /// Puts the entry of a request into the transaction of the change that follows (Recovery §6).
  ///
  /// - Parameter error: with which the request ends after the change.
  func expectChange<Command: AuthenticatorCommand>(
    by command: Command.Type, _ request: Command.Request, error: CTAPError? = nil, in vault: OpenVault
  ) {
    var report = CommandReport(
      command: command.name, rpID: request.rpID, error: error, elapsed: .zero, kind: command.kind(of: request))
    report.add(details)
    expect(report, vault.store)
  }
}

extension HistoryEntry.Outcome {
  /// The outcome of a ceremony; `nil` if it ended before anybody was asked.
  fileprivate init?(_ error: CTAPError?) {
    guard let error else {
      self = .done
      return
    }
    if error.isByPolicy {
      self = .deniedByPolicy
      return
    }
    switch (error.prompt, error.status) {
    case (_, .credentialExcluded): self = .alreadyRegistered
    case (.declined?, _), (.unavailable?, _): self = .denied
    case (.timedOut?, _): self = .timedOut
    case (.cancelled?, _): self = .cancelled
    case (.wrongPassphrase?, _), (.verificationFailed?, _), (.verificationBlocked?, _): self = .verificationFailed
    case (nil, .pinInvalid), (nil, .pinBlocked), (nil, .pinAuthBlocked): self = .verificationFailed
    case (nil, _): return nil
    }
  }
}

extension CommandReport {
  /// Whether the person agreed to the request, or was verified for it: only this is use of the key, which keeps the vault
  /// open.
  ///
  /// Any program can send requests that ask nobody, such as a sign-in without presence and verification, a
  /// getNextAssertion after a sign-in, or a list of passkeys with a token that it got long ago.
  public var isUse: Bool {
    guard error == nil, let kind else { return false }
    switch kind {
    case .register, .signIn, .u2fRegister, .u2fSignIn, .verify, .signTransactions, .signMessage, .signAssociation,
      .showPasskey, .exportPasskeys, .rememberDApp, .useDApp:
      return true
    case .nextSignIn: return false
    // Changes by the owner, whose passphrase counts when it is given, and by programs that the owner let in before.
    case .changePIN, .reset, .removePasskey, .renamePasskey, .recoverPasskey, .changeSettings, .replaceLargeBlobs,
      .changePolicy, .changePassphrase, .addSlot, .removeSlot, .findOldStore, .acceptOldStore, .makeBackup,
      .mergeBackup, .importPasskeys, .beginRotation, .giveUpSite, .endRotation, .turnOnCounter, .turnOffCounter,
      .followFolder, .leaveFolder, .acceptBeforeReset, .forgetReaders:
      return false
    }
  }

  /// Whether the request has an entry in the history.
  var isInHistory: Bool { kind != nil && HistoryEntry.Outcome(error) != nil }

  /// The entry for the history; `nil` for a request that is no ceremony, or was refused before anybody was asked.
  ///
  /// - Parameter time: Unix milliseconds.
  public func historyEntry(at time: UInt64) -> HistoryEntry? {
    guard let kind, let outcome = HistoryEntry.Outcome(error) else { return nil }
    return HistoryEntry(
      time: time, site: rpID, kind: kind, outcome: outcome, verification: verification, door: door)
  }
}
