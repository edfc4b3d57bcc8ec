import CBOR
import CryptoPrimitives
import DeterministicKeys

/// What an excludeList shows about the account of a registration: Recovery §7 and §8.
public struct ExcludeListFindings: Sendable, Equatable {
  /// The live and usable credentials of the list, in its order: CREDENTIAL_EXCLUDED if there is one.
  public let hits: [Credential]
  /// The highest counter of the account's row, its tombstone and its ids in the list, live or not; `nil` if none.
  public let highestKnownCounter: UInt32?
}

// MARK: - Recognizing ids, Recovery §8

extension OpenVault {
  /// The credentials of an allowList that are live and usable, in its order.
  ///
  /// - Parameter ids: the list's entries of type public-key.
  /// - Parameter userVerified: whether this ceremony verifies the user; if not, level 3 counts as absent.
  public func credentials(
    allowList ids: [[UInt8]], rpID: String, userVerified: Bool
  ) throws(RecoveryError) -> [Credential] {
    let recognition = CredentialRecognition(vault: self, rpID: rpID, state: try store.state())
    var (matches, left) = try recognition.recognise(ids)
    let usable = matches.usable(userVerified: userVerified)
    if !usable.isEmpty { left = [] }
    left += matches.importedHashLengthIDs
    guard !left.isEmpty else { return usable }
    matches.add(try recognition.match(left, against: recognition.phoneCandidates()))
    return matches.usable(userVerified: userVerified)
  }

  /// What an excludeList shows about the account of a registration.
  ///
  /// - Parameter ids: the list's entries of type public-key.
  /// - Parameter algorithms: the algorithms of the request.
  /// - Parameter policy: the policy of the request's extensions; a hash id has none of its own.
  /// - Parameter userVerified: whether this ceremony verifies the user.
  public func examine(
    excludeList ids: [[UInt8]], rpID: String, userID: [UInt8], algorithms: [COSEAlgorithm],
    policy: CredentialPolicy = CredentialPolicy(), userVerified: Bool
  ) throws(RecoveryError) -> ExcludeListFindings {
    let recognition = CredentialRecognition(vault: self, rpID: rpID, state: try store.state())
    var (matches, left) = try recognition.recognise(ids)
    if !matches.usable(userVerified: userVerified).isEmpty { left = [] }
    left += matches.importedHashLengthIDs
    if !left.isEmpty {
      // The candidates of the account come first: an id that is both is written back; a phone wallet's id never is.
      let candidates =
        recognition.hashCandidates(userID: userID, algorithms: algorithms, policy: policy)
        + recognition.phoneCandidates()
      matches.add(try recognition.match(left, against: candidates))
    }
    let account = try store.account(rpIDHash: recognition.rpIDHash, userID: userID)
    // An imported passkey has no counter of its account.
    let counters = matches.compactMap { match in
      match.credential.parameters.userID == userID && !match.isImported
        ? match.credential.parameters.counter : nil
    }
    return ExcludeListFindings(
      hits: matches.usable(userVerified: userVerified),
      highestKnownCounter: (counters + [account?.counter].compactMap(\.self)).max())
  }
}

/// The recognition of one request's ids: of one relying party, against one state of the store.
struct CredentialRecognition {
  /// A recognized id; one that is not live still counts for the next counter.
  struct Match {
    let credential: Credential
    let isLive: Bool

    /// Whether its id and counter are not those of a credential that this phrase makes here.
    var isImported: Bool { credential.isImported || credential.provenance == .slip22 }
  }

  /// A 32-byte id that could be in the list, computed before anything is compared.
  struct Candidate {
    let publicKey: CredentialPublicKey
    let parameters: CredentialParameters
    let provenance: Credential.Provenance
  }

  /// n of the candidates: 0–15 of each epoch.
  static let candidateCounters: Range<UInt32> = 0..<16
  /// The number of epochs whose hash ids are tried, from the floor on.
  static let candidateEpochs: UInt32 = 8

  let vault: OpenVault
  let rpID: String
  let rpIDHash: RPIDHash
  let state: StoreState

  init(vault: OpenVault, rpID: String, state: StoreState) {
    self.vault = vault
    self.rpID = rpID
    self.rpIDHash = RPIDHash(rpID: rpID)
    self.state = state
  }

  /// Steps (a) and (b): the ids that have a row or open, and the 32-byte ones that are left for candidates.
  ///
  /// An id that has a row is never left, so that no candidate replaces a record that requires user verification. The
  /// callers also compare the candidates with the ids of imported passkeys, because these ids come from a file.
  func recognise(_ ids: [[UInt8]]) throws(RecoveryError) -> (matches: [Match], left: [[UInt8]]) {
    var matches: [Match] = []
    var left: [[UInt8]] = []
    for id in ids {
      if let record = try vault.store.credential(id: id, rpIDHash: rpIDHash) {
        // It was found by this hash.
        let credential = Credential(record: record, rpIDHash: rpIDHash, derivedKey: nil)
        matches.append(Match(credential: credential, isLive: true))
      } else if let parameters = vault.keys.open(sealedID: id, rpIDHash: rpIDHash) {
        guard let key = try? vault.keys.privateKey(parameters, rpID: rpID, rpIDHash) else { continue }
        matches.append(try match(id, parameters, .sealedID, key))
      } else if let credential = slip22Credential(id) {
        matches.append(Match(credential: credential, isLive: true))
      } else if id.count == CredentialID.hashLength {
        left.append(id)
      }
    }
    return (matches, left)
  }

