import CTAP2
import ControlProtocol
import Recovery

/// A command that the control socket serves: one `handle`, and one line in the table of its file.
protocol ServedCommand: ControlCommand {
  /// Answers one request of a connection.
  func handle(in session: isolated ControlSession) async throws -> Answer
}

/// A command for the owner: it needs the vault's passphrase on the connection, or a ticket if it accepts one.
///
/// It runs in turn with the ceremonies.
protocol OwnerCommand: ServedCommand {
  /// The kind and the site of the entry in the history; `nil` if the command only reads.
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { get }

  func handle(_ owner: inout Owner) throws -> Answer
}

/// The objects that an owner's command changes.
struct Owner {
  let vault: OpenVault
  /// Commands may end its tokens and enumerations.
  var authenticator: Authenticator
  /// Unix milliseconds.
  let now: UInt64
}

extension OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { nil }

  func handle(in session: isolated ControlSession) async throws -> Answer { try await inTurn(of: session) }

  /// Calls ``handle(_:)`` in turn with the ceremonies.
  func inTurn(of session: isolated ControlSession) async throws -> Answer {
    try await session.asOwner(recordedAs: recorded?.kind, of: recorded?.site, byTicket: Self.goesByTicket) { owner in
      try handle(&owner)
    }
  }
}

extension ControlSession {
  /// Runs `work` in turn with the ceremonies, if the vault is still open as the passphrase of this connection opened it.
  ///
  /// - Parameters:
  ///   - kind: the kind of the entry in the history; `nil` if the work only reads.
  ///   - site: the site of that entry.
  ///   - changes: whether the work may change credentials, so that unfinished enumerations end.
  ///   - byTicket: whether a ticket of the client's terminal replaces the passphrase.
  /// - Throws: `passphraseRequired` if the vault was locked since.
  func asOwner<Answer: Sendable>(
    recordedAs kind: HistoryEntry.Kind? = nil, of site: String? = nil, changes: Bool = true, byTicket: Bool = false,
    _ work: @escaping @Sendable (inout Owner) throws -> Answer
  ) async throws -> Answer {
    let ticket = byTicket ? terminal.flatMap { service.tickets.unlocking(of: $0) } : nil
    guard let unlocking = verified ?? ticket else { throw Self.passphraseRequired }
    return try await service.inTurn(changes: changes) { authenticator in
      try Self.serve(&authenticator, for: unlocking, recordedAs: kind, of: site, work)
    }
  }

  // Inlining it into the closure above crashes the optimiser of Swift 6.3.
  @inline(never)
  static func serve<Answer>(
    _ authenticator: inout Authenticator, for verified: Unlocking, recordedAs kind: HistoryEntry.Kind? = nil,
    of site: String? = nil, _ work: (inout Owner) throws -> Answer
  ) throws -> Answer {
    guard let vault = authenticator.currentVault else {
      throw ControlFailure(.passphraseRequired, "the vault is locked; the passphrase is needed again")
    }
    guard vault.unlocking === verified else { throw passphraseRequired }
    var owner = Owner(vault: vault, authenticator: authenticator, now: authenticator.wallClock())
    defer { authenticator = owner.authenticator }
    return try authenticator.reportingChange(kind, of: site, in: vault) { try work(&owner) }
  }
}

/// A wallet's request, in turn with the ceremonies: every connection may make it, and the person decides.
protocol WalletCommand: ServedCommand {
  /// The dApp that requests a signature, for the log's line if the request is refused without a prompt.
  var signsFor: SiteName? { get }

  /// Calls the authenticator, which prompts the user.
  func handle(_ authenticator: Authenticator) async throws -> Answer
}

extension WalletCommand {
  var signsFor: SiteName? { nil }

  func handle(in session: isolated ControlSession) async throws -> Answer {
    do {
      return try await session.service.inTurn { authenticator in try await handle(authenticator) }
    } catch {
      let failure = ControlFailure(error)
      CeremonyLog.line(self, refusedBeforeQuestion: failure).map(session.log)
      throw failure
    }
  }
}

/// A packet of the control socket: one of its own commands, or a CTAP2 message.
enum ControlRequest: Sendable {
  /// A CTAP2 message, command byte and CBOR, unchanged; 1 to ``ControlMessage/maximumCTAPSize`` bytes.
  case ctap([UInt8])
  /// A command of ``commands``.
  case command(any ServedCommand)

  /// The commands that are served; any other byte is an invalid command.
  static let commands: [any ServedCommand.Type] =
    SessionHandlers.all + OwnerHandlers.all + BackupHandlers.all + ExportHandlers.all + FollowHandlers.all
    + RotationHandlers.all + WalletHandlers.all + HybridHandlers.all

  /// Reads one packet.
  ///
  /// Copies a passphrase into locked memory; the caller wipes `packet` afterwards. A request that is longer than its
  /// command allows is not decoded: decoding takes time on the loop.
  ///
  /// - Parameter isGreeted: whether the connection has said hello; before, a request has at most
  ///   ``ControlMessage/maximumPlainSize`` bytes.
  /// - Throws: the failure to answer with.
  init(decoding packet: UnsafeRawBufferPointer, isGreeted: Bool) throws(ControlFailure) {
    let code = try ControlMessage.command(of: packet)
    guard isGreeted || packet.count <= ControlMessage.maximumPlainSize else { throw ControlSession.helloRequired }
    guard ControlMessage.vendorCommands.contains(code) else {
      self = .ctap(Array(packet))
      return
    }
    guard let command = Self.commands.first(where: { $0.code == code }) else {
      throw ControlFailure(.invalidCommand, "no such command: 0x\(String(code, radix: 16))")
    }
    guard packet.count <= command.maximumRequestSize else {
      throw ControlFailure(
        .invalidLength, "the request has \(packet.count) bytes; it can have at most \(command.maximumRequestSize)")
    }
    self = .command(try command.init(decoding: UnsafeRawBufferPointer(rebasing: packet.dropFirst())))
  }

  /// What the answer may wait for.
  var wait: ControlWait {
    switch self {
    case .ctap: .queue
    case .command(let command): type(of: command).wait
    }
  }
}
