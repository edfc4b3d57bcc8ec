import ControlProtocol
import CredentialDB
import CryptoPrimitives
import Recovery
import StateDirectory
import Synchronization
import Vault

/// Changes of the vault: its slots, its store, the counter of its store, and its phrase.
extension VaultKeySource {
  /// Changes the slots of the vault's file; locks the vault if the slot that opened it was replaced or removed.
  ///
  /// Runs in turn with the ceremonies, as every change of a file does.
  ///
  /// - Parameter changed: called after the file was changed, while the store is still open.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why the file is unchanged.
  func changeSlots(
    since unlocking: Unlocking, _ change: (inout VaultFile, UnlockedVault) throws(VaultError) -> Void,
    changed: () -> Void = {}
  ) throws {
    let unlocked = state.withLock { $0.open?.unlocking === unlocking ? $0.unlocked : nil }
    guard let unlocked else { throw ControlSession.passphraseRequired }
    let passphrases = { (slots: [VaultSlot]) in slots.filter(\.protector.isPassphrase).map(\.id) }
    let before = try directory.slots()
    let (slots, warning) = try opening.withLock { _ throws(StateDirectoryError) in
      try directory.changeSlots { (file) throws(VaultError) in try change(&file, unlocked) }
    }
    warn(warning)
    // The change authenticates the slots of a vault that an earlier version made.
    let atStart = before.filter(\.protector.unlocksAtStart).map(\.id)
    for (number, slot) in zip(1..., slots) where atStart.contains(slot.id) && !slot.protector.unlocksAtStart {
      log(StateDirectory.noLongerAtStart(number, slot))
    }
    changed()
    // The old passphrase must not verify any more, whatever opened the vault.
    guard passphrases(slots) == passphrases(before), slots.contains(where: { $0.id == unlocked.slot.id }) else {
      lock(.slotChanged)
      return
    }
  }

  /// Authenticates the slots of a vault that an earlier version made, after its passphrase was typed; blocks.
  ///
  /// ``opening`` is locked. If this fails, the next passphrase repeats it.
  func sealSlots(of unlocked: UnlockedVault) {
    guard !unlocked.sealsSlots else { return }
    do throws(StateDirectoryError) {
      let (changed, warning) = try directory.sealSlots(of: unlocked)
      warn(warning)
      for (number, slot) in changed { log(StateDirectory.noLongerAtStart(number, slot)) }
    } catch {
      log("the slots of the vault are not authenticated yet: \(error); unlock the vault once more with the passphrase")
    }
  }

  /// Replaces or accepts the store, and forgets what is cached of it; blocks, in turn with the ceremonies.
  ///
  /// - Parameters:
  ///   - isNew: whether a new store replaces the present one; otherwise that one is accepted as it is.
  ///   - mend: changes the files.
  func mendStore<Answer: Sendable>(
    isNew: Bool, _ mend: (StateDirectory) throws(StateDirectoryError) -> Answer
  ) throws(StateDirectoryError) -> Answer {
    // An unlocking can write the vault's file, too, and does not wait for a turn.
    let answer = try opening.withLock { _ throws(StateDirectoryError) in try mend(directory) }
    storeWasReplaced(isNew: isNew)
    return answer
  }

  /// Changes the counter in the TPM, or accepts an old copy of the store; blocks, in turn with the ceremonies.
  ///
  /// - Returns: the index of the counter that the store does not use any more.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why nothing was changed.
  func changeCounter(since unlocking: Unlocking, _ change: ChangeCounter.Change) throws -> UInt32? {
    let (store, found) = state.withLock { ($0.open?.unlocking === unlocking ? $0.store : nil, $0.counter) }
    guard let store, let counter else { throw ControlSession.passphraseRequired }
    let unused = try counter.change(change, in: store, found)
    state.withLock { $0.counter = nil }
    return unused
  }

  // MARK: The move to a new phrase

  /// Begins the move to a new phrase, and locks the vault; blocks, in turn with the ceremonies.
  ///
  /// - Parameter now: Unix milliseconds.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why nothing was changed.
  func beginRotation(since unlocking: Unlocking, to phrase: StateDirectory.NewPhrase, now: UInt64) throws {
    let (unlocked, store) = state.withLock { $0.open?.unlocking === unlocking ? ($0.unlocked, $0.store) : (nil, nil) }
    guard let unlocked, let store else { throw ControlSession.passphraseRequired }
    try directory.checkRotation(of: unlocked, to: phrase)
    // The store is closed from here on, whatever happens.
    defer {
      forgetStores()
      storeWasReplaced(isNew: true, .phraseChanged)
    }
    // An unlocking that began before must not open a store between two renames.
    try opening.withLock { _ throws(StateDirectoryError) in
      warn(try directory.beginRotation(of: unlocked, closing: store, to: phrase, now: now))
    }
  }

  /// Ends the move to a new phrase, and locks the vault; blocks, in turn with the ceremonies.
  ///
  /// - Parameter done: called after the change, while the store is still open.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why nothing was changed.
  func endRotation(since unlocking: Unlocking, done: () -> Void) throws {
    let (unlocked, store) = state.withLock {
      $0.open?.unlocking === unlocking ? ($0.unlocked, $0.previousStore) : (nil, nil)
    }
    guard let unlocked else { throw ControlSession.passphraseRequired }
    guard let store else { throw StateDirectory.noRotation }
    defer {
      state.withLock { ($0.previousStore, $0.previousStoreID) = (nil, []) }
      lock(.phraseChanged)
    }
    try opening.withLock { _ throws(StateDirectoryError) in
      warn(try directory.endRotation(of: unlocked, closing: store))
    }
    done()
  }

  /// Forgets stores that are closed, so that they are opened again.
  private func forgetStores() {
    state.withLock { ($0.store, $0.storeID, $0.previousStore, $0.previousStoreID) = (nil, [], nil, []) }
  }
}
