import CBOR
import CryptoPrimitives
import Recovery

extension ClientPIN: AuthenticatorCommand {
  /// CTAP §6.5.
  public static let code: UInt8 = 0x06
  /// The name in the standard.
  public static let name = "authenticatorClientPIN"

  /// CTAP §6.5.5, by sub-command; each first checks that its parameters are present.
  public static func run(
    _ request: Request, in context: RequestContext, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    switch request.subcommand {
    case .getPINRetries:
      return .pinRetries(
        try authenticator.reportedSettings().pinRetries, needsPowerCycle: authenticator.pinUVAuth.isBlocked)
    case .getKeyAgreement:
      return .keyAgreement(try authenticator.pinUVAuth.publicKey(request.requiredVersion()).keyAgreement)
    case .setPIN: return try await setPIN(request, on: &authenticator)
    case .changePIN: return try await changePIN(request, on: &authenticator)
    case .getPinToken, .getPinUvAuthTokenUsingPinWithPermissions:
      return try await tokenByPIN(request, on: &authenticator)
    case .getPinUvAuthTokenUsingUvWithPermissions: return try await tokenByVerification(request, on: &authenticator)
    case .getUVRetries:
      guard authenticator.interaction.canVerify else { throw noVerification() }
      return .uvRetries(authenticator.interaction.verificationTriesLeft)
    }
  }

  private static func noVerification() -> CTAPError {
    CTAPError(.invalidSubcommand, "there is no built-in verification")
  }

  // MARK: setPIN and changePIN

  /// CTAP §6.5.5.5.
  private static func setPIN(_ request: Request, on authenticator: inout Authenticator) async throws(CTAPError)
    -> Response
  {
    let (version, key) = (try request.requiredVersion(), try request.requiredKeyAgreement())
    let (encrypted, param) = (try request.requiredNewPIN(), try request.requiredParam())
    let prompt = UserPrompt(purpose: .setPIN)
    let vault = try await authenticator.openVault(for: prompt)
    var settings = try vault.settings()
    guard settings.pin == nil else { throw CTAPError(.pinAuthInvalid, "a PIN is set; change it instead") }
    let secret = try authenticator.pinUVAuth.sharedSecret(with: P256.PublicKey(keyAgreement: key), version)
    guard secret.isAuthentic(param, over: encrypted) else {
      throw CTAPError(.pinAuthInvalid, "pinUvAuthParam does not match newPinEnc")
    }
    try settings.setPIN(StoredPIN(decrypting: encrypted, with: secret))
    // A PIN allows verification, as the passphrase does, and management of the device: without this prompt, a program
    // could set a PIN and use it.
    let consent = try await authenticator.confirm(
      prompt, verification: authenticator.interaction.canVerify, with: vault)
    authenticator.details.verification = consent.verification
    authenticator.expectChange(by: Self.self, request, in: vault)
    try vault.save(settings)
    return .done
  }

  /// CTAP §6.5.5.6.
  private static func changePIN(
    _ request: Request, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    let (version, key) = (try request.requiredVersion(), try request.requiredKeyAgreement())
    let (encrypted, hash) = (try request.requiredNewPIN(), try request.requiredPINHash())
    let param = try request.requiredParam()
    let vault = try await authenticator.openVault(for: nil)
    try authenticator.checkPINCanBeTried(vault)
    let secret = try authenticator.pinUVAuth.sharedSecret(with: P256.PublicKey(keyAgreement: key), version)
    guard secret.isAuthentic(param, over: encrypted + hash) else {
      throw CTAPError(.pinAuthInvalid, "pinUvAuthParam does not match newPinEnc and pinHashEnc")
    }
    try authenticator.checkPIN(hash, secret, vault)
    authenticator.details.verification = .pin
    authenticator.expectChange(by: Self.self, request, in: vault)
    try authenticator.setPIN(StoredPIN(decrypting: encrypted, with: secret), in: vault)
    return .done
  }

  // MARK: Tokens

