import ControlDoor
import CryptoPrimitives
import Recovery

/// What the owner may do with the credentials of this machine, over the control door.
extension OpenVault {
  /// A page of the list, newest first, without public keys: deriving them all would take long.
  func page(start: UInt64) throws(ControlFailure) -> CredentialPage {
    let all = try told { () throws(StoreError) in try store.allCredentials() }
    return CredentialPage(of: all.map { CredentialDescription($0) }, start: start)
  }

  /// One credential with its public key.
  func description(of reference: CredentialReference) throws(ControlFailure) -> CredentialDescription {
    let source = try credential(reference)
    do {
      var description = CredentialDescription(source, publicKey: try keys.privateKey(of: source).publicKey.bytes)
      if source.policy.largeBlobKey {
        description.largeBlobKey = keys.largeBlobKey(source.rpIDHash, id: source.id).withUnsafeBytes { Array($0) }
      }
      return description
    } catch {
      throw ControlFailure(.other, error.description)
    }
  }

  /// Changes names; the counter stays, Recovery §7.
  func rename(_ reference: CredentialReference, _ names: CredentialNames, now: UInt64) throws(ControlFailure) {
    var source = try credential(reference)
    source.rename(
      name: Self.changed(source.name, to: names.name),
      displayName: Self.changed(source.displayName, to: names.displayName), now: source.timeOfChange(now))
    let renamed = source
    try told { () throws(StoreError) in try store.save(renamed, state: nil) }
  }

  private static func changed(_ old: String?, to new: String?) -> String? {
    guard let new else { return old }
    return new.isEmpty ? nil : new
  }

  /// Removes a credential; a tombstone with its counter stays, Recovery §7.
  func remove(_ reference: CredentialReference, now: UInt64) throws(ControlFailure) {
    let source = try credential(reference)
    try told { () throws(StoreError) in try store.remove(source, changed: source.timeOfChange(now)) }
  }

  /// Takes the reset back for what the phrase can open, Recovery §7.
  func acceptBeforeReset() throws(ControlFailure) {
    try told { () throws(StoreError) in
      var state = try store.state()
      state.acceptBeforeReset()
      try store.setState(state)
    }
  }

  private func credential(_ reference: CredentialReference) throws(ControlFailure) -> CredentialSource {
    let found = try told { () throws(StoreError) in
      try store.credential(id: reference.credentialID, rpIDHash: RPIDHash(rpID: reference.rpID))
    }
    guard let found else {
      throw ControlFailure(.noCredentials, "there is no such credential; see: liquid-auth credentials list")
    }
    return found
  }
}

// MARK: - Recovery of one record, Recovery §9

extension OpenVault {
  /// Writes the record of a credential that the owner describes; it goes only over a lower counter.
  func recover(_ recovery: CredentialRecovery, now: UInt64) throws(ControlFailure) -> CredentialDescription {
    guard let algorithm = COSEAlgorithm(rawValue: recovery.algorithm),
      let credProtect = CredProtectLevel(rawValue: recovery.credProtect)
    else { throw ControlFailure(.invalidParameter, "the algorithm or the credProtect level is not one of ours") }
    let source: CredentialSource
    do throws(CredentialRecoveryError) {
      source = try recover(
        rpID: recovery.rpID, userID: recovery.userHandle, counter: recovery.counter, algorithm: algorithm,
        credProtect: credProtect, now: now)
    } catch {
      throw ControlFailure(error, counter: recovery.counter)
    }
    return try description(of: CredentialReference(rpID: source.rpID, credentialID: source.id))
  }
}

extension ControlFailure {
  /// Why no record was written.
  fileprivate init(_ error: CredentialRecoveryError, counter: UInt32) {
    switch error {
    case .accountHasCounter(let here, deleted: false):
      self.init(.notAllowed, "the account has a credential here already, with counter \(here); it is not replaced")
    case .accountHasCounter(let here, deleted: true):
      self.init(
        .notAllowed,
        "the account's passkey with counter \(here) was removed here and stays so; register anew at the site, or give the "
          + "--counter of a later registration")
    case .userIDLength(let count):
      self.init(.invalidLength, "the user handle has \(count) bytes; it must have 1 to 64")
    case .cryptography(.scalarOutOfRange):
      self.init(.invalidParameter, "counter \(counter) gives no key; give the next --counter")
    case .cryptography(let error): self.init(.other, error.description)
    case .store(let error): self.init(.unavailable, error.description)
    }
  }
}

/// The store's failure as the answer to a request.
private func told<T>(_ ask: () throws(StoreError) -> T) throws(ControlFailure) -> T {
  do { return try ask() } catch { throw ControlFailure(.unavailable, error.description) }
}

extension CredentialDescription {
  /// What the owner may see of a record.
  init(_ source: CredentialSource, publicKey: [UInt8]? = nil) {
    self.init(
      rpID: source.rpID, userID: source.userID, name: source.name, displayName: source.displayName,
      credentialID: source.id, algorithm: source.algorithm.rawValue, counter: source.counter,
      policy: source.policy.byte, created: source.created, changed: source.changed, source: source.origin.rawValue,
      publicKey: publicKey, hasCredBlob: source.credBlob != nil)
  }
}
