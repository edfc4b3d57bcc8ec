public import CBOR
import Recovery

/// thirdPartyPayment: whether another site may start a payment with the credential, CTAP §12.9.
public enum ThirdPartyPayment: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "thirdPartyPayment"

  /// Takes a boolean: clients send `false` too, for a credential that is for no payments.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    try isAskedFor(input) ? Registration() : nil
  }

  /// Takes a boolean; `false` requests no output.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    try isAskedFor(input) ? Assertion() : nil
  }

  private static func isAskedFor(_ input: CBORValue) throws(CTAPError) -> Bool {
    guard let isAskedFor = input.bool else {
      throw CTAPError(.cborUnexpectedType, "thirdPartyPayment is not a boolean")
    }
    return isAskedFor
  }

  private struct Registration: ExtensionProcessing {
    func describe(in prompt: inout UserPrompt, vault: OpenVault) { prompt.extras.insert(.payment) }

    func shape(_ registration: inout CredentialRegistration) { registration.policy.thirdPartyPayment = true }
  }

  private struct Assertion: ExtensionProcessing {
    func describe(in prompt: inout UserPrompt, vault: OpenVault) { prompt.extras.insert(.payment) }

    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORValue? {
      .bool(ceremony.credential.policy.thirdPartyPayment)
    }
  }
}
