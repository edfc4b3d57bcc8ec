import CTAP2
import Recovery
import Synchronization

/// The store in memory, which counts its writes and can be made to fail.
final class ObservedStore: CredentialStore {
  private struct Observation {
    var writes = 0
    var recordsRead = 0
    var failure: RecoveryError?
    var count: Int?
  }

  private let store: InMemoryCredentialStore
  private let observation = Mutex(Observation())

  init(state: StoreState) { store = InMemoryCredentialStore(keys: TestPhrase.keys, state: state) }

  /// The number of calls that changed something.
  var writes: Int { observation.withLock { $0.writes } }

  /// The number of records read by other means than an id or an account.
  var recordsRead: Int { observation.withLock { $0.recordsRead } }

  /// Fails every write from now on, as a full disk does; reads succeed.
  func fill() { store.isFull = true }

  /// Makes every call throw this error from now on.
  func fail(with error: RecoveryError?) { observation.withLock { $0.failure = error } }

  /// Sets the reported number of credentials; `nil` counts them.
  func pretendToHold(_ count: Int?) { observation.withLock { $0.count = count } }

  func state() throws(RecoveryError) -> StoreState { try read().state() }
  func setState(_ state: StoreState) throws(RecoveryError) { try write().setState(state) }

  func credentialCount(rpIDHash: RPIDHash, userVerified: Bool) throws(RecoveryError) -> Int {
    try read().credentialCount(rpIDHash: rpIDHash, userVerified: userVerified)
  }
  func credential(
    rpIDHash: RPIDHash, userVerified: Bool, before place: Int64?
  ) throws(RecoveryError) -> (source: CredentialSource, place: Int64)? {
    observation.withLock { $0.recordsRead += 1 }
    return try read().credential(rpIDHash: rpIDHash, userVerified: userVerified, before: place)
  }
  func relyingPartyCount() throws(RecoveryError) -> Int { try read().relyingPartyCount() }
  func relyingParty(after place: Int64?) throws(RecoveryError) -> (rpID: String, place: Int64)? {
    observation.withLock { $0.recordsRead += 1 }
    return try read().relyingParty(after: place)
  }
  func credential(id: [UInt8], rpIDHash: RPIDHash) throws(RecoveryError) -> CredentialSource? {
    try read().credential(id: id, rpIDHash: rpIDHash)
  }
  func credential(id: [UInt8]) throws(RecoveryError) -> CredentialSource? { try read().credential(id: id) }
  func account(rpIDHash: RPIDHash, userID: [UInt8]) throws(RecoveryError) -> AccountEntry? {
    try read().account(rpIDHash: rpIDHash, userID: userID)
  }
  func entry(accountTag: [UInt8]) throws(RecoveryError) -> AccountEntry? { try read().entry(accountTag: accountTag) }
  func entries(after tag: [UInt8]?, count: Int) throws(RecoveryError) -> [StoredAccount] {
    try read().entries(after: tag, count: count)
  }
  func credentials(publicKey: [UInt8]) throws(RecoveryError) -> [CredentialSource] {
    try read().credentials(publicKey: publicKey)
  }
  func forEachCredential(
    before place: Int64?, _ body: (_ source: CredentialSource, _ place: Int64) -> Bool
  ) throws(RecoveryError) {
    try read().forEachCredential(before: place) { source, place in
      observation.withLock { $0.recordsRead += 1 }
      return body(source, place)
    }
  }
  func credentialCount() throws(RecoveryError) -> Int {
    if let count = observation.withLock({ $0.count }) { return count }
    return try read().credentialCount()
  }

  func revision() throws(RecoveryError) -> [UInt8] { try read().revision() }

  func save(_ source: CredentialSource, publicKey: CredentialPublicKey?, state: StoreState?) throws(RecoveryError) {
    try write().save(source, publicKey: publicKey, state: state)
  }
  func save(
    count: Int, _ record: (Int) -> (source: CredentialSource, publicKey: CredentialPublicKey)
  ) throws(RecoveryError) {
    try write().save(count: count, record)
  }
  func remove(_ source: CredentialSource, changed: UInt64, state: StoreState?) throws(RecoveryError) {
    try write().remove(source, changed: changed, state: state)
  }
  func largeBlobArray() throws(RecoveryError) -> [UInt8]? { try read().largeBlobArray() }
  func setLargeBlobArray(_ array: [UInt8]) throws(RecoveryError) { try write().setLargeBlobArray(array) }
  func merge(
    _ accounts: [MergedAccount], epoch: UInt16, largeBlobArray: [UInt8]?, keepsDeletion: Bool
  ) throws(RecoveryError) -> (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge) {
    try write().merge(
      accounts, epoch: epoch, largeBlobArray: largeBlobArray, keepsDeletion: keepsDeletion)
  }
  func removeAll(state: StoreState) throws(RecoveryError) { try write().removeAll(state: state) }

  private func read() throws(RecoveryError) -> InMemoryCredentialStore {
    if let failure = observation.withLock({ $0.failure }) { throw failure }
    return store
  }

  private func write() throws(RecoveryError) -> InMemoryCredentialStore {
    let store = try read()
    observation.withLock { $0.writes += 1 }
    return store
  }
}
