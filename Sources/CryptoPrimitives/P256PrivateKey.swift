import COpenSSL
import Synchronization

extension P256 {
  /// A private key: a scalar d with 1 ≤ d < n.
  ///
  /// What is costly to compute from the scalar is computed when it is first asked for, and kept: the public key for
  /// those who only look at it, the signing key for those who only sign.
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

    /// An ECDSA signature over the SHA-256 digest of `message`: SEQUENCE { r, s } in DER, 8 to 72 bytes.
    ///
    /// The nonce is OpenSSL's: drawn by chance and hashed with the scalar and the digest, so that two signatures over
    /// one message differ, and a weak generator does not give the key away.
    public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
      let key = try pair.key()
      guard let context = EVP_MD_CTX_new() else { throw OpenSSL.failure() }
      defer { EVP_MD_CTX_free(context) }
      var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key.pointer)))
      var count = signature.count
      guard
        EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1,
        EVP_DigestSign(context, &signature, &count, message, message.count) == 1
      else { throw OpenSSL.failure() }
      return Array(signature.prefix(count))
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

/// A valid scalar, and what was computed from it so far.
private final class P256Pair: Sendable {
  private let scalar: SecretBytes
  private let knownPublicKey = Mutex<P256.PublicKey?>(nil)
  private let knownKey = Mutex<P256Key?>(nil)

  /// The group, built once; OpenSSL only reads it.
  private nonisolated(unsafe) static let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)

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

  /// 04 ‖ X ‖ Y, in constant time; `nil` only when memory runs out.
  ///
  /// The number is a copy of the scalar in OpenSSL's locked heap, cleared before this returns.
  private func point() -> [UInt8]? {
    OpenSSL.start()
    guard let group = Self.group, let context = BN_CTX_secure_new() else { return nil }
    defer { BN_CTX_free(context) }
    guard let number = BN_secure_new() else { return nil }
    defer { BN_clear_free(number) }
    guard let point = EC_POINT_new(group) else { return nil }
    defer { EC_POINT_clear_free(point) }
    BN_set_flags(number, BN_FLG_CONSTTIME)
    var octets = [UInt8](repeating: 0, count: 1 + 2 * P256.fieldSize)
    guard
      scalar.withUnsafeBytes({ BN_bin2bn($0.bytes, CInt($0.count), number) }) != nil,
      EC_POINT_mul(group, point, number, nil, nil, context) == 1,
      EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &octets, octets.count, context) == octets.count
    else { return nil }
    return octets
  }
}
