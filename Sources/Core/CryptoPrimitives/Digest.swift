import COpenSSL
import CSodium

// libsodium computes SHA-2 of secrets: it wipes its scratch memory, and its state, a plain struct, is wiped here after each
// use. OpenSSL computes SHA-2 of other input, because it uses the instructions that processors have for it, and SHA-384
// and SHA-512/256, which libsodium lacks. OpenSSL clears its context but, on some processors, leaves the words of the
// message on its stack.

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Bytes in a digest.
  public static let size = 32

  /// The digest (32 bytes) of the parts, one after the other; they must not be secret.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] { digest(of: parts, size: size, by: function) }

  /// OpenSSL only reads it.
  ///
  /// It is looked up once, because a look-up takes longer than hashing a short text.
  private nonisolated(unsafe) static let function = EVP_MD_fetch(nil, "SHA2-256", nil)

  /// The first `count` (at most 32) bytes of the digest of `secret`.
  public static func deriveSecret(_ secret: SecretBytes, count: Int = size) -> SecretBytes {
    truncated(to: count, of: size) { output in secret.withUnsafeBytes { hash($0, into: output) } }
  }

  /// Writes the digest (32 bytes) of the parts to `output`; nothing else of them remains in memory.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    computeBySodium(
      parts, into: output, crypto_hash_sha256_init, crypto_hash_sha256_update, crypto_hash_sha256_final)
  }
}

/// SHA-512 (FIPS 180-4).
public enum SHA512 {
  /// Bytes in a digest.
  public static let size = 64

  /// The digest (64 bytes) of the parts, one after the other; they must not be secret.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] { digest(of: parts, size: size, by: EVP_sha512()) }

  /// The first `count` (at most 64) bytes of the digest of `secret` ‖ `rest`.
  public static func deriveSecret(_ secret: SecretBytes, _ rest: [UInt8], count: Int) -> SecretBytes {
    truncated(to: count, of: size) { output in
      secret.withUnsafeBytes { secret in rest.withUnsafeBytes { hash(secret, $0, into: output) } }
    }
  }

  /// Writes the digest (64 bytes) of the parts to `output`; nothing else of them remains in memory.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    computeBySodium(
      parts, into: output, crypto_hash_sha512_init, crypto_hash_sha512_update, crypto_hash_sha512_final)
  }
}

/// SHA-1 (FIPS 180-4), which is broken: only for protocols that ask for it and need no security from it.
package enum SHA1 {
  /// The digest (20 bytes) of a message.
  package static func hash(_ message: [UInt8]) -> [UInt8] { digest(of: [message], size: 20, by: EVP_sha1()) }
}

/// SHA-384 (FIPS 180-4); not the first bytes of SHA-512.
public enum SHA384 {
  /// Bytes in a digest.
  public static let size = 48

  /// The digest (48 bytes) of a message.
  public static func hash(_ message: [UInt8]) -> [UInt8] { digest(of: [message], size: size, by: EVP_sha384()) }
}

/// SHA-512/256 (FIPS 180-4), Algorand's hash; not the first half of SHA-512.
public enum SHA512_256 {
  /// Bytes in a digest.
  public static let size = 32

  /// The digest (32 bytes) of the parts, one after the other.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] { digest(of: parts, size: size, by: EVP_sha512_256()) }

  /// Writes the digest (32 bytes) of the parts to `output`.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    digest(by: EVP_sha512_256(), output.bytes) { context in
      parts.allSatisfy { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
    }
  }
}

/// The digest, by OpenSSL, of parts that are not secret, one after the other.
private func digest(of parts: [[UInt8]], size: Int, by function: OpaquePointer?) -> [UInt8] {
  newBytes(size) { output in
    digest(by: function, output) { context in parts.allSatisfy { EVP_DigestUpdate(context, $0, $0.count) == 1 } }
  }
}

/// Writes the digest, by OpenSSL, of the bytes that `update` adds.
private func digest(
  by function: OpaquePointer?, _ output: UnsafeMutablePointer<UInt8>, _ update: (OpaquePointer) -> Bool
) {
  let context = EVP_MD_CTX_new()
  defer { EVP_MD_CTX_free(context) }
  guard
    let context, EVP_DigestInit_ex(context, function, nil) == 1, update(context),
    EVP_DigestFinal_ex(context, output, nil) == 1
  else { fatalError("OpenSSL cannot compute a hash: its default provider is missing, or there is no memory") }
}

/// Writes what a function of libsodium, SHA-2 or HMAC, gives for the parts, one after the other, and wipes its state.
///
/// - Parameters:
///   - output: of the size of a digest or tag.
///   - start: initialises the state; `update` adds bytes, and `finish` writes the output. None of them fails.
func computeBySodium<State>(
  _ parts: [UnsafeRawBufferPointer], into output: UnsafeMutableRawBufferPointer,
  _ start: (UnsafeMutablePointer<State>) -> CInt,
  _ update: (UnsafeMutablePointer<State>, UnsafePointer<UInt8>, UInt64) -> CInt,
  _ finish: (UnsafeMutablePointer<State>, UnsafeMutablePointer<UInt8>) -> CInt
) {
  withWipedState(State.self) { state in
    _ = start(state)
    for part in parts { _ = update(state, part.bytes, UInt64(part.count)) }
    _ = finish(state, output.bytes)
  }
}

/// The first `count` bytes of an output of `size` bytes; the rest is wiped.
func truncated(to count: Int, of size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> SecretBytes {
  precondition((0...size).contains(count), "a digest of \(size) bytes cannot give \(count)")
  return withWipedBytes(count: size) { output in
    fill(output)
    return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: output[..<count]))
  }
}

/// Lends an uninitialised C state at a fixed address, and wipes it afterwards.
func withWipedState<State>(_: State.Type, _ body: (UnsafeMutablePointer<State>) -> Void) {
  withUnsafeTemporaryAllocation(of: State.self, capacity: 1) { states in
    guard let state = states.baseAddress else { return }
    defer { sodium_memzero(state, MemoryLayout<State>.size) }
    body(state)
  }
}
