public import CBOR
import Recovery

/// minPinLength: reports the minimum PIN length to the relying parties that the owner lists, CTAP §12.5.
public enum MinPINLength: AuthenticatorExtension {
  /// The extension identifier.
  public static let identifier = "minPinLength"

  /// Takes `true`.
  public static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? {
    try requireTrue(input)
    return Processing()
  }

  private struct Processing: ExtensionProcessing {
    /// The minimum PIN length in code points; `nil` for a relying party that is not on the list.
    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
      let settings = try ceremony.vault.settings()
      let rpID = ceremony.credential.rpID
      guard settings.minimumPINLengthRPIDs.contains(where: { $0.utf8.elementsEqual(rpID.utf8) }) else { return nil }
      return .unsigned(UInt64(settings.minimumPINLength))
    }
  }
}
