import CryptoPrimitives
import Recovery

extension CredentialManagement: AuthenticatorCommand {
  /// CTAP §6.8.
  public static let code: UInt8 = 0x0A
  /// The name in the standard.
  public static let name = "authenticatorCredentialManagement"

  /// CTAP §6.8.2 to §6.8.6: the token proves verification and the permission.
  public static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    // Only its own sub-command continues an enumeration.
    let enumeration = authenticator.enumeration.take()
    guard let param = try request.param(), let operation = try request.operation() else {
      return try resume(enumeration, request.subcommand, on: &authenticator)
    }
    let vault = try await authenticator.openVault(for: UserPrompt(purpose: .authorize(.credentialManagement)))
    let rpID = try authenticator.authorize(param, operation, over: request.authenticatedMessage, vault)
    switch operation {
    case .getMetadata:
      try refuseBoundToken(rpID)
      return try metadata(of: vault)
    case .enumerateRPs:
      try refuseBoundToken(rpID)
      return try beginRPs(vault, in: context, on: &authenticator)
    case .enumerateCredentials(let rpIDHash):
      try check(rpID, fits: rpIDHash)
      return try beginCredentials(of: rpIDHash, vault, in: context, on: &authenticator)
    case .delete(let id):
      let source = try vault.credentialToDelete(id: id, rpID: rpID)
      try check(rpID, fits: source.rpIDHash)
      authenticator.details = CommandDetails(rpID: source.rpID, kind: .removePasskey, verification: .token)
      let now = authenticator.wallClock()
      authenticator.expectChange(by: Self.self, request, in: vault)
      try stored(vault.remove(source, now: now))
    case .update(let id, let user):
      let source = try vault.credentialToRename(id: id, userID: user.id, rpID: rpID)
      try check(rpID, fits: source.rpIDHash)
      guard user.id == source.userID else {
        throw CTAPError(.invalidParameter, "user.id does not match the credential")
      }
      authenticator.details = CommandDetails(rpID: source.rpID, kind: .renamePasskey, verification: .token)
      // An absent or empty name is removed (CTAP §6.8.6).
      let now = authenticator.wallClock()
      authenticator.expectChange(by: Self.self, request, in: vault)
      try stored(vault.rename(source, name: user.name, displayName: user.displayName, now: now))
    }
    return .done
  }

  // MARK: Scope of the token

  private static func refuseBoundToken(_ rpID: String?) throws(CTAPError) {
    guard rpID == nil else {
      throw CTAPError(.pinAuthInvalid, "the token is for one relying party, and the command is for all")
    }
  }

  private static func check(_ rpID: String?, fits rpIDHash: RPIDHash) throws(CTAPError) {
    guard let rpID, RPIDHash(rpID: rpID) != rpIDHash else { return }
    throw CTAPError(.pinAuthInvalid, "the token is for another relying party")
  }

  // MARK: Reading

  /// getCredsMetadata: CTAP §6.8.2.
  private static func metadata(of vault: OpenVault) throws(CTAPError) -> Response {
    .metadata(
      existing: try stored(vault.store.credentialCount()),
      remaining: try stored(vault.remainingDiscoverableCredentials()))
  }

  /// enumerateRPsBegin: CTAP §6.8.3.
  private static func beginRPs(
    _ vault: OpenVault, in context: RequestContext, on authenticator: inout Authenticator
  ) throws(CTAPError) -> Response {
    let total = try stored(vault.store.relyingPartyCount())
    guard let first = try stored(vault.store.relyingParty(after: nil)) else { throw noCredentials() }
    authenticator.enumeration = Enumeration(
      progress: .relyingParties(upTo: first.place), context: context, unlocking: vault.unlocking,
      since: authenticator.now())
    return .relyingParty(first.rpID, total: total)
  }

  /// enumerateCredentialsBegin: CTAP §6.8.4.
  private static func beginCredentials(
    of rpIDHash: RPIDHash, _ vault: OpenVault, in context: RequestContext, on authenticator: inout Authenticator
  ) throws(CTAPError) -> Response {
    var credentials = try StoredCredentials(rpIDHash: rpIDHash, userVerified: true, in: vault)
    let total = credentials.count
    guard let first = try credentials.popFirst(in: vault) else { throw noCredentials() }
    authenticator.enumeration = Enumeration(
      progress: .credentialsBefore(credentials), context: context, unlocking: vault.unlocking,
      since: authenticator.now())
    return try vault.description(of: first, total: total)
  }

  /// enumerateRPsGetNextRP and enumerateCredentialsGetNextCredential.
  ///
  /// - Throws: `notAllowed` if no such enumeration is open, nothing is left, the client took too long, or the
  ///   vault was locked meanwhile.
  private static func resume(
    _ enumeration: Enumeration?, _ subcommand: Subcommand, on authenticator: inout Authenticator
  ) throws(CTAPError) -> Response {
    let now = authenticator.now()
    let nothing = CTAPError(.notAllowed, "there is no enumeration to continue")
    guard var enumeration, now - enumeration.since <= GetNextAssertion.timeout,
      let vault = authenticator.keySource.current, vault.unlocking === enumeration.unlocking
    else { throw nothing }
    let response: Response
    switch (enumeration.progress, subcommand) {
    case (.relyingParties(let place), .enumerateRPsGetNextRP):
      guard let next = try stored(vault.store.relyingParty(after: place)) else { throw nothing }
      enumeration.progress = .relyingParties(upTo: next.place)
      response = .relyingParty(next.rpID, total: nil)
    case (.credentialsBefore(var credentials), .enumerateCredentialsGetNextCredential):
      guard let source = try credentials.popFirst(in: vault) else { throw nothing }
      enumeration.progress = .credentialsBefore(credentials)
      response = try vault.description(of: source, total: nil)
    default: throw nothing
    }
    enumeration.since = now
    authenticator.enumeration = enumeration
    return response
  }

  fileprivate static func noCredentials() -> CTAPError { CTAPError(.noCredentials, "there is no such credential") }
}

