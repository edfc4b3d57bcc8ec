public import CBOR
import Recovery

/// credBlob: up to 64 bytes that the relying party stores with a discoverable credential, CTAP §12.2.
public enum CredBlob: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "credBlob"
  /// getInfo's maxCredBlobLength, in bytes.
  static let maximumLength = 64

  /// Takes bytes.
  ///
  /// If they are too long, or the credential has no record, they are not stored and the output is false.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    guard let blob = input.bytes else { throw CTAPError(.cborUnexpectedType, "credBlob is not a byte string") }
    let isKept = request.options.rk == true && blob.count <= maximumLength
    return Registration(blob: isKept ? blob : nil)
  }

  /// Takes `true`.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    try requireTrue(input)
    return Assertion()
  }

  private struct Registration: ExtensionProcessing {
    let blob: [UInt8]?

    func shape(_ registration: inout CredentialRegistration) { registration.credBlob = blob }

    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORValue? { .bool(blob != nil) }
  }

  private struct Assertion: ExtensionProcessing {
    /// Empty if nothing was stored, or if the recovered record lacks it (Recovery §9); no output for a sign-in
    /// without consent (up = false), which any program can request.
    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORValue? {
      consent.userPresent ? .bytes(ceremony.credential.record?.credBlob ?? []) : nil
    }
  }
}
