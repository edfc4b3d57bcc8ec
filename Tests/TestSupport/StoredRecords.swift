package import Recovery

extension CredentialStore {
  /// Reads all records of a relying party, newest first.
  package func credentials(rpIDHash: RPIDHash) throws -> [CredentialSource] {
    try (0..<credentialCount(rpIDHash: rpIDHash, userVerified: true)).compactMap {
      try credential(rpIDHash: rpIDHash, userVerified: true, at: $0)
    }
  }
}
