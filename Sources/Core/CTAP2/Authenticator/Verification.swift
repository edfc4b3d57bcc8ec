import Recovery

/// The source of a ceremony's user verification.
enum CeremonyVerification: Sendable {
  /// No verification.
  case none
  /// In the ceremony's own dialog, by the authenticator.
  case builtIn
  /// Earlier, when the platform got its pinUvAuthToken.
  case byToken

  /// Whether the user is verified, or will be before anything is signed.
  var isWanted: Bool { self != .none }
}

extension Authenticator {
  /// Whether any verification is set up: "protected by some form of user verification".
  func isProtected(_ settings: AuthenticatorSettings) -> Bool { interaction.canVerify || settings.pin != nil }

  /// Checks the token of a management command, and returns the relying party that the token is bound to, if any.
  ///
  /// - Throws: `pinAuthInvalid` if the token does not match or lacks the permission.
  @discardableResult
  mutating func authorize(
    _ param: PINUVAuthParam, over message: [UInt8], for permission: TokenPermissions, _ vault: OpenVault
  ) throws(CTAPError) -> String? {
    try pinUVAuth.authorize(
      param.bytes, param.version, over: message, for: permission, unlocking: vault.unlocking, now: now())
  }

  /// Decides how the ceremony is verified, once the vault is open: checks and binds the token, and applies alwaysUv
  /// (CTAP §6.1.2, steps 6 and 11; §6.2.2, steps 5 and 6) and the policy `always-verify`, which is alwaysUv for one site.
  ///
  /// - Parameters:
  ///   - isExempt: alwaysUv and `always-verify` do not apply, because the request asks for no presence.
  mutating func verification(
    _ param: PINUVAuthParam?, _ options: CeremonyOptions, over clientDataHash: [UInt8],
    for permission: TokenPermissions, rpID: String, settings: AuthenticatorSettings, isExempt: Bool, vault: OpenVault
  ) throws(CTAPError) -> CeremonyVerification {
    let isByPolicy = isExempt ? false : try vault.policy(rpID: rpID) == .alwaysVerify
    let isAlways = settings.alwaysUV && !isExempt || isByPolicy
    let cause = isByPolicy ? "the policy of the site is always-verify" : "alwaysUv is on"
    guard isProtected(settings) else {
      if isAlways { throw CTAPError(.puatRequired, "\(cause), and no PIN is set") }
      if param != nil { throw CTAPError(.pinNotSet, "pinUvAuthParam was sent, but no PIN is set") }
      return .none
    }
    if let param {
      try pinUVAuth.authorize(
        param.bytes, param.version, over: clientDataHash, for: permission, unlocking: vault.unlocking, now: now())
      try pinUVAuth.bindToken(to: rpID)
      return .byToken
    }
    if options.uv == true || isAlways && interaction.canVerify { return .builtIn }
    if isAlways { throw CTAPError(.puatRequired, "\(cause), and the request has no token") }
    return .none
  }

  /// Whether the presence of the token's dialog is enough for this prompt.
  ///
  /// A prompt is always shown if it names something that the token's dialog could not: an Algorand address, a passkey
  /// to be replaced, here or of the previous phrase, or an extra of an extension.
  func spares(_ prompt: UserPrompt, _ verification: CeremonyVerification) -> Bool {
    verification == .byToken && pinUVAuth.userPresent(at: now()) && prompt.algorandAddress == nil
      && !prompt.replacesPasskey && !prompt.movesFromPreviousPhrase && prompt.extras.isEmpty
  }

  /// Collects the consent of a ceremony: from the token, and from one dialog for what is missing.
  ///
  /// The dialog for the token shows neither the origin nor the address of an Algorand account: the ceremony's own
  /// dialog shows both, and verifies (Recovery §11).
  func consent(
    _ prompt: UserPrompt, _ verification: CeremonyVerification, with vault: OpenVault
  ) async throws(CTAPError) -> UserConsent {
    if spares(prompt, verification) { return .ofToken() }
    switch verification {
    case .byToken where prompt.algorandAddress != nil:
      return try await confirm(prompt, verification: true, with: vault)
    case .byToken:
      return try await confirm(prompt, verification: false, with: vault).verifiedByToken()
    case .builtIn:
      do throws(UserInteractionError) {
        return try await ask(prompt, verification: true, with: vault)
      } catch {
        let isPINSet = try vault.settings().pin != nil
        // A browser on another computer cannot get a token (`HybridRequest`).
        throw CTAPError(ofVerification: error, isPINSet: isPINSet && details.door != .hybrid)
      }
    case .none: return try await confirm(prompt, verification: false, with: vault)
    }
  }
}
