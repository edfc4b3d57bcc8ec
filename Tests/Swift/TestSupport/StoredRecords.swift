package import Recovery

extension CredentialStore {
  /// Reads all records of a relying party, newest first.
  package func credentials(rpIDHash: RPIDHash) throws -> [CredentialSource] {
    try (0..<credentialCount(rpIDHash: rpIDHash, userVerified: true)).compactMap {
      try credential(rpIDHash: rpIDHash, userVerified: true, at: $0)
    }
  }

  /// Merges as for the owner, who may bring back large blobs.
  package func merge(
    _ accounts: [MergedAccount], epoch: UInt16, largeBlobArray: [UInt8]?
  ) throws(RecoveryError) -> (accounts: [AccountMerge], largeBlobs: LargeBlobsMerge) {
    try merge(accounts, epoch: epoch, largeBlobArray: largeBlobArray, keepsDeletion: false)
  }
}
