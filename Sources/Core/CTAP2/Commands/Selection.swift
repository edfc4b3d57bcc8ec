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
    _ = try await authenticator.confirm(authenticator.selectionPrompt(), verification: false)
    return NoResponse()
  }
}

extension Authenticator {
  /// The prompt of a request that asks only which key is meant.
  func selectionPrompt() -> UserPrompt {
    var prompt = UserPrompt(purpose: .select)
    prompt.unservedSite = unservedSite
    return prompt
  }

  /// The site of the sign-in before this command, if none of the listed passkeys is of this vault.
  ///
  /// A passkey that only needs verification is of this vault (credProtect 3). The list is compared again only here, so
  /// that the time of the sign-in's answer does not show that there is such a passkey.
  var unservedSite: String? {
    guard let unserved, let vault = keySource.current, vault.unlocking === unserved.unlocking,
      let found = try? unserved.request.applicableCredentials(in: vault, .byToken), found.count == 0
    else { return nil }
    return unserved.request.rpIdentifier
  }
}

extension PINUVAuthParameters {
  /// Steps 1 and 2 of CTAP §6.1.2 and §6.2.2: the MAC to check, if there is one.
  func read(on authenticator: Authenticator) async throws(CTAPError) -> PINUVAuthParam? {
    guard let param else { return nil }
    // 1. Empty: platforms of CTAP 2.0 let the user select a key in this way.
    if param.isEmpty {
      _ = try await authenticator.confirm(authenticator.selectionPrompt(), verification: false)
      throw CTAPError(
        try authenticator.reportedSettings().isPINSet ? .pinInvalid : .pinNotSet,
        "an empty pinUvAuthParam: the user answered")
    }
    // 2.
    return try read(param)
  }
}
