public import CBOR
import Recovery

/// minPinLength: tells the relying parties that the owner lists how long a PIN must be, CTAP §12.5.
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
    /// The shortest PIN that may be set, in code points; nothing for who is not on the list.
    func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
      let settings = try ceremony.vault.settings()
      let rpID = ceremony.credential.rpID
      guard settings.minimumPINLengthRPIDs.contains(where: { $0.utf8.elementsEqual(rpID.utf8) }) else { return nil }
      return .unsigned(UInt64(settings.minimumPINLength))
    }
  }
}
