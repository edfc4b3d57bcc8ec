package import Recovery

// The owner's policies for sites. They are sealed in the store, so they apply once the vault is open.

extension OpenVault {
  /// The policy of a request: the strictest of those of its names; `allow` for a registration that only selects a key.
  ///
  /// Every request that has the name of a relying party, or of an origin or host, asks this function.
  package func policy(rpID: String?, origin: String? = nil) throws(CTAPError) -> SitePolicy {
    let policy = try policies().policy(rpID: rpID, origin: origin)
    guard policy != .allow, origin == nil, let rpID else { return policy }
    return SelectionByRegistration.isMeant(by: RPIDHash(rpID: rpID)) ? .allow : policy
  }

  /// The policy of the site of a U2F message; `allow` for a registration that only selects a key.
  func policy(of application: RPIDHash) throws(CTAPError) -> SitePolicy {
    SelectionByRegistration.isMeant(by: application) ? .allow : try policies().policy(of: application)
  }

  /// The owner's policies.
  func policies() throws(CTAPError) -> SitePolicies { try stored(store.state().policies) }
}

extension Authenticator {
  /// Refuses a ceremony without a dialog, if the policy of its site or of its origin is `deny`.
  ///
  /// - Throws: the error of a refusal in the dialog: `operationDenied`; if other keys are plugged in, `userActionTimeout`
  ///   or `keepaliveCancel`.
  func refuseDenied(_ prompt: UserPrompt, by vault: OpenVault) async throws(CTAPError) {
    guard try vault.policy(rpID: prompt.rpID, origin: prompt.origin) == .deny else { return }
    throw CTAPError(deniedByPolicy: CTAPError(await interaction.refuse(prompt, from: client)).status)
  }

  /// Refuses a wallet's request without a dialog, if the policy of its origin is `deny`, or `always-verify` while
  /// verification is not set up.
  ///
  /// - Parameter origin: the origin or the host that the wallet names.
  package func refuseDenied(origin: String, by vault: OpenVault) throws(CTAPError) {
    switch try vault.policy(rpID: nil, origin: origin) {
    case .allow: return
    case .deny: throw .deniedByPolicy
    case .alwaysVerify where canVerify: return
    case .alwaysVerify:
      throw CTAPError(
        .invalidOption,
        "the policy of the site is always-verify, and verification is off; start the authenticator with "
          + "--verification passphrase")
    }
  }
}
