import CTAP2
import ControlDoor
import CryptoPrimitives
import Recovery
import StateDirectory

/// One connection's requests, from the first to the last: what may be asked on it, and in what state it is.
///
/// It knows nothing of sockets. Its client waits for each answer before it asks again.
actor ControlSession {
  /// What stands behind the control door.
  let desk: any ControlDesk
  /// Takes a line for each request of a wallet that is refused before anybody is asked.
  let log: @Sendable (String) -> Void
  private let client: UInt64
  /// Whether both sides speak the same version.
  var isGreeted = false
  /// The unlocking for which this connection has given the passphrase: only then, and only until the vault is locked, it
  /// may see and change credentials.
  var verified: Unlocking?

  /// Whether the vault's passphrase was given on this connection.
  var isVerified: Bool { verified != nil }

  init(client: UInt64, desk: any ControlDesk, log: @escaping @Sendable (String) -> Void) {
    self.client = client
    self.desk = desk
    self.log = log
  }

  static let passphraseRequired = ControlFailure(.passphraseRequired, "the vault's passphrase is needed first")

  /// The packet that answers a request.
  func answer(to request: ControlRequest) async -> [UInt8] {
    do {
      if case .command(let hello as Hello) = request { return try await hello.handle(in: self).encoded }
      guard isGreeted else { throw ControlFailure(.versionMismatch, "the first request of a connection must be hello") }
      switch request {
      case .ctap(let message): return await desk.respond(to: message, client: client)
      case .command(let command): return try await command.handle(in: self).encoded
      }
    } catch {
      return ControlFailure(error).encoded
    }
  }
}

/// What stands behind the control door: the rest of the daemon, as its requests see it.
protocol ControlDesk: Sendable {
  /// How things are; never waits for a person.
  func status() async -> AuthenticatorStatus
  /// Forgets what the vault holds; never waits for a person.
  func lock() async
  /// Plugs the device in or out; never waits for a person.
  func device(_ action: PlugDevice.Action) async throws

  /// Verifies the vault's passphrase in full, and opens the vault if it is locked.
  ///
  /// - Returns: that unlocking; what it allows ends when the vault is locked.
  func unlock(_ passphrase: SecretBytes) async throws -> Unlocking
  /// Makes an empty store where there is none, after the vault's passphrase.
  func newStore(_ passphrase: SecretBytes) async throws
  /// Accepts a store that was modified outside liquid-auth, after the vault's passphrase.
  func acceptStore(_ passphrase: SecretBytes) async throws

  /// Answers a CTAP2 message, in its turn behind those of all doors; cancelling the task withdraws it.
  ///
  /// - Parameter client: tells the connections of the control door apart.
  func respond(to message: [UInt8], client: UInt64) async -> [UInt8]
  /// Works with the authenticator in the same turn, so that no ceremony is disturbed; cancelling the task withdraws what
  /// is asked of a person.
  func inTurn<Answer: Sendable>(
    _ work: @escaping @Sendable (inout Authenticator) async throws -> Answer
  ) async throws -> Answer
}

extension ControlFailure {
  /// Whatever a command threw, as the answer to its request: the one place where an error becomes a status.
  init(_ error: any Error) {
    switch error {
    case let failure as ControlFailure: self = failure
    case let error as CTAPError: self.init(error)
    case let error as RecoveryError: self.init(error)
    case let error as StateDirectoryError:
      self.init(error.kind == .wrongPassphrase ? .wrongPassphrase : .unavailable, error.description)
    case let error as TransportError: self.init(.unavailable, error.description)
    case is CancellationError: self.init(.keepaliveCancel, "the request was withdrawn")
    default: self.init(.other, "\(error)")
    }
  }

  /// CTAP's status is one of ours too, but for a wrong passphrase, which the control door has a status of its own for.
  private init(_ error: CTAPError) {
    switch error.status {
    case .uvInvalid, .uvBlocked: self.init(.wrongPassphrase, "\(error.reason); nothing was done, ask again")
    default: self.init(ControlStatus(rawValue: error.status.rawValue), error.reason)
    }
  }

  private init(_ error: RecoveryError) {
    let status: ControlStatus =
      switch error.kind {
      case .store: .unavailable
      case .notReplaced: .notAllowed
      case .userIDLength: .invalidLength
      case .noKey: .invalidParameter
      case .full, .key, .lastEpoch, .notAuthentic, .malformed, .columnsExchanged, .anotherPhrase: .other
      }
    self.init(status, error.description)
  }
}
