import COpenSSL

/// AES in CBC mode without padding (NIST SP 800-38A), with a key of 16 or 32 bytes: the cipher of the PIN/UV auth
/// protocols (CTAP §6.5.6, §6.5.7).
public enum AESCBC {
  /// Bytes in a block, and in an initialization vector.
  public static let blockSize = 16

  /// Encrypts whole blocks.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key, vector or plaintext of another length.
  public static func encrypt(
    _ plaintext: SecretBytes, key: SecretBytes, initializationVector: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    var isDone = false
    let cipher = try cipher(key, initializationVector, plaintext.count)
    let ciphertext = newBytes(plaintext.count) { output in
      plaintext.withUnsafeBytes { input in
        isDone = run(cipher, input, key: key, initializationVector, encrypts: true, into: output)
      }
    }
    guard isDone else { throw OpenSSL.failure() }
    return ciphertext
  }

  /// Decrypts whole blocks; a wrong key is not detected.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key, vector or ciphertext of another length.
  public static func decrypt(
    _ ciphertext: [UInt8], key: SecretBytes, initializationVector: [UInt8]
  ) throws(CryptoError) -> SecretBytes {
    let cipher = try cipher(key, initializationVector, ciphertext.count)
    return try SecretBytes(count: ciphertext.count) { output throws(CryptoError) in
      let isDone = ciphertext.withUnsafeBytes { input in
        run(cipher, input, key: key, initializationVector, encrypts: false, into: output.bytes)
      }
      guard isDone else { throw OpenSSL.failure() }
    }
  }

  private static func cipher(
    _ key: SecretBytes, _ initializationVector: [UInt8], _ count: Int
  ) throws(CryptoError) -> OpaquePointer? {
    guard initializationVector.count == blockSize, count.isMultiple(of: blockSize) else { throw .invalidLength }
    switch key.count {
    case 16: return EVP_aes_128_cbc()
    case 32: return EVP_aes_256_cbc()
    default: throw .invalidLength
    }
  }

  /// One pass over the input; the key schedule is cleared with the context.
  private static func run(
    _ cipher: OpaquePointer?, _ input: UnsafeRawBufferPointer, key: SecretBytes, _ initializationVector: [UInt8],
    encrypts: Bool, into output: UnsafeMutablePointer<UInt8>
  ) -> Bool {
    guard let context = EVP_CIPHER_CTX_new() else { return false }
    defer { EVP_CIPHER_CTX_free(context) }
    var written: CInt = 0
    return key.withUnsafeBytes { key in
      EVP_CipherInit_ex(context, cipher, nil, key.bytes, initializationVector, encrypts ? 1 : 0) == 1
        && EVP_CIPHER_CTX_set_padding(context, 0) == 1
        && EVP_CipherUpdate(context, output, &written, input.bytes, CInt(input.count)) == 1
        && Int(written) == input.count
    }
  }
}
