import COpenSSL
import Synchronization

extension P256 {
  /// A private key: a scalar d with 1 ≤ d < n.
  ///
  /// The public key and OpenSSL's key for ECDH are computed at their first use, and kept.
  public struct PrivateKey: Sendable {
    private let pair: P256Pair

    /// Takes a scalar of 32 bytes, big-endian, as it is.
    ///
    /// - Throws: ``CryptoError/scalarOutOfRange`` for 0, for n and above, and for another length.
    public init(scalar: SecretBytes) throws(CryptoError) {
      guard isValidScalar(scalar) else { throw .scalarOutOfRange }
      pair = P256Pair(scalar: scalar)
    }

    /// A fresh key from the system's generator.
    public static func random() throws(CryptoError) -> PrivateKey {
      while true {
        let scalar = SecretBytes.random(count: fieldSize)
        if isValidScalar(scalar) { return try PrivateKey(scalar: scalar) }  // all but one in 2^32
      }
    }

    /// The public key: the generator times the scalar.
    public var publicKey: PublicKey { pair.publicKey }

    /// The scalar, 32 bytes, big-endian: for an export with the user's consent.
    package var scalar: SecretBytes { pair.scalar }

    /// An ECDSA signature over the SHA-256 digest of `message`: SEQUENCE { r, s } in DER, 8 to 72 bytes.
    ///
    /// OpenSSL makes the nonce from random bytes, hashed with the scalar and the digest. So two signatures over one
    /// message differ, and a weak generator does not reveal the key. The public key is computed before the
    /// signature, and verifies it; so a fault that changes the scalar meanwhile is noticed.
    /// - Throws: ``CryptoError/faultySignature`` if the signature does not verify.
    public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
      let publicKey = pair.publicKey
      guard let signature = pair.sign(digest: SHA256.hash(message)) else { throw OpenSSL.failure() }
      return try publicKey.verified(signature, for: message)
    }

    /// ECDH: the first coordinate (32 bytes, big-endian) of the product of this scalar and that point.
    public func sharedSecret(with publicKey: PublicKey) throws(CryptoError) -> SecretBytes {
      let (key, peer) = (try pair.key(), try publicKey.key())
      guard let context = EVP_PKEY_CTX_new(key.pointer, nil) else { throw OpenSSL.failure() }
      defer { EVP_PKEY_CTX_free(context) }
      return try SecretBytes(count: fieldSize) { output throws(CryptoError) in
        var count = output.count
        guard
          EVP_PKEY_derive_init(context) == 1,
          EVP_PKEY_derive_set_peer(context, peer.pointer) == 1,
          EVP_PKEY_derive(context, output.bytes, &count) == 1,
          count == output.count
        else { throw OpenSSL.failure() }
      }
    }
  }
}

/// A valid scalar, and the values computed from it so far.
private final class P256Pair: Sendable {
  let scalar: SecretBytes
  private let knownPublicKey = Mutex<P256.PublicKey?>(nil)
  private let knownKey = Mutex<P256Key?>(nil)

  /// The EC_KEY that signs, with one scalar at a time; made once, because this takes a tenth of the time of a
  /// signature.
  private nonisolated(unsafe) static let signer = liquid_p256_signer()
  /// Locked while the signer holds a scalar.
  private static let signing = Mutex<Void>(())

  init(scalar: SecretBytes) { self.scalar = scalar }

  var publicKey: P256.PublicKey {
    knownPublicKey.withLock { known in
      if let known { return known }
      guard let point = point() else { fatalError("out of memory: cannot multiply a point of P-256") }
      let publicKey = P256.PublicKey(computed: point)
      known = publicKey
      return publicKey
    }
  }

  func key() throws(CryptoError) -> P256Key {
    try knownKey.withLock { known throws(CryptoError) in
      if let known { return known }
      let key = try P256Key(scalar: scalar)
      known = key
      return key
    }
  }

  /// SEQUENCE { r, s } in DER over a digest of 32 bytes; `nil` when OpenSSL fails, with the reason in its error queue.
  func sign(digest: [UInt8]) -> [UInt8]? {
    OpenSSL.start()
    guard let signer = Self.signer else { return nil }
    var count: CUnsignedInt = 0
    var isDone: CInt = 0
    let signature = newBytes(P256.maximumSignatureSize) { signature in
      isDone = scalar.withUnsafeBytes { scalar in
        Self.signing.withLock { _ in liquid_p256_sign(signer, scalar.bytes, digest, signature, &count) }
      }
    }
    return isDone == 1 ? Array(signature.prefix(Int(count))) : nil
  }

  /// 04 ‖ X ‖ Y, in constant time; `nil` only when memory runs out.
  private func point() -> [UInt8]? {
    OpenSSL.start()
    guard let group = P256.group, let context = BN_CTX_secure_new() else { return nil }
    defer { BN_CTX_free(context) }
    // A copy of the scalar in OpenSSL's locked heap.
    guard let number = BN_secure_new() else { return nil }
    defer { BN_clear_free(number) }
    BN_set_flags(number, BN_FLG_CONSTTIME)
    guard
      scalar.withUnsafeBytes({ BN_bin2bn($0.bytes, CInt($0.count), number) }) != nil,
      let point = EC_POINT_new(group)
    else { return nil }
    defer { EC_POINT_clear_free(point) }
    var octets = [UInt8](repeating: 0, count: 1 + 2 * P256.fieldSize)
    guard
      EC_POINT_mul(group, point, number, nil, nil, context) == 1,
      EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &octets, octets.count, context) == octets.count
    else { return nil }
    return octets
  }
}
