import CTAP2
import ControlDoor
import Recovery

/// A command of the control door, as it is served: one `handle`, and one line in the table of its file.
protocol ServedCommand: ControlCommand {
  /// Serves one request of a connection.
  func handle(in session: isolated ControlSession) async throws -> Answer
}

/// What only the owner may do: after the vault's passphrase on the connection, in turn with the ceremonies.
protocol OwnerCommand: ServedCommand {
  /// Does it.
  func handle(_ owner: inout Owner) throws -> Answer
}

/// What an owner's command works on.
struct Owner {
  let vault: OpenVault
  /// What it has in memory, such as a token, may end.
  var authenticator: Authenticator
  /// Unix milliseconds.
  let now: UInt64
}

extension OwnerCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    guard let verified = session.verified else { throw ControlSession.passphraseRequired }
    return try await session.desk.inTurn { authenticator in try serve(&authenticator, for: verified) }
  }

  // Inlined into the closure above, it crashes Swift 6.3's optimiser.
  @inline(never)
  private func serve(_ authenticator: inout Authenticator, for verified: Unlocking) throws -> Answer {
    guard let vault = authenticator.currentVault else {
      throw ControlFailure(.passphraseRequired, "the vault is locked; the passphrase is needed again")
    }
    guard vault.unlocking === verified else { throw ControlSession.passphraseRequired }
    var owner = Owner(vault: vault, authenticator: authenticator, now: authenticator.wallClock())
    defer { authenticator = owner.authenticator }
    return try handle(&owner)
  }
}

/// What a wallet asks, in turn with the ceremonies; whoever has connected may ask, and the person decides.
protocol WalletCommand: ServedCommand {
  /// The dApp for which something is to be signed: the log names it where that is refused before anybody is asked.
  var signsFor: String? { get }

  /// Asks the authenticator, which asks the person.
  func handle(_ authenticator: Authenticator) async throws -> Answer
}

extension WalletCommand {
  var signsFor: String? { nil }

  func handle(in session: isolated ControlSession) async throws -> Answer {
    do {
      return try await session.desk.inTurn { authenticator in try await handle(authenticator) }
    } catch {
      let failure = ControlFailure(error)
      CeremonyLog.line(self, refusedBeforeQuestion: failure).map(session.log)
      throw failure
    }
  }
}

/// A packet of the control socket: a command of its own, or a message of CTAP2.
enum ControlRequest: Sendable {
  /// A CTAP2 message, command byte and CBOR, as it is; 1 to ``ControlMessage/maximumCTAPSize`` bytes.
  case ctap([UInt8])
  /// One of the table.
  case command(any ServedCommand)

  /// The commands that are served; any other byte is an invalid command.
  static let commands: [any ServedCommand.Type] = SessionCommands.all + OwnerCommands.all + WalletCommands.all

  /// Reads one packet.
  ///
  /// Whoever received it wipes it afterwards: a passphrase is copied into locked memory here.
  ///
  /// - Throws: the failure to answer with.
  init(decoding packet: UnsafeRawBufferPointer) throws(ControlFailure) {
    let code = try ControlMessage.command(of: packet)
    guard ControlMessage.vendorCommands.contains(code) else {
      self = .ctap(Array(packet))
      return
    }
    guard let command = Self.commands.first(where: { $0.code == code }) else {
      throw ControlFailure(.invalidCommand, "no such command: 0x\(String(code, radix: 16))")
    }
    self = .command(try command.init(decoding: UnsafeRawBufferPointer(rebasing: packet.dropFirst())))
  }

  /// What the answer may have to wait for.
  var wait: ControlWait {
    switch self {
    case .ctap: .queue
    case .command(let command): type(of: command).wait
    }
  }
}
