import CryptoPrimitives
public import Recovery

/// The stores of both phrases during the move to a new one (Recovery §14); this one is that of the present phrase.
extension CredentialDB {
  /// All keys of the previous phrase that are known, by site; opens one record at a time.
  public func rotationEntries(previous: CredentialDB) throws(RecoveryError) -> [RotationEntry] {
    try RotationEntry.list(
      passkeys: previous.credentials { RotationPasskey($0) },
      isMoved: { (passkey) throws(RecoveryError) in
        try account(rpIDHash: RPIDHash(rpID: passkey.rpID), userID: passkey.userID)?.record != nil
      }, floor: previous.state().floor, previous: previous.historyEntries(), present: historyEntries())
  }

  /// What is wrong with the histories of both stores, so that keys can be missing from the list; `nil` if they are
  /// whole.
  public func rotationHistoryFault(previous: CredentialDB) throws(RecoveryError) -> String? {
    RotationEntry.historyFault(previous: try previous.checkHistory().faults, present: try checkHistory().faults)
  }

  /// Gives up the keys of the previous phrase at sites, all or none; nothing stops working.
  ///
  /// - Parameters:
  ///   - sites: `nil` is U2F.
  ///   - now: Unix milliseconds.
  /// - Throws: `rotation` if a site has no known key, or if all its keys are moved.
  public func giveUp(_ sites: [String?], previous: CredentialDB, now: UInt64) throws(RecoveryError) {
    let entries = try RotationEntry.givingUp(sites, in: rotationEntries(previous: previous), now: now)
    try appendDurably(entries)
  }

  /// Copies the imported passkeys, which belong to no phrase, into a store of another phrase, the oldest first.
  ///
  /// Each keeps its CredRandoms, so that data that a site encrypted with them can be decrypted with the other phrase too.
  ///
  /// - Parameter store: without records.
  public func copyImported(to store: CredentialDB) throws(RecoveryError) {
    let tags = Array(try importedTags().reversed())
    for first in stride(from: 0, to: tags.count, by: Self.batchSize) {
      var batch: [(source: CredentialSource, publicKey: CredentialPublicKey)] = []
      for tag in tags[first..<min(first + Self.batchSize, tags.count)] {
        guard let record = try entry(accountTag: tag)?.record else { continue }
        do throws(CryptoError) {
          batch.append((record.keepingCredRandoms(of: keys), try keys.privateKey(of: record).publicKey))
        } catch {
          throw RecoveryError(.key, "the private key of an imported passkey at \(record.rpID) cannot be used: \(error)")
        }
      }
      try store.save(count: batch.count) { batch[$0] }
    }
  }

  /// The most imported passkeys whose secrets, two of each, are in locked memory at a time.
  private static let batchSize = BackupMerge.storePageSize

  /// The tags of the imported passkeys, the newest first.
  private func importedTags() throws(RecoveryError) -> [[UInt8]] {
    let tags: [[UInt8]?] = try credentials { passkey in passkey.isDerivable ? nil : keys.accountTag(of: passkey) }
    return tags.compactMap { $0 }
  }
}
