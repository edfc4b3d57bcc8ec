import CBOR
import Recovery

/// authenticatorSelection: the user selects this key, CTAP §6.9.
public enum Selection: AuthenticatorCommand {
  /// CTAP §6.9.
  public static let code: UInt8 = 0x0B
  /// The name in the standard.
  public static let name = "authenticatorSelection"

  /// Waits for presence, without opening the vault.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> NoResponse {
    _ = try await authenticator.confirm(UserPrompt(purpose: .select), verification: false)
    return NoResponse()
  }
}

/// Registrations without a site, with which platforms find out which of several keys the user touches.
///
/// The credential is made and thrown away; the prompt asks what is meant: "is it this key?"
enum SelectionByRegistration {
  /// libfido2's, and that of Chromium and Firefox.
  ///
  /// No site can have either: an rp.id is a domain, and there is no `.blink`.
  private static let rpIDs = [".dummy", "make.me.blink"]
  /// The hashes that U2F sends for those, and Chromium's, the hash of an empty string.
  private static let applications = Set(rpIDs.map(RPIDHash.init(rpID:)))
    .union([RPIDHash(bytes: [UInt8](repeating: 0x41, count: 32))].compactMap(\.self))

  /// Whether a request is one: it asks for nothing that is stored or has value.
  static func isMeant(by request: MakeCredential.Request) -> Bool {
    rpIDs.contains(request.rp.id) && request.options.rk != true && request.options.uv != true
      && request.extensionInputs.isEmpty
  }

  /// Whether a registration of U2F is one.
  static func isMeant(by application: RPIDHash) -> Bool { applications.contains(application) }
}
