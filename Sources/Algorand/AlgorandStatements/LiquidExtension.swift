public import CBOR
public import CTAP2
import DeterministicKeys
import Recovery

/// The extension `liquid`: an Algorand account of the vault signs with the passkey, in one prompt (Recovery §11).
///
/// Its output is in the authenticator data, so the passkey's signature covers it.
public enum LiquidExtension: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "liquid"

  /// Takes the challenge form or the bound form.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    Processing(
      request: try LiquidRequest(
        input,
        in: LiquidRequest.Context(
          ceremony: .create, rpID: request.rp.id, clientDataHash: request.clientDataHash,
          userPresence: request.asksForPresence, userVerification: request.asksForVerification)))
  }

  /// Takes the challenge form or the bound form; each assertion has an output of its own.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    Processing(
      request: try LiquidRequest(
        input,
        in: LiquidRequest.Context(
          ceremony: .get, rpID: request.rpIdentifier, clientDataHash: request.clientDataHash,
          userPresence: request.asksForPresence, userVerification: request.asksForVerification)))
  }

  private struct Processing: ExtensionProcessing {
    let request: LiquidRequest
    let needsVerificationInDialog = true

    /// Shows the origin, the account that would sign, and whether it is new at the site (Recovery §12).
    func describe(in prompt: inout UserPrompt, vault: OpenVault) throws(CTAPError) {
      let address = try account(of: vault).address.text
      let entry = try stored(vault.store.account(rpIDHash: request.rpIDHash, userID: Array(address.utf8)))
      prompt.isFirstUse = entry?.record == nil
      prompt.origin = request.origin
      prompt.algorandAddress = address
    }

    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
      .map(
        try request.output(
          credentialID: ceremony.credential.id, account: account(of: ceremony.present), consent: consent))
    }

    private func account(of vault: OpenVault) throws(CTAPError) -> AlgorandAccount {
      do throws(DeterministicKeysError) {
        return try vault.algorandAccount()
      } catch {
        throw CTAPError(.other, "the vault has no Algorand account: \(error)")
      }
    }
  }
}
