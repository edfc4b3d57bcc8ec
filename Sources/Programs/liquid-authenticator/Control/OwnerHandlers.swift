import CTAP2
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import Recovery

/// The owner's commands for the credentials, the PIN and the settings of this machine.
///
/// The rules are those that credentialManagement, clientPIN and authenticatorConfig follow in CTAP2 and Recovery; the
/// vault's passphrase takes the place of a token.
enum OwnerHandlers {
  static let all: [any ServedCommand.Type] = [
    ListCredentials.self, ShowCredential.self, RenameCredential.self, RemoveCredential.self, RecoverCredential.self,
    AcceptBeforeReset.self, SetPIN.self, RemovePIN.self, GetSettings.self, ChangeSettings.self, ForgetReaders.self,
    SetLargeBlobArray.self, ListHistory.self, CheckHistory.self, ChangePolicy.self,
    KeepTrezorKeys.self, ForgetTrezorKeys.self,
  ]
}

// MARK: - Credentials

extension ListCredentials: OwnerCommand {
  /// Lists without public keys, because deriving all of them would take long.
  func handle(_ owner: inout Owner) throws -> Answer {
    let store = owner.vault.store
    let pairings = try store.state().pairings
    return try Answer(to: self) { (take) throws(RecoveryError) in
      try store.forEachCredential(before: before) { source, place in
        take(CredentialDescription(source, pairings), place)
      }
    }
  }
}

extension ShowCredential: OwnerCommand {
  func handle(_ owner: inout Owner) throws -> CredentialDescription {
    try owner.vault.description(of: owner.vault.credential(reference))
  }
}

extension RenameCredential: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.renamePasskey, reference.rpID) }

  func handle(_ owner: inout Owner) throws -> Done {
    let source = try owner.vault.credential(reference)
    return Done(
      try owner.vault.rename(
        source, name: name ?? source.name, displayName: displayName ?? source.displayName, now: owner.now))
  }
}

extension RemoveCredential: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.removePasskey, reference.rpID) }

  func handle(_ owner: inout Owner) throws -> Done {
    Done(try owner.vault.remove(owner.vault.credential(reference), now: owner.now))
  }
}

extension RecoverCredential: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.recoverPasskey, rpID) }

  /// Replaces only a record or tombstone with a lower counter.
  func handle(_ owner: inout Owner) throws -> CredentialDescription {
    guard let algorithm = COSEAlgorithm(rawValue: algorithm), let credProtect = CredProtectLevel(rawValue: credProtect)
    else { throw ControlFailure(.invalidParameter, "unsupported algorithm or credProtect level") }
    return try owner.vault.description(
      of: owner.vault.recover(
        rpID: rpID, userID: userHandle, counter: counter, algorithm: algorithm, credProtect: credProtect,
        now: owner.now))
  }
}

extension AcceptBeforeReset: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.acceptBeforeReset, nil) }

  /// During a move to a new phrase, undoes a reset of both stores; the previous one comes first, as in the reset.
  func handle(_ owner: inout Owner) throws -> Done {
    var isAccepted = false
    for phrase in owner.vault.phrases.reversed() {
      let store = owner.vault[phrase].store
      var state = try store.state()
      guard state.floor > 0 else { continue }
      state.acceptBeforeReset()
      try store.setState(state)
      isAccepted = true
    }
    guard isAccepted else {
      throw ControlFailure(.notAllowed, "this store has no reset to undo: there is nothing to accept")
    }
    return Done()
  }
}

extension OpenVault {
  fileprivate func credential(_ reference: CredentialReference) throws -> CredentialSource {
    let (rpIDHash, id) = (RPIDHash(rpID: reference.rpID), reference.credentialID)
    // If a derived and an imported passkey have the id, the id alone means the derived one.
    let found =
      if reference.isImported {
        try store.entry(accountTag: keys.importedTag(rpIDHash, id: id))?.record
      } else {
        try store.credential(id: id, rpIDHash: rpIDHash)
      }
    guard let found else {
      throw ControlFailure(
        .noCredentials, "there is no such credential", hint: "see:", run: ["liquid-auth", "credentials", "list"])
    }
    return found
  }

  /// Describes a record to the owner, with its public key.
  fileprivate func description(of source: CredentialSource) throws -> CredentialDescription {
    var description = CredentialDescription(source, try store.state().pairings)
    description.publicKey = try keys.privateKey(of: source).publicKey.bytes
    if source.policy.largeBlobKey {
      description.largeBlobKey = keys.largeBlobKey(source.rpIDHash, id: source.id).withUnsafeBytes { Array($0) }
    }
    return description
  }
}

extension CredentialDescription {
  init(_ source: CredentialSource, _ pairings: Pairings) {
    self.init(source)
    dApps = pairings.pairings(ofRelyingParty: source.rpID).map(\.origin)
  }

  init(_ source: CredentialSource) {
    self.init(
      rpID: source.rpID, userID: source.userID, name: source.name, displayName: source.displayName,
      credentialID: source.id, algorithm: source.algorithm.rawValue, counter: source.counter,
      policy: source.policy.byte, created: source.created, changed: source.lastChange, source: source.origin.rawValue,
      hasCredBlob: source.credBlob != nil)
  }
}

// MARK: - PIN, settings and large blobs

extension SetPIN: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.changePIN, nil) }

  func handle(_ owner: inout Owner) throws -> Done { Done(try owner.authenticator.setPIN(secret, in: owner.vault)) }
}

extension RemovePIN: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.changePIN, nil) }

  func handle(_ owner: inout Owner) throws -> Done { Done(try owner.authenticator.removePIN(in: owner.vault)) }
}

extension GetSettings: OwnerCommand {
  func handle(_ owner: inout Owner) throws -> OwnerSettings { OwnerSettings(try owner.vault.settings()) }
}

