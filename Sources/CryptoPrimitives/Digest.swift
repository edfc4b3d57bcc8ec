import COpenSSL
import CSodium

// SHA-512 is libsodium's: its state is a plain struct, which is wiped here after each use. The others are OpenSSL's, which
// clears a context when it frees it: its SHA-256 is the faster one, and libsodium lacks SHA-384 and SHA-512/256. The same
// code serves public and secret input.

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Bytes in a digest.
  public static let size = 32

  /// The digest (32 bytes) of the parts, one after the other.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] {
    newBytes(size) { output in
      function.digest(into: output) { context in parts.allSatisfy { EVP_DigestUpdate(context, $0, $0.count) == 1 } }
    }
  }

  /// The first `count` (at most 32) bytes of the digest of `secret`.
  public static func deriveSecret(_ secret: SecretBytes, count: Int = size) -> SecretBytes {
    truncated(to: count, of: size) { output in secret.withUnsafeBytes { hash($0, into: output) } }
  }

  /// Writes the digest (32 bytes) of the parts to `output`; nothing else of them remains in memory.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    function.digest(into: output.bytes) { context in
      parts.allSatisfy { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
    }
  }

  private static let function = HashFunction("SHA2-256")
}

/// SHA-512 (FIPS 180-4).
public enum SHA512 {
  /// Bytes in a digest.
  public static let size = 64

  /// The digest (64 bytes) of the parts, one after the other.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] {
    newBytes(size) { output in
      withState { state in
        for part in parts { crypto_hash_sha512_update(state, part, UInt64(part.count)) }
        crypto_hash_sha512_final(state, output)
      }
    }
  }

  /// The first `count` (at most 64) bytes of the digest of `secret` followed by the parts.
  public static func deriveSecret(_ secret: SecretBytes, _ parts: [UInt8]..., count: Int) -> SecretBytes {
    truncated(to: count, of: size) { output in
      withState { state in
        _ = secret.withUnsafeBytes { crypto_hash_sha512_update(state, $0.bytes, UInt64($0.count)) }
        for part in parts { crypto_hash_sha512_update(state, part, UInt64(part.count)) }
        crypto_hash_sha512_final(state, output.bytes)
      }
    }
  }

  /// Writes the digest (64 bytes) of the parts to `output`; nothing else of them remains in memory.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    withState { state in
      for part in parts { crypto_hash_sha512_update(state, part.bytes, UInt64(part.count)) }
      crypto_hash_sha512_final(state, output.bytes)
    }
  }

  private static func withState(_ body: (UnsafeMutablePointer<crypto_hash_sha512_state>) -> Void) {
    withWipedState(crypto_hash_sha512_state.self) { state in
      crypto_hash_sha512_init(state)
      body(state)
    }
  }
}

/// SHA-384 (FIPS 180-4); not the first bytes of SHA-512.
public enum SHA384 {
  /// Bytes in a digest.
  public static let size = 48

  /// The digest (48 bytes) of a message.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    newBytes(size) { output in
      function.digest(into: output) { EVP_DigestUpdate($0, message, message.count) == 1 }
    }
  }

  private static let function = HashFunction("SHA2-384")
}

/// SHA-512/256 (FIPS 180-4), Algorand's hash; not the first half of SHA-512.
public enum SHA512_256 {
  /// Bytes in a digest.
  public static let size = 32

  /// The digest (32 bytes) of the parts, one after the other.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] {
    newBytes(size) { output in
      function.digest(into: output) { context in parts.allSatisfy { EVP_DigestUpdate(context, $0, $0.count) == 1 } }
    }
  }

  /// Writes the digest (32 bytes) of the parts to `output`; nothing else of them remains in memory.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    function.digest(into: output.bytes) { context in
      parts.allSatisfy { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
    }
  }

  private static let function = HashFunction("SHA2-512/256")
}

/// A hash function of OpenSSL's.
///
/// Looking it up by its name takes longer than hashing a short text, so it is done once.
private struct HashFunction: @unchecked Sendable {
  /// OpenSSL only reads it.
  private let pointer: OpaquePointer?

  init(_ name: String) { pointer = EVP_MD_fetch(nil, name, nil) }

  /// Writes the digest of what `update` adds.
  func digest(into output: UnsafeMutablePointer<UInt8>, _ update: (OpaquePointer) -> Bool) {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    guard
      let pointer, let context, EVP_DigestInit_ex(context, pointer, nil) == 1, update(context),
      EVP_DigestFinal_ex(context, output, nil) == 1
    else { fatalError("OpenSSL does not offer a hash function of SHA-2: its default provider is missing") }
  }
}

/// The first `count` bytes of an output of `size` bytes; the rest is wiped.
func truncated(to count: Int, of size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> SecretBytes {
  precondition((0...size).contains(count), "a digest of \(size) bytes has no \(count)")
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
