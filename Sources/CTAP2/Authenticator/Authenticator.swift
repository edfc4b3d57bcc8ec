public import Recovery

/// The authenticator: CTAP2 messages in, answers out, from the device or the control socket.
///
/// A value, owned by the one task that serves requests: a ceremony that waits for a person cannot be entered again, and
/// nothing is locked. It does no I/O, reads no clock and draws no chance but what it was given.
public struct Authenticator: Sendable {
  /// The longest message that is read, in bytes: getInfo's maxMsgSize (Recovery §4).
  public static let maxMsgSize = 1800

  let keySource: any KeySource
  let interaction: any UserInteraction
  let extensions: [any AuthenticatorExtension.Type]
  let now: @Sendable () -> Duration
  /// Unix milliseconds, for records.
  public let wallClock: @Sendable () -> UInt64
  var randomness: any RandomNumberGenerator & Sendable
  let report: @Sendable (CommandReport) -> Void
  let writer: (any TaskExecutor)?

  /// Keys, tries and token of clientPIN.
  var pinUVAuth = PINUVAuthState(poweredUpAt: .zero)
  /// What getNextAssertion goes on with; any other command drops it.
  var remaining: RemainingAssertions?
  /// The large-blob array that is being written.
  var largeBlobWrite: LargeBlobWrite?
  /// What credentialManagement goes on with; any other command drops it.
  var enumeration: Enumeration?
  /// The last response of getInfo.
  var lastInfo: GetInfo.Response.Encoding?
  /// The last signature counter of a credential that U2F registered.
  var lastU2FSignCount: UInt32 = 0

  /// Composes an authenticator.
  ///
  /// - Parameters:
  ///   - keySource: opens the vault; getInfo never asks it to.
  ///   - interaction: asks the person.
  ///   - extensions: the extensions that are offered, in the order in which getInfo names them.
  ///   - randomness: the salts of non-discoverable credentials come from here.
  ///   - now: the time since an arbitrary start; never goes back.
  ///   - wallClock: Unix milliseconds, for records.
  ///   - writer: runs the writes of a sign-in; with `nil` they run where the sign-in does.
  ///   - report: told of every message once it is answered.
  public init(
    keySource: any KeySource, interaction: any UserInteraction, extensions: [any AuthenticatorExtension.Type],
    randomness: any RandomNumberGenerator & Sendable, now: @escaping @Sendable () -> Duration,
    wallClock: @escaping @Sendable () -> UInt64, writer: (any TaskExecutor)? = nil,
    report: @escaping @Sendable (CommandReport) -> Void
  ) {
    self.keySource = keySource
    self.interaction = interaction
    self.extensions = extensions
    self.randomness = randomness
    self.now = now
    self.wallClock = wallClock
    self.writer = writer
    self.report = report
  }

  /// The open vault; `nil` while it is locked.
  public var currentVault: OpenVault? { keySource.current }

  /// Discards an unfinished getNextAssertion or enumeration: somebody changed what the answers would be
  /// made of.
  public mutating func forgetRemaining() { (remaining, enumeration) = (nil, nil) }
}

// MARK: - What commands ask of the world

extension Authenticator {
  /// The open vault; asks for the passphrase when it is locked, and says what for.
  func openVault(for reason: UnlockReason?) async throws(CTAPError) -> OpenVault {
    if let vault = keySource.current { return vault }
    do throws(UserInteractionError) { return try await keySource.open(for: reason) } catch { throw CTAPError(error) }
  }

  /// The open vault, for what the person will be asked then.
  func openVault(for prompt: UserPrompt) async throws(CTAPError) -> OpenVault {
    try await openVault(for: .prompt(prompt))
  }

  /// Asks the person about what the open vault is to do; locked while the dialog was open, it does nothing any more.
  func confirm(
    _ prompt: UserPrompt, verification: Bool, with vault: OpenVault
  ) async throws(CTAPError) -> UserConsent {
    do throws(UserInteractionError) {
      return try await ask(prompt, verification: verification, with: vault)
    } catch {
      throw CTAPError(error)
    }
  }

