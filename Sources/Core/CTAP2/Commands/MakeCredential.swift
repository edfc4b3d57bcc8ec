import Recovery

extension MakeCredential: AuthenticatorCommand {
  /// CTAP §6.1.
  public static let code: UInt8 = 0x01
  /// The name in the standard.
  public static let name = "authenticatorMakeCredential"

  /// CTAP §6.1.2; the numbers are its steps.
  ///
  /// All checks that need no prompt come first.
  public static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    // 1, 2. An empty pinUvAuthParam selects a key; another one is checked in step 11.
    let param = try await request.pinUvAuth.read(on: authenticator)

    // 3. The first algorithm of the list that is supported.
    guard let algorithm = request.algorithms.first else {
      throw CTAPError(.unsupportedAlgorithm, "no algorithm of the list is supported")
    }

    // 4, 5. UP and UV start as false; the user's consent sets them.
    let options = try request.options.checkedForRegistration(in: authenticator, hasParam: param != nil)

    // 7. As far as it can be checked before the vault is open.
    try authenticator.refuseUnverifiedPasskey(options, hasParam: param != nil, authenticator.reportedSettings())

    // 9. Enterprise attestation is not supported.
    guard request.enterpriseAttestation == nil else {
      throw CTAPError(.invalidParameter, "enterprise attestation is not supported")
    }

    // 15.1. Extensions check their input before any prompt; unknown extensions are ignored.
    let extensions = try request.extensions(of: authenticator.extensions(in: context), with: &authenticator.pinUVAuth)
    try extensions.refuseWithoutVerification(canVerify: authenticator.canVerify)
    var registration = CredentialRegistration(rpID: request.rp.id, user: request.user, algorithm: algorithm)
    extensions.shape(&registration)
    let isSelection = SelectionByRegistration.isMeant(by: request)
    var prompt = request.prompt(isSelection ? .select : .register)
    if isSelection { prompt.unservedSite = authenticator.unservedSite } else { authenticator.unserved = nil }
    let vault = try await authenticator.openVault(for: prompt)
    try await authenticator.refuseDenied(prompt, by: vault)

    // 6–8, 11.1. A token gives verification; alwaysUv requires it.
    let settings = try vault.settings()
    try authenticator.refuseUnverifiedPasskey(options, hasParam: param != nil, settings.reported)
    let verification = try authenticator.verification(
      param, options, over: request.clientDataHash, for: .makeCredential, rpID: request.rp.id, settings: settings,
      isExempt: false, vault: vault)

    // 12. The excludeList.
    let known = try await refuseExcluded(
      request, policy: registration.policy, verification: verification, vault: vault, authenticator)

    // 11.2, 13, 14. One dialog gives presence and, if required, verification; it consumes the token.
    prompt.resembles = try vault.resemblance(of: request.rp.id)
    prompt.replacesPasskey = try request.replacesPasskey(in: vault)
    prompt.isFirstPasskey = request.options.rk == true ? try vault.isBeforeFirstPasskey() : false
    prompt.movesFromPreviousPhrase = try request.replacesKey(ofPrevious: vault.previous, verification)
    try extensions.describe(in: &prompt, vault: vault)
    // The extension `liquid` signs for an origin, which can have another policy than the rp.id.
    if prompt.origin != nil { try await authenticator.refuseDenied(prompt, by: vault) }
    let consent = try await authenticator.consent(prompt, verification, with: vault)
    authenticator.details.verification = consent.verification
    authenticator.pinUVAuth.useUpToken()

    // 16–19. The key pair, its record and its attestation.
    return try make(
      registration, request, extensions: extensions, known: known, vault: vault, on: &authenticator, consent: consent)
  }

  /// Steps 16 to 19, after the user's consent.
  private static func make(
    _ registration: CredentialRegistration, _ request: Request, extensions: RequestedExtensions, known: UInt32?,
    vault: OpenVault, on authenticator: inout Authenticator, consent: consuming UserConsent
  ) throws(CTAPError) -> Response {
    // 16–18. A new key pair; only the parameters that derive it are stored.
    let credential = try authenticator.makeCredential(
      registration, discoverable: request.options.rk == true, known: known, vault: vault, consent: consent)

    // 15.2, 19. The outputs of the extensions, and the attestation over them.
    let ceremony = Ceremony(clientDataHash: request.clientDataHash, extensions: extensions)
    let response = try ceremony.attestation(
      of: credential, format: request.attestationFormat, vault: vault, consent: consent)

    // 17.3. The record is durable before the answer exists, with the entry of the history.
    authenticator.expectChange(by: Self.self, request, in: vault)
    try stored(vault.save(credential))
    return response
  }

  /// Step 12: throws CREDENTIAL_EXCLUDED for a match, whatever the user answers, except after a CANCEL; without a
  /// match, returns the account's highest known counter.
  ///
  /// A match that requires verification (credProtect 3) asks for it, unless a token gave it; if verification fails, its
  /// error is thrown instead.
  private static func refuseExcluded(
    _ request: Request, policy: CredentialPolicy, verification: CeremonyVerification, vault: OpenVault,
    _ authenticator: Authenticator
  ) async throws(CTAPError) -> UInt32? {
    let findings = try stored(
      vault.examine(
        excludeList: request.excludeList.credentialIDs, rpID: request.rp.id, userID: request.user.id,
        algorithms: request.algorithms, policy: policy, userVerified: verification.isWanted))
    let visible = findings.hits.first { $0.policy.allows(userVerified: false) }
    guard let hit = visible ?? findings.hits.first else { return findings.highestKnownCounter }

    let excluded = CTAPError(.credentialExcluded, "a credential of the excludeList exists here")
    let consent: UserConsent
    do throws(CTAPError) {
      let needed = visible == nil || verification == .byToken ? verification : .none
      let prompt = try request.prompt(forExcluded: hit, in: vault)
      consent = try await authenticator.consent(prompt, needed, with: vault)
    } catch {
      let isUnverified = visible == nil && verification == .builtIn
      throw isUnverified || error.status == .keepaliveCancel ? error : excluded
    }
    authenticator.expectChange(by: Self.self, request, error: excluded, in: vault)
    try vault.remember(hit, user: request.user, now: authenticator.wallClock(), consent: consent)
    throw excluded
  }
}