  /// The passkey of a Trezor with the same phrase: SLIP-0022, if the owner switched it on.
  ///
  /// It has no epoch and no counter, so a floor does not end it; a reset removes the keys.
  private func slip22Credential(_ id: [UInt8]) -> Credential? {
    guard let keys = state.slip22, let data = keys.open(id, rpIDHash: rpIDHash.bytes),
      let members = (try? CBORDecoder.decode(data))?.map,
      members[1]?.text.map({ $0.utf8.elementsEqual(rpID.utf8) }) == true, let userID = members[3]?.bytes,
      // Trezor's own members: another algorithm, and its curve.
      members[9] == nil || members[9] == -7, members[10] == nil || members[10] == 1,
      let parameters = CredentialParameters.discoverable(
        userID: userID, counter: 0, algorithm: .es256, policy: CredentialPolicy()),
      let key = try? keys.privateKey(of: id)
    else { return nil }
    var credential = Credential(
      id: id, rpID: rpID, parameters: parameters, provenance: .slip22, rpIDHash: rpIDHash,
      derivedKey: CredentialPrivateKey(key))
    if members[7] == true { credential.slip22CredRandom = keys.credRandom(of: id) }
    return credential
  }

  /// Step (c): the ids that equal a candidate.
  ///
  /// Every id is compared with every candidate, even after a match.
  func match(_ ids: [[UInt8]], against candidates: [Candidate]) throws(RecoveryError) -> [Match] {
    let hashes = candidates.map(\.publicKey.hashID)
    var matches: [Match] = []
    for id in ids {
      let equal = candidates.indices.filter { constantTimeEqual(hashes[$0], id) }
      guard let index = equal.first else { continue }
      let candidate = candidates[index]
      let isTaken = try vault.isKey(
        candidate.publicKey.bytes, ofAnotherAccountThan: candidate.parameters.userID, rpIDHash: rpIDHash)
      guard !isTaken else { continue }
      matches.append(try match(id, candidate.parameters, candidate.provenance))
    }
    return matches
  }

  /// The ids that phone wallets make for the vault's account in use: one set for each relying party.
  ///
  /// They have no epoch, so a floor above 0 invalidates them all.
  func phoneCandidates() -> [Candidate] {
    guard state.floor == 0, let account = try? vault.algorandAccount() else { return [] }
    return candidates(
      userID: Array(account.address.text.utf8), counters: Self.candidateCounters, algorithm: .es256,
      policy: CredentialPolicy(), provenance: .phone)
  }

  /// The hash ids that this phrase may have made for one account: eight epochs from the floor on.
  func hashCandidates(userID: [UInt8], algorithms: [COSEAlgorithm], policy: CredentialPolicy) -> [Candidate] {
    let epochs = UInt32(state.floor)..<min(UInt32(state.floor) + Self.candidateEpochs, 1 << 16)
    return algorithms.flatMap { algorithm in
      epochs.flatMap { epoch in
        candidates(
          userID: userID, counters: Self.candidateCounters.map { epoch << 16 | $0 }, algorithm: algorithm,
          policy: policy, provenance: .hashID)
      }
    }
  }

  private func candidates(
    userID: [UInt8], counters: some Sequence<UInt32>, algorithm: COSEAlgorithm, policy: CredentialPolicy,
    provenance: Credential.Provenance
  ) -> [Candidate] {
    counters.compactMap { counter in
      let parameters = CredentialParameters.discoverable(
        userID: userID, counter: counter, algorithm: algorithm, policy: policy)
      guard let parameters, let key = try? vault.keys.privateKey(parameters, rpID: rpID) else { return nil }
      return Candidate(publicKey: key.publicKey, parameters: parameters, provenance: provenance)
    }
  }

  private func match(
    _ id: [UInt8], _ parameters: CredentialParameters, _ provenance: Credential.Provenance,
    _ key: CredentialPrivateKey? = nil
  ) throws(RecoveryError) -> Match {
    // Only a discoverable credential can be replaced by another of its account.
    let account =
      parameters.kind == .discoverable
      ? try vault.store.account(rpIDHash: rpIDHash, userID: parameters.userID) : nil
    return Match(
      credential: Credential(
        id: id, rpID: rpID, parameters: parameters, provenance: provenance, rpIDHash: rpIDHash, derivedKey: key),
      isLive: state.isLive(parameters, account: account))
  }
}

extension [CredentialRecognition.Match] {
  /// The 32-byte ids of imported passkeys.
  ///
  /// They come from a file of another program, so one of them can be the id of a derived passkey without a record.
  fileprivate var importedHashLengthIDs: [[UInt8]] {
    filter(\.isImported).map(\.credential.id).filter { $0.count == CredentialID.hashLength }
  }

  /// Adds matches of candidates; one that is live takes the place of an imported passkey with the same id.
  fileprivate mutating func add(_ found: [CredentialRecognition.Match]) {
    for match in found {
      let place = firstIndex { match.isLive && $0.isImported && $0.credential.id == match.credential.id }
      if let place { self[place] = match } else { append(match) }
    }
  }

  fileprivate func usable(userVerified: Bool) -> [Credential] {
    filter { $0.isLive && $0.credential.policy.allows(userVerified: userVerified) }.map(\.credential)
  }
}
