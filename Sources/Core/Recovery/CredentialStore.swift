public import DeterministicKeys

/// The `state` row of the store: Recovery §6 and §7.
public struct StoreState: Sendable, Equatable {
  /// Ties the store to its vault, 16 bytes.
  public var storeID: [UInt8]
  /// The epoch of new credentials.
  public var epoch: UInt16
  /// The lowest epoch of credentials that this machine accepts without a row.
  public var floor: UInt16
  /// The form of the ids of new discoverable credentials.
  public var credentialIDForm: CredentialIDForm
  /// PIN and settings: local to this machine, removed by a reset.
  public var settings: AuthenticatorSettings
  /// The owner's policies for sites: local to this machine, kept by a reset.
  public var policies: SitePolicies
  /// The keys for the passkeys of a Trezor with the same phrase, if the owner switched them on; removed by a reset.
  public var slip22: SLIP22Keys?
  /// The pairings with dApps: local to this machine, removed by a reset.
  public var pairings = Pairings()
  /// The counter in the TPM of this machine, kept by a reset; `nil` if there is none.
  public var counter: StoreCounter?
  /// When backups were written and checked, and the followed folder: local to this machine; a reset keeps the times.
  public var backup = BackupTimes()

  /// Makes a state; a new store has epoch 0, floor 0, no PIN and no counter.
  public init(
    storeID: [UInt8], epoch: UInt16 = 0, floor: UInt16 = 0, credentialIDForm: CredentialIDForm = .sealed,
    settings: AuthenticatorSettings = AuthenticatorSettings(), policies: SitePolicies = SitePolicies(),
    counter: StoreCounter? = nil
  ) {
    self.storeID = storeID
    self.epoch = epoch
    self.floor = floor
    self.credentialIDForm = credentialIDForm
    self.settings = settings
    self.policies = policies
    self.counter = counter
  }
}

/// The two forms of ids, Recovery §4: `liquid-auth init --credential-ids`.
public enum CredentialIDForm: UInt8, Sendable, CaseIterable {
  /// Self-describing, 127 bytes: recovered from the phrase alone if the site sends the id.
  case sealed = 0
  /// SHA-256 of the public key, 32 bytes, as phone wallets compute it.
  case hash = 1
}

/// The row of one account, or of one imported passkey: a record, or the tombstone after a deletion.
public enum AccountEntry: Sendable, Equatable {
  /// A live credential.
  case record(CredentialSource)
  /// A deletion: the counter that the account had, and the time (Unix milliseconds). It does not name a site.
  case tombstone(counter: UInt32, changed: UInt64)
}

/// The port to the credentials that a machine keeps.
///
/// Only the authenticator's one task calls it. Every change is durable when the call returns, and an answer that
/// depends on it is sent only afterwards. Of two records, the one that was registered or recovered last is the newer;
/// saving a credential again, with another name or policy, does not change its place.
public protocol CredentialStore: Sendable {
  /// The store with its history; `nil` if it keeps none.
  var history: (any HistoryStore)? { get }

  /// The state row.
  func state() throws(RecoveryError) -> StoreState
  /// Replaces the state row.
  func setState(_ state: StoreState) throws(RecoveryError)

  /// The number of a relying party's records that a request without an allowList may use: with `userVerified` all,
  /// without it those of credProtect level 1 (CTAP §12.1).
  func credentialCount(rpIDHash: RPIDHash, userVerified: Bool) throws(RecoveryError) -> Int
  /// The newest record before `place`, with its own place, of those that ``credentialCount(rpIDHash:userVerified:)``
  /// counts.
  ///
  /// With `nil` for `place`, it is the newest of all; it is `nil` after the oldest.
  func credential(
    rpIDHash: RPIDHash, userVerified: Bool, before place: Int64?
  ) throws(RecoveryError) -> (source: CredentialSource, place: Int64)?
  /// The number of relying parties that have a record.
  func relyingPartyCount() throws(RecoveryError) -> Int
  /// The relying party whose oldest record follows `place`, the place of the relying party before it.
  ///
  /// For a `place` of `nil` it is the relying party with the oldest record of all. `nil` after the last.
  func relyingParty(after place: Int64?) throws(RecoveryError) -> (rpID: String, place: Int64)?
  /// The record with this id at this relying party; if a derived and an imported passkey have the id, the derived one.
  func credential(id: [UInt8], rpIDHash: RPIDHash) throws(RecoveryError) -> CredentialSource?
  /// The newest record with this id, of any relying party.
  func credential(id: [UInt8]) throws(RecoveryError) -> CredentialSource?
  /// The record or tombstone of one account; the account's imported passkeys have entries of their own.
  func account(rpIDHash: RPIDHash, userID: [UInt8]) throws(RecoveryError) -> AccountEntry?
  /// The record or tombstone with this tag (32 bytes).
  func entry(accountTag: [UInt8]) throws(RecoveryError) -> AccountEntry?
  /// At most `count` records and tombstones, in the order of their tags, from the first tag that is greater than `tag`;
  /// `nil` begins with the first of all.
  func entries(after tag: [UInt8]?, count: Int) throws(RecoveryError) -> [StoredAccount]
  /// All records with this public key (X ‖ Y, 64 bytes, or 32 bytes of EdDSA), of any relying party.
  func credentials(publicKey: [UInt8]) throws(RecoveryError) -> [CredentialSource]
  /// Calls `body` with each record and its place, the newest first, until `body` returns `false`.
  ///
  /// Opens one record at a time, because each imported key takes a page of locked memory.
  ///
  /// - Parameter place: the first record is the newest of those before this place; `nil` begins with the newest of all.
  func forEachCredential(
    before place: Int64?, _ body: (_ source: CredentialSource, _ place: Int64) -> Bool
  ) throws(RecoveryError)
  /// The number of records; their content is not read.
  func credentialCount() throws(RecoveryError) -> Int
  /// The number of records and the state row, each `nil` if it cannot be read; for a reader beside the requests.
  ///
  /// While the store is in use, they are those after the last change.
  func overview() -> (credentials: Int?, state: StoreState?)
  /// A digest of all records: it changes when a record is saved or removed, and is otherwise the same, even after the
  /// store was closed and opened.
  func revision() throws(RecoveryError) -> [UInt8]

