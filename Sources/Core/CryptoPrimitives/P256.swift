import COpenSSL
import Synchronization

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

extension P256 {
  /// A public key: a point of the curve.
  public struct PublicKey: Sendable, Hashable {
    /// X ‖ Y, 64 bytes, without the leading 04 of SEC 1.
    public let raw: [UInt8]

    /// The first coordinate, 32 bytes, big-endian.
    public var x: [UInt8] { Array(raw[..<fieldSize]) }
    /// The second coordinate, 32 bytes, big-endian.
    public var y: [UInt8] { Array(raw[fieldSize...]) }

    /// The compressed form, SEC 1 §2.3.3: 02 or 03, then X, 33 bytes.
    public var compressed: [UInt8] { [2 | raw[raw.count - 1] & 1] + x }

    /// Takes two coordinates of 32 bytes, big-endian.
    ///
    /// - Throws: ``CryptoError/invalidLength``; ``CryptoError/invalidPoint`` when they are not a point of the curve.
    public init(x: [UInt8], y: [UInt8]) throws(CryptoError) {
      guard x.count == fieldSize, y.count == fieldSize else { throw .invalidLength }
      raw = x + y
      _ = try key()
    }

    /// Takes a point in compressed form, SEC 1 §2.3.4: 02 or 03, then X, 33 bytes.
    ///
    /// - Throws: ``CryptoError/invalidLength``; ``CryptoError/invalidPoint`` for another first byte, and for an X that no
    ///   point of the curve has.
    public init(compressed bytes: [UInt8]) throws(CryptoError) {
      OpenSSL.start()
      guard bytes.count == 1 + fieldSize else { throw .invalidLength }
      var point = [UInt8](repeating: 0, count: 1 + 2 * fieldSize)
      guard [2, 3].contains(bytes[0]), liquid_p256_decompress(group, bytes, &point) == 1 else {
        _ = OpenSSL.failure()
        throw .invalidPoint
      }
      self.init(computed: point)
    }

    /// Takes 04 ‖ X ‖ Y as OpenSSL computed it.
    init(computed point: [UInt8]) { raw = Array(point.dropFirst()) }

    /// Whether `der` is an ECDSA signature over the SHA-256 digest of `message`, in DER, made with this key's scalar.
    public func isValidSignature(_ der: [UInt8], for message: [UInt8]) -> Bool {
      OpenSSL.start()
      guard let verifier, der.count <= maximumSignatureSize else { return false }
      let (point, digest) = ([4] + raw, SHA256.hash(message))
      let result = verifying.withLock { _ in liquid_p256_verify(verifier, point, digest, der, CInt(der.count)) }
      if result != 1 { _ = OpenSSL.failure() }
      return result == 1
    }

    /// Returns a signature that was just computed, if it is valid.
    ///
    /// A faulty signature can reveal bits of the private key, so each signature is verified before it is returned.
    /// - Throws: ``CryptoError/faultySignature`` for an invalid one.
    package func verified(_ der: [UInt8], for message: [UInt8]) throws(CryptoError) -> [UInt8] {
      guard isValidSignature(der, for: message) else { throw .faultySignature }
      return der
    }

    func key() throws(CryptoError) -> P256Key { try P256Key(point: [4] + raw) }
  }

  /// The group, built once; OpenSSL only reads it.
  nonisolated(unsafe) static let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)

  /// The public keys, at most two, with which an ECDSA signature in DER over the SHA-256 digest of `message` is valid
  /// (SEC 1 §4.1.6).
  ///
  /// The key of the signer is one of them. A second signature of the same key shows which.
  public static func publicKeys(recoveredFrom der: [UInt8], for message: [UInt8]) -> [PublicKey] {
    OpenSSL.start()
    let digest = SHA256.hash(message)
    return (CInt(0)...1).compactMap { isOdd in
      var point = [UInt8](repeating: 0, count: 1 + 2 * fieldSize)
      guard liquid_p256_recover(group, digest, der, der.count, isOdd, &point) == 1 else {
        _ = OpenSSL.failure()
        return nil
      }
      let key = PublicKey(computed: point)
      return key.isValidSignature(der, for: message) ? key : nil
    }
  }

  /// Two integers of 33 bytes, each with a head of 2, and the head of both.
  static let maximumSignatureSize = 72

  /// The EC_KEY that verifies, with one public key at a time; made once, because an EVP_PKEY would build the curve again.
  private nonisolated(unsafe) static let verifier = liquid_p256_verifier()
  /// Locked while the verifier holds a public key.
  private static let verifying = Mutex<Void>(())
}

