import CTAP2
import ControlProtocol
import CryptoPrimitives
import Recovery

/// The commands for the folder of backups that the store follows.
enum FollowHandlers {
  static let all: [any ServedCommand.Type] = [FollowBackups.self, AwaitBackup.self]
}

extension FollowBackups: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (folder == nil ? .leaveFolder : .followFolder, nil) }

  func handle(_ owner: inout Owner) throws -> Done {
    var state = try owner.vault.store.state()
    state.backup.folder = folder
    return Done(try owner.vault.store.setState(state))
  }
}

extension AwaitBackup: ServedCommand {
  /// Compares the state after each change of the store; the daemon does not wake while nothing changes.
  func handle(in session: isolated ControlSession) async throws -> FollowedStore {
    let followers = session.service.followers
    var unset = report
    while true {
      let changes = followers.changes
      let store = try await session.service.inTurn(changes: false) { authenticator in
        try authenticator.currentVault.map(FollowedStore.init)
      }
      // While the vault is locked, the folder is not known.
      if let report = unset, store == nil || store?.folder != nil {
        followers.set(report, of: session.client)
        unset = nil
      }
      if let store, store.state != seen {
        session.follows = store.folder != nil
        return store
      }
      try await followers.change(after: changes)
    }
  }
}

extension FollowedStore {
  init(_ vault: OpenVault) throws {
    let state = try vault.store.state()
    let folder = Array((state.backup.folder ?? "").utf8)
    let parts: [[UInt8]] = [
      vault.unlocking.id, try vault.store.revision(), [UInt8(state.epoch >> 8), UInt8(state.epoch & 0xFF)],
      SHA256.hash(try vault.store.largeBlobArray() ?? []), folder,
    ]
    self.init(
      state: Array(SHA256.hash(parts.flatMap { $0 }).prefix(Self.stateSize)), unlocking: vault.unlocking.id,
      fingerprint: vault.keys.fingerprint, store: Array(SHA256.hash(state.storeID).prefix(4)),
      folder: state.backup.folder, previousFingerprint: vault.previous?.keys.fingerprint)
  }
}

extension ControlSession {
  /// Runs `work` in turn with the ceremonies for a program that follows the store's folder, without the passphrase.
  ///
  /// - Throws: `passphraseRequired` while the vault is locked, and for a connection that does not follow; `notAllowed` if
  ///   the store no longer follows a folder.
  func asFollower<Answer: Sendable>(
    recordedAs kind: HistoryEntry.Kind?, changes: Bool, _ work: @escaping @Sendable (inout Owner) throws -> Answer
  ) async throws -> Answer {
    guard follows else { throw Self.passphraseRequired }
    return try await service.inTurn(changes: changes) { authenticator in
      try Self.follow(&authenticator, recordedAs: kind, work)
    }
  }

  // Not inlined, as `serve` in ServedCommand.swift.
  @inline(never)
  private static func follow<Answer>(
    _ authenticator: inout Authenticator, recordedAs kind: HistoryEntry.Kind?, _ work: (inout Owner) throws -> Answer
  ) throws -> Answer {
    guard let vault = authenticator.currentVault else {
      throw ControlFailure(.passphraseRequired, "the vault is locked")
    }
    guard try vault.store.state().backup.folder != nil else {
      throw ControlFailure(
        .notAllowed, "no folder of backups is followed", hint: "to follow one, run:",
        run: ["liquid-auth", "backup", "--to", "FOLDER"])
    }
    var owner = Owner(vault: vault, authenticator: authenticator, now: authenticator.wallClock())
    defer { authenticator = owner.authenticator }
    return try authenticator.reportingChange(kind, of: nil, verification: .none, in: vault) { try work(&owner) }
  }
}
