import CryptoPrimitives

/// The account of a registration: WebAuthn §5.4.3.
public struct PublicKeyCredentialUserEntity: Sendable {
  /// user.id as received.
  public let id: [UInt8]
  /// The account's name; text of the client, only for display.
  public let name: String?
  /// The account's display name; text of the client, only for display.
  public let displayName: String?

  public init(id: [UInt8], name: String? = nil, displayName: String? = nil) {
    self.id = id
    self.name = name
    self.displayName = displayName
  }
}

/// The request for a new credential.
public struct CredentialRegistration: Sendable {
  /// rp.id as received.
  public var rpID: String
  /// The account.
  public var user: PublicKeyCredentialUserEntity
  /// The algorithm, chosen from those of the request.
  public var algorithm: COSEAlgorithm
  /// The policy that the request's extensions set.
  public var policy: CredentialPolicy
  /// The credBlob extension's data, for a discoverable credential.
  public var credBlob: [UInt8]?

  public init(
    rpID: String, user: PublicKeyCredentialUserEntity, algorithm: COSEAlgorithm,
    policy: CredentialPolicy = CredentialPolicy(), credBlob: [UInt8]? = nil
  ) {
    self.rpID = rpID
    self.user = user
    self.algorithm = algorithm
    self.policy = policy
    self.credBlob = credBlob
  }
}

// MARK: - New credentials, Recovery §4 and §7

extension OpenVault {
  /// How many more discoverable credentials can be registered.
  public func remainingDiscoverableCredentials() throws(RecoveryError) -> Int {
    max(0, maximumDiscoverableCredentials - (try store.credentialCount()))
  }

  /// Makes the discoverable credential of an account; `save(_:)` stores its record before the answer is sent.
  ///
  /// It takes the next counter, and skips those whose scalar is out of range or whose key another account's row has:
  /// two sites can choose rp.id and user.id that join to the same text (Recovery §12).
  ///
  /// - Parameter known: `ExcludeListFindings.highestKnownCounter` of the same request.
  /// - Throws: `full`, `userIDLength`, `key` or `store`.
  public func makeDiscoverableCredential(
    _ registration: CredentialRegistration, known: UInt32?, now: UInt64
  ) throws(RecoveryError) -> Credential {
    let account = try store.account(rpIDHash: RPIDHash(rpID: registration.rpID), userID: registration.user.id)
    let remaining = try remainingDiscoverableCredentials()
    guard account?.record != nil || remaining > 0 else {
      throw RecoveryError(.full, "the limit of passkeys on this machine is reached")
    }
    let state = try store.state()
    let credential = try state.firstUsableCounter(known: known) { counter throws(RecoveryError) in
      try discoverableCredential(registration, counter: counter, setting: state.credentialIDForm, now: now)
    }
    guard let credential else { throw RecoveryError(.full, "every counter of the account is used up") }
    return credential
  }

  /// Makes a non-discoverable credential; nothing is stored.
  ///
  /// Clients repeat user.id, so a random salt of 16 bytes makes the key unique. It is drawn again while the scalar is
  /// out of range.
  ///
  /// - Throws: `userIDLength`, `key` or `store`.
  public func makeNonDiscoverableCredential(
    _ registration: CredentialRegistration, using generator: inout some RandomNumberGenerator
  ) throws(RecoveryError) -> Credential {
    let epoch = try store.state().epoch
    while true {
      let salt = generator.next().bigEndianBytes + generator.next().bigEndianBytes
      let parameters = CredentialParameters.nonDiscoverable(
        userID: registration.user.id, salt: salt, epoch: epoch, algorithm: registration.algorithm,
        policy: registration.policy)
      guard let parameters else { throw Self.userIDLength(registration.user) }
      let rpIDHash = RPIDHash(rpID: registration.rpID)
      guard let key = try privateKey(parameters, rpID: registration.rpID, rpIDHash) else { continue }
      do {
        let id = try keys.sealedID(parameters, rpIDHash: rpIDHash)
        return Credential(
          id: id, rpID: registration.rpID, parameters: parameters, provenance: .sealedID, rpIDHash: rpIDHash,
          derivedKey: key)
      } catch {
        throw Self.unusableKey(error)
      }
    }
  }

  /// The credential of one counter; `nil` if the counter cannot be used.
  private func discoverableCredential(
    _ registration: CredentialRegistration, counter: UInt32, setting: CredentialIDForm, now: UInt64
  ) throws(RecoveryError) -> Credential? {
    let user = registration.user
    let rpIDHash = RPIDHash(rpID: registration.rpID)
    let parameters = CredentialParameters.discoverable(
      userID: user.id, counter: counter, algorithm: registration.algorithm, policy: registration.policy)
    guard let parameters else { throw Self.userIDLength(user) }
    guard let key = try privateKey(parameters, rpID: registration.rpID, rpIDHash) else { return nil }
    let publicKey = key.publicKey
    guard try !isKey(publicKey.bytes, ofAnotherAccountThan: user.id, rpIDHash: rpIDHash) else { return nil }

    let form = CredentialID.form(forUserID: user.id, setting: setting)
    let id: [UInt8]
    do {
      id = try keys.id(form, parameters, rpIDHash: rpIDHash, publicKey: publicKey)
    } catch {
      throw Self.unusableKey(error)
    }
    let record = CredentialSource(
      rpID: registration.rpID, userID: user.id, name: user.name, displayName: user.displayName, id: id,
      algorithm: registration.algorithm, counter: counter, policy: registration.policy, created: now, changed: now,
      origin: .registered, credBlob: registration.credBlob)
    return record.map { Credential(record: $0, derivedKey: key) }
  }

  /// The private key of a new credential; `nil` if the scalar is out of range.
  private func privateKey(
    _ parameters: CredentialParameters, rpID: String, _ rpIDHash: RPIDHash
  ) throws(RecoveryError) -> CredentialPrivateKey? {
    do {
      return try keys.privateKey(parameters, rpID: rpID, rpIDHash)
    } catch .scalarOutOfRange {
      return nil
    } catch {
      throw Self.unusableKey(error)
    }
  }

  private static func userIDLength(_ user: PublicKeyCredentialUserEntity) -> RecoveryError {
    RecoveryError(.userIDLength, "user.id has \(user.id.count) bytes")
  }

  private static func unusableKey(_ error: CryptoError) -> RecoveryError {
    RecoveryError(.key, "the credential's key cannot be used: \(error)")
  }
}

extension OpenVault {
  /// Whether a row of another account, at this or another relying party, has the public key.
  func isKey(
    _ publicKey: [UInt8], ofAnotherAccountThan userID: [UInt8], rpIDHash: RPIDHash
  ) throws(RecoveryError) -> Bool {
    try store.credentials(publicKey: publicKey).contains { $0.userID != userID || $0.rpIDHash != rpIDHash }
  }

  /// Saves the record of a credential durably and, in the same transaction, the epoch that it raises; a credential
  /// without a record is not saved.
  public func save(_ credential: Credential) throws(RecoveryError) {
    guard let record = credential.record else { return }
    var state = try store.state()
    try store.save(
      record, publicKey: credential.derivedKey?.publicKey,
      state: state.see(epoch: UInt16(record.counter >> 16)) ? state : nil)
  }
}
