import CBOR

/// The authenticator: CTAP2 messages in, answers out, whichever door they come through.
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

  /// Keys, tries and token of clientPIN.
  var pinUVAuth = PINUVAuthState(poweredUpAt: .zero)
  /// What getNextAssertion goes on with; any other command drops it.
  var remaining: RemainingAssertions?
  /// The large-blob array that is being written.
  var largeBlobWrite: LargeBlobWrite?
  /// What credentialManagement goes on with; any other command drops it.
  var enumeration: Enumeration?
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
  ///   - report: told of every message once it is answered.
  public init(
    keySource: any KeySource, interaction: any UserInteraction, extensions: [any AuthenticatorExtension.Type],
    randomness: any RandomNumberGenerator & Sendable, now: @escaping @Sendable () -> Duration,
    wallClock: @escaping @Sendable () -> UInt64, report: @escaping @Sendable (CommandReport) -> Void
  ) {
    self.keySource = keySource
    self.interaction = interaction
    self.extensions = extensions
    self.randomness = randomness
    self.now = now
    self.wallClock = wallClock
    self.report = report
  }

  /// Answers one message: command byte ‖ CBOR in, status byte ‖ CBOR out (CTAP §8).
  ///
  /// This is the one place where a ``CTAPError`` becomes a byte. Cancelling the task withdraws a prompt.
  public mutating func respond(to message: [UInt8], in context: RequestContext) async -> [UInt8] {
    let start = now()
    beginCommand(message.first, in: context)
    var outcome = CommandReport(command: nil, rpID: nil, error: nil, elapsed: .zero)
    var answer: [UInt8]
    do throws(CTAPError) {
      answer = [CTAPStatus.success.rawValue] + (try await serve(message, in: context, outcome: &outcome))
    } catch {
      outcome.error = error
      answer = [error.status.rawValue]
    }
    outcome.elapsed = now() - start
    report(outcome)
    return answer
  }

  /// Runs one command on a request that was read already.
  public mutating func perform<Command: AuthenticatorCommand>(
    _ command: Command.Type, _ request: Command.Request, in context: RequestContext
  ) async throws(CTAPError) -> Command.Response {
    beginCommand(command.code, in: context)
    return try await command.run(request, in: context, on: &self)
  }

  /// The vault, while it is open.
  public var currentVault: OpenVault? { keySource.current }

  /// Ends what is not told to its end, a getAssertion or an enumeration: somebody changed what the answers would be
  /// made of.
  public mutating func forgetRemaining() { (remaining, enumeration) = (nil, nil) }

  /// Whatever comes in between, and whoever else comes, ends what is not told to its end: CTAP §6.
  ///
  /// A new life of the device ends all that was volatile.
  mutating func beginCommand(_ code: UInt8?, in context: RequestContext) {
    if code != GetNextAssertion.code || remaining?.context != context { remaining = nil }
    let goesOn = code == CredentialManagement.code || code == CredentialManagementPreview.code
    if !goesOn || enumeration?.context != context { enumeration = nil }
    pinUVAuth.enter(context)
  }

  private mutating func serve(
    _ message: [UInt8], in context: RequestContext, outcome: inout CommandReport
  ) async throws(CTAPError) -> [UInt8] {
    guard message.count <= Self.maxMsgSize else {
      throw CTAPError(.requestTooLarge, "a message of \(message.count) bytes")
    }
    guard let code = message.first else { throw CTAPError(.invalidLength, "an empty message") }
    guard let command = AuthenticatorCommands[code] else {
      throw CTAPError(.invalidCommand, "command \(code)")
    }
    outcome.command = command.name
    return try await serve(command, Array(message.dropFirst()), in: context, outcome: &outcome)
  }

  private mutating func serve<Command: AuthenticatorCommand>(
    _ command: Command.Type, _ parameters: [UInt8], in context: RequestContext, outcome: inout CommandReport
  ) async throws(CTAPError) -> [UInt8] {
    let request = try Command.Request(parameters: try Self.decode(parameters))
    outcome.rpID = request.rpID
    let response = try await perform(command, request, in: context)
    return response.parameters.map { CBOREncoder.encode(.map($0)) } ?? []
  }

  /// The parameter map of a message; none at all is as good as an empty one.
  private static func decode(_ parameters: [UInt8]) throws(CTAPError) -> CBORMap {
    if parameters.isEmpty { return CBORMap() }
    do throws(CBORError) {
      guard let map = try CBORDecoder.decode(parameters).map else {
        throw .unexpectedType("the parameters are not a map")
      }
      return map
    } catch {
      throw CTAPError(error)
    }
  }
}

// MARK: - What commands ask of the world

extension Authenticator {
  /// The open vault; asks for the passphrase when it is locked, and says what for.
  func openVault(for wish: VaultWish?) async throws(CTAPError) -> OpenVault {
    if let vault = keySource.current { return vault }
    do throws(UserInteractionError) { return try await keySource.open(for: wish) } catch { throw CTAPError(error) }
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
      return try await ask(prompt, verification: verification)
    } catch {
      throw CTAPError(error)
    }
  }

  /// As `confirm(_:verification:with:)`, for who tells errors in another way.
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
    let consent = try await ask(prompt, verification: verification && !isVerified)
    guard keySource.current?.unlocking === vault.unlocking else { throw .declined }
    return UserConsent(userPresent: consent.userPresent, userVerified: consent.userVerified || isVerified)
  }

  private func ask(_ prompt: UserPrompt, verification: Bool) async throws(UserInteractionError) -> UserConsent {
    // A CANCEL may have come while the vault was opened or the credentials were looked up.
    guard !Task.isCancelled else { throw .cancelled }
    let consent = try await interaction.confirm(prompt, verification: verification)
    guard consent.userPresent, consent.userVerified || !verification else { throw .declined }
    return consent
  }

  /// What is told of the settings: as the open vault has them, or as they stand in clear.
  func told() throws(CTAPError) -> ToldSettings {
    guard let vault = keySource.current else { return keySource.told }
    return try vault.settings().told
  }
}