extension CeremonyOptions {
  /// Step 5 of CTAP §6.1.2: the effective options; a pinUvAuthParam overrides `uv`.
  fileprivate func checkedForRegistration(
    in authenticator: Authenticator, hasParam: Bool
  ) throws(CTAPError) -> CeremonyOptions {
    guard uv != true || hasParam || authenticator.interaction.canVerify else {
      throw CTAPError(.invalidOption, "verification is not set up")
    }
    guard up != false else { throw CTAPError(.invalidOption, "a registration without user presence") }
    return hasParam ? withoutVerification : self
  }
}

extension Authenticator {
  /// Step 7 of CTAP §6.1.2: if verification is set up, passkeys require it; without a PIN, no token can be required
  /// instead.
  fileprivate func refuseUnverifiedPasskey(
    _ options: CeremonyOptions, hasParam: Bool, _ settings: ReportedSettings
  ) throws(CTAPError) {
    guard options.rk == true, options.uv != true, !hasParam, !settings.alwaysUV,
      settings.isPINSet || interaction.canVerify
    else { return }
    throw CTAPError(
      settings.isPINSet ? .puatRequired : .operationDenied,
      "a discoverable credential needs verification, and the request does not ask for it")
  }
}

extension Authenticator {
  /// Steps 16 to 18 of CTAP §6.1.2: the credential; a discoverable one has a record, which is not stored yet.
  ///
  /// - Parameter consent: the user's consent, which every new credential needs.
  fileprivate mutating func makeCredential(
    _ registration: CredentialRegistration, discoverable: Bool, known: UInt32?, vault: OpenVault,
    consent: borrowing UserConsent
  ) throws(CTAPError) -> Credential {
    do throws(RecoveryError) {
      if discoverable {
        return try vault.makeDiscoverableCredential(registration, known: known, now: wallClock())
      }
      return try vault.makeNonDiscoverableCredential(registration, using: &randomness)
    } catch {
      throw CTAPError(error)
    }
  }
}

extension MakeCredential.Request {
  /// The prompt for a credential of the excludeList, with the account of that credential, which need not be that of the
  /// request.
  ///
  /// An id has a user.id, but no names; they are known if the store or the request has the same account. The account of
  /// a phone wallet's id is an Algorand address.
  fileprivate func prompt(forExcluded hit: Credential, in vault: OpenVault) throws(CTAPError) -> UserPrompt {
    let userID = hit.parameters.userID
    var (record, prompt) = (hit.record, UserPrompt(purpose: .alreadyRegistered, rpID: rp.id))
    if record == nil, !userID.isEmpty {
      record = try stored(vault.store.account(rpIDHash: hit.rpIDHash, userID: userID))?.record
    }
    if let record {
      (prompt.accountName, prompt.accountDisplayName) = (record.name, record.displayName)
    } else if !userID.isEmpty, userID == user.id {
      (prompt.accountName, prompt.accountDisplayName) = (user.name, user.displayName)
    } else if hit.provenance == .phone {
      prompt.accountName = String(decoding: userID, as: UTF8.self)
    }
    return prompt
  }

  /// Whether the account has a passkey of the previous phrase, or the excludeList a key of it (Recovery §14).
  ///
  /// Such a key does not exclude the registration: so a site is moved to the present phrase.
  fileprivate func replacesKey(
    ofPrevious vault: OpenVault?, _ verification: CeremonyVerification
  ) throws(CTAPError) -> Bool {
    guard let vault else { return false }
    if try stored(vault.store.account(rpIDHash: RPIDHash(rpID: rp.id), userID: user.id))?.record != nil { return true }
    return try !stored(
      vault.examine(
        excludeList: excludeList.credentialIDs, rpID: rp.id, userID: user.id, algorithms: algorithms,
        userVerified: verification.isWanted)
    ).hits.allSatisfy(\.isImported)
  }

  /// Whether the account has a passkey here, which a new discoverable credential replaces (Recovery §6).
  fileprivate func replacesPasskey(in vault: OpenVault) throws(CTAPError) -> Bool {
    guard options.rk == true else { return false }
    return try stored(vault.store.account(rpIDHash: RPIDHash(rpID: rp.id), userID: user.id))?.record != nil
  }
}
