public import CryptoPrimitives
import DeterministicKeys

/// The private key of one credential, for as long as a ceremony needs it.
public struct CredentialPrivateKey: Sendable {
  private enum Key {
    case es256(P256.PrivateKey)
    case edDSA(Ed25519.PrivateKey)
  }

  private let key: Key

  /// Takes a secret of 32 bytes as a P-256 scalar or an Ed25519 seed.
  ///
  /// - Throws: `CryptoError.scalarOutOfRange` for a scalar that is 0 or not below the order of the curve.
  init(secret: SecretBytes, algorithm: COSEAlgorithm) throws(CryptoError) {
    switch algorithm {
    case .es256: key = .es256(try P256.PrivateKey(scalar: secret))
    case .edDSA: key = .edDSA(try Ed25519.PrivateKey(seed: secret))
    }
  }

  fileprivate init(_ key: P256.PrivateKey) { self.key = .es256(key) }

  /// The public half.
  public var publicKey: CredentialPublicKey {
    switch key {
    case .es256(let key): .es256(key.publicKey)
    case .edDSA(let key): .edDSA(key.publicKey)
    }
  }

  /// Signs a message, and uses up what the person agreed to: one consent, one signature.
  ///
  /// ES256 answers ECDSA in DER, EdDSA 64 bytes: WebAuthn §6.5.5.
  /// - Throws: `CryptoError.faultySignature` for an EdDSA signature that does not verify; it does not leave.
  public func sign(_ message: [UInt8], consent: consuming UserConsent) throws(CryptoError) -> [UInt8] {
    switch key {
    case .es256(let key): try key.signature(for: message)
    case .edDSA(let key): try key.signature(for: message)
    }
  }
}

/// The public key of a credential; its COSE form is `COSEKey`.
public enum CredentialPublicKey: Hashable, Sendable {
  /// A point of P-256.
  case es256(P256.PublicKey)
  /// An Ed25519 key, 32 bytes.
  case edDSA([UInt8])

  /// The algorithm that the key is for.
  public var algorithm: COSEAlgorithm {
    switch self {
    case .es256: .es256
    case .edDSA: .edDSA
    }
  }

  /// X ‖ Y (64 bytes) for ES256, 32 bytes for EdDSA: what ids and tags are made of.
  public var bytes: [UInt8] {
    switch self {
    case .es256(let point): point.raw
    case .edDSA(let bytes): bytes
    }
  }

  /// The hash form (32 bytes) of the credential's id: Recovery §4.
  public var hashID: [UInt8] { SHA256.hash(bytes) }

  /// Whether a signature, as `CredentialPrivateKey.sign` makes it, is this key's over the message.
  public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    switch self {
    case .es256(let point): point.isValidSignature(signature, for: message)
    case .edDSA(let key): Ed25519.isValidSignature(signature, for: message, publicKey: key)
    }
  }
}

// MARK: - Derivation, Recovery §3

extension CredentialKeys {
  /// The private key of a credential: an imported passkey's own, any other derived again.
  ///
  /// - Throws: `CryptoError.scalarOutOfRange` where the derivation yields no scalar of the curve (once in 2³²).
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
  /// - Throws: `CryptoError.scalarOutOfRange`: at registration the next counter or another salt is taken, anywhere
  ///   else the id is not ours.
  public func privateKey(
    _ parameters: CredentialParameters, rpID: String
  ) throws(CryptoError) -> CredentialPrivateKey {
    try privateKey(parameters, rpID: rpID, RPIDHash(rpID: rpID))
  }

  /// The same, where the hash of `rpID` is known.
  func privateKey(
    _ parameters: CredentialParameters, rpID: String, _ rpIDHash: RPIDHash
  ) throws(CryptoError) -> CredentialPrivateKey {
    // Deterministic P-256, so that other wallets of the same phrase find the same key.
    if let counter = parameters.counter, parameters.algorithm == .es256 {
      return CredentialPrivateKey(
        try DeterministicP256.privateKey(
          mainKey: mainKey, origin: Array(rpID.utf8), userHandle: userIDText(parameters.userID), counter: counter))
    }
    return try privateKey(parameters, rpIDHash: rpIDHash)
  }

  /// Everything else than discoverable ES256: a MAC of what the credential is.
  func privateKey(
    _ parameters: CredentialParameters, rpIDHash: RPIDHash
  ) throws(CryptoError) -> CredentialPrivateKey {
    let secret = secret(.credentialKey, Self.keyMessage(parameters, rpIDHash: rpIDHash))
    return try CredentialPrivateKey(secret: secret, algorithm: parameters.algorithm)
  }

  /// kind ‖ algorithm ‖ rpIdHash ‖ instance ‖ user.id.
  static func keyMessage(_ parameters: CredentialParameters, rpIDHash: RPIDHash) -> [UInt8] {
    [parameters.kind.rawValue, parameters.algorithm.number] + rpIDHash.bytes + parameters.instanceBytes
      + parameters.userID
  }
}

/// `text(user.id)` of Recovery §3: the bytes themselves if they are UTF-8, otherwise the ASCII of their base64url.
///
/// The standard library refuses what RFC 3629 refuses: overlong forms, surrogates, anything above U+10FFFF.
public func userIDText(_ userID: [UInt8]) -> [UInt8] {
  String(validating: userID, as: UTF8.self) == nil ? Array(Base64URL.encode(userID).utf8) : userID
}
