public import Recovery

/// The authenticator: answers CTAP2 messages of the device and of the control socket.
///
/// A value, owned by the one task that serves requests: it needs no locks, and a ceremony that waits for the user
/// cannot be re-entered. It does no I/O; clock and randomness are arguments.
public struct Authenticator: Sendable {
  /// The longest message that is accepted, in bytes: getInfo's maxMsgSize (Recovery §4).
  public static let maxMsgSize = 1800

  let keySource: any KeySource
  let interaction: any UserInteraction
  let extensions: [any AuthenticatorExtension.Type]
  let hybridExtensions: [any AuthenticatorExtension.Type]
  let now: @Sendable () -> Duration
  /// Unix milliseconds, for records.
  public let wallClock: @Sendable () -> UInt64
  var randomness: any RandomNumberGenerator & Sendable
  let report: @Sendable (CommandReport) -> Void
  let expect: @Sendable (CommandReport?, any CredentialStore) -> Void
  let writer: (any TaskExecutor)?

  /// The client of the present request, for the ports.
  ///
  /// A CTAP or U2F message sets it from its context. A program sets it before its own calls, such as a wallet's.
  public var client: (any RequestClient)?
  /// Keys, tries and token of clientPIN.
  var pinUVAuth = PINUVAuthState(poweredUpAt: .zero)
  /// Details for the report on the present command that its request does not contain.
  var details = CommandDetails()
  /// The state of getNextAssertion; any other command discards it.
  var remaining: RemainingAssertions?
  /// The large-blob array that is being written.
  var largeBlobWrite: LargeBlobWrite?
  /// The state of an enumeration of credentialManagement; any other command discards it.
  var enumeration: Enumeration?
  /// The last sign-in, if the vault has none of the passkeys that it lists; a command that cannot ask which key is
  /// meant discards it.
  var unserved: UnservedSignIn?
  /// The last response of getInfo.
  var lastInfo: GetInfo.Response.Encoding?
  /// The last signature counter of a credential that U2F registered.
  var lastU2FSignCount: UInt32 = 0

  /// Composes an authenticator.
  ///
  /// - Parameters:
  ///   - keySource: opens the vault; getInfo does not open it.
  ///   - interaction: prompts the user.
  ///   - extensions: the supported extensions, in the order in which getInfo lists them.
  ///   - hybridExtensions: those of requests by hybrid transports.
  ///   - randomness: the source of the salts of non-discoverable credentials.
  ///   - now: the time since an arbitrary start; never goes back.
  ///   - wallClock: Unix milliseconds, for records.
  ///   - writer: runs the writes of a sign-in; with `nil` they run where the sign-in does.
  ///   - expect: receives the report on a request before the change that it makes in a store, so that the transaction of
  ///     the change has its entry (Recovery §6); `nil` if there is no change. `report` follows.
  ///   - report: receives a report on every message after its answer was made, and before it is sent.
  public init(
    keySource: any KeySource, interaction: any UserInteraction, extensions: [any AuthenticatorExtension.Type],
    hybridExtensions: [any AuthenticatorExtension.Type] = [],
    randomness: any RandomNumberGenerator & Sendable, now: @escaping @Sendable () -> Duration,
    wallClock: @escaping @Sendable () -> UInt64, writer: (any TaskExecutor)? = nil,
    expect: @escaping @Sendable (CommandReport?, any CredentialStore) -> Void = { _, _ in },
    report: @escaping @Sendable (CommandReport) -> Void
  ) {
    self.keySource = keySource
    self.interaction = interaction
    self.extensions = extensions
    self.hybridExtensions = hybridExtensions
    self.randomness = randomness
    self.now = now
    self.wallClock = wallClock
    self.writer = writer
    self.expect = expect
    self.report = report
  }

  /// The open vault; `nil` while it is locked.
  public var currentVault: OpenVault? { keySource.current }

  /// Discards an unfinished getNextAssertion or enumeration, because the credentials have changed.
  public mutating func forgetRemaining() { (remaining, enumeration) = (nil, nil) }

  /// Discards an unfinished write of the large-blob array (CTAP §6.10.2), because the array has changed.
  public mutating func forgetLargeBlobWrite() { largeBlobWrite = nil }
}

// MARK: - Vault and prompts

extension Authenticator {
  /// The open vault; if it is locked, asks for the passphrase and shows the reason.
  func openVault(for reason: UnlockReason?) async throws(CTAPError) -> OpenVault {
    if let vault = keySource.current { return vault }
    do throws(UserInteractionError) { return try await keySource.open(for: reason, from: client) } catch {
      throw CTAPError(error)
    }
  }

  /// The open vault, for a prompt that follows.
  func openVault(for prompt: UserPrompt) async throws(CTAPError) -> OpenVault {
    try await openVault(for: .prompt(prompt))
  }

  /// Asks the user to confirm an operation with the open vault; fails if the vault was locked meanwhile.
  func confirm(
    _ prompt: UserPrompt, verification: Bool, with vault: OpenVault
  ) async throws(CTAPError) -> UserConsent {
    do throws(UserInteractionError) {
      return try await ask(prompt, verification: verification, with: vault)
    } catch {
      throw CTAPError(error)
    }
  }

