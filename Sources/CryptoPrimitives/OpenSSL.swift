import COpenSSL

/// OpenSSL's start-up and its errors.
enum OpenSSL {
  /// Bytes of locked heap: private scalars and ECDSA nonces, some 32 to 64 bytes each while their key lives.
  private static let secureHeapSize = 1 << 17

  /// Gives OpenSSL its locked heap, once in a process.
  ///
  /// `BN_secure_new`, and with it every EC private key, allocates there. Where the heap cannot be had (0), OpenSSL
  /// falls back to its ordinary heap, which it clears just the same when a key is freed; where only the lock cannot
  /// (2), it does without.
  private static let secureHeap: CInt = CRYPTO_secure_malloc_init(secureHeapSize, 32)

  static func start() { _ = secureHeap }

  /// Whether private scalars are in locked memory; makes the heap where there is none yet.
  static var isHeapLocked: Bool { secureHeap == 1 }

  /// Empties the thread's error queue, whose last entry tells whether memory ran out.
  static func failure() -> CryptoError {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    return ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE ? .outOfMemory : .libraryFailure
  }
}
