import Recovery

/// The applicable credentials that are still to be returned, in order.
struct ApplicableCredentials: Sendable {
  /// Those of one phrase.
  enum Part: Sendable {
    /// Credentials that the allowList names, or that were read for another reason.
    case read(ArraySlice<Credential>)
    /// Records of the relying party, the newest first, which are read one by one.
    case unread(StoredCredentials)
  }

  private var parts: [(phrase: OpenVault.Phrase, credentials: Part)] = []

  mutating func append(_ credentials: Part, of phrase: OpenVault.Phrase) { parts.append((phrase, credentials)) }

  /// The number of credentials.
  var count: Int { parts.reduce(0) { $0 + $1.credentials.count } }

  /// Whether one of them may have a large-blob key; with verification, unread records count without being read.
  func mayHaveLargeBlobKey(in vault: OpenVault) throws(CTAPError) -> Bool {
    for (phrase, credentials) in parts {
      if try credentials.mayHaveLargeBlobKey(in: vault[phrase]) { return true }
    }
    return false
  }

  /// Removes and returns the first, with its phrase; `nil` if none is left.
  mutating func popFirst(in vault: OpenVault) throws(CTAPError) -> (Credential, OpenVault.Phrase)? {
    for index in parts.indices {
      let phrase = parts[index].phrase
      if let credential = try parts[index].credentials.popFirst(in: vault[phrase]) { return (credential, phrase) }
    }
    return nil
  }
}

extension ApplicableCredentials.Part {
  var count: Int {
    switch self {
    case .read(let credentials): credentials.count
    case .unread(let records): records.count
    }
  }

  func mayHaveLargeBlobKey(in vault: OpenVault) throws(CTAPError) -> Bool {
    switch self {
    case .read(let credentials): return credentials.contains(where: \.policy.largeBlobKey)
    case .unread(var records):
      if records.userVerified { return records.count > 0 }
      while let record = try records.popFirst(in: vault) {
        if record.policy.largeBlobKey { return true }
      }
      return false
    }
  }

  mutating func popFirst(in vault: OpenVault) throws(CTAPError) -> Credential? {
    switch self {
    case .read(var credentials):
      defer { self = .read(credentials) }
      return credentials.popFirst()
    case .unread(var records):
      defer { self = .unread(records) }
      return try records.popFirst(in: vault).map(Credential.init(record:))
    }
  }
}

/// The records of a relying party that are still to be returned, the newest first; each is read when its turn comes.
///
/// The store does not change meanwhile: every other command discards the state that getNextAssertion and
/// credentialManagement continue from.
struct StoredCredentials: Sendable {
  let rpIDHash: RPIDHash
  /// Whether the records of credProtect levels 2 and 3 count too.
  let userVerified: Bool
  /// The number of credentials.
  private(set) var count: Int
  /// The place of the one that was returned last.
  private var place: Int64?

  init(rpIDHash: RPIDHash, userVerified: Bool, in vault: OpenVault) throws(CTAPError) {
    (self.rpIDHash, self.userVerified) = (rpIDHash, userVerified)
    count = try stored(vault.store.credentialCount(rpIDHash: rpIDHash, userVerified: userVerified))
  }

  /// Removes and returns the first; `nil` if none is left.
  mutating func popFirst(in vault: OpenVault) throws(CTAPError) -> CredentialSource? {
    guard count > 0,
      let next = try stored(vault.store.credential(rpIDHash: rpIDHash, userVerified: userVerified, before: place))
    else { return nil }
    count -= 1
    place = next.place
    return next.source
  }
}
