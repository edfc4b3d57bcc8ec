// MARK: - Epoch and floor, Recovery §7

extension StoreState {
  /// Resets: the credentials of this machine stop working here, and PIN and settings are removed.
  ///
  /// The policies stay: only the vault's passphrase changes them, and a reset can need less.
  ///
  /// - Throws: `lastEpoch` in the last epoch, and changes nothing.
  public mutating func reset() throws(RecoveryError) {
    guard epoch < .max else { throw RecoveryError(.lastEpoch, "the last epoch is in use") }
    epoch += 1
    floor = epoch
    settings = AuthenticatorSettings()
    (pairings, slip22) = (Pairings(), nil)
    // These backups, and the others in the folder, have the passkeys that the reset removed.
    (backup.file, backup.folder, backup.ownFile, backup.ownWritten) = (nil, nil, nil, nil)
  }

  /// The first state of the store of a new phrase (Recovery §14): the settings, the policies, the counter and the followed
  /// folder of this one, and nothing that a program can follow from one phrase to the other.
  ///
  /// - Parameter storeID: 16 random bytes.
  public func ofNewPhrase(storeID: [UInt8]) -> StoreState {
    var state = self
    (state.storeID, state.epoch, state.floor) = (storeID, 0, 0)
    state.settings.persistentToken = nil
    // A server would recognise the machine by them.
    state.pairings = Pairings()
    state.slip22 = nil
    state.backup = BackupTimes(folder: backup.folder)
    return state
  }

  /// Undoes the reset for sealed and phone ids: `liquid-auth recover --accept-before-reset`.
  public mutating func acceptBeforeReset() { floor = 0 }

  /// Raises the epoch to one that was seen in an id used with consent, a merge or a restored backup.
  ///
  /// The floor does not change. Returns whether the epoch changed.
  @discardableResult
  public mutating func see(epoch seen: UInt16) -> Bool {
    guard seen > epoch else { return false }
    epoch = seen
    return true
  }
}

// MARK: - Live credentials, Recovery §7

extension StoreState {
  /// Whether a recognised credential *without a row* is live.
  ///
  /// - Parameter account: the row or tombstone of the same account, for kind 1; kinds 2 and 3 have none.
  public func isLive(_ parameters: CredentialParameters, account: AccountEntry?) -> Bool {
    guard parameters.epoch >= floor else { return false }
    guard let counter = parameters.counter, let account else { return true }
    return account.isTombstone ? account.counter < counter : account.counter <= counter
  }
}

extension AccountEntry {
  /// The counter that the account has, or had when it was deleted.
  public var counter: UInt32 {
    switch self {
    case .record(let source): source.counter
    case .tombstone(let counter, _): counter
    }
  }

  /// When the entry was changed last, Unix milliseconds.
  public var changed: UInt64 {
    switch self {
    case .record(let source): source.changed
    case .tombstone(_, let changed): changed
    }
  }

  /// The record of a live account.
  public var record: CredentialSource? {
    if case .record(let source) = self { source } else { nil }
  }

  public var isTombstone: Bool { record == nil }
}

// MARK: - The next counter, Recovery §7

extension StoreState {
  /// The first counter that a registration tries: the epoch's first, or the one after the highest known.
  ///
  /// `nil` if the next one would leave its epoch: KEY_STORE_FULL.
  ///
  /// - Parameter known: the highest counter of the account's row, its tombstone and its ids in the excludeList.
  public func nextCounter(known: UInt32?) -> UInt32? {
    let first = UInt32(epoch) << 16
    guard let known, known >= first else { return first }
    return Self.counter(after: known)
  }

  /// The counter after this one; `nil` after the last of its epoch.
  static func counter(after counter: UInt32) -> UInt32? { counter & 0xFFFF < 0xFFFF ? counter + 1 : nil }

  /// The result of `make` for the first usable counter; `make` returns `nil` to skip one.
  func firstUsableCounter<Made, Failure>(
    known: UInt32?, _ make: (UInt32) throws(Failure) -> Made?
  ) throws(Failure) -> Made? {
    var counter = nextCounter(known: known)
    while let candidate = counter {
      if let made = try make(candidate) { return made }
      counter = Self.counter(after: candidate)
    }
    return nil
  }
}
