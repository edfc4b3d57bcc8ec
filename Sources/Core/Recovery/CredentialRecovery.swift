import CryptoPrimitives

// MARK: - What comes back, Recovery §7 and §9

extension OpenVault {
  /// Records the use of a credential with consent, durably.
  ///
  /// A discoverable credential without a row is written back, unless it is a phone wallet's or the account has the same
  /// or a higher counter. A higher epoch is adopted. Nothing is written without user presence.
  ///
  /// - Parameters:
  ///   - user: the user of a registration request whose excludeList has the credential.
  ///   - algorandAddress: the address of the account that signs too, by the extension `liquid`.
  ///   - userPresent: UP of the consent; without it, nothing is written.
  ///   - userVerified: UV of the consent.
  public func rememberUse(
    of credential: Credential, user: PublicKeyCredentialUserEntity? = nil, algorandAddress: String? = nil,
    userPresent: Bool, userVerified: Bool, now: UInt64
  ) throws(RecoveryError) {
    guard userPresent else { return }
    let credential = userVerified ? credential.asOfWallet(of: algorandAddress) : credential
    if let source = try writtenBack(credential, user: user, now: now) {
      try save(Credential(record: source))
    } else {
      var state = try store.state()
      if state.see(epoch: credential.parameters.epoch) { try store.setState(state) }
    }
  }

  /// The record to write back; `nil` for none.
  ///
  /// Its time of change is 0, so that in a merge a registered record and a removal with the same counter win.
  /// Existing names of the account are kept: a site can restore a record, but not rename it.
  func writtenBack(
    _ credential: Credential, user: PublicKeyCredentialUserEntity?, now: UInt64
  ) throws(RecoveryError) -> CredentialSource? {
    let parameters = credential.parameters
    guard credential.provenance == .sealedID || credential.provenance == .hashID, let counter = parameters.counter
    else { return nil }
    let account = try store.account(rpIDHash: credential.rpIDHash, userID: parameters.userID)
    if let account, account.counter >= counter { return nil }

    let named = user.flatMap { $0.id == parameters.userID ? $0 : nil }
    return CredentialSource(
      rpID: credential.rpID, userID: parameters.userID, name: account?.record?.name ?? named?.name,
      displayName: account?.record?.displayName ?? named?.displayName, id: credential.id,
      algorithm: parameters.algorithm, counter: counter, policy: parameters.policy, created: now, changed: 0,
      origin: .recovered)
  }

  /// Recovers the record of a hash id from the owner's input, and saves it:
  /// `liquid-auth recover --rp --user-handle [--counter --alg --cred-protect]`.
  ///
  /// It replaces only a lower counter, of a record or a deletion.
  ///
  /// - Throws: `notReplaced`, `userIDLength`, `noKey`, `key` or `store`.
  @discardableResult
  public func recover(
    rpID: String, userID: [UInt8], counter: UInt32 = 0, algorithm: COSEAlgorithm = .es256,
    credProtect: CredProtectLevel = .userVerificationOptional, now: UInt64
  ) throws(RecoveryError) -> CredentialSource {
    let parameters = CredentialParameters.discoverable(
      userID: userID, counter: counter, algorithm: algorithm, policy: CredentialPolicy(credProtect: credProtect))
    guard let parameters else {
      throw RecoveryError(.userIDLength, "the user handle has \(userID.count) bytes", hint: "it must have 1 to 64")
    }
    let credential: Credential
    do {
      let id = try keys.privateKey(parameters, rpID: rpID).publicKey.hashID
      credential = Credential(id: id, rpID: rpID, parameters: parameters, provenance: .hashID)
    } catch {
      throw error == .scalarOutOfRange
        ? RecoveryError(.noKey, "counter \(counter) gives no key", hint: "give the next --counter")
        : RecoveryError(.key, error.description)
    }

    if let source = try writtenBack(credential, user: nil, now: now) {
      try save(Credential(record: source))
      return source
    }
    let account = try store.account(rpIDHash: credential.rpIDHash, userID: userID)
    let here = account?.counter ?? counter
    throw account?.isTombstone == true
      ? RecoveryError(
        .notReplaced, "the account's passkey with counter \(here) was removed here, and is not restored",
        hint: "register again at the site, or give the --counter of a later registration")
      : RecoveryError(
        .notReplaced, "the account has a passkey here already, with counter \(here)", hint: "it is not replaced")
  }
}

extension Credential {
  /// In wallet mode user.id is the address, and the phone wallets' key of counter 0 is that of the profile `webauthn`
  /// (Recovery §3): if the account itself also signs, the credential is the one that a registration here would make.
  fileprivate func asOfWallet(of algorandAddress: String?) -> Credential {
    guard let algorandAddress, provenance == .phone, parameters.counter == 0,
      parameters.userID == Array(algorandAddress.utf8)
    else { return self }
    return Credential(id: id, rpID: rpID, parameters: parameters, provenance: .hashID)
  }
}

// MARK: - What the owner changes, Recovery §7

extension OpenVault {
  /// Changes the names of a credential and keeps its counter; an empty name is removed.
  public func rename(
    _ source: CredentialSource, name: String?, displayName: String?, now: UInt64
  ) throws(RecoveryError) {
    var renamed = source
    renamed.rename(
      name: name.unlessEmpty, displayName: displayName.unlessEmpty, now: source.timeOfChange(now))
    try store.save(renamed, state: nil)
  }

  /// Removes a credential and leaves a tombstone, so that its id stays invalid when its site sends it.
  public func remove(_ source: CredentialSource, now: UInt64) throws(RecoveryError) {
    // The pairings of a site go with its last passkey, in one transaction.
    var (state, changedState) = (try store.state(), StoreState?.none)
    if !state.pairings.pairings(ofRelyingParty: source.rpID).isEmpty,
      try store.credentialCount(rpIDHash: source.rpIDHash, userVerified: true) <= 1
    {
      state.pairings.forget(rpID: source.rpID)
      changedState = state
    }
    try store.remove(source, changed: source.timeOfChange(now), state: changedState)
  }
}

extension String? {
  fileprivate var unlessEmpty: String? { self?.isEmpty == false ? self : nil }
}

extension CredentialSource {
  /// The present time, but later than the last change, so that an older name does not win a merge after the clock was
  /// set back.
  func timeOfChange(_ now: UInt64) -> UInt64 { max(now, lastChange == .max ? .max : lastChange + 1) }

  /// Gives the account other names; the counter stays.
  public mutating func rename(name: String?, displayName: String?, now: UInt64) {
    self.name = name
    self.displayName = displayName
    changed = now
  }
}
