import CSodium

/// HMAC-SHA-256 (RFC 2104).
public enum HMACSHA256 {
  /// Bytes in a tag.
  public static let size = 32

  /// The tag (32 bytes) of `message`, if it is not secret.
  public static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
    tag(of: message, key: key, size: size) { authenticate($0, key: $1, into: $2) }
  }

  /// Writes the tag (32 bytes) of the parts to `output`; nothing else of them or of the key remains in memory.
  package static func authenticate(
    _ parts: UnsafeRawBufferPointer..., key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) {
    computeBySodium(
      parts, into: output, { crypto_auth_hmacsha256_init($0, key.bytes, key.count) }, crypto_auth_hmacsha256_update,
      crypto_auth_hmacsha256_final)
  }
}

/// HMAC-SHA-512 (RFC 2104).
public enum HMACSHA512 {
  /// Bytes in a tag.
  public static let size = 64

  /// The tag (64 bytes) of `message`, if it is not secret.
  public static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
    tag(of: message, key: key, size: size) { authenticate($0, key: $1, into: $2) }
  }

  /// A key for many MACs: its inner and outer blocks are hashed once.
  public struct Key: Sendable {
    /// A `crypto_auth_hmacsha512_state` after `crypto_auth_hmacsha512_init`.
    private let state: SecretBytes

    /// Takes a key of any length.
    public init(_ key: SecretBytes) {
      state = SecretBytes(count: MemoryLayout<crypto_auth_hmacsha512_state>.size) { memory in
        withWipedState(crypto_auth_hmacsha512_state.self) { state in
          key.withUnsafeBytes { _ = crypto_auth_hmacsha512_init(state, $0.bytes, $0.count) }
          memory.copyMemory(from: UnsafeRawBufferPointer(start: state, count: memory.count))
        }
      }
    }

    /// The tag (64 bytes) of `message`, if it is not secret.
    public func authenticate(_ message: [UInt8]) -> [UInt8] {
      newBytes(size) { authenticate(message, into: UnsafeMutableRawBufferPointer(start: $0, count: size)) }
    }

    /// The first `count` (at most 64) bytes of the tag of `message`, if they are secret.
    public func deriveSecret(_ message: [UInt8], count: Int) -> SecretBytes {
      truncated(to: count, of: size) { authenticate(message, into: $0) }
    }

    private func authenticate(_ message: [UInt8], into output: UnsafeMutableRawBufferPointer) {
      withWipedState(crypto_auth_hmacsha512_state.self) { copy in
        state.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: copy, count: $0.count).copyMemory(from: $0) }
        crypto_auth_hmacsha512_update(copy, message, UInt64(message.count))
        crypto_auth_hmacsha512_final(copy, output.bytes)
      }
    }
  }

  /// Writes the tag (64 bytes) of the parts to `output`; nothing else of them or of the key remains in memory.
  package static func authenticate(
    _ parts: UnsafeRawBufferPointer..., key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) {
    computeBySodium(
      parts, into: output, { crypto_auth_hmacsha512_init($0, key.bytes, key.count) }, crypto_auth_hmacsha512_update,
      crypto_auth_hmacsha512_final)
  }
}

/// A tag of `size` bytes, which `authenticate` computes from the message and the key.
private func tag(
  of message: [UInt8], key: SecretBytes, size: Int,
  by authenticate: (
    _ message: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ tag: UnsafeMutableRawBufferPointer
  ) -> Void
) -> [UInt8] {
  newBytes(size) { output in
    key.withUnsafeBytes { key in
      message.withUnsafeBytes { authenticate($0, key, UnsafeMutableRawBufferPointer(start: output, count: size)) }
    }
  }
}
