/// authenticatorReset: what this machine made or used is dead here from now on, CTAP §6.6 and Recovery §7.
public enum Reset: AuthenticatorCommand {
  /// CTAP §6.6.
  public static let code: UInt8 = 0x07
  /// The name in the standard.
  public static let name = "authenticatorReset"
  /// How long after power-up a reset is taken.
  static let window = Duration.seconds(10)

  /// Empties the store and goes on in the next epoch.
  ///
  /// The phrase, and with it every key, stays what it was.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> NoResponse {
    // Nothing that a page or a program sends later can start a reset: the device must have been plugged in just now.
    guard authenticator.now() - context.poweredUpAt <= window else {
      throw CTAPError(.notAllowed, "more than 10 s since the device was created; run liquid-auth device replug")
    }
    let vault = try await authenticator.openVault(for: UserPrompt(purpose: .reset(importedPasskeys: 0)))
    _ = try stateAfterReset(of: vault)
    let prompt = UserPrompt(purpose: .reset(importedPasskeys: try importedPasskeys(in: vault)))
    _ = try await authenticator.confirm(prompt, verification: false, with: vault)
    let state = try stateAfterReset(of: vault)
    do throws(StoreError) { try vault.store.removeAll(state: state) } catch { throw CTAPError(error) }
    authenticator.pinUVAuth = PINUVAuthState(poweredUpAt: authenticator.pinUVAuth.poweredUpAt)
    authenticator.largeBlobWrite = nil
    return NoResponse()
  }

  /// The next epoch; checked before the person is asked, and made from what is then there.
  private static func stateAfterReset(of vault: OpenVault) throws(CTAPError) -> StoreState {
    var state: StoreState
    do throws(StoreError) { state = try vault.store.state() } catch { throw CTAPError(error) }
    do throws(EpochsUsedUp) { try state.reset() } catch { throw CTAPError(.other, "the last epoch is in use") }
    return state
  }

  /// How many passkeys nothing will bring back.
  private static func importedPasskeys(in vault: OpenVault) throws(CTAPError) -> Int {
    do throws(StoreError) {
      return try vault.store.allCredentials().count { !$0.isDerivable }
    } catch {
      throw CTAPError(error)
    }
  }
}
