import ControlProtocol
import CredentialDB
import CryptoPrimitives
import Recovery
import StateDirectory
import Vault

/// The move to a new phrase (Recovery §14), by the authenticator or here.
extension OwnedVault {
  /// Checks that a move to a new phrase can begin.
  ///
  /// - Returns: the fingerprint of the present phrase, 4 bytes.
  func checkRotation() throws(CommandFailure) -> [UInt8] {
    switch self {
    case .there:
      let (present, previous) = try fingerprints()
      guard previous == nil else { throw CommandFailure(StateDirectory.rotationHasBegun) }
      return present
    case .here(let directory, _, let unlocked, _):
      try rethrowing { () throws(StateDirectoryError) in try directory.checkRotation(of: unlocked) }
      return try fingerprints().present
    }
  }

  /// Checks the history of the store.
  func checkHistory() throws(CommandFailure) -> CheckHistory.Answer {
    switch self {
    case .there(let connection, _): return try connection.ask(CheckHistory())
    case .here:
      return try inStore { (store, _) throws(CommandFailure) in
        let found = try attempt { () throws(RecoveryError) in try store.checkHistory() }
        return CheckHistory.Answer(
          count: found.count, first: found.first, last: found.last, faults: found.faults.map(\.description))
      }
    }
  }

  /// Adds a new phrase to the vault, and locks it.
  func beginRotation(mainKey: SecretBytes, ed25519Root: SecretBytes) throws(CommandFailure) {
    switch self {
    case .there(let connection, _):
      try connection.ask(BeginRotation(mainKey: mainKey, ed25519Root: ed25519Root))
    case .here(let directory, _, let unlocked, _):
      try inStore { (store, _) throws(CommandFailure) in
        try rethrowing { () throws(StateDirectoryError) in
          Self.warn(
            try directory.beginRotation(
              of: unlocked, closing: store,
              to: StateDirectory.NewPhrase(mainKey: mainKey, ed25519Root: ed25519Root), now: unixMilliseconds()))
        }
      }
    }
  }

  /// The keys of the previous phrase.
  func rotation() throws(CommandFailure) -> RotationText {
    switch self {
    case .there(let connection, _):
      var answer = try connection.ask(ListRotation())
      var entries = answer.entries
      while let next = answer.next {
        guard next == UInt64(entries.count) else {
          throw CommandFailure("the authenticator sent an incomplete list; run the command again")
        }
        answer = try connection.ask(ListRotation(start: next))
        entries += answer.entries
      }
      return RotationText(entries: entries, fingerprint: answer.fingerprint, historyFault: answer.historyFault)
    case .here:
      return try inStores { (store, previous, keys) throws(CommandFailure) in
        try attempt { () throws(RecoveryError) in
          RotationText(
            entries: try store.rotationEntries(previous: previous), fingerprint: keys.fingerprint,
            historyFault: try store.rotationHistoryFault(previous: previous))
        }
      }
    }
  }

  /// Gives up the keys of the previous phrase at sites.
  func giveUp(_ request: GiveUpSites) throws(CommandFailure) {
    switch self {
    case .there(let connection, _): try connection.ask(request)
    case .here:
      try inStores { (store, previous, _) throws(CommandFailure) in
        try attempt { () throws(RecoveryError) in
          try store.giveUp(request.all, previous: previous, now: unixMilliseconds())
        }
      }
    }
  }

  /// Removes the previous phrase and its store, if nothing is left of it, and locks the vault.
  ///
  /// - Parameter acceptsHistory: whether it ends although a history was modified.
  func endRotation(acceptsHistory: Bool) throws(CommandFailure) {
    switch self {
    case .there(let connection, _): try connection.ask(EndRotation(acceptsHistory: acceptsHistory))
    case .here(let directory, _, let unlocked, _):
      try inStores { (store, previous, _) throws(CommandFailure) in
        try attempt { () throws(RecoveryError) in
          try RotationEntry.refuseKeysLeft(in: store.rotationEntries(previous: previous))
          if !acceptsHistory {
            try RotationEntry.refuse(historyFault: store.rotationHistoryFault(previous: previous))
          }
        }
        try rethrowing { () throws(StateDirectoryError) in
          Self.warn(try directory.endRotation(of: unlocked, closing: previous))
        }
        Self.record(.endRotation) { store }
      }
    }
  }

  /// Opens the stores of both phrases here; the keys are those of the previous phrase.
  private func inStores<Result>(
    _ work: (_ present: CredentialDB, _ previous: CredentialDB, CredentialKeys) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    guard case .here(let directory, _, let unlocked, _) = self, let content = unlocked.content.previous else {
      throw CommandFailure(StateDirectory.noRotation)
    }
    let keys = CredentialKeys(mainKey: content.mainKey)
    let previous = try rethrowing { () throws(StateDirectoryError) in
      try directory.openPreviousStore(of: content, keys: keys)
    }
    return try inStore { (store, _) throws(CommandFailure) in try work(store, previous, keys) }
  }
}
