import COpenSSL
import CSodium

/// The start and the errors of OpenSSL.
enum OpenSSL {
  /// Bytes of locked heap: private scalars and ECDSA nonces, some 32 to 64 bytes each while their key exists.
  private static let secureHeapSize = 1 << 17

  /// Gives OpenSSL its locked heap, once in a process.
  ///
  /// `BN_secure_new`, and with it every EC private key, allocates there. If the heap cannot be allocated (0), OpenSSL
  /// uses its ordinary heap, and still clears a key when it is freed. If only the lock fails (2), the heap is used
  /// without it.
  private static let secureHeap: CInt = CRYPTO_secure_malloc_init(secureHeapSize, 32)

  static func start() { _ = secureHeap }

  /// Whether private scalars are in locked memory; creates the heap on first use.
  static var isHeapLocked: Bool { secureHeap == 1 }

  /// Empties the thread's error queue, whose last entry shows whether memory ran out.
  static func failure() -> CryptoError {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    return ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE ? .outOfMemory : .libraryFailure
  }
}

// Swift's buffers for C: the address of the first byte. libsodium needs one even for no bytes.

/// The address of an empty buffer.
private nonisolated(unsafe) let nowhere = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

extension UnsafeRawBufferPointer {
  /// The address of the first byte.
  var bytes: UnsafePointer<UInt8> { baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(nowhere) }

  /// The address of the first byte, as `char *`.
  var characters: UnsafePointer<CChar> { UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self) }
}

extension UnsafeMutableRawBufferPointer {
  /// The address of the first byte.
  var bytes: UnsafeMutablePointer<UInt8> { baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nowhere }
}

/// A new array of `count` bytes, which are zero or written by `fill`.
func newBytes(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
  // `[UInt8](repeating:count:)` is not specialised here: it looks its type up at run time, which takes longer.
  var bytes = Array(repeatElement(0 as UInt8, count: count))
  bytes.withUnsafeMutableBytes { fill($0.bytes) }
  return bytes
}

/// An error of a primitive: it refused its input, or failed.
public enum CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A private scalar that is 0, or not below the order of the group.
  case scalarOutOfRange
  /// A sealed text that was made with another key, nonce or additional data, or was changed since.
  case authenticationFailed
  /// A key, nonce, salt, seed or sealed text of the wrong length.
  case invalidLength
  /// A cost parameter that the primitive does not accept, such as 0 iterations.
  case invalidParameter
  /// Coordinates that are not a point of the curve.
  case invalidPoint
  /// A signature that does not verify under the key that made it: the computation went wrong, and the signature was
  /// discarded.
  case faultySignature
  /// There is not enough memory for the primitive.
  case outOfMemory
  /// The library failed for another reason.
  case libraryFailure

  /// The reason, and what to do, if anything.
  public var description: String {
    switch self {
    case .scalarOutOfRange: "the derived scalar is not a private key; take the next counter or another salt"
    case .authenticationFailed: "the sealed bytes do not open: the key is wrong, or they were changed"
    case .invalidLength: "a key, nonce, salt or sealed text has the wrong length"
    case .invalidParameter: "a cost parameter is out of range"
    case .invalidPoint: "the coordinates are not a point of the curve"
    case .faultySignature:
      "the computed signature did not verify and was discarded; try again, and test the memory if it happens again"
    case .outOfMemory: "not enough memory for the key derivation; close other programs and try again"
    case .libraryFailure: "the cryptographic library refused to work; check its installation"
    }
  }
}

/// Fresh bytes from the system's generator, for values that are not secret, such as nonces and salts.
public func randomBytes(_ count: Int) -> [UInt8] {
  Sodium.start()
  return newBytes(count) { randombytes_buf($0, count) }
}

/// Whether both arrays hold the same bytes; the time depends only on the lengths.
public func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  a.count == b.count && sodium_memcmp(a, b, a.count) == 0
}
