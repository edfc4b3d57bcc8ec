public import CBOR
import Recovery

/// credBlob: a few bytes that the relying party keeps with a discoverable credential, CTAP §12.2.
public enum CredBlob: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "credBlob"
  /// getInfo's maxCredBlobLength, in bytes.
  static let maximumLength = 64

  /// Takes bytes; what is too long, or has no record to stand in, is not kept, and the output says so.
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
    /// Empty when nothing was kept, or when the record came back without it (Recovery §9); no output for a sign-in that
    /// nobody has agreed to (up = false), which any program can ask for.
    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORValue? {
      consent.userPresent ? .bytes(ceremony.credential.record?.credBlob ?? []) : nil
    }
  }
}
