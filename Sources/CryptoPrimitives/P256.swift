import COpenSSL

/// The curve P-256 (FIPS 186-5, secp256r1): ECDSA with SHA-256, and ECDH.
public enum P256 {
  /// Bytes in a scalar or a coordinate.
  public static let fieldSize = 32

  /// The order n of the group, big-endian.
  private static let order: [UInt8] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
  ]

  /// Whether 32 bytes, big-endian, are a private scalar: 1 ≤ d < n.
  ///
  /// The time taken does not depend on the bytes: the borrow of d - n is carried through all of them.
  public static func isValidScalar(_ scalar: SecretBytes) -> Bool {
    guard scalar.count == fieldSize else { return false }
    let (borrow, union) = scalar.withUnsafeBytes { scalar in
      var borrow: Int16 = 0
      var union: UInt8 = 0
      for index in order.indices.reversed() {
        borrow = (Int16(scalar[index]) - Int16(order[index]) - borrow) >> 8 & 1
        union |= scalar[index]
      }
      return (borrow, union)
    }
    return borrow == 1 && union != 0
  }
}

/// An `EVP_PKEY` of the curve, freed with its last reference.
///
/// Its private scalar stands in OpenSSL's locked heap and is cleared when it is freed. Any thread may use it: OpenSSL
/// only reads a key once it is made, and guards the reference counts and caches inside.
final class P256Key: @unchecked Sendable {
  let pointer: OpaquePointer

  /// A key from 04 ‖ X ‖ Y, refused when that is no point of the curve, and from the scalar, 32 bytes, if it is a pair.
  init(point: [UInt8], nativeEndianScalar scalar: UnsafeMutablePointer<UInt8>? = nil) throws(CryptoError) {
    OpenSSL.start()
    var point = point
    guard let pointer = liquid_p256_key(&point, scalar) else {
      let failure = OpenSSL.failure()
      throw failure == .outOfMemory ? failure : .invalidPoint
    }
    self.pointer = pointer
  }

  deinit { EVP_PKEY_free(pointer) }
}

extension P256 {
  /// A public key: a point of the curve.
  public struct PublicKey: Sendable, Hashable {
    /// X ‖ Y, 64 bytes, without the leading 04 of SEC 1.
    public let raw: [UInt8]

    /// The first coordinate, 32 bytes, big-endian.
    public var x: [UInt8] { Array(raw[..<fieldSize]) }
    /// The second coordinate, 32 bytes, big-endian.
    public var y: [UInt8] { Array(raw[fieldSize...]) }

    /// Takes two coordinates of 32 bytes, big-endian.
    ///
    /// - Throws: ``CryptoError/invalidLength``; ``CryptoError/invalidPoint`` when they are no point of the curve.
    public init(x: [UInt8], y: [UInt8]) throws(CryptoError) {
      guard x.count == fieldSize, y.count == fieldSize else { throw .invalidLength }
      raw = x + y
      _ = try key()
    }

    /// Takes 04 ‖ X ‖ Y as OpenSSL computed it.
    fileprivate init(computed point: [UInt8]) { raw = Array(point.dropFirst()) }

    /// Whether `der` is an ECDSA signature over the SHA-256 digest of `message`, in DER, made with this key's scalar.
    public func isValidSignature(_ der: [UInt8], for message: [UInt8]) -> Bool {
      guard let key = try? key(), let context = EVP_MD_CTX_new() else { return false }
      defer { EVP_MD_CTX_free(context) }
      let isValid =
        EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
        && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
      if !isValid { _ = OpenSSL.failure() }
      return isValid
    }

    fileprivate func key() throws(CryptoError) -> P256Key { try P256Key(point: [4] + raw) }
  }
}

extension P256 {
  /// A private key, with what signing needs made once.
  public struct PrivateKey: Sendable {
    /// The public key, computed from the scalar.
    public let publicKey: PublicKey
    private let key: P256Key

    /// Takes a scalar of 32 bytes, big-endian, as it is.
    ///
    /// The scalar's temporary copies are a number and a buffer of this call, both cleared before it returns, and the
    /// key's own in OpenSSL's locked heap.
    /// - Throws: ``CryptoError/scalarOutOfRange`` for 0, for n and above, and for another length.
    public init(scalar: SecretBytes) throws(CryptoError) {
      guard isValidScalar(scalar) else { throw .scalarOutOfRange }
      OpenSSL.start()
      guard let number = BN_secure_new() else { throw OpenSSL.failure() }
      defer { BN_clear_free(number) }
      let isRead = scalar.withUnsafeBytes { BN_bin2bn($0.bytes, CInt($0.count), number) != nil }
      guard isRead else { throw OpenSSL.failure() }
      BN_set_flags(number, BN_FLG_CONSTTIME)

      let point = try P256.point(times: number)
      publicKey = PublicKey(computed: point)
      key = try withWipedBytes(count: fieldSize) { native throws(CryptoError) in
        guard BN_bn2nativepad(number, native.bytes, CInt(fieldSize)) == CInt(fieldSize) else {
          throw OpenSSL.failure()
        }
        return try P256Key(point: point, nativeEndianScalar: native.bytes)
      }
    }

    /// A fresh key from the system's generator.
    public static func random() throws(CryptoError) -> PrivateKey {
      while true {
        let scalar = SecretBytes.random(count: fieldSize)
        if isValidScalar(scalar) { return try PrivateKey(scalar: scalar) }  // all but one in 2^32
      }
    }

    /// An ECDSA signature over the SHA-256 digest of `message`: SEQUENCE { r, s } in DER, 8 to 72 bytes.
    ///
    /// The nonce is OpenSSL's: drawn by chance and hashed with the scalar and the digest, so that two signatures over
    /// one message differ, and a weak generator does not give the key away.
    public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
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
      let peer = try publicKey.key()
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

  /// The group, built once; OpenSSL only reads it.
  private nonisolated(unsafe) static let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)

  /// 04 ‖ X ‖ Y of the generator times `scalar`, in constant time.
  fileprivate static func point(times scalar: OpaquePointer) throws(CryptoError) -> [UInt8] {
    guard let group, let context = BN_CTX_secure_new() else { throw OpenSSL.failure() }
    defer { BN_CTX_free(context) }
    guard let point = EC_POINT_new(group) else { throw OpenSSL.failure() }
    defer { EC_POINT_clear_free(point) }
    var octets = [UInt8](repeating: 0, count: 1 + 2 * fieldSize)
    guard
      EC_POINT_mul(group, point, scalar, nil, nil, context) == 1,
      EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &octets, octets.count, context) == octets.count
    else { throw OpenSSL.failure() }
    return octets
  }
}
