import CryptoPrimitives
public import Recovery

/// Copies for the move to a new phrase (Recovery §14).
extension CredentialDB {
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
