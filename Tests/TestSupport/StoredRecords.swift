package import Recovery

extension CredentialStore {
  /// All records of a relying party, the newest first, read one by one.
  package func credentials(rpIDHash: RPIDHash) throws -> [CredentialSource] {
    try (0..<credentialCount(rpIDHash: rpIDHash, userVerified: true)).compactMap {
      try credential(rpIDHash: rpIDHash, userVerified: true, at: $0)
    }
  }
}
