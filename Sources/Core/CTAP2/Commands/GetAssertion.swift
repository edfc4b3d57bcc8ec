import Recovery

extension GetAssertion: AuthenticatorCommand {
  /// CTAP §6.2.
  public static let code: UInt8 = 0x02
  /// The name in the standard.
  public static let name = "authenticatorGetAssertion"

  /// CTAP §6.2.2; the numbers are its steps.
  ///
  /// All checks that need no prompt come first.
  public static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    // 1, 2. An empty pinUvAuthParam selects a key; another one is checked in step 6.
    let param = try await request.pinUvAuth.read(on: authenticator)
    authenticator.unserved = nil

    // 3, 4. UP and UV start as false.
    let options = try request.options.checkedForAssertion(in: authenticator, hasParam: param != nil)

    // 10.1. Extensions check their input before any prompt; unknown ones are ignored.
    let extensions = try request.extensions(of: authenticator.extensions(in: context), with: &authenticator.pinUVAuth)
    try extensions.refuseWithoutVerification(canVerify: authenticator.canVerify)
    let mayBeSilent = options.up == false && options.uv != true
    let vault = try await authenticator.openVault(
      for: mayBeSilent ? .silent(request.prompt()) : .prompt(request.prompt()))
    if try vault.policy(rpID: request.rpIdentifier) == .deny {
      // Browsers look for passkeys with silent requests, and try another key only after this status.
      if options.up == false { throw CTAPError(deniedByPolicy: .noCredentials) }
      try await authenticator.refuseDenied(request.prompt(), by: vault)
    }

    // 5, 6.1. A token gives verification; alwaysUv requires it for every request with presence.
    let verification = try authenticator.verification(
      param, options, over: request.clientDataHash, for: .getAssertion, rpID: request.rpIdentifier,
      settings: vault.settings(), isExempt: options.up == false, vault: vault)

    // 7. The credentials that can sign if verification succeeds.
    var credentials = try request.applicableCredentials(in: vault, verification)
    let count = credentials.count
    guard let (first, phrase) = try credentials.popFirst(in: vault) else {
      if !request.allowList.isEmpty {
        authenticator.unserved = UnservedSignIn(request: request, context: context, unlocking: vault.unlocking)
      }
      throw await refuseWithoutCredentials(request, verification, vault, authenticator)
    }

    // 6.2, 8, 9. One dialog gives presence and, if required, verification, and consumes the token. A silent request has
    // no dialog.
    var prompt = request.prompt(for: first, of: count)
    if context.isHybrid, prompt.accountCount > 1 {
      // The browser gets no list of accounts: the person decides about this one.
      (prompt.accountCount, prompt.moreStoredAccounts) = (1, count - 1)
    }
    prompt.isOfPreviousPhrase = phrase == .previous
    try extensions.describe(in: &prompt, vault: vault)
    // The extension `liquid` signs for an origin, which can have another policy than the rp.id.
    if prompt.origin != nil { try await authenticator.refuseDenied(prompt, by: vault) }
    if prompt.extras.contains(.largeBlobKey), !first.policy.largeBlobKey,
      try !credentials.mayHaveLargeBlobKey(in: vault)
    {
      prompt.extras.remove(.largeBlobKey)
    }
    let isSilent = options.up == false && verification != .builtIn
    let isShown = !isSilent && !authenticator.spares(prompt, verification)
    let consent =
      isSilent
      ? UserConsent.silent(verifiedByToken: verification == .byToken)
      : try await authenticator.consent(prompt, verification, with: vault)
    authenticator.details.verification = consent.verification
    // Only step 9 clears the flags and permissions of the token, and it is for requests with presence.
    if options.up != false { authenticator.pinUVAuth.useUpToken() }

    // 10.2, 11–13. One credential signs; accounts that were found without an allowList wait for getNextAssertion.
    let ceremony = Ceremony(clientDataHash: request.clientDataHash, extensions: extensions)
    let kept = consent.kept
    var response = try ceremony.assertion(
      of: first, phrase, signCount: authenticator.signCount(of: first, userPresent: kept.userPresent), vault: vault,
      consent: consent)

