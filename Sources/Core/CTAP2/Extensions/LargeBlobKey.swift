public import CBOR
import CryptoPrimitives
import Recovery

/// largeBlobKey: the key with which a platform encrypts its entry in the large-blob array, CTAP §12.3.
public enum LargeBlobKey: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "largeBlobKey"

  /// Takes `true`, for a discoverable credential.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    try requireTrue(input)
    guard request.options.rk == true else {
      throw CTAPError(.invalidOption, "largeBlobKey for a non-discoverable credential")
    }
    return Processing(member: 0x05)
  }

  /// Takes `true`.
  public static func getAssertion(
    _ input: CBORValue, _ request: GetAssertion.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    try requireTrue(input)
    return Processing(member: 0x07)
  }

  private struct Processing: ExtensionProcessing {
    /// The member's number in the response.
    let member: CBORValue

    func describe(in prompt: inout UserPrompt, vault: OpenVault) { prompt.extras.insert(.largeBlobKey) }

    func shape(_ registration: inout CredentialRegistration) { registration.policy.largeBlobKey = true }

    /// The key, 32 bytes, of a credential that was registered with this extension; none for a sign-in without
    /// consent (up = false), which any program can request.
    ///
    /// It leaves locked memory here, because the answer contains it.
    func members(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) -> CBORMap {
      let credential = ceremony.credential
      guard credential.policy.largeBlobKey, consent.userPresent else { return CBORMap() }
      let key = ceremony.vault.keys.largeBlobKey(credential.rpIDHash, id: credential.id)
      return [member: .bytes(key.withUnsafeBytes { Array($0) })]
    }
  }
}
