public import CryptoPrimitives

/// The private key of one credential, held only during a ceremony.
///
/// This library does not sign: CTAP2 does, and consumes a consent for each signature.
public struct CredentialPrivateKey: Sendable {
  /// The key of each algorithm.
  package enum Key: Sendable {
    /// A scalar of P-256.
    case es256(P256.PrivateKey)
    /// A seed of Ed25519.
    case edDSA(Ed25519.PrivateKey)
  }

  /// The key with which CTAP2 signs.
  package let key: Key

  /// Takes a secret of 32 bytes as a P-256 scalar or an Ed25519 seed.
  ///
  /// - Throws: `CryptoError.scalarOutOfRange` for a scalar that is 0 or not below the order of the curve.
  init(secret: SecretBytes, algorithm: COSEAlgorithm) throws(CryptoError) {
    switch algorithm {
    case .es256: key = .es256(try P256.PrivateKey(scalar: secret))
    case .edDSA: key = .edDSA(try Ed25519.PrivateKey(seed: secret))
    }
  }

  /// Takes a key of deterministic P-256.
  init(_ key: P256.PrivateKey) { self.key = .es256(key) }

  /// The public half.
  public var publicKey: CredentialPublicKey {
    switch key {
    case .es256(let key): .es256(key.publicKey)
    case .edDSA(let key): .edDSA(key.publicKey)
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

  /// X ‖ Y (64 bytes) for ES256, 32 bytes for EdDSA: the input of ids and tags.
  public var bytes: [UInt8] {
    switch self {
    case .es256(let point): point.raw
    case .edDSA(let bytes): bytes
    }
  }

  /// The hash form (32 bytes) of the credential's id: Recovery §4.
  public var hashID: [UInt8] { SHA256.hash(bytes) }

  /// Whether a signature (ECDSA in DER, or 64 bytes of EdDSA) over the message verifies with this key.
  public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    switch self {
    case .es256(let point): point.isValidSignature(signature, for: message)
    case .edDSA(let key): Ed25519.isValidSignature(signature, for: message, publicKey: key)
    }
  }
}

/// A signature algorithm that credentials can have.
///
/// The raw value is the COSE identifier (RFC 9053, section 2), as in `pubKeyCredParams` and the store's records.
public enum COSEAlgorithm: Int64, CaseIterable, Sendable {
  /// ECDSA on P-256 with SHA-256.
  case es256 = -7
  /// Ed25519 (RFC 8032).
  case edDSA = -8

  /// The algorithm's number inside derivations and sealed ids: Recovery §3.
  ///
  /// A further algorithm takes the next number here, and its keys in `CredentialPrivateKey`.
  public var number: UInt8 {
    switch self {
    case .es256: 1
    case .edDSA: 2
    }
  }

  /// The algorithm with this number; `nil` for an unknown number.
  public init?(number: UInt8) {
    guard let algorithm = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = algorithm
  }
}
