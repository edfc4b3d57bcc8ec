import CSodium

/// Ed25519 (RFC 8032), and the arithmetic that BIP32-Ed25519 is made of.
public enum Ed25519 {
  /// Bytes in a seed, a public key or a scalar.
  public static let keySize = 32
  /// Bytes in a signature.
  public static let signatureSize = 64

  /// Whether `signature` (64 bytes) over `message` was made with the secret of `publicKey` (32 bytes).
  public static func isValidSignature(_ signature: [UInt8], for message: [UInt8], publicKey: [UInt8]) -> Bool {
    guard signature.count == signatureSize, publicKey.count == keySize else { return false }
    return crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
  }

  /// A signature (64 bytes) that was just computed, if it is valid.
  ///
  /// Ed25519 is deterministic: a right and a faulty signature over one message reveal the private key. So each
  /// signature is verified before it is returned.
  /// - Throws: ``CryptoError/faultySignature`` for an invalid one.
  package static func verified(
    _ signature: [UInt8], for message: [UInt8], publicKey: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    guard isValidSignature(signature, for: message, publicKey: publicKey) else { throw .faultySignature }
    return signature
  }

  /// A private key from a seed.
  public struct PrivateKey: Sendable {
    /// The public key, 32 bytes.
    public let publicKey: [UInt8]
    /// Seed ‖ public key, the form that libsodium signs with.
    private let secretKey: SecretBytes

    /// Takes the seed of RFC 8032, 32 bytes.
    ///
    /// - Throws: ``CryptoError/invalidLength`` for another length.
    public init(seed: SecretBytes) throws(CryptoError) {
      guard seed.count == keySize else { throw .invalidLength }
      var publicKey = [UInt8](repeating: 0, count: keySize)
      secretKey = SecretBytes(count: 2 * keySize) { output in
        seed.withUnsafeBytes { _ = crypto_sign_seed_keypair(&publicKey, output.bytes, $0.bytes) }
      }
      self.publicKey = publicKey
    }

    /// The seed, 32 bytes: for an export with the user's consent.
    package var seed: SecretBytes {
      secretKey.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<keySize])) }
    }

    /// The signature (64 bytes) over `message`, the same each time, and verified.
    ///
    /// - Throws: ``CryptoError/faultySignature`` if the computation went wrong.
    public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
      let signature = newBytes(signatureSize) { output in
        secretKey.withUnsafeBytes { key in
          _ = crypto_sign_detached(output, nil, message, UInt64(message.count), key.bytes)
        }
      }
      return try verified(signature, for: message, publicKey: publicKey)
    }
  }
}

// All scalars and points are 32 bytes, little-endian. The caller owns the buffers and wipes the secret ones.
extension Ed25519 {
  /// Multiplies the base point by a scalar below 2^255 that is used as it is, not clamped.
  ///
  /// - Throws: ``CryptoError/scalarOutOfRange`` when the scalar is a multiple of the order.
  package static func multiplyBase(by scalar: UnsafeRawBufferPointer) throws(CryptoError) -> [UInt8] {
    precondition(scalar.count == keySize)
    var point = [UInt8](repeating: 0, count: keySize)
    guard crypto_scalarmult_ed25519_base_noclamp(&point, scalar.bytes) == 0 else { throw .scalarOutOfRange }
    return point
  }

  /// Adds two points.
  ///
  /// - Throws: ``CryptoError/invalidPoint`` when one of them is not a point.
  package static func add(_ p: [UInt8], _ q: [UInt8]) throws(CryptoError) -> [UInt8] {
    guard p.count == keySize, q.count == keySize else { throw .invalidLength }
    var sum = [UInt8](repeating: 0, count: keySize)
    guard crypto_core_ed25519_add(&sum, p, q) == 0 else { throw .invalidPoint }
    return sum
  }

  /// Writes the 64 bytes of `wide` modulo the order of the group to `output`.
  package static func reduce(_ wide: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
    precondition(wide.count == 2 * keySize && output.count == keySize)
    crypto_core_ed25519_scalar_reduce(output.bytes, wide.bytes)
  }

  /// Writes a · b + c modulo the order of the group to `output`.
  package static func multiplyAdd(
    _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ c: UnsafeRawBufferPointer,
    into output: UnsafeMutableRawBufferPointer
  ) {
    precondition(a.count == keySize && b.count == keySize && c.count == keySize && output.count == keySize)
    withWipedBytes(count: keySize) { product in
      crypto_core_ed25519_scalar_mul(product.bytes, a.bytes, b.bytes)
      crypto_core_ed25519_scalar_add(output.bytes, product.bytes, c.bytes)
    }
  }
}
