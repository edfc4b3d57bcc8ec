import CryptoPrimitives
import Synchronization

/// A store in memory that behaves like one on disk, and is lost when the process ends.
public final class InMemoryCredentialStore: CredentialStore {
  private struct Row {
    let sequence: Int
    let entry: AccountEntry
    /// The record's, X ‖ Y or 32 bytes of EdDSA; `nil` for a tombstone.
    let publicKey: [UInt8]?
  }

  private struct Content {
    var state: StoreState
    /// The rows, by the tags of their accounts.
    var entries: [[UInt8]: Row] = [:]
    var lastSequence = 0
    var changes = 0
    var isFull = false
    var largeBlobArray: [UInt8]?

    /// The records with their places.
    var newestFirst: [(source: CredentialSource, place: Int64)] {
      entries.values.sorted { $0.sequence > $1.sequence }.compactMap { row in
        row.entry.record.map { (source: $0, place: Int64(row.sequence)) }
      }
    }

    mutating func put(_ entry: AccountEntry, _ accountTag: [UInt8], publicKey: [UInt8]? = nil) {
      lastSequence += 1
      changes += 1
      let before = entries[accountTag]
      let isSameCredential = entry.record != nil && before?.entry.record?.id == entry.record?.id
      entries[accountTag] = Row(
        sequence: isSameCredential ? before?.sequence ?? lastSequence : lastSequence, entry: entry,
        publicKey: publicKey)
    }
  }

  private let keys: CredentialKeys
  private let content: Mutex<Content>

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - keys: the keys of the phrase whose credentials it stores.
  ///   - state: the state row; `nil` for that of a new store.
  public init(keys: CredentialKeys, state: StoreState? = nil) {
    self.keys = keys
    content = Mutex(Content(state: state ?? StoreState(storeID: randomBytes(StoreState.storeIDLength))))
  }

  /// Simulates a full disk: reading works, writing fails.
  package var isFull: Bool {
    get { content.withLock { $0.isFull } }
    set { content.withLock { $0.isFull = newValue } }
  }

  /// The state row.
  public func state() throws(RecoveryError) -> StoreState { content.withLock { $0.state } }

  /// Replaces the state row.
  public func setState(_ state: StoreState) throws(RecoveryError) { try write { $0.state = state } }

  private func credentials(
    rpIDHash: RPIDHash, userVerified: Bool = true
  ) -> [(source: CredentialSource, place: Int64)] {
    content.withLock { $0.newestFirst }.filter {
      $0.source.rpIDHash == rpIDHash
        && (userVerified || $0.source.policy.credProtect == .userVerificationOptional)
    }
  }

  /// The number of records that a request without an allowList may use.
  public func credentialCount(rpIDHash: RPIDHash, userVerified: Bool) throws(RecoveryError) -> Int {
    credentials(rpIDHash: rpIDHash, userVerified: userVerified).count
  }

  /// The newest record before `place` among them, or the newest of all for `nil`.
  public func credential(
    rpIDHash: RPIDHash, userVerified: Bool, before place: Int64?
  ) throws(RecoveryError) -> (source: CredentialSource, place: Int64)? {
    credentials(rpIDHash: rpIDHash, userVerified: userVerified).first { $0.place < place ?? .max }
  }

  /// The number of relying parties that have a record.
  public func relyingPartyCount() throws(RecoveryError) -> Int { Set(try allCredentials().map(\.rpIDHash)).count }

  /// The relying party whose oldest record follows `place`, or the first for `nil`.
  public func relyingParty(after place: Int64?) throws(RecoveryError) -> (rpID: String, place: Int64)? {
    var known: Set<RPIDHash> = []
    let parties = content.withLock { $0.entries.values.sorted { $0.sequence < $1.sequence } }
      .compactMap { row in row.entry.record.map { (record: $0, place: Int64(row.sequence)) } }
      .filter { known.insert($0.record.rpIDHash).inserted }
    return parties.first { $0.place > place ?? -1 }.map { ($0.record.rpID, $0.place) }
  }

  /// The record with this id at this relying party.
  public func credential(id: [UInt8], rpIDHash: RPIDHash) throws(RecoveryError) -> CredentialSource? {
    let records = credentials(rpIDHash: rpIDHash).map { $0.source }.filter { $0.id == id }
    return records.first(where: \.isDerivable) ?? records.first
  }

  /// The newest record with this id, of any relying party.
  public func credential(id: [UInt8]) throws(RecoveryError) -> CredentialSource? {
    try allCredentials().first { $0.id == id }
  }

  /// The record or tombstone of one account.
  public func account(rpIDHash: RPIDHash, userID: [UInt8]) throws(RecoveryError) -> AccountEntry? {
    try entry(accountTag: keys.accountTag(rpIDHash, userID: userID))
  }

  /// The record or tombstone with this tag.
  public func entry(accountTag: [UInt8]) throws(RecoveryError) -> AccountEntry? {
    content.withLock { $0.entries[accountTag]?.entry }
  }

