import ControlProtocol
import CredentialDB
import StateDirectory
import Synchronization
import Vault

/// Changes of the files of the vault: its slots, the counter of its store, and its phrase.
extension VaultFiles {
  /// Changes the slots of the vault's file.
  ///
  /// - Returns: the slots before and after the change.
  func changeSlots(
    _ change: (inout VaultFile) throws(VaultError) -> Void
  ) throws(StateDirectoryError) -> (before: [VaultSlot], after: [VaultSlot]) {
    let before = try directory.slots()
    let (slots, warning) = try alone { () throws(StateDirectoryError) in try directory.changeSlots(change) }
    warn(warning)
    // The change authenticates the slots of a vault that an earlier version made.
    let atStart = before.filter(\.protector.unlocksAtStart).map(\.id)
    for (number, slot) in zip(1..., slots) where atStart.contains(slot.id) && !slot.protector.unlocksAtStart {
      log(Problem(StateDirectory.noLongerAtStart(number, slot)))
    }
    return (before, slots)
  }

  /// Authenticates the slots of a vault that an earlier version made, after its passphrase was typed; called within
  /// ``alone(_:)``.
  ///
  /// If this fails, the next passphrase repeats it.
  func sealSlots(of unlocked: UnlockedVault) {
    guard !unlocked.sealsSlots else { return }
    do throws(StateDirectoryError) {
      let (changed, warning) = try directory.sealSlots(of: unlocked)
      warn(warning)
      for (number, slot) in changed { log(Problem(StateDirectory.noLongerAtStart(number, slot))) }
    } catch {
      log("the slots of the vault are not authenticated yet: \(error); unlock the vault once more with the passphrase")
    }
  }

  /// Stores the public key of a security key in its slot, which has opened the vault; blocks.
  ///
  /// - Parameter publicKey: 64 bytes; empty if it is not known.
  /// - Returns: whether it is stored.
  func store(publicKey: [UInt8], of unlocked: UnlockedVault) throws(StateDirectoryError) -> Bool {
    try alone { () throws(StateDirectoryError) in
      var isStored = false
      let (_, warning) = try directory.changeSlots { (file) throws(VaultError) in
        var generator = SystemRandomNumberGenerator()
        isStored = try file.store(publicKey: publicKey, in: unlocked, using: &generator)
      }
      warn(warning)
      return isStored
    }
  }

  // MARK: Counter and phrase

  /// Changes the counter in the TPM, or accepts an old copy of the store; blocks.
  ///
  /// - Parameter found: what the counter said when `store` was opened.
  /// - Returns: the index of the counter that the store does not use any more.
  /// - Throws: that the passphrase is needed, if no store is compared with a counter; or why nothing was changed.
  func changeCounter(
    _ change: ChangeCounter.Change, in store: CredentialDB, _ found: CounterFinding?
  ) throws -> UInt32? {
    guard let counter else { throw ControlSession.passphraseRequired }
    let unused = try counter.change(change, in: store, found)
    state.withLock { $0.counter = nil }
    return unused
  }

  /// Begins the move to a new phrase, and closes the stores, whatever happens; blocks.
  ///
  /// - Parameter now: Unix milliseconds.
  func beginRotation(
    of opened: Opened, to phrase: StateDirectory.NewPhrase, now: UInt64
  ) throws(StateDirectoryError) {
    // Closed ones must not be kept: they are opened again.
    defer {
      state.withLock { ($0.store, $0.storeID, $0.previousStore, $0.previousStoreID) = (nil, [], nil, []) }
    }
    // An unlocking that began before must not open a store between two renames.
    try alone { () throws(StateDirectoryError) in
      warn(try directory.beginRotation(of: opened.unlocked, closing: opened.store, to: phrase, now: now))
    }
  }

  /// Ends the move to a new phrase, and closes the store of the previous phrase, whatever happens; blocks.
  func endRotation(of unlocked: UnlockedVault, closing store: CredentialDB) throws(StateDirectoryError) {
    defer { state.withLock { ($0.previousStore, $0.previousStoreID) = (nil, []) } }
    try alone { () throws(StateDirectoryError) in
      warn(try directory.endRotation(of: unlocked, closing: store))
    }
  }
}