    // The record of an id that was not in the store is durable before the answer (Recovery §7), with the entry of the
    // history, which only the store of the present phrase gets.
    let (address, now) = (prompt.algorandAddress, authenticator.wallClock())
    if phrase == .present, kept.userPresent {
      authenticator.expectChange(by: Self.self, request, in: vault)
    }
    if let writer = authenticator.writer, kept.userPresent, first.record == nil {
      try await withTaskExecutorPreference(writer) { () async throws(CTAPError) in
        try vault[phrase].remember(first, algorandAddress: address, now: now, consent: kept.part())
      }
    } else {
      try vault[phrase].remember(first, algorandAddress: address, now: now, consent: kept.part())
    }

    // A browser on another computer can send one request only: it could not continue.
    if request.allowList.isEmpty, count > 1, !context.isHybrid {
      response.numberOfCredentials = count
      authenticator.remaining = RemainingAssertions(
        ceremony: ceremony, credentials: credentials, consent: kept,
        details: CommandDetails(
          rpID: request.rpIdentifier, kind: kind(of: request).map { _ in .nextSignIn },
          verification: authenticator.details.verification),
        context: context, unlocking: vault.unlocking, since: authenticator.now())
    } else if request.allowList.isEmpty {
      // The prompt named the account. Without this Chromium shows an account chooser after it.
      response.userSelected = isShown
    }
    return response
  }

  /// Step 7.6: NO_CREDENTIALS at once, so that the platform can turn to another key.
  ///
  /// Without an allowList any program can ask about any site. There, requested verification comes first, as in
  /// step 6: otherwise the prompt would show that there is a protected account (credProtect 2, 3).
  private static func refuseWithoutCredentials(
    _ request: Request, _ verification: CeremonyVerification, _ vault: OpenVault, _ authenticator: Authenticator
  ) async -> CTAPError {
    do throws(CTAPError) {
      if request.allowList.isEmpty, verification == .builtIn {
        _ = try await authenticator.consent(request.prompt(), verification, with: vault)
      }
    } catch {
      return error
    }
    return CTAPError(.noCredentials, "no credential of the request can be used here")
  }
}

extension Authenticator {
  /// The signature counter: seconds of the clock for U2F credentials, 0 for all others (Recovery §4).
  ///
  /// U2F servers refuse a counter that does not grow, and the clock grows on every machine. A signature without
  /// presence does not raise the counter: a program that often signs silently would push it ahead of the clock, and it
  /// would fall back after a restart.
  mutating func signCount(of credential: Credential, userPresent: Bool) -> UInt32 {
    guard credential.kind == .u2f else { return 0 }
    let seconds = UInt32(truncatingIfNeeded: wallClock() / 1000)
    guard userPresent else { return max(lastU2FSignCount, seconds) }
    lastU2FSignCount = max(lastU2FSignCount &+ 1, seconds)
    return lastU2FSignCount
  }
}

extension CeremonyOptions {
  /// Step 4 of CTAP §6.2.2.
  fileprivate func checkedForAssertion(
    in authenticator: Authenticator, hasParam: Bool
  ) throws(CTAPError) -> CeremonyOptions {
    guard uv != true || hasParam || authenticator.interaction.canVerify else {
      throw CTAPError(.invalidOption, "verification is not set up")
    }
    guard rk == nil else { throw CTAPError(.unsupportedOption, "rk is not an option of getAssertion") }
    return hasParam ? withoutVerification : self
  }
}