  /// Replaces the account's record or tombstone and, in the same transaction, the state when one is given.
  ///
  /// - Parameter publicKey: the credential's, if the caller has it; it is derived for `nil`.
  func save(_ source: CredentialSource, publicKey: CredentialPublicKey?, state: StoreState?) throws(RecoveryError)
  /// Saves `count` records in one transaction, in order.
  ///
  /// `record` makes each record just before it is written, so that only one is open at a time.
  func save(
    count: Int, _ record: (Int) -> (source: CredentialSource, publicKey: CredentialPublicKey)
  ) throws(RecoveryError)
  /// Turns the record of the account, or of the imported passkey, into a tombstone with the same counter and, in the same
  /// transaction, replaces the state when one is given; without such a record, changes nothing.
  func remove(_ source: CredentialSource, changed: UInt64, state: StoreState?) throws(RecoveryError)
  /// The serialized large-blob array that was written last; `nil` if none was.
  func largeBlobArray() throws(RecoveryError) -> [UInt8]?
  /// Replaces the serialized large-blob array.
  func setLargeBlobArray(_ array: [UInt8]) throws(RecoveryError)

  /// Merges entries of another machine in one transaction, in their order; ``BackupMerge`` calls it (Recovery §9).
  ///
  /// Each entry is compared with the one that is here now, by ``AccountMerge``. Of the state only the epoch can change,
  /// by ``StoreState/see(epoch:)``, and the pairings of a relying party go with its last passkey. The large-blob array
  /// is written only if ``LargeBlobsMerge`` takes it.
  ///
  /// - Parameter keepsDeletion: whether a store whose large blobs were deleted takes none.
  /// - Returns: what became of each entry.
  func merge(
    _ accounts: [MergedAccount], epoch: UInt16, largeBlobArray: [UInt8]?, keepsDeletion: Bool
  ) throws(RecoveryError) -> (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge)

  /// Removes every record and tombstone, and the large-blob array, and writes the new state, in one transaction.
  func removeAll(state: StoreState) throws(RecoveryError)
}

extension CredentialStore {
  /// As for a store without a history.
  public var history: (any HistoryStore)? { nil }

  /// Turns the record of the account, or of the imported passkey, into a tombstone with the same counter.
  public func remove(_ source: CredentialSource, changed: UInt64) throws(RecoveryError) {
    try remove(source, changed: changed, state: nil)
  }

  /// As for a store whose changes take no time.
  public func overview() -> (credentials: Int?, state: StoreState?) { (try? credentialCount(), try? state()) }

  /// Returns the results of `body` for all records, the newest first; opens one record at a time.
  public func credentials<Result>(_ body: (CredentialSource) -> Result) throws(RecoveryError) -> [Result] {
    var results: [Result] = []
    try forEachCredential(before: nil) { source, _ in
      results.append(body(source))
      return true
    }
    return results
  }

  /// All records, the newest first; only for stores with few imported passkeys, because all are open at once.
  package func allCredentials() throws(RecoveryError) -> [CredentialSource] { try credentials { $0 } }

  /// Saves a record whose public key the caller does not have.
  public func save(_ source: CredentialSource, state: StoreState?) throws(RecoveryError) {
    try save(source, publicKey: nil, state: state)
  }
}
