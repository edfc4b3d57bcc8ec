import CTAP2
import ControlProtocol
import CryptoPrimitives
import Prompts
import Recovery
import StateDirectory
import Vault

/// The state of one connection, and which requests it may make.
///
/// It does not use sockets. The client waits for each answer before its next request.
actor ControlSession {
  /// Serves the present request.
  private(set) var service: any ControlService
  /// Gets a line for each request of a wallet that is refused without a prompt.
  let log: @Sendable (LogLine) -> Void
  let client: UInt64
  /// The terminal of the client; `nil` if it has none.
  let terminal: TerminalSession?
  /// Whether ``Hello`` has succeeded.
  var isGreeted = false
  /// Whether the client hears of prompts, as its ``Hello`` asks.
  var hearsOfPrompts = false
  /// The unlocking for which this connection has given the passphrase: until the vault is locked, the connection may
  /// read and change credentials.
  var verified: Unlocking?
  /// Whether the connection follows the store's folder of backups, without the passphrase.
  var follows = false
  /// The backup that the connection made last as a follower: only that one can be recorded without the passphrase.
  var followed: FollowedBackup?
  /// What the connection reads or sends in parts.
  var transfer: BackupTransfer?

  /// Whether the vault's passphrase was given on this connection.
  var isVerified: Bool { verified != nil }

  /// Whether the connection has said hello, hears of prompts, and has given the vault's passphrase.
  typealias Standing = (isGreeted: Bool, hearsOfPrompts: Bool, isVerified: Bool)
  var standing: Standing { (isGreeted, hearsOfPrompts, isVerified) }

  init(
    client: UInt64, service: any ControlService, terminal: TerminalSession? = nil,
    log: @escaping @Sendable (LogLine) -> Void
  ) {
    self.client = client
    self.service = service
    self.terminal = terminal
    self.log = log
  }

  deinit {
    transfer?.wipeContent()
    service.followers.ended(client)
    service.dApps.ended(client)
  }

  /// Wipes the backup or list of passkeys that the connection reads or sends, and ends an export.
  func dropTransfer() {
    transfer?.wipeContent()
    transfer = nil
  }

  static let helloRequired = ControlFailure(.versionMismatch, "the first request of a connection must be hello")
  static let passphraseRequired = ControlFailure(.passphraseRequired, "the vault's passphrase is needed first")

  /// The packet that answers a request.
  func answer(to request: ControlRequest, from origin: RequestOrigin) async -> [UInt8] {
    service = service.serving(origin)
    do {
      if case .command(let hello as Hello) = request { return try await hello.handle(in: self).encoded }
      guard isGreeted else { throw Self.helloRequired }
      switch request {
      case .ctap(let message): return await service.respond(to: message, client: client, isHybrid: false)
      case .command(let command): return try await command.handle(in: self).encoded
      }
    } catch {
      return ControlFailure(error).encoded
    }
  }
}

/// The operations of the daemon that the control socket offers.
protocol ControlService: Sendable {
  /// The connections that wait for changes of the store.
  var followers: BackupFollowers { get }
  /// The wallets that are connected to a dApp.
  var dApps: DAppConnections { get }
  /// The terminals in which the passphrase was given.
  var tickets: TerminalTickets { get }

  /// The same, for a request that came in there.
  func serving(_ origin: RequestOrigin) -> Self

  /// Returns the authenticator's status; never waits for a person.
  func status() async -> AuthenticatorStatus
  /// Forgets what the vault holds; never waits for a person.
  func lock() async
  /// Attaches or detaches the device, or shows a closed prompt again; never waits for a person.
  func device(_ action: PlugDevice.Action) async throws

  /// Verifies the vault's passphrase in full, and opens the vault if it is locked.
  ///
  /// - Returns: that unlocking; what it allows ends when the vault is locked.
  func unlock(_ passphrase: SecretBytes) async throws -> Unlocking
  /// Opens the vault with a slot that needs no passphrase, in turn with the ceremonies; verifies nobody.
  ///
  /// - Returns: whether the vault is open.
  func unlockBySlot() async throws -> Bool
  /// Makes an empty store if there is none; needs the vault's passphrase.
  func newStore(_ passphrase: SecretBytes) async throws
  /// Accepts a store that was modified outside liquid-auth; needs the vault's passphrase.
  ///
  /// - Returns: how many entries the history has afterwards.
  func acceptStore(_ passphrase: SecretBytes) async throws -> UInt64
  /// Changes the slots of the vault, which must still be open as `unlocking` opened it.
  ///
  /// - Parameter kind: the kind of the entry in the history.
  func changeSlots(
    since unlocking: Unlocking, recordedAs kind: HistoryEntry.Kind,
    _ change: @escaping @Sendable (inout VaultFile, UnlockedVault) throws(VaultError) -> Void
  ) async throws

