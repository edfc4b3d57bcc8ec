import ControlProtocol
import Glibc
import Recovery
import Vault

/// The commands for the connection, the vault as a whole, and the device.
enum SessionHandlers {
  static let all: [any ServedCommand.Type] = [
    Hello.self, GetStatus.self, Lock.self, Unlock.self, UnlockBySlot.self, NewStore.self, AcceptStore.self,
    PlugDevice.self, SealSlot.self, RemoveSlot.self, ChangeCounter.self, ReportDApp.self,
  ]
}

extension Hello: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    guard version == ControlMessage.version else {
      let isOlder = version < ControlMessage.version
      let advice = isOlder ? "update the command: scripts/run --wallet" : "restart the authenticator"
      throw ControlFailure(
        .versionMismatch,
        "the command uses version \(version) of the control protocol, and the authenticator uses version "
          + "\(ControlMessage.version); \(advice)")
    }
    session.isGreeted = true
    session.hearsOfPrompts = hearsOfPrompts
    return Answer(processID: getpid())
  }
}

extension GetStatus: ServedCommand {
  func handle(in session: isolated ControlSession) async -> AuthenticatorStatus { await session.service.status() }
}

extension ReportDApp: ServedCommand {
  func handle(in session: isolated ControlSession) async -> Done {
    Done(session.service.dApps.set(isOpen: isOpen, of: session.client))
  }
}

extension Lock: ServedCommand {
  func handle(in session: isolated ControlSession) async -> Done {
    session.dropTransfer()
    return Done(await session.service.lock())
  }
}

extension Unlock: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    // A wrong passphrase revokes the access that the right one gave.
    session.verified = nil
    session.dropTransfer()
    let (tickets, terminal) = (session.service.tickets, session.terminal)
    if let terminal { tickets.drop(of: terminal) }
    let unlocking = try await session.service.unlock(secret)
    session.verified = unlocking
    if let terminal { tickets.give(to: terminal, for: unlocking) }
    return Done()
  }
}

extension UnlockBySlot: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    Answer(isUnlocked: try await session.service.unlockBySlot())
  }
}

extension NewStore: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    Done(try await session.service.newStore(secret))
  }
}

extension AcceptStore: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    Answer(entries: try await session.service.acceptStore(secret))
  }
}

extension SealSlot: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    let protector: VaultSlot.Protector
    do { protector = try VaultSlot.Protector(self.protector) } catch {
      throw ControlFailure(.invalidParameter, "\(error)")
    }
    return try await session.changeSlots(recordedAs: protector.isPassphrase ? .changePassphrase : .addSlot) {
      [key] (file, vault) throws(VaultError) in
      var generator = SystemRandomNumberGenerator()
      // The log names those that no longer unlock at the start.
      _ = try file.sealSlots(of: vault, using: &generator)
      try file.seal(vault, for: protector, key: key, using: &generator)
    }
  }
}

extension RemoveSlot: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    try await session.changeSlots(recordedAs: .removeSlot) { [id] (file, _) throws(VaultError) in
      try file.removeSlot(id)
    }
  }
}

extension ChangeCounter: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    guard let verified = session.verified else { throw ControlSession.passphraseRequired }
    return Answer(unused: try await session.service.changeCounter(since: verified, change))
  }
}

extension ControlSession {
  /// Changes the slots of the vault, whose passphrase was given on this connection.
  fileprivate func changeSlots(
    recordedAs kind: HistoryEntry.Kind,
    _ change: @escaping @Sendable (inout VaultFile, UnlockedVault) throws(VaultError) -> Void
  ) async throws -> Done {
    guard let verified else { throw Self.passphraseRequired }
    return Done(try await service.changeSlots(since: verified, recordedAs: kind, change))
  }
}

extension PlugDevice: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    // Any program of the user can replug the device, and bring back a prompt that the person closed. Only the owner can
    // allow one more chance for a reset, or three more PINs: once for each time the passphrase is typed.
    if action == .powerCycle {
      guard session.isVerified else { throw ControlSession.passphraseRequired }
      session.verified = nil
    }
    return Done(try await session.service.device(action))
  }
}
