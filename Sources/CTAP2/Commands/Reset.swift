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
    _ = try stateAfterReset(of: vault)
    let prompt = UserPrompt(purpose: .reset(importedPasskeys: try importedPasskeys(in: vault)))
    _ = try await authenticator.confirm(prompt, verification: authenticator.interaction.canVerify, with: vault)
    let state = try stateAfterReset(of: vault)
    try stored(vault.store.removeAll(state: state))
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

  /// How many passkeys cannot be recovered.
  private static func importedPasskeys(in vault: OpenVault) throws(CTAPError) -> Int {
    try stored(vault.store.allCredentials()).count { !$0.isDerivable }
  }
}
