import ControlProtocol
import Recovery
import StateDirectory
import Vault

/// Changes of the vault: its slots, its store, the counter of its store, and its phrase.
///
/// They run in turn with the ceremonies. First the files are changed, and then the vault is locked, if what is open does
/// not belong to them any more.
extension CurrentVault {
  /// Changes the slots of the vault's file; locks the vault if the slot that opened it was replaced or removed.
  ///
  /// - Parameter changed: called after the file was changed, while the store is still open.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why the file is unchanged.
  func changeSlots(
    since unlocking: Unlocking, _ change: (inout VaultFile, UnlockedVault) throws(VaultError) -> Void,
    changed: () -> Void = {}
  ) throws {
    guard let unlocked = opened(by: unlocking)?.unlocked else { throw ControlSession.passphraseRequired }
    let (before, slots) = try files.changeSlots { (file) throws(VaultError) in try change(&file, unlocked) }
    changed()
    // The old passphrase must not verify any more, whatever opened the vault.
    let passphrases = { (slots: [VaultSlot]) in slots.filter(\.protector.isPassphrase).map(\.id) }
    guard passphrases(slots) == passphrases(before), slots.contains(where: { $0.id == unlocked.slot.id }) else {
      lock(.slotChanged)
      return
    }
  }

  /// Replaces or accepts the store, and forgets what is cached of it; blocks.
  ///
  /// - Parameters:
  ///   - isNew: whether a new store replaces the present one; otherwise that one is accepted as it is.
  ///   - repair: changes the files.
  func repairStore<Answer: Sendable>(
    isNew: Bool, _ repair: (StateDirectory) throws(StateDirectoryError) -> Answer
  ) throws(StateDirectoryError) -> Answer {
    // An unlocking can write the vault's file, too, and does not wait for a turn.
    let answer = try files.alone { () throws(StateDirectoryError) in try repair(files.directory) }
    storeWasReplaced(isNew: isNew)
    return answer
  }

  /// Changes the counter in the TPM, or accepts an old copy of the store; blocks.
  ///
  /// - Returns: the index of the counter that the store does not use any more.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why nothing was changed.
  func changeCounter(since unlocking: Unlocking, _ change: ChangeCounter.Change) throws -> UInt32? {
    // Read before the store: if that is still open then, this is what was found when it was opened.
    let found = files.counterFinding
    guard let store = opened(by: unlocking)?.store else { throw ControlSession.passphraseRequired }
    return try files.changeCounter(change, in: store, found)
  }

  // MARK: The move to a new phrase

  /// Begins the move to a new phrase, and locks the vault; blocks.
  ///
  /// - Parameter now: Unix milliseconds.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why nothing was changed.
  func beginRotation(since unlocking: Unlocking, to phrase: StateDirectory.NewPhrase, now: UInt64) throws {
    guard let opened = opened(by: unlocking) else { throw ControlSession.passphraseRequired }
    try files.directory.checkRotation(of: opened.unlocked, to: phrase)
    // The store is closed from here on, whatever happens.
    defer { storeWasReplaced(isNew: true, .phraseChanged) }
    try files.beginRotation(of: opened, to: phrase, now: now)
  }

  /// Ends the move to a new phrase, and locks the vault; blocks.
  ///
  /// - Parameter done: called after the change, while the store is still open.
  /// - Throws: that the passphrase is needed, if the vault was locked since `unlocking`; or why nothing was changed.
  func endRotation(since unlocking: Unlocking, done: () -> Void) throws {
    guard let opened = opened(by: unlocking) else { throw ControlSession.passphraseRequired }
    guard let store = opened.previousStore else { throw StateDirectory.noRotation }
    defer { lock(.phraseChanged) }
    try files.endRotation(of: opened.unlocked, closing: store)
    done()
  }

  /// What an unlocking has opened; `nil` if the vault was locked since.
  private func opened(by unlocking: Unlocking) -> VaultFiles.Opened? {
    held.flatMap { $0.vault.unlocking === unlocking ? $0 : nil }
  }
}
