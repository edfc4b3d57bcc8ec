public import CBOR
import Recovery

/// credProtect: the verification that a credential requires before it is shown or used, CTAP §12.1.
public enum CredProtect: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "credProtect"

  /// Takes a level from 1 to 3.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    guard let number = input.unsigned else { throw CTAPError(.cborUnexpectedType, "credProtect is not a number") }
    guard let level = UInt8(exactly: number).flatMap(CredProtectLevel.init(rawValue:)) else {
      throw CTAPError(.invalidOption, "credProtect is not a level from 1 to 3")
    }
    return Processing(level: level)
  }

  private struct Processing: ExtensionProcessing {
    let level: CredProtectLevel

    func shape(_ registration: inout CredentialRegistration) { registration.policy.credProtect = level }

    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORValue? {
      CBORValue(Int(level.rawValue))
    }
  }
}