/// The same command with its number in the drafts of CTAP 2.1, for the option credentialMgmtPreview.
///
/// libfido2 1.12, and with it the fido2-token and ssh-keygen of Debian 12, uses only this number. getInfo does not
/// list it, because it lists credMgmt.
public enum CredentialManagementPreview: AuthenticatorCommand {
  /// In the range for vendors (CTAP §6).
  public static let code: UInt8 = 0x41
  /// The name in the standard.
  public static let name = CredentialManagement.name

  /// Runs ``CredentialManagement``.
  public static func run(
    _ request: CredentialManagement.Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> CredentialManagement.Response {
    try await CredentialManagement.run(request, in: context, on: &authenticator)
  }
}

extension CredentialManagement.Request {
  /// The pinUvAuthParam; `nil` for a sub-command that continues an enumeration.
  ///
  /// Its absence is reported before that of any other member (CTAP §6.8.2, step 1).
  fileprivate func param() throws(CTAPError) -> PINUVAuthParam? {
    switch subcommand {
    case .enumerateRPsGetNextRP, .enumerateCredentialsGetNextCredential: nil
    default: try pinUvAuth.required()
    }
  }
}

extension Authenticator {
  /// Checks the token of an operation, and returns the relying party that the token is bound to, if any.
  ///
  /// - Throws: `pinAuthInvalid` if the token does not match.
  fileprivate mutating func authorize(
    _ param: PINUVAuthParam, _ operation: CredentialManagement.Operation, over message: [UInt8], _ vault: OpenVault
  ) throws(CTAPError) -> String? {
    if operation.isReading,
      let token = try vault.settings().persistentToken,
      param.version.isAuthentic(param.bytes, over: message, key: token)
    {
      return nil
    }
    return try authorize(param, over: message, for: .credentialManagement, vault)
  }
}

// MARK: - Access to the store

extension OpenVault {
  /// The discoverable credential with this id: that of the relying party to which the token is bound, if it has one, or of
  /// any relying party.
  ///
  /// The id of an imported passkey comes from a file of another program, and can be the id of another site's passkey.
  private func discoverableCredential(id: [UInt8], rpID: String?) throws(CTAPError) -> CredentialSource {
    if let rpID, let source = try stored(store.credential(id: id, rpIDHash: RPIDHash(rpID: rpID))) { return source }
    guard let source = try stored(store.credential(id: id)) else { throw CredentialManagement.noCredentials() }
    return source
  }

  /// The discoverable credential that a deletion of this id removes: if an imported and a derived credential of a relying
  /// party have the same id, the imported one.
  ///
  /// The id of an imported passkey comes from a file of another program. In this order, such a file cannot make a platform
  /// remove the derived credential instead. The next deletion removes that one.
  fileprivate func credentialToDelete(id: [UInt8], rpID: String?) throws(CTAPError) -> CredentialSource {
    let source = try discoverableCredential(id: id, rpID: rpID)
    guard source.isDerivable else { return source }
    return try stored(store.entry(accountTag: keys.importedTag(source.rpIDHash, id: id)))?.record ?? source
  }

  /// The discoverable credential that a new name for this id is for.
  ///
  /// If several have the id, it is the one with this user.id, and the derived one of these. So an imported passkey cannot
  /// keep a derived one from being renamed.
  fileprivate func credentialToRename(
    id: [UInt8], userID: [UInt8], rpID: String?
  ) throws(CTAPError) -> CredentialSource {
    let source = try discoverableCredential(id: id, rpID: rpID)
    guard !source.isDerivable || source.userID != userID else { return source }
    let same = try stored(store.credentials { $0.id == id && $0.userID == userID ? $0 : nil }).compactMap { $0 }
      .filter { rpID == nil || $0.rpIDHash == source.rpIDHash }
    return same.first(where: \.isDerivable) ?? same.first ?? source
  }

  /// The members of a credential in an enumeration.
  fileprivate func description(
    of source: CredentialSource, total: Int?
  ) throws(CTAPError) -> CredentialManagement.Response {
    let largeBlobKey = source.policy.largeBlobKey ? keys.largeBlobKey(source.rpIDHash, id: source.id) : nil
    return .credential(
      source, publicKey: try privateKey(of: Credential(record: source)).publicKey,
      largeBlobKey: largeBlobKey?.withUnsafeBytes { Array($0) }, total: total)
  }
}