  /// Asks the person; with `verification`, one dialog for presence and verification.
  func confirm(_ prompt: UserPrompt, verification: Bool) async throws(CTAPError) -> UserConsent {
    do throws(UserInteractionError) {
      return UserConsent(try await confirmation(of: prompt, verification: verification))
    } catch {
      throw CTAPError(error)
    }
  }

  /// As `confirm(_:verification:with:)`, but throws the untranslated error.
  ///
  /// The passphrase that has just opened the vault for this request has verified the person (CTAP §6.1.2, step 11.2, leaves
  /// open how), and is not asked for again; but what an account of Algorand is to sign, or a wallet wants, is shown before
  /// it is typed.
  func ask(
    _ prompt: UserPrompt, verification: Bool, with vault: OpenVault
  ) async throws(UserInteractionError) -> UserConsent {
    let isVerified =
      verification && interaction.canVerify && vault.isOpenedByPerson && !prompt.isOfWallet
      && prompt.algorandAddress == nil
    let confirmation = try await confirmation(of: prompt, verification: verification && !isVerified)
    guard keySource.current?.unlocking === vault.unlocking else { throw .declined }
    return UserConsent(confirmation, verified: isVerified)
  }

  private func confirmation(
    of prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> Confirmation {
    // A CANCEL may have come while the vault was opened or the credentials were looked up.
    guard !Task.isCancelled else { throw .cancelled }
    let confirmation = try await interaction.confirm(prompt, verification: verification)
    guard confirmation.userPresent, confirmation.userVerified || !verification else { throw .declined }
    return confirmation
  }

  /// What is told of the settings: as the open vault has them, or as they stand in clear.
  func reportedSettings() throws(CTAPError) -> ReportedSettings {
    guard let vault = keySource.current else { return keySource.reported }
    return try vault.settings().reported
  }
}

/// What became of one message: what the shell's one log line a ceremony tells.
public struct CommandReport: Sendable {
  /// The command's name in the standard; `nil` when the message named none that we have.
  public var command: String?
  /// The relying party, once the request was read.
  public var rpID: String?
  /// Why there was no answer; `nil` after a success.
  public var error: CTAPError?
  /// How long it took, a person's time included.
  public var elapsed: Duration

  /// The byte that the client got.
  public var status: CTAPStatus { error?.status ?? .success }
}

// MARK: - State that later requests continue from

/// The accounts of a sign-in that were not answered yet: CTAP §6.2.2, step 12.2.2.
struct RemainingAssertions: Sendable {
  let ceremony: Ceremony
  var credentials: ApplicableCredentials
  /// The person's consent, which is for all accounts.
  let consent: UserConsent.Kept
  /// Only this client goes on, and only until the device is replugged.
  let context: RequestContext
  /// Only while the vault stays open as it was.
  let unlocking: Unlocking
  /// When the last answer was made.
  var since: Duration
}

/// An unfinished enumeration: of relying parties, the oldest first, or of credentials, the newest first.
struct Enumeration: Sendable {
  /// How far the enumeration has come.
  enum Progress: Sendable {
    /// All relying parties up to this place were returned.
    case relyingParties(upTo: Int64)
    /// All credentials before the remaining ones were returned.
    case credentialsBefore(StoredCredentials)
  }

  var progress: Progress
  /// Only this client goes on, and only until the device is replugged.
  let context: RequestContext
  /// Only while the vault stays open as it was.
  let unlocking: Unlocking
  /// When the last answer was made.
  var since: Duration
}

/// An array that is being written, fragment after fragment, by one client.
struct LargeBlobWrite: Sendable {
  /// Only this client goes on, and only until the device is replugged.
  let context: RequestContext
  /// Only while the vault stays open as it was: what a person agreed to ends with it.
  let unlocking: Unlocking
  let length: Int
  var received: [UInt8] = []
}