extension GetAssertion.Request {
  /// Step 7 of CTAP §6.2.2: credentials that the allowList names, in its order, or the accounts of the relying party,
  /// the newest first; without those that credProtect excludes.
  ///
  /// Those of the previous phrase come last, and count only for accounts that were not moved (Recovery §14).
  func applicableCredentials(
    in vault: OpenVault, _ verification: CeremonyVerification
  ) throws(CTAPError) -> ApplicableCredentials {
    guard !allowList.isEmpty else {
      return try vault.credentials(at: rpIdentifier, userVerified: verification.isWanted)
    }
    var applicable = ApplicableCredentials()
    for phrase in vault.phrases where applicable.count == 0 {
      let credentials = try stored(
        vault[phrase].credentials(
          allowList: allowList.credentialIDs, rpID: rpIdentifier, userVerified: verification.isWanted))
      // An imported passkey is of no phrase, and used only from the present store.
      applicable.append(.read(credentials.filter { phrase == .present || !$0.isImported }[...]), of: phrase)
    }
    return applicable
  }

  /// The prompt, without the additions of extensions.
  fileprivate func prompt(for first: Credential? = nil, of count: Int = 0) -> UserPrompt {
    UserPrompt(
      purpose: .signIn, rpID: rpIdentifier, accountName: first?.record?.name,
      accountDisplayName: first?.record?.displayName, accountCount: allowList.isEmpty ? count : 1)
  }
}

extension OpenVault {
  /// The accounts of a relying party that are stored, the newest first, and then those of the previous phrase that were
  /// not moved (Recovery §14).
  func credentials(at rpID: String, userVerified: Bool) throws(CTAPError) -> ApplicableCredentials {
    let rpIDHash = RPIDHash(rpID: rpID)
    var applicable = ApplicableCredentials()
    // A record is read only when its turn comes.
    applicable.append(
      .unread(try StoredCredentials(rpIDHash: rpIDHash, userVerified: userVerified, in: self)), of: .present)
    if let previous {
      let unmoved = try unmovedCredentials(of: previous, at: rpIDHash, userVerified: userVerified)
      applicable.append(.read(unmoved[...]), of: .previous)
    }
    return applicable
  }

  /// The records of the previous phrase whose account has no record of the present one; without imported passkeys, which
  /// are used only from the present store.
  private func unmovedCredentials(
    of previous: OpenVault, at rpIDHash: RPIDHash, userVerified: Bool
  ) throws(CTAPError) -> [Credential] {
    var records = try StoredCredentials(rpIDHash: rpIDHash, userVerified: userVerified, in: previous)
    var unmoved: [Credential] = []
    while let record = try records.popFirst(in: previous) {
      guard record.isDerivable,
        try stored(store.account(rpIDHash: rpIDHash, userID: record.userID))?.record == nil
      else { continue }
      unmoved.append(Credential(record: record))
    }
    return unmoved
  }
}

/// authenticatorGetNextAssertion: the next account of a sign-in without an allowList, CTAP §6.3.
public enum GetNextAssertion: AuthenticatorCommand {
  /// CTAP §6.3.
  public static let code: UInt8 = 0x08
  /// The name in the standard.
  public static let name = "authenticatorGetNextAssertion"
  /// How long a client may wait between two answers.
  static let timeout = Duration.seconds(30)

  /// CTAP §6.3; the numbers are its steps.
  public static func run(
    _ request: NoParameters, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> GetAssertion.Response {
    // 1–3. There is no state, nothing is left, or the client took too long; or the vault was locked meanwhile.
    let now = authenticator.now()
    guard
      var remaining = authenticator.remaining.take(), now - remaining.since <= timeout,
      let vault = authenticator.keySource.current, vault.unlocking === remaining.unlocking,
      let (credential, phrase) = try remaining.credentials.popFirst(in: vault)
    else {
      throw CTAPError(.notAllowed, "there is no assertion to continue")
    }
    authenticator.details = remaining.details

    // 4–6. The flags are those of the first answer.
    let response = try remaining.ceremony.assertion(
      of: credential, phrase,
      signCount: authenticator.signCount(of: credential, userPresent: remaining.consent.userPresent),
      vault: vault, consent: remaining.consent.part())

    // 7, 8.
    remaining.since = now
    if remaining.credentials.count > 0 { authenticator.remaining = remaining }
    return response
  }
}