  /// getPinToken and getPinUvAuthTokenUsingPinWithPermissions: CTAP §6.5.5.7.1, §6.5.5.7.2.
  private static func tokenByPIN(
    _ request: Request, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    let (version, key) = (try request.requiredVersion(), try request.requiredKeyAgreement())
    let hash = try request.requiredPINHash()
    let isLegacy = request.subcommand == .getPinToken
    let permissions = isLegacy ? TokenPermissions.ofLegacyToken : try request.requiredPermissions()
    if isLegacy {
      guard request.permissions == nil, request.rpID == nil else {
        throw CTAPError(.invalidParameter, "getPinToken takes neither permissions nor rpId")
      }
    } else {
      try permissions.check(rpID: request.rpID)
    }
    let vault = try await authenticator.openVault(
      for: UserPrompt(purpose: .authorize(permissions), rpID: request.rpID))
    try await authenticator.refuseDenied(permissions, for: request.rpID, by: vault)
    try authenticator.checkPINCanBeTried(vault)
    let secret = try authenticator.pinUVAuth.sharedSecret(with: P256.PublicKey(keyAgreement: key), version)
    try authenticator.checkPIN(hash, secret, vault)
    guard try !vault.settings().forcePINChange else {
      throw CTAPError(isLegacy ? .pinInvalid : .pinPolicyViolation, "the PIN must be changed first")
    }
    authenticator.details.verification = .pin
    return try token(permissions, request, secret, userPresent: false, vault, on: &authenticator)
  }

  /// getPinUvAuthTokenUsingUvWithPermissions: CTAP §6.5.5.7.3.
  ///
  /// Its dialog gives verification and presence for the ceremony that follows.
  private static func tokenByVerification(
    _ request: Request, on authenticator: inout Authenticator
  ) async throws(CTAPError) -> Response {
    guard authenticator.interaction.canVerify else { throw noVerification() }
    let (version, key) = (try request.requiredVersion(), try request.requiredKeyAgreement())
    let permissions = try request.requiredPermissions()
    try permissions.check(rpID: request.rpID)
    guard authenticator.interaction.verificationTriesLeft > 0 else {
      throw CTAPError(.uvBlocked, CTAPError.verificationBlocked)
    }
    let peer = try P256.PublicKey(keyAgreement: key)
    var prompt = UserPrompt(purpose: .authorize(permissions), rpID: request.rpID)
    let vault = try await authenticator.openVault(for: prompt)
    try await authenticator.refuseDenied(permissions, for: request.rpID, by: vault)
    if permissions.contains(.makeCredential), let rpID = request.rpID {
      prompt.resembles = try vault.resemblance(of: rpID)
      prompt.isFirstPasskey = try vault.isBeforeFirstPasskey()
    } else if permissions.contains(.getAssertion), let rpID = request.rpID {
      (prompt.storedAccounts, prompt.moreStoredAccounts) = try vault.accounts(at: rpID)
    }
    do throws(UserInteractionError) {
      let consent = try await authenticator.ask(prompt, verification: true, with: vault)
      authenticator.details.verification = consent.verification
    } catch {
      throw CTAPError(ofToken: error)
    }
    let secret = try authenticator.pinUVAuth.sharedSecret(with: peer, version)
    return try token(permissions, request, secret, userPresent: true, vault, on: &authenticator)
  }

  /// Returns a new token, encrypted for the platform; for the permission pcmr, the persistent one.
  private static func token(
    _ permissions: TokenPermissions, _ request: Request, _ secret: PINUVAuthSecret, userPresent: Bool,
    _ vault: OpenVault, on authenticator: inout Authenticator
  ) throws(CTAPError) -> Response {
    if permissions == .persistentCredentialManagementReadOnly {
      var settings = try vault.settings()
      let kept = settings.persistentToken ?? .random(count: 32)
      if settings.persistentToken == nil {
        settings.persistentToken = kept
        authenticator.expectChange(by: Self.self, request, in: vault)
        try vault.save(settings)
      }
      return .token(try secret.encrypt(kept))
    }
    let token = PINUVAuthToken(
      version: secret.version, permissions: permissions, rpID: request.rpID, userPresent: userPresent,
      unlocking: vault.unlocking, now: authenticator.now())
    guard let bytes = token.secret else { throw CTAPError(.operationDenied, "the vault was locked meanwhile") }
    authenticator.pinUVAuth.begin(token)
    return .token(try secret.encrypt(bytes))
  }
}

extension TokenPermissions {
  /// The supported permissions: all but be (bio enrollment), because there is no sensor.
  private static let offered: Self = [
    .makeCredential, .getAssertion, .credentialManagement, .largeBlobWrite, .authenticatorConfiguration,
    .persistentCredentialManagementReadOnly,
  ]

