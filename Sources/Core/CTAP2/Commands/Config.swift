import Recovery

extension Config: AuthenticatorCommand {
  /// CTAP §6.11.
  public static let code: UInt8 = 0x0D
  /// The name in the standard.
  public static let name = "authenticatorConfig"

  /// CTAP §6.11, §6.11.2 and §6.11.4.
  public static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> NoResponse {
    // As far as it can be checked before the vault is open.
    if authenticator.asksForToken(request, try authenticator.reportedSettings()) {
      _ = try request.pinUvAuth.required()
    }
    let vault = try await authenticator.openVault(for: UserPrompt(purpose: .authorize(.authenticatorConfiguration)))
    let before = try vault.settings()
    let isByToken = authenticator.asksForToken(request, before.reported)
    if isByToken {
      try authenticator.authorize(
        request.pinUvAuth.required(), over: request.authenticatedMessage, for: .authenticatorConfiguration, vault)
    }
    var settings = before
    switch request.subcommand {
    case .toggleAlwaysUv: settings.alwaysUV.toggle()
    case .setMinPINLength:
      guard !request.pinComplexityPolicy else {
        throw CTAPError(.invalidParameter, "PIN complexity policies are not supported")
      }
      try settings.setMinimumPINLength(
        request.newMinPINLength, rpIDs: request.minPinLengthRPIDs, forceChange: request.forceChangePin)
    }
    if settings != before {
      authenticator.details = CommandDetails(kind: .changeSettings, verification: isByToken ? .token : nil)
    }
    // Without verification, the standard lets any program do this; here the user confirms it.
    if !isByToken, let change = UserPrompt.Change(from: before, to: settings) {
      _ = try await authenticator.confirm(UserPrompt(purpose: .change(change)), verification: false, with: vault)
    }
    authenticator.expectChange(by: Self.self, request, in: vault)
    try vault.save(settings)
    // Tokens of the old PIN end with it.
    if request.subcommand == .setMinPINLength, settings.forcePINChange { authenticator.pinUVAuth.endToken() }
    return NoResponse()
  }
}

extension UserPrompt.Change {
  /// The change of one sub-command; `nil` for none.
  fileprivate init?(from before: AuthenticatorSettings, to after: AuthenticatorSettings) {
    guard before != after else { return nil }
    guard before.alwaysUV == after.alwaysUV else {
      self = .alwaysUV(after.alwaysUV)
      return
    }
    let rpIDs = after.minimumPINLengthRPIDs
    self = .minimumPINLength(
      from: before.minimumPINLength, to: after.minimumPINLength,
      rpIDs: rpIDs == before.minimumPINLengthRPIDs ? nil : rpIDs)
  }
}

extension Authenticator {
  /// Whether verification is required: always if it is set up, and with alwaysUv, which only
  /// toggleAlwaysUv itself can end again (CTAP §6.11, step 4).
  fileprivate func asksForToken(_ request: Config.Request, _ settings: ReportedSettings) -> Bool {
    settings.isPINSet || interaction.canVerify || settings.alwaysUV && request.subcommand != .toggleAlwaysUv
  }
}
