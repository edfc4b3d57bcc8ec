package import Recovery

extension CredentialStore {
  /// Reads all records of a relying party, or those that a sign-in without verification may use; newest first.
  package func credentials(rpIDHash: RPIDHash, userVerified: Bool = true) throws -> [CredentialSource] {
    var sources: [CredentialSource] = []
    var place: Int64?
    while let next = try credential(rpIDHash: rpIDHash, userVerified: userVerified, before: place) {
      sources.append(next.source)
      place = next.place
    }
    return sources
  }

  /// Merges as for the owner, who may bring back large blobs.
  package func merge(
    _ accounts: [MergedAccount], epoch: UInt16, largeBlobArray: [UInt8]?
  ) throws(RecoveryError) -> (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge) {
    try merge(accounts, epoch: epoch, largeBlobArray: largeBlobArray, keepsDeletion: false)
  }
}