  /// Checks the requested permissions: CTAP §6.5.5.7.2, steps 3 to 5.
  fileprivate func check(rpID: String?) throws(CTAPError) {
    guard !isEmpty else { throw CTAPError(.invalidParameter, "no permission was requested") }
    guard Self.offered.isSuperset(of: self) else {
      throw CTAPError(.unauthorizedPermission, "an unsupported permission")
    }
    guard !contains(.persistentCredentialManagementReadOnly) || self == .persistentCredentialManagementReadOnly else {
      throw CTAPError(.unauthorizedPermission, "pcmr cannot be combined with other permissions")
    }
    guard isDisjoint(with: .needingRPID) || rpID != nil else {
      throw CTAPError(.missingParameter, "mc and ga require an rpId")
    }
  }
}

extension CTAPError {
  /// Maps a failed prompt: unlike a ceremony, clientPIN has statuses for verification (CTAP §6.5.5.7.3).
  fileprivate init(ofToken error: UserInteractionError) {
    switch error {
    case .verificationFailed: self.init(.uvInvalid, "the user could not be verified", prompt: error)
    case .verificationBlocked: self.init(.uvBlocked, Self.verificationBlocked, prompt: error)
    default: self.init(error)
    }
  }
}

extension Authenticator {
  /// Refuses a token for a registration or sign-in at a site whose policy is `deny`, before anything is asked or tried; one
  /// for no site is refused when it is used.
  fileprivate func refuseDenied(
    _ permissions: TokenPermissions, for rpID: String?, by vault: OpenVault
  ) async throws(CTAPError) {
    guard let rpID, !permissions.isDisjoint(with: .needingRPID) else { return }
    try await refuseDenied(UserPrompt(purpose: .authorize(permissions), rpID: rpID), by: vault)
  }
}

// MARK: - Comparing and reading the PIN

extension Authenticator {
  /// Whether a PIN can be tried: one is set, the device is not blocked until a power cycle, and tries are left.
  fileprivate func checkPINCanBeTried(_ vault: OpenVault) throws(CTAPError) {
    guard let pin = try vault.settings().pin else { throw CTAPError(.pinNotSet, "no PIN is set") }
    guard pin.retries > 0 else {
      throw CTAPError(.pinBlocked, "no tries are left; see: liquid-auth status")
    }
    guard !pinUVAuth.isBlocked else {
      throw CTAPError(.pinAuthBlocked, threeWrongPINs)
    }
  }

  private var threeWrongPINs: String {
    "three wrong PINs in a row; to try again, run: liquid-auth device replug --power-cycle"
  }

  /// Compares a PIN; the number of tries is lowered, durably, before the comparison (CTAP §6.5.5.6, steps 8 to 14).
  fileprivate mutating func checkPIN(
    _ encryptedHash: [UInt8], _ secret: PINUVAuthSecret, _ vault: OpenVault
  ) throws(CTAPError) {
    var settings = try vault.settings()
    guard var pin = settings.pin else { throw CTAPError(.pinNotSet, "no PIN is set") }
    pin.retries -= 1
    settings.pin = pin
    try vault.save(settings)

    guard let given = secret.decrypt(encryptedHash), given.isEqual(to: pin.hash) else {
      pinUVAuth.countMismatch(secret.version)
      if pin.retries == 0 { throw CTAPError(.pinBlocked, "a wrong PIN, and no tries are left") }
      if pinUVAuth.isBlocked { throw CTAPError(.pinAuthBlocked, threeWrongPINs) }
      throw CTAPError(.pinInvalid, "a wrong PIN")
    }
    pinUVAuth.forgetMismatches()
    pin.retries = StoredPIN.retries
    settings.pin = pin
    try vault.save(settings)
  }
}

extension StoredPIN {
  /// Reads newPinEnc: 64 bytes, a PIN of at most 63 bytes of UTF-8, then zeros.
  ///
  /// - Throws: `invalidParameter` for a block of another size, `pinPolicyViolation` for an invalid PIN.
  fileprivate init(decrypting encrypted: [UInt8], with secret: PINUVAuthSecret) throws(CTAPError) {
    guard let block = secret.decrypt(encrypted), block.count == Self.longestSize + 1 else {
      throw CTAPError(.invalidParameter, "newPinEnc does not have 64 bytes")
    }
    try self.init(
      block.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix { $0 != 0 })) })
  }
}
