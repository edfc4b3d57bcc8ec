import Recovery
import Synchronization

/// The credentials of the demo: in memory, gone with the process.
final class DemoStore: CredentialStore {
  private struct Content {
    var state = StoreState(storeID: [UInt8](repeating: 0, count: 16))
    var largeBlobArray: [UInt8]?
    var changes = 0
    /// The last saved last.
    var accounts: [(rpIDHash: RPIDHash, userID: [UInt8], entry: AccountEntry)] = []
  }

  private let keys: CredentialKeys
  private let content = Mutex(Content())

  /// An empty store for what one phrase makes.
  init(keys: CredentialKeys) { self.keys = keys }

  func state() throws(StoreError) -> StoreState { content.withLock { $0.state } }

  func setState(_ state: StoreState) throws(StoreError) { content.withLock { $0.state = state } }

  func credentialCount() throws(StoreError) -> Int { try allCredentials().count }

  func revision() throws(StoreError) -> [UInt8] { Array("\(content.withLock { $0.changes })".utf8) }

  func allCredentials() throws(StoreError) -> [CredentialSource] {
    content.withLock { $0.accounts.reversed().compactMap(\.entry.record) }
  }

  func credentials(rpIDHash: RPIDHash) throws(StoreError) -> [CredentialSource] {
    try allCredentials().filter { $0.rpIDHash == rpIDHash }
  }

  func credential(id: [UInt8], rpIDHash: RPIDHash) throws(StoreError) -> CredentialSource? {
    try credentials(rpIDHash: rpIDHash).first { $0.id == id }
  }

  func credentials(publicKey: [UInt8]) throws(StoreError) -> [CredentialSource] {
    try allCredentials().filter { (try? keys.privateKey(of: $0).publicKey.bytes) == publicKey }
  }

  func account(rpIDHash: RPIDHash, userID: [UInt8]) throws(StoreError) -> AccountEntry? {
    content.withLock { $0.accounts.first { $0.rpIDHash == rpIDHash && $0.userID == userID }?.entry }
  }

  func save(_ source: CredentialSource, state: StoreState?) throws(StoreError) {
    put(.record(source), source.rpIDHash, source.userID)
    if let state { try setState(state) }
  }

  func remove(_ source: CredentialSource, changed: UInt64) throws(StoreError) {
    put(.tombstone(counter: source.counter, changed: changed), source.rpIDHash, source.userID)
  }

  func largeBlobArray() throws(StoreError) -> [UInt8]? { content.withLock { $0.largeBlobArray } }
  func setLargeBlobArray(_ array: [UInt8]) throws(StoreError) { content.withLock { $0.largeBlobArray = array } }

  func removeAll(state: StoreState) throws(StoreError) {
    content.withLock { $0 = Content(state: state, changes: $0.changes + 1) }
  }

  private func put(_ entry: AccountEntry, _ rpIDHash: RPIDHash, _ userID: [UInt8]) {
    content.withLock { content in
      content.accounts.removeAll { $0.rpIDHash == rpIDHash && $0.userID == userID }
      content.accounts.append((rpIDHash, userID, entry))
      content.changes += 1
    }
  }
}