extension ChangeSettings: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.changeSettings, nil) }

  /// Refuses means that can verify nobody, such as fingerprints without a reader, before any setting changes.
  func handle(in session: isolated ControlSession) async throws -> OwnerSettings {
    if session.verified != nil {
      for means in try parsedMeans() ?? [] { try await session.service.check(means) }
    }
    return try await inTurn(of: session)
  }

  private func parsedMeans() throws(ControlFailure) -> [VerificationMeans]? {
    guard let means else { return nil }
    let parsed = means.compactMap(VerificationMeans.init(name:))
    guard parsed.count == means.count, Set(parsed).count == parsed.count else {
      throw ControlFailure(.invalidParameter, "a way to verify is unknown, or given twice")
    }
    return parsed
  }

  /// Makes all changes or none.
  func handle(_ owner: inout Owner) throws -> OwnerSettings {
    let means = try parsedMeans()
    let changed = try owner.authenticator.changeSettings(in: owner.vault) { (settings) throws(CTAPError) in
      settings.alwaysUV = alwaysUV ?? settings.alwaysUV
      settings.means = means ?? settings.means
      try settings.setMinimumPINLength(
        minimumPINLength, rpIDs: minimumPINLengthRPIDs, forceChange: forcePINChange)
    }
    return OwnerSettings(changed)
  }
}

extension OwnerSettings {
  fileprivate init(_ settings: AuthenticatorSettings) {
    self.init(
      alwaysUV: settings.alwaysUV, minimumPINLength: settings.minimumPINLength,
      minimumPINLengthRPIDs: settings.minimumPINLengthRPIDs, forcePINChange: settings.forcePINChange,
      isPINSet: settings.pin != nil, means: settings.means.map(\.name))
  }
}

extension ForgetReaders: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.forgetReaders, nil) }

  func handle(_ owner: inout Owner) throws -> Done {
    try owner.authenticator.changeSettings(in: owner.vault) { $0.endPersistentToken() }
    return Done()
  }
}

extension KeepTrezorKeys: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.changeSettings, nil) }

  func handle(_ owner: inout Owner) throws -> Done {
    let (mainKey, bytes) = try parts()
    guard owner.vault.keys.isDerived(from: mainKey) else {
      throw ControlFailure(.notAllowed, "this is not the phrase of the vault; nothing was changed")
    }
    var state = try owner.vault.store.state()
    state.slip22 = SLIP22Keys(bytes)
    try owner.vault.store.setState(state)
    return Done()
  }
}

extension ForgetTrezorKeys: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.changeSettings, nil) }

  func handle(_ owner: inout Owner) throws -> Done {
    var state = try owner.vault.store.state()
    state.slip22 = nil
    try owner.vault.store.setState(state)
    // getNextAssertion could otherwise continue with such a passkey.
    owner.authenticator.forgetRemaining()
    return Done()
  }
}

extension SetLargeBlobArray: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? { (.replaceLargeBlobs, nil) }

  func handle(_ owner: inout Owner) throws -> Done {
    Done(try owner.authenticator.replaceLargeBlobArray(array, changedFrom: digest, in: owner.vault))
  }
}

// MARK: - The history

extension ListHistory: OwnerCommand {
  func handle(_ owner: inout Owner) throws -> Answer {
    let page = try owner.vault.history().history(after: after ?? .min, count: Self.pageSize)
    return Answer(
      entries: page.map { HistoryDescription($0.sequence, $0.entry) },
      next: page.count < Self.pageSize ? nil : page.last?.sequence)
  }
}

extension CheckHistory: OwnerCommand {
  func handle(_ owner: inout Owner) throws -> Answer {
    let found = try owner.vault.history().checkHistory()
    return Answer(
      count: found.count, first: found.first, last: found.last, faults: found.faults.map(\.description))
  }
}

extension OpenVault {
  /// The store with its history.
  func history() throws(ControlFailure) -> any HistoryStore {
    guard let history = store.history else { throw ControlFailure(.unavailable, "the store has no history") }
    return history
  }
}

extension HistoryDescription {
  fileprivate init(_ number: Int64, _ entry: HistoryEntry?) {
    self.init(
      number: number,
      content: entry.map { entry in
        Content(
          time: entry.time, kind: entry.kind.rawValue, outcome: entry.outcome.rawValue,
          verification: entry.verification.rawValue, site: entry.site, door: entry.door?.rawValue)
      })
  }
}

// MARK: - Policies

extension ChangePolicy: OwnerCommand {
  var recorded: (kind: HistoryEntry.Kind, site: String?)? {
    switch change {
    case .site(let site, _): (.changePolicy, site)
    case .others: (.changePolicy, nil)
    case nil: nil
    }
  }

  func handle(_ owner: inout Owner) throws -> PolicyList {
    var state = try owner.vault.store.state()
    switch change {
    case .site(let site, let number): try state.policies.set(number.map(Self.policy), of: site)
    case .others(let number): state.policies.standard = try Self.policy(number)
    case nil: return PolicyList(state.policies)
    }
    try owner.vault.store.setState(state)
    // getNextAssertion could otherwise continue a sign-in that the new policy refuses.
    owner.authenticator.forgetRemaining()
    return PolicyList(state.policies)
  }

  private static func policy(_ number: UInt8) throws(ControlFailure) -> SitePolicy {
    guard let policy = SitePolicy(rawValue: number) else {
      throw ControlFailure(.invalidParameter, "no such policy: \(number)")
    }
    return policy
  }
}

extension PolicyList {
  fileprivate init(_ policies: SitePolicies) {
    self.init(
      others: policies.standard.rawValue,
      sites: policies.sites.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        .map { Entry(site: $0.key, policy: $0.value.rawValue) })
  }
}
