import CTAP2
import ControlProtocol
import Recovery
import StateDirectory

/// The owner's commands for the move to a new phrase (Recovery §14).
enum RotationHandlers {
  static let all: [any ServedCommand.Type] = [
    BeginRotation.self, ListRotation.self, GiveUpSites.self, EndRotation.self,
  ]
}

extension BeginRotation: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    guard let verified = session.verified else { throw ControlSession.passphraseRequired }
    let (mainKey, ed25519Root) = try parts()
    return Done(
      try await session.service.beginRotation(
        since: verified, to: StateDirectory.NewPhrase(mainKey: mainKey, ed25519Root: ed25519Root)))
  }
}

extension ListRotation: ServedCommand {
  /// Makes the list for the first page; the others are pages of the same list.
  func handle(in session: isolated ControlSession) async throws -> Answer {
    if start == 0 {
      session.dropTransfer()
      let (made, phrase, fault) = try await session.asOwner(changes: false) { owner in
        let stores = try owner.vault.rotatedStores()
        return (
          try stores.present.rotationEntries(previous: stores.previous), owner.vault[.previous].keys.fingerprint,
          try stores.present.rotationHistoryFault(previous: stores.previous)
        )
      }
      session.transfer = .listing(made, fingerprint: phrase, historyFault: fault)
    }
    guard let verified = session.verified, !verified.hasEnded else { throw ControlSession.passphraseRequired }
    guard case .listing(let entries, let fingerprint, let historyFault) = session.transfer,
      start == 0 || start < UInt64(entries.count)
    else { throw ControlFailure(.invalidParameter, "this is not a page of a list; start at 0") }
    let answer = Answer(of: entries, start: start, fingerprint: fingerprint, historyFault: historyFault)
    if answer.next == nil { session.dropTransfer() }
    return answer
  }
}

extension GiveUpSites: OwnerCommand {
  func handle(_ owner: inout Owner) throws -> Done {
    let stores = try owner.vault.rotatedStores()
    return Done(try stores.present.giveUp(all, previous: stores.previous, now: owner.now))
  }
}

extension EndRotation: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Done {
    guard let verified = session.verified else { throw ControlSession.passphraseRequired }
    return Done(try await session.service.endRotation(since: verified, acceptsHistory: acceptsHistory))
  }
}

extension OpenVault {
  /// Throws if a key of the previous phrase is left, or no move to a new phrase has begun.
  ///
  /// - Parameter acceptsHistory: whether a history that was modified is no reason to throw.
  func refuseKeysLeft(acceptsHistory: Bool = false) throws {
    let stores = try rotatedStores()
    try RotationEntry.refuseKeysLeft(in: stores.present.rotationEntries(previous: stores.previous))
    guard !acceptsHistory else { return }
    try RotationEntry.refuse(historyFault: stores.present.rotationHistoryFault(previous: stores.previous))
  }

  /// The stores of both phrases.
  ///
  /// - Throws: `unchanged` if no move to a new phrase has begun.
  fileprivate func rotatedStores() throws -> (present: any HistoryStore, previous: any HistoryStore) {
    guard let previous else { throw StateDirectory.noRotation }
    return (try history(), try previous.history())
  }
}
