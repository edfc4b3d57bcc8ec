import Recovery

/// authenticatorReset: the passkeys that this machine made or used stop working here, CTAP §6.6 and Recovery §7.
public enum Reset: AuthenticatorCommand {
  /// CTAP §6.6.
  public static let code: UInt8 = 0x07
  /// The name in the standard.
  public static let name = "authenticatorReset"
  /// How long after power-up a reset is accepted.
  static let window = Duration.seconds(10)

  /// Empties the store and begins the next epoch.
  ///
  /// The phrase and its keys do not change. CTAP requires presence; programs of the user can forge a click,
  /// so verification is required if it is set up.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> NoResponse {
    // Later, no page or program can start a reset: the device must have been powered up just now.
    guard authenticator.now() - context.poweredUpAt <= window else {
      throw CTAPError(
        .notAllowed, "more than 10 s after the start; to reset, run: liquid-auth device replug --power-cycle")
    }
    let vault = try await authenticator.openVault(for: UserPrompt(purpose: .reset(importedPasskeys: 0)))
    // The previous phrase comes first: an interruption must not leave its keys without the PIN.
    let vaults = vault.phrases.reversed().map { vault[$0] }
    for vault in vaults { _ = try stateAfterReset(of: vault) }
    let prompt = UserPrompt(purpose: try losses(of: vault, now: authenticator.wallClock()))
    let consent = try await authenticator.confirm(
      prompt, verification: authenticator.interaction.canVerify, with: vault)
    authenticator.details.verification = consent.verification
    // Only the store of the present phrase, which is the last, gets entries.
    for open in vaults {
      let state = try stateAfterReset(of: open)
      if open.unlocking === vault.unlocking { authenticator.expectChange(by: Self.self, request, in: vault) }
      try stored(open.store.removeAll(state: state))
    }
    authenticator.pinUVAuth.forgetAll()
    authenticator.largeBlobWrite = nil
    return NoResponse()
  }

  /// The next epoch; checked before the prompt, and computed again from the state after it.
  private static func stateAfterReset(of vault: OpenVault) throws(CTAPError) -> StoreState {
    var state = try stored(vault.store.state())
    try stored(state.reset())
    return state
  }

  /// What the prompt says about the passkeys that would be removed, of both phrases.
  ///
  /// Those of the previous phrase are compared with the last backup of that phrase. Imported passkeys, which can be in both
  /// stores, count once.
  private static func losses(of vault: OpenVault, now: UInt64) throws(CTAPError) -> UserPrompt.Purpose {
    var (imported, unsaved) = (0, 0)
    var last: UInt64?
    for phrase in vault.phrases.reversed() {
      let found = try stored(losses(of: vault[phrase].store, countsImported: phrase == .present, now: now))
      (imported, unsaved, last) = (imported + found.imported, unsaved + found.unsaved, found.lastBackup)
    }
    return .reset(importedPasskeys: imported, unsaved: unsaved, lastBackup: last)
  }

  private static func losses(
    of store: any CredentialStore, countsImported: Bool, now: UInt64
  ) throws(RecoveryError) -> (imported: Int, unsaved: Int, lastBackup: UInt64?) {
    // Not the time of the own file in a followed folder, because a program without the passphrase records it. A time in
    // the future comes from a clock that was ahead: it does not show what was changed since.
    let lastBackup = try store.state().backup.written.flatMap { $0 <= now ? $0 : nil }
    let passkeys = try store.credentials { passkey in
      (isImported: !passkey.isDerivable, isUnsaved: lastBackup.map { passkey.lastChange > $0 } ?? true)
    }.filter { countsImported || !$0.isImported }
    return (passkeys.count(where: \.isImported), passkeys.count(where: \.isUnsaved), lastBackup)
  }
}