  /// Prompts the user; with `verification`, one dialog gives presence and verification.
  func confirm(_ prompt: UserPrompt, verification: Bool) async throws(CTAPError) -> UserConsent {
    do throws(UserInteractionError) {
      return UserConsent(try await confirmation(of: prompt, verification: verification))
    } catch {
      throw CTAPError(error)
    }
  }

  /// As `confirm(_:verification:with:)`, but throws the untranslated error.
  ///
  /// A passphrase that has just opened the vault for this request counts as verification (CTAP §6.1.2, step 11.2,
  /// leaves the method open), and is not asked for again. But a request of a wallet, or for an Algorand account, needs
  /// verification in the dialog that shows the request.
  func ask(
    _ prompt: UserPrompt, verification: Bool, with vault: OpenVault
  ) async throws(UserInteractionError) -> UserConsent {
    let isVerified =
      verification && interaction.canVerify && vault.isOpenedByPerson && !prompt.isOfWallet
      && prompt.algorandAddress == nil
    var prompt = prompt
    prompt.means = (try? vault.settings().means) ?? []
    let confirmation = try await confirmation(of: prompt, verification: verification && !isVerified)
    // A lock withdraws the requests that began before it.
    guard keySource.current?.unlocking === vault.unlocking else { throw .cancelled }
    return UserConsent(confirmation, verified: isVerified)
  }

  private func confirmation(
    of prompt: UserPrompt, verification: Bool
  ) async throws(UserInteractionError) -> Confirmation {
    // A CANCEL may have come while the vault was opened or the credentials were looked up.
    guard !Task.isCancelled else { throw .cancelled }
    let confirmation = try await interaction.confirm(prompt, verification: verification, from: client)
    guard confirmation.userPresent, confirmation.userVerified || !verification else { throw .declined }
    return confirmation
  }

  /// The settings for getInfo: from the open vault, or the copy in clear.
  func reportedSettings() throws(CTAPError) -> ReportedSettings {
    guard let vault = keySource.current else { return keySource.reported }
    return try vault.settings().reported
  }
}

/// The outcome of one message, for a log.
public struct CommandReport: Sendable {
  /// The command's name in the standard; `nil` for an unknown command.
  public var command: String?
  /// The relying party, once the request was read.
  var rpID: String?
  /// The error; `nil` after a success.
  public var error: CTAPError?
  /// The time until the answer, with the time of prompts.
  public var elapsed: Duration
  /// The kind of the ceremony; `nil` for a request that is none.
  package var kind: HistoryEntry.Kind?
  /// What verified the user; `none` after an error.
  var verification = HistoryEntry.Verification.none
  /// Where the request came in; `nil` for this machine.
  var door: HistoryEntry.Door?
  /// The client of the request, as the authenticator got it.
  public var client: (any RequestClient)?

  /// The status byte that the client got.
  public var status: CTAPStatus { error?.status ?? .success }
  /// The relying party or dApp, for a log that may name it.
  public var site: SiteName? { rpID.map(SiteName.init) }

  /// Replaces members by those of `details` that are not `nil`.
  mutating func add(_ details: CommandDetails) {
    rpID = details.rpID ?? rpID
    kind = details.kind ?? kind
    verification = details.verification ?? verification
    door = details.door ?? door
  }
}

/// The name of a site or dApp that a log may get.
///
/// The store seals these names, so the log names none unless the user asks for it: a text that contains this value has only
/// "(site)", and only ``text`` has the name.
public struct SiteName: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name.
  public let text: String

  public init(_ text: String) { self.text = text }

  public var description: String { "(site)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Details for the report on a command that its request does not contain.
struct CommandDetails: Sendable {
  /// The relying party of the credential that the command uses or changes.
  var rpID: String?
  /// The kind of the entry in the history, if it does not depend on the request alone.
  var kind: HistoryEntry.Kind?
  /// What verified the user.
  var verification: HistoryEntry.Verification?
  /// Where the request came in; `nil` for this machine.
  var door: HistoryEntry.Door?
}

// MARK: - State that later requests continue from

/// The accounts of a sign-in that getNextAssertion has not returned yet: CTAP §6.2.2, step 12.2.2.
struct RemainingAssertions: Sendable {
  let ceremony: Ceremony
  var credentials: ApplicableCredentials
  /// The user's consent, for all accounts.
  let consent: UserConsent.Kept
  /// For the reports on later requests; the kind is `nil` if the sign-in is not in the history.
  let details: CommandDetails
  /// Only this client can continue, and only until the device is replugged.
  let context: RequestContext
  /// Valid only during this unlocking of the vault.
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
  /// Only this client can continue, and only until the device is replugged.
  let context: RequestContext
  /// Valid only during this unlocking of the vault.
  let unlocking: Unlocking
  /// When the last answer was made.
  var since: Duration
}

/// A large-blob array that one client is writing in fragments.
struct LargeBlobWrite: Sendable {
  /// Only this client can continue, and only until the device is replugged.
  let context: RequestContext
  /// Valid only during this unlocking of the vault, as is the user's consent.
  let unlocking: Unlocking
  let length: Int
  var received: [UInt8] = []
}

/// A sign-in that lists only passkeys which the vault does not have.
///
/// Browsers ask which key is meant before they report such a failure, and the dialog gives the reason.
struct UnservedSignIn: Sendable {
  let request: GetAssertion.Request
  /// The context of the client; a selection by another client does not refer to this sign-in.
  let context: RequestContext
  /// The unlocking of the vault during which the list was compared.
  let unlocking: Unlocking
}
