import CBOR
import Recovery

/// authenticatorSelection: "is it this key that you mean?", CTAP §6.9.
public enum Selection: AuthenticatorCommand {
  /// CTAP §6.9.
  public static let code: UInt8 = 0x0B
  /// The name in the standard.
  public static let name = "authenticatorSelection"

  /// Waits for presence; the vault is not needed for it.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> NoResponse {
    _ = try await authenticator.confirm(UserPrompt(purpose: .select), verification: false)
    return NoResponse()
  }
}

/// Registrations at nobody, with which platforms find out which of several keys is touched.
///
/// They are made as they are asked for, and thrown away; the person is asked what they mean: "is it this key?"
enum SelectionByRegistration {
  /// libfido2's, and that of Chromium and Firefox.
  ///
  /// No site can have either: an rp.id is a domain, and there is no `.blink`.
  private static let rpIDs = [".dummy", "make.me.blink"]
  /// What U2F sends for those; and Chromium's, which is the hash of nothing.
  private static let applications = Set(rpIDs.map(RPIDHash.init(rpID:)))
    .union([RPIDHash(bytes: [UInt8](repeating: 0x41, count: 32))].compactMap(\.self))

  /// Whether a request is one: it wants nothing that stays or is worth something.
  static func isMeant(by request: MakeCredential.Request) -> Bool {
    rpIDs.contains(request.rp.id) && request.options.rk != true && request.options.uv != true
      && request.extensionInputs.isEmpty
  }

  /// Whether a registration of U2F is one.
  static func isMeant(by application: RPIDHash) -> Bool { applications.contains(application) }
}
