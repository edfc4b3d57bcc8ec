import COpenSSL

/// AES-256 in GCM (NIST SP 800-38D), with a nonce of 12 bytes: the cipher of large blobs (CTAP §6.10.3).
///
/// A sealed text is the cipher text followed by a tag of 16 bytes. A nonce must not be used twice with one key.
public enum AESGCM {
  /// Bytes in a key.
  public static let keySize = 32
  /// Bytes in a nonce.
  public static let nonceSize = 12
  /// Bytes that sealing adds.
  public static let tagSize = 16

  /// Seals a plaintext.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key or nonce of another length.
  public static func seal(
    _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    guard key.count == keySize, nonce.count == nonceSize else { throw .invalidLength }
    var isDone = false
    let sealed = newBytes(plaintext.count + tagSize) { output in
      isDone = withContext(key, nonce, ad, encrypts: true) { context in
        pass(plaintext[...], through: context, into: output) && finish(context, output)
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tagSize), output + plaintext.count) == 1
      }
    }
    guard isDone else { throw OpenSSL.failure() }
    return sealed
  }

  /// Opens a sealed text.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key, nonce or sealed text of the wrong length,
  ///   ``CryptoError/authenticationFailed`` when the tag does not match key, nonce and additional data.
  public static func open(
    _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    guard key.count == keySize, nonce.count == nonceSize, sealed.count >= tagSize else { throw .invalidLength }
    var tag = Array(sealed.suffix(tagSize))
    var isAuthentic = false
    let plaintext = newBytes(sealed.count - tagSize) { output in
      isAuthentic = withContext(key, nonce, ad, encrypts: false) { context in
        pass(sealed.dropLast(tagSize), through: context, into: output)
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tagSize), &tag) == 1 && finish(context, output)
      }
    }
    guard isAuthentic else { throw .authenticationFailed }
    return plaintext
  }

  /// A context that has taken key, nonce and additional data; the key schedule is cleared with it.
  private static func withContext(
    _ key: SecretBytes, _ nonce: [UInt8], _ ad: [UInt8], encrypts: Bool, _ body: (OpaquePointer) -> Bool
  ) -> Bool {
    guard let context = EVP_CIPHER_CTX_new() else { return false }
    defer { EVP_CIPHER_CTX_free(context) }
    let isReady = key.withUnsafeBytes { key in
      EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce, encrypts ? 1 : 0) == 1
    }
    return isReady && pass(ad[...], through: context, into: nil) && body(context)
  }

  /// Adds input; without an output, as additional data.
  private static func pass(
    _ input: ArraySlice<UInt8>, through context: OpaquePointer, into output: UnsafeMutablePointer<UInt8>?
  ) -> Bool {
    var written: CInt = 0
    return input.withUnsafeBytes {
      EVP_CipherUpdate(context, output, &written, $0.bytes, CInt($0.count)) == 1
    } && Int(written) == input.count
  }

  /// Ends the pass: nothing more is written, and a tag that was set is compared.
  private static func finish(_ context: OpaquePointer, _ output: UnsafeMutablePointer<UInt8>) -> Bool {
    var written: CInt = 0
    return EVP_CipherFinal_ex(context, output, &written) == 1
  }
}