  /// Changes the counter in the TPM, or accepts an old copy of the store; the vault must still be open as `unlocking`
  /// opened it.
  ///
  /// - Returns: the index of the counter that the store does not use any more.
  func changeCounter(since unlocking: Unlocking, _ change: ChangeCounter.Change) async throws -> UInt32?

  /// Begins the move to a new phrase, and locks the vault, which must still be open as `unlocking` opened it.
  func beginRotation(since unlocking: Unlocking, to phrase: StateDirectory.NewPhrase) async throws
  /// Ends the move to a new phrase, and locks the vault, which must still be open as `unlocking` opened it.
  ///
  /// - Parameter acceptsHistory: whether it ends although a history was modified.
  /// - Throws: if a key of the previous phrase is left.
  func endRotation(since unlocking: Unlocking, acceptsHistory: Bool) async throws

  /// Checks that a means can verify the user: for a fingerprint, there is a reader, and a finger is enrolled.
  func check(_ means: VerificationMeans) async throws

  /// Answers a CTAP2 message, in its turn in the queue; cancelling the task withdraws it.
  ///
  /// - Parameters:
  ///   - client: distinguishes the connections of the control socket.
  ///   - isHybrid: whether a browser on another computer sends it.
  func respond(to message: [UInt8], client: UInt64, isHybrid: Bool) async -> [UInt8]
  /// Runs `work` with the authenticator, in turn with the ceremonies; cancelling the task withdraws a prompt.
  ///
  /// - Parameter changes: whether the work may change credentials, so that unfinished enumerations end.
  func inTurn<Answer: Sendable>(
    changes: Bool, _ work: @escaping @Sendable (inout Authenticator) async throws -> Answer
  ) async throws -> Answer
}

extension ControlService {
  /// Runs work that may change credentials.
  func inTurn<Answer: Sendable>(
    _ work: @escaping @Sendable (inout Authenticator) async throws -> Answer
  ) async throws -> Answer { try await inTurn(changes: true, work) }
}

extension ControlFailure {
  /// The answer to a request that threw an error; only this initializer turns an error into a status.
  init(_ error: any Error) {
    switch error {
    case let failure as ControlFailure: self = failure
    case let error as CTAPError: self.init(error)
    case let error as RecoveryError: self.init(error)
    case let error as StateDirectoryError:
      let status: ControlStatus =
        switch error.kind {
        case .wrongPassphrase: .wrongPassphrase
        case .noVault: .noVault
        case .unchanged: .notAllowed
        default: .unavailable
        }
      self.init(status, Problem(error))
    case let error as TransportError: self.init(.unavailable, error.problem)
    case is CancellationError: self.init(.keepaliveCancel, "the request was withdrawn")
    default: self.init(.other, "\(error)")
    }
  }

  /// Keeps the CTAP status, except for a wrong passphrase, which has a control status of its own.
  ///
  /// A refusal and a prompt that could not be shown have the same status, but different reasons.
  private init(_ error: CTAPError) {
    switch error.status {
    case .operationDenied where error.prompt == .unavailable:
      self.init(
        .operationDenied, error.reason, hint: "see the authenticator's log, and run:", run: ["liquid-auth", "status"])
    case .uvInvalid, .uvBlocked: self.init(.wrongPassphrase, "\(error.reason); nothing was done, try again")
    default:
      self.init(
        ControlStatus(rawValue: error.status.rawValue),
        Problem(error.reason, remedy: error.command.map { Remedy($0) }))
    }
  }

  private init(_ error: RecoveryError) {
    let status: ControlStatus =
      switch error.kind {
      case .store, .system, .diskFull: .unavailable
      case .notReplaced, .rotation: .notAllowed
      case .userIDLength: .invalidLength
      case .noKey, .policy, .pairing: .invalidParameter
      case .full, .key, .lastEpoch, .notAuthentic, .malformed, .columnsExchanged, .newerVersion, .anotherPhrase: .other
      }
    self.init(status, Problem(error))
  }
}
