public import CryptoPrimitives
import DeterministicKeys

// The private keys of credentials: Recovery §3.

extension CredentialKeys {
  /// The private key of a credential: from the record of an imported passkey, otherwise derived.
  ///
  /// - Throws: `CryptoError.scalarOutOfRange` if the derivation yields no scalar of the curve (once in 2³²).
  public func privateKey(of credential: Credential) throws(CryptoError) -> CredentialPrivateKey {
    if let derived = credential.derivedKey { return derived }
    if let imported = credential.record?.importedKey {
      return try CredentialPrivateKey(secret: imported, algorithm: credential.algorithm)
    }
    return try privateKey(credential.parameters, rpID: credential.rpID, credential.rpIDHash)
  }

  /// The private key of a record.
  ///
  /// - Throws: as `privateKey(of:)` for a credential.
  public func privateKey(of source: CredentialSource) throws(CryptoError) -> CredentialPrivateKey {
    try privateKey(of: Credential(record: source))
  }

  /// Derives a private key.
  ///
  /// - Throws: `CryptoError.scalarOutOfRange`: at registration, take the next counter or another salt; elsewhere, the
  ///   id is not of this phrase.
  public func privateKey(
    _ parameters: CredentialParameters, rpID: String
  ) throws(CryptoError) -> CredentialPrivateKey {
    try privateKey(parameters, rpID: rpID, RPIDHash(rpID: rpID))
  }

  /// Derives the key with a known hash of `rpID`.
  func privateKey(
    _ parameters: CredentialParameters, rpID: String, _ rpIDHash: RPIDHash
  ) throws(CryptoError) -> CredentialPrivateKey {
    // Deterministic P-256, so that other wallets with the same phrase derive the same key.
    if let counter = parameters.counter, parameters.algorithm == .es256 {
      return CredentialPrivateKey(
        try DeterministicP256.privateKey(
          mainKey: mainKey, origin: Array(rpID.utf8), userHandle: userIDText(parameters.userID), counter: counter))
    }
    return try privateKey(parameters, rpIDHash: rpIDHash)
  }

  /// The private key of all but discoverable ES256 credentials: a MAC of the parameters.
  package func privateKey(
    _ parameters: CredentialParameters, rpIDHash: RPIDHash
  ) throws(CryptoError) -> CredentialPrivateKey {
    let secret = secret(.credentialKey, Self.keyMessage(parameters, rpIDHash: rpIDHash))
    return try CredentialPrivateKey(secret: secret, algorithm: parameters.algorithm)
  }

  /// kind ‖ algorithm ‖ rpIdHash ‖ instance ‖ user.id.
  static func keyMessage(_ parameters: CredentialParameters, rpIDHash: RPIDHash) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(50 + parameters.userID.count)
    message += [parameters.kind.rawValue, parameters.algorithm.number]
    message += rpIDHash.bytes
    message += parameters.instanceBytes
    message += parameters.userID
    return message
  }
}

/// `text(user.id)` of Recovery §3: the bytes themselves if they are UTF-8, otherwise the ASCII of their base64url.
///
/// The standard library refuses the same as RFC 3629: overlong forms, surrogates, anything above U+10FFFF.
public func userIDText(_ userID: [UInt8]) -> [UInt8] {
  String(validating: userID, as: UTF8.self) == nil ? Array(Base64URL.encode(userID).utf8) : userID
}