/// An `EVP_PKEY` of the curve, freed with its last reference.
///
/// Its private scalar is in OpenSSL's locked heap and is cleared when it is freed. Any thread may use it: OpenSSL only
/// reads a finished key, and guards the reference counts and caches inside.
final class P256Key: @unchecked Sendable {
  let pointer: OpaquePointer

  /// A public key from 04 ‖ X ‖ Y, refused when that is not a point of the curve.
  init(point: [UInt8]) throws(CryptoError) {
    OpenSSL.start()
    var point = point
    guard let pointer = liquid_p256_key(&point, nil) else {
      let failure = OpenSSL.failure()
      throw failure == .outOfMemory ? failure : .invalidPoint
    }
    self.pointer = pointer
  }

  /// A private key from a valid scalar, without its point: ECDH does not need it.
  init(scalar: SecretBytes) throws(CryptoError) {
    OpenSSL.start()
    let pointer = withWipedBytes(count: P256.fieldSize) { native in
      scalar.withUnsafeBytes { scalar in
        // OpenSSL takes a number in the machine's own order of bytes.
        if UInt16(1).bigEndian == 1 {
          native.copyBytes(from: scalar)
        } else {
          native.copyBytes(from: scalar.reversed())
        }
      }
      return liquid_p256_key(nil, native.bytes)
    }
    guard let pointer else { throw OpenSSL.failure() }
    self.pointer = pointer
  }

  deinit { EVP_PKEY_free(pointer) }
}

// MARK: - Scalars in derivations

extension P256 {
  /// Whether 32 bytes, big-endian, are a scalar d with 1 ≤ d < n.
  package static func isScalar(_ bytes: UnsafeRawBufferPointer) -> Bool {
    isValidScalar(SecretBytes(copying: bytes))
  }

  /// Adds a number to a scalar modulo n, in place; both are 32 bytes, big-endian.
  ///
  /// - Returns: `false`, and nothing is changed, if the number is n or more, or the sum is 0.
  package static func add(_ number: UnsafeRawBufferPointer, to scalar: UnsafeMutableRawBufferPointer) -> Bool {
    withWipedBytes(count: 2 * fieldSize) { scratch in
      // The sum, then the sum less n.
      var (carry, borrow, numberBorrow) = (UInt16(0), Int16(0), Int16(0))
      for index in (0..<fieldSize).reversed() {
        carry += UInt16(number[index]) + UInt16(scalar[index])
        scratch[index] = UInt8(carry & 0xFF)
        carry >>= 8
        let difference = Int16(scratch[index]) - Int16(order[index]) + borrow
        scratch[fieldSize + index] = UInt8(truncatingIfNeeded: difference)
        borrow = difference < 0 ? -1 : 0
        numberBorrow = Int16(number[index]) - Int16(order[index]) + numberBorrow < 0 ? -1 : 0
      }
      guard numberBorrow < 0 else { return false }
      // The sum is below 2 n: subtract n once if it is n or more.
      let start = carry > 0 || borrow == 0 ? fieldSize : 0
      let result = UnsafeRawBufferPointer(rebasing: scratch[start..<start + fieldSize])
      guard result.contains(where: { $0 != 0 }) else { return false }
      scalar.copyMemory(from: result)
      return true
    }
  }
}
