import Recovery

/// authenticatorGetNextAssertion: the next account of a sign-in without an allowList, CTAP §6.3.
public enum GetNextAssertion: AuthenticatorCommand {
  /// CTAP §6.3.
  public static let code: UInt8 = 0x08
  /// The name in the standard.
  public static let name = "authenticatorGetNextAssertion"
  /// How long a client may wait between two answers.
  static let patience = Duration.seconds(30)

  /// CTAP §6.3; the numbers are its steps.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> GetAssertion.Response {
    // 1–3. Nothing is remembered, nothing is left, or the client took too long; or the vault was locked meanwhile.
    let now = authenticator.now()
    guard
      var remaining = authenticator.remaining.take(), now - remaining.since <= patience,
      let vault = authenticator.keySource.current, vault.unlocking === remaining.unlocking,
      let credential = remaining.credentials.popFirst()
    else {
      throw CTAPError(.notAllowed, "there is no assertion to go on from")
    }

    // 4–6. The flags are those of the first answer.
    let response = try remaining.ceremony.assertion(
      of: credential, signCount: authenticator.signCount(of: credential, userPresent: remaining.consent.userPresent),
      vault: vault, consent: remaining.consent.part())

    // 7, 8.
    remaining.since = now
    if !remaining.credentials.isEmpty { authenticator.remaining = remaining }
    return response
  }
}
