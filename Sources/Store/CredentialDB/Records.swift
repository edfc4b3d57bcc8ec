public import Recovery

/// The records of the store; each call is a transaction of its own.
extension CredentialDB {
  /// Replaces the state row.
  public func setState(_ state: StoreState) throws(RecoveryError) {
    try durably { session throws(StoreFault) in try session.write(state) }
  }

  /// The number of records that a request without an allowList may use; with `userVerified` it opens none of them,
  /// otherwise it once reads the policies of all.
  public func credentialCount(rpIDHash: RPIDHash, userVerified: Bool) throws(RecoveryError) -> Int {
    try with { session throws(StoreFault) in
      try session.count(ofRP: keys.rpTag(rpIDHash), userVerified: userVerified)
    }
  }

  /// The newest record before `place` among them, or the newest of all for `nil`; without `userVerified` it also opens
  /// those between.
  public func credential(
    rpIDHash: RPIDHash, userVerified: Bool, before place: Int64?
  ) throws(RecoveryError) -> (source: CredentialSource, place: Int64)? {
    try with { session throws(StoreFault) in
      try session.credentials.record(ofRP: keys.rpTag(rpIDHash), userVerified: userVerified, before: place ?? .max)
    }
  }

  /// The number of relying parties that have a record; opens no record.
  public func relyingPartyCount() throws(RecoveryError) -> Int {
    try with { session throws(StoreFault) in try session.totals().relyingParties }
  }

  /// The relying party whose oldest record follows `place`, or the first for `nil`; opens one record.
  public func relyingParty(after place: Int64?) throws(RecoveryError) -> (rpID: String, place: Int64)? {
    try with { session throws(StoreFault) in try session.credentials.relyingParty(after: place ?? .min) }
  }

  /// The record with this id at this relying party.
  public func credential(id: [UInt8], rpIDHash: RPIDHash) throws(RecoveryError) -> CredentialSource? {
    try with { session throws(StoreFault) in try session.credentials.record(id: id, rpIDHash: rpIDHash) }
  }

  /// The newest record with this id, of any relying party; opens all that are newer.
  public func credential(id: [UInt8]) throws(RecoveryError) -> CredentialSource? {
    try with { session throws(StoreFault) in try session.credentials.record(id: id) }
  }

  /// The record or tombstone of one account.
  public func account(rpIDHash: RPIDHash, userID: [UInt8]) throws(RecoveryError) -> AccountEntry? {
    try entry(accountTag: keys.accountTag(rpIDHash, userID: userID))
  }

  /// The record or tombstone with this tag.
  public func entry(accountTag: [UInt8]) throws(RecoveryError) -> AccountEntry? {
    try with { session throws(StoreFault) in try session.credentials.entry(accountTag: accountTag) }
  }

  /// At most `count` records and tombstones after `tag`, in the order of their tags; opens these.
  public func entries(after tag: [UInt8]?, count: Int) throws(RecoveryError) -> [StoredAccount] {
    try with { session throws(StoreFault) in try session.credentials.accounts(after: tag, count: count) }
  }

  /// All records with this public key, of any relying party.
  public func credentials(publicKey: [UInt8]) throws(RecoveryError) -> [CredentialSource] {
    try with { session throws(StoreFault) in
      try session.credentials.records(keyTag: keys.keyTag(publicKey: publicKey))
    }
  }

  /// Calls `body` with each record before `place` and its place, the newest first, until `body` returns `false`; opens
  /// one record at a time.
  public func forEachCredential(
    before place: Int64?, _ body: (_ source: CredentialSource, _ place: Int64) -> Bool
  ) throws(RecoveryError) {
    try with { session throws(StoreFault) in try session.credentials.forEachRecord(before: place ?? .max, body) }
  }

  /// How many records there are, without opening one.
  public func credentialCount() throws(RecoveryError) -> Int {
    try with { session throws(StoreFault) in try session.totals().records }
  }

  /// Changes with each record that is saved or removed: the sum of their MACs, which stays the same after a restart.
  public func revision() throws(RecoveryError) -> [UInt8] {
    try with { session throws(StoreFault) in try session.revision() }
  }

  /// Replaces the account's record or tombstone and, in the same transaction, the state when one is given.
  public func save(
    _ source: CredentialSource, publicKey: CredentialPublicKey?, state: StoreState?
  ) throws(RecoveryError) {
    try durably { session throws(StoreFault) in
      try session.write(source, publicKey: publicKey)
      if let state { try session.write(state) }
    }
  }

  /// Saves `count` records in one transaction, in order; opens one record at a time.
  public func save(
    count: Int, _ record: (Int) -> (source: CredentialSource, publicKey: CredentialPublicKey)
  ) throws(RecoveryError) {
    try durably { session throws(StoreFault) in
      for index in 0..<count {
        let (source, publicKey) = record(index)
        try session.write(source, publicKey: publicKey)
      }
    }
  }

  /// Turns the record of the account, or of the imported passkey, into a tombstone with the same counter and, in the same
  /// transaction, replaces the state when one is given.
  public func remove(_ source: CredentialSource, changed: UInt64, state: StoreState?) throws(RecoveryError) {
    try durably { session throws(StoreFault) in
      let accountTag = keys.accountTag(of: source)
      guard let record = try session.credentials.entry(accountTag: accountTag)?.record else { return }
      try session.writeTombstone(accountTag: accountTag, counter: record.counter, changed: changed)
      if let state { try session.write(state) }
    }
  }

  /// The serialized large-blob array that was written last.
  public func largeBlobArray() throws(RecoveryError) -> [UInt8]? {
    try with { session throws(StoreFault) in try session.largeBlobArray() }
  }

  /// Replaces the serialized large-blob array.
  public func setLargeBlobArray(_ array: [UInt8]) throws(RecoveryError) {
    try durably { session throws(StoreFault) in try session.write(largeBlobArray: array) }
  }

  /// Merges entries of another machine, the epoch, and the large-blob array, in one transaction.
  public func merge(
    _ accounts: [MergedAccount], epoch: UInt16, largeBlobArray: [UInt8]?, keepsDeletion: Bool
  ) throws(RecoveryError) -> (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge) {
    try durably { session throws(StoreFault) in
      var merged: (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge) = ([], .none)
      merged.accounts = try session.merge(accounts)
      var state = try session.state()
      let isHigher = state.see(epoch: epoch)
      // The pairings of a site go with its last passkey.
      let isForgotten = try state.pairings.forget { (rpIDHash) throws(StoreFault) in
        try session.count(ofRP: keys.rpTag(rpIDHash), userVerified: true) > 0
      }
      if isHigher || isForgotten { try session.write(state) }
      merged.largeBlobs = LargeBlobsMerge(
        of: largeBlobArray, into: try session.largeBlobArray(), keepsDeletion: keepsDeletion)
      if merged.largeBlobs == .taken, let largeBlobArray { try session.write(largeBlobArray: largeBlobArray) }
      return merged
    }
  }

  /// Removes every record and tombstone, and the large-blob array, and writes the new state, in one transaction.
  public func removeAll(state: StoreState) throws(RecoveryError) {
    try durably { session throws(StoreFault) in
      try session.removeAll()
      try session.write(state)
    }
    // The reset is done and durable, also if the file keeps its size.
    try? with { session throws(StoreFault) in session.shrink() }
  }
}