  /// At most `count` records and tombstones after `tag`, in the order of their tags.
  public func entries(after tag: [UInt8]?, count: Int) throws(RecoveryError) -> [StoredAccount] {
    content.withLock { content in
      content.entries.filter { tag?.lexicographicallyPrecedes($0.key) ?? true }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }.prefix(count)
        .map { StoredAccount(accountTag: $0.key, entry: $0.value.entry) }
    }
  }

  /// All records with this public key, of any relying party.
  public func credentials(publicKey: [UInt8]) throws(RecoveryError) -> [CredentialSource] {
    content.withLock { $0.entries.values.filter { $0.publicKey == publicKey } }
      .sorted { $0.sequence > $1.sequence }.compactMap(\.entry.record)
  }

  /// The number of records.
  public func credentialCount() throws(RecoveryError) -> Int { try allCredentials().count }

  /// The number of changes so far, as text.
  public func revision() throws(RecoveryError) -> [UInt8] { Array("\(content.withLock { $0.changes })".utf8) }

  /// Calls `body` with each record before `place` and its place, the newest first, until `body` returns `false`.
  public func forEachCredential(
    before place: Int64?, _ body: (_ source: CredentialSource, _ place: Int64) -> Bool
  ) throws(RecoveryError) {
    for record in content.withLock({ $0.newestFirst }) where record.place < place ?? .max {
      guard body(record.source, record.place) else { return }
    }
  }

  /// Replaces the account's record or tombstone, and the state unless it is `nil`.
  public func save(
    _ source: CredentialSource, publicKey: CredentialPublicKey?, state: StoreState?
  ) throws(RecoveryError) {
    let publicKey = publicKey?.bytes ?? (try? keys.privateKey(of: source).publicKey.bytes)
    let accountTag = keys.accountTag(of: source)
    try write { content in
      content.put(.record(source), accountTag, publicKey: publicKey)
      if let state { content.state = state }
    }
  }

  /// Saves `count` records, in order.
  public func save(
    count: Int, _ record: (Int) -> (source: CredentialSource, publicKey: CredentialPublicKey)
  ) throws(RecoveryError) {
    let records = (0..<count).map(record)
    try write { content in
      for (source, publicKey) in records {
        content.put(.record(source), keys.accountTag(of: source), publicKey: publicKey.bytes)
      }
    }
  }

  /// Turns the record of the account, or of the imported passkey, into a tombstone with the same counter, and replaces the
  /// state unless it is `nil`.
  public func remove(_ source: CredentialSource, changed: UInt64, state: StoreState?) throws(RecoveryError) {
    let accountTag = keys.accountTag(of: source)
    try write { content in
      guard let record = content.entries[accountTag]?.entry.record else { return }
      content.put(.tombstone(counter: record.counter, changed: changed), accountTag)
      if let state { content.state = state }
    }
  }

  /// The serialized large-blob array that was written last; `nil` if none was.
  public func largeBlobArray() throws(RecoveryError) -> [UInt8]? { content.withLock { $0.largeBlobArray } }

  /// Replaces the serialized large-blob array.
  public func setLargeBlobArray(_ array: [UInt8]) throws(RecoveryError) { try write { $0.largeBlobArray = array } }

  /// Merges entries of another machine.
  public func merge(
    _ accounts: [MergedAccount], epoch: UInt16, largeBlobArray: [UInt8]?, keepsDeletion: Bool
  ) throws(RecoveryError) -> (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge) {
    try write { content in
      var merged: [AccountMerge] = []
      for account in accounts {
        let merge = AccountMerge(of: account.entry, into: content.entries[account.accountTag]?.entry)
        merged.append(merge)
        if merge.isWritten { content.put(account.entry, account.accountTag, publicKey: account.publicKey?.bytes) }
      }
      content.state.see(epoch: epoch)
      let entries = content.entries
      content.state.pairings.forget { rpIDHash in
        entries.values.contains { $0.entry.record?.rpIDHash == rpIDHash }
      }
      let largeBlobs = LargeBlobsMerge(
        of: largeBlobArray, into: content.largeBlobArray, keepsDeletion: keepsDeletion)
      if largeBlobs == .taken { content.largeBlobArray = largeBlobArray }
      return (merged, largeBlobs)
    }
  }

  /// Removes everything, and writes the new state.
  public func removeAll(state: StoreState) throws(RecoveryError) {
    try write { content in
      content.entries = [:]
      content.changes += 1
      content.largeBlobArray = nil
      content.state = state
    }
  }

  private func write<R: Sendable>(_ change: (inout Content) -> R) throws(RecoveryError) -> R {
    let changed = content.withLock { content in content.isFull ? nil : change(&content) }
    guard let changed else {
      throw RecoveryError(.store, "cannot write the credentials: no space left", hint: "free some space and try again")
    }
    return changed
  }
}
