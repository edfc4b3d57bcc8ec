public import CBOR

/// hmac-secret: derives a secret of the credential from each salt of the platform, CTAP §12.7.
///
/// WebAuthn calls it `prf`.
public enum HMACSecret: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "hmac-secret"

  /// Takes `true`; every credential has CredRandoms, even without a request (Recovery §5).
  ///
  /// `false` requests nothing: Firefox sends it with every registration that does not use the extension.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    guard let isAskedFor = input.bool else { throw CTAPError(.cborUnexpectedType, "hmac-secret is not a boolean") }
    return isAskedFor ? Registration() : nil
  }

  /// Takes encrypted salts, with user presence.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    guard request.asksForPresence else {
      throw CTAPError(.unsupportedOption, "hmac-secret without user presence")
    }
    return try HMACSecretSalts(input, with: &pinUVAuth)
  }

  private struct Registration: ExtensionProcessing {
    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORValue? { true }
  }
}

/// hmac-secret-mc: the same secrets in the answer to a registration, CTAP §12.8.
public enum HMACSecretMC: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "hmac-secret-mc"

  /// Takes encrypted salts, together with hmac-secret.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    guard request.extensionInputs[.text(HMACSecret.identifier)] == true else {
      throw CTAPError(.missingParameter, "hmac-secret-mc without hmac-secret")
    }
    return try HMACSecretSalts(input, with: &pinUVAuth)
  }
}
