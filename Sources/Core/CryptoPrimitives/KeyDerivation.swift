import COpenSSL
import CSodium
import Glibc

/// HKDF (RFC 5869) with HMAC-SHA-256.
public enum HKDFSHA256 {
  /// `count` (at most 8160) bytes from the input key, for the purpose that `info` names.
  public static func derive(key: SecretBytes, salt: [UInt8], info: [UInt8], count: Int) -> SecretBytes {
    salt.withUnsafeBytes { derive(key: key, salt: $0, info: info, count: count) }
  }

  /// The same with a salt that is secret, such as a chaining key of Noise.
  public static func derive(key: SecretBytes, salt: SecretBytes, info: [UInt8], count: Int) -> SecretBytes {
    salt.withUnsafeBytes { derive(key: key, salt: $0, info: info, count: count) }
  }

  private static func derive(
    key: SecretBytes, salt: UnsafeRawBufferPointer, info: [UInt8], count: Int
  ) -> SecretBytes {
    hkdf(key: key, salt: salt, info: info, count: count, blockSize: HMACSHA256.size) {
      HMACSHA256.authenticate($0, $1, $2, key: $3, into: $4)
    }
  }
}

/// HKDF (RFC 5869) with HMAC-SHA-512.
public enum HKDFSHA512 {
  /// `count` (at most 16320) bytes from the input key, for the purpose that `info` names.
  public static func derive(key: SecretBytes, salt: [UInt8], info: [UInt8], count: Int) -> SecretBytes {
    salt.withUnsafeBytes { salt in
      hkdf(key: key, salt: salt, info: info, count: count, blockSize: HMACSHA512.size) {
        HMACSHA512.authenticate($0, $1, $2, key: $3, into: $4)
      }
    }
  }
}

/// RFC 5869 §2.2 and §2.3, with the HMAC of the caller: PRK = HMAC(salt, key), T(i) = HMAC(PRK, T(i-1) ‖ info ‖ i).
///
/// PRK and T(i) are in scratch memory that is wiped on return.
///
/// - Parameter authenticate: writes the tag, `blockSize` bytes, of three parts.
private func hkdf(
  key: SecretBytes, salt: UnsafeRawBufferPointer, info: [UInt8], count: Int, blockSize: Int,
  authenticate: (
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ third: UnsafeRawBufferPointer,
    _ key: UnsafeRawBufferPointer, _ tag: UnsafeMutableRawBufferPointer
  ) -> Void
) -> SecretBytes {
  precondition((0...255 * blockSize).contains(count), "HKDF gives at most 255 blocks")
  let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
  return SecretBytes(count: count) { output in
    withWipedBytes(count: 2 * blockSize) { scratch in
      let pseudorandomKey = UnsafeMutableRawBufferPointer(rebasing: scratch[..<blockSize])
      let block = UnsafeMutableRawBufferPointer(rebasing: scratch[blockSize...])
      key.withUnsafeBytes { authenticate($0, nothing, nothing, salt, pseudorandomKey) }
      for (index, start) in stride(from: 0, to: count, by: blockSize).enumerated() {
        let previous = UnsafeRawBufferPointer(rebasing: block[..<(index == 0 ? 0 : blockSize)])
        info.withUnsafeBytes { info in
          withUnsafeBytes(of: UInt8(index + 1)) { counter in
            authenticate(previous, info, counter, UnsafeRawBufferPointer(pseudorandomKey), block)
          }
        }
        let end = min(start + blockSize, count)
        UnsafeMutableRawBufferPointer(rebasing: output[start..<end])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<(end - start)]))
      }
    }
  }
}

/// PBKDF2 (RFC 8018 §5.2) with HMAC-SHA-512.
public enum PBKDF2SHA512 {
  /// `count` bytes from a password, at the cost of `iterations` HMACs for each 64 of them.
  ///
  /// OpenSSL's copy of the password is cleared by `EVP_KDF_CTX_free`.
  /// - Throws: ``CryptoError/invalidParameter`` when `iterations` or `count` is below 1 or above 2^31 - 1.
  public static func derive(
    password: SecretBytes, salt: [UInt8], iterations: Int, count: Int
  ) throws(CryptoError) -> SecretBytes {
    guard let rounds = CInt(exactly: iterations), let size = CInt(exactly: count), rounds > 0, size > 0 else {
      throw .invalidParameter
    }
    return try SecretBytes(count: count) { output throws(CryptoError) in
      let derived = password.withUnsafeBytes { password in
        PKCS5_PBKDF2_HMAC(
          password.characters, CInt(password.count), salt, CInt(salt.count), rounds, EVP_sha512(), size, output.bytes)
      }
      guard derived == 1 else { throw OpenSSL.failure() }
    }
  }
}

/// Argon2id 1.3 (RFC 9106), as in libsodium's `crypto_pwhash`: one lane.
public enum Argon2id {
  /// Bytes in a salt.
  public static let saltSize = 16
  /// More bytes of stack than `crypto_pwhash` uses.
  private static let stackDepth = 1 << 14

  /// `count` (at least 16) bytes from a passphrase.
  ///
  /// - Parameters:
  ///   - opsLimit: passes over the memory, at least 1.
  ///   - memLimit: memory in bytes, at least 8192, rounded down to whole KiB.
  /// - Throws: ``CryptoError/invalidLength`` for a salt that is not 16 bytes, ``CryptoError/invalidParameter`` for a
  ///   limit or count out of range, ``CryptoError/outOfMemory`` when `memLimit` bytes are not available.
  public static func derive(
    passphrase: SecretBytes, salt: [UInt8], opsLimit: UInt64, memLimit: Int, count: Int
  ) throws(CryptoError) -> SecretBytes {
    guard salt.count == saltSize else { throw .invalidLength }
    guard count >= 16, opsLimit >= 1, opsLimit <= UInt64(UInt32.max), memLimit >= 8192 else { throw .invalidParameter }
    return try SecretBytes(count: count) { output throws(CryptoError) in
      let (result, reason) = passphrase.withUnsafeBytes { passphrase in
        let result = crypto_pwhash(
          output.bytes, UInt64(count), passphrase.characters, UInt64(passphrase.count), salt, opsLimit, memLimit,
          crypto_pwhash_ALG_ARGON2ID13)
        let reason = errno
        // libsodium leaves the passphrase in a hash state on the stack.
        sodium_stackzero(Self.stackDepth)
        return (result, reason)
      }
      guard result == 0 else { throw reason == ENOMEM ? .outOfMemory : .invalidParameter }
    }
  }
}
