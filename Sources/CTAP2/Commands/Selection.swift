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
