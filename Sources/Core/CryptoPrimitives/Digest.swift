import COpenSSL
import CSodium

// libsodium computes SHA-512, and SHA-256 of secrets: it wipes its scratch memory, and its state, a plain struct, is
// wiped here after each use. OpenSSL computes SHA-256 of other input, because it uses the instructions that processors
// have for it, and SHA-384 and SHA-512/256, which libsodium lacks. OpenSSL clears its context but, on some processors,
// leaves the words of the message on its stack.

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Bytes in a digest.
  public static let size = 32

  /// The digest (32 bytes) of the parts, one after the other; they must not be secret.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] {
    newBytes(size) { output in
      digest(by: function, output) { context in parts.allSatisfy { EVP_DigestUpdate(context, $0, $0.count) == 1 } }
    }
  }

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
    withState { state in
      for part in parts { crypto_hash_sha256_update(state, part.bytes, UInt64(part.count)) }
      crypto_hash_sha256_final(state, output.bytes)
    }
  }

  private static func withState(_ body: (UnsafeMutablePointer<crypto_hash_sha256_state>) -> Void) {
    withWipedState(crypto_hash_sha256_state.self) { state in
      crypto_hash_sha256_init(state)
      body(state)
    }
  }
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
      digest(by: EVP_sha384(), output) { EVP_DigestUpdate($0, message, message.count) == 1 }
    }
  }
}

/// SHA-512/256 (FIPS 180-4), Algorand's hash; not the first half of SHA-512.
public enum SHA512_256 {
  /// Bytes in a digest.
  public static let size = 32

  /// The digest (32 bytes) of the parts, one after the other.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] {
    newBytes(size) { output in
      digest(by: EVP_sha512_256(), output) { context in
        for part in parts where EVP_DigestUpdate(context, part, part.count) != 1 { return false }
        return true
      }
    }
  }

  /// Writes the digest (32 bytes) of the parts to `output`.
  package static func hash(_ parts: UnsafeRawBufferPointer..., into output: UnsafeMutableRawBufferPointer) {
    digest(by: EVP_sha512_256(), output.bytes) { context in
      for part in parts where EVP_DigestUpdate(context, part.baseAddress, part.count) != 1 { return false }
      return true
    }
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
  else { fatalError("OpenSSL cannot compute SHA-2: its default provider is missing, or there is no memory") }
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
