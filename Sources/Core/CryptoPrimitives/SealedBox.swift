import CSodium

/// XChaCha20-Poly1305 (IETF): a sealed text is the cipher text followed by a tag of 16 bytes.
public enum XChaCha20Poly1305 {
  /// Bytes in a key.
  public static let keySize = 32
  /// Bytes in a nonce; large enough for random nonces.
  public static let nonceSize = 24
  /// Bytes that sealing adds.
  public static let tagSize = 16

  /// Seals a plaintext in ordinary memory.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key that is not 32 bytes or a nonce that is not 24.
  public static func seal(
    _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    try check(key, nonce)
    return plaintext.withUnsafeBytes { seal($0, key: key, nonce: nonce, ad: ad) }
  }

  /// Seals a secret in locked memory.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key that is not 32 bytes or a nonce that is not 24.
  public static func sealSecret(
    _ plaintext: SecretBytes, key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    try check(key, nonce)
    return plaintext.withUnsafeBytes { seal($0, key: key, nonce: nonce, ad: ad) }
  }

  /// Opens a sealed text into ordinary memory.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key, nonce or sealed text of the wrong length,
  ///   ``CryptoError/authenticationFailed`` when the tag does not match key, nonce and additional data.
  public static func open(
    _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    try check(key, nonce, sealed)
    var isAuthentic = false
    let plaintext = newBytes(sealed.count - tagSize) { output in
      isAuthentic = open(sealed, key: key, nonce: nonce, ad: ad, into: output)
    }
    guard isAuthentic else { throw .authenticationFailed }
    return plaintext
  }

  /// Opens a sealed secret into locked memory.
  ///
  /// - Throws: as ``open(_:key:nonce:ad:)``.
  public static func openSecret(
    _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> SecretBytes {
    try check(key, nonce, sealed)
    return try SecretBytes(count: sealed.count - tagSize) { output throws(CryptoError) in
      guard open(sealed, key: key, nonce: nonce, ad: ad, into: output.bytes) else { throw .authenticationFailed }
    }
  }

  /// Seals the bytes of a range in place; the tag takes the place of its last 16.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key that is not 32 bytes, a nonce that is not 24, or a range that has
  ///   less than 16.
  public static func sealInPlace(
    _ bytes: inout [UInt8], _ range: Range<Int>, key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) {
    guard key.count == keySize, nonce.count == nonceSize, range.count >= tagSize else { throw .invalidLength }
    bytes.withUnsafeMutableBytes { bytes in
      let place = UnsafeMutableRawBufferPointer(rebasing: bytes[range])
      _ = key.withUnsafeBytes { key in
        crypto_aead_xchacha20poly1305_ietf_encrypt(
          place.bytes, nil, place.bytes, UInt64(place.count - tagSize), ad, UInt64(ad.count), nil, nonce, key.bytes)
      }
    }
  }

  /// Opens a sealed text in place: the plaintext takes the beginning of its range, and is 16 bytes shorter.
  ///
  /// The caller wipes it with ``wipe(_:)``, and keeps no other reference to the array: Swift would copy it.
  /// - Throws: as ``open(_:key:nonce:ad:)``; the bytes of the range are lost then.
  public static func openInPlace(
    _ bytes: inout [UInt8], _ range: Range<Int>, key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) {
    guard key.count == keySize, nonce.count == nonceSize, range.count >= tagSize else { throw .invalidLength }
    let isAuthentic = bytes.withUnsafeMutableBytes { bytes in
      let place = UnsafeMutableRawBufferPointer(rebasing: bytes[range])
      return key.withUnsafeBytes { key in
        crypto_aead_xchacha20poly1305_ietf_decrypt(
          place.bytes, nil, nil, place.bytes, UInt64(place.count), ad, UInt64(ad.count), nonce, key.bytes) == 0
      }
    }
    guard isAuthentic else { throw .authenticationFailed }
  }

  private static func check(_ key: SecretBytes, _ nonce: [UInt8], _ sealed: [UInt8]? = nil) throws(CryptoError) {
    guard key.count == keySize, nonce.count == nonceSize, sealed.map({ $0.count >= tagSize }) ?? true else {
      throw .invalidLength
    }
  }

  private static func seal(
    _ plaintext: UnsafeRawBufferPointer, key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) -> [UInt8] {
    newBytes(plaintext.count + tagSize) { output in
      _ = key.withUnsafeBytes { key in
        crypto_aead_xchacha20poly1305_ietf_encrypt(
          output, nil, plaintext.bytes, UInt64(plaintext.count), ad, UInt64(ad.count), nil, nonce, key.bytes)
      }
    }
  }

  /// Whether the tag is right; if not, nothing of the plaintext is written.
  private static func open(
    _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8], into output: UnsafeMutablePointer<UInt8>
  ) -> Bool {
    key.withUnsafeBytes { key in
      crypto_aead_xchacha20poly1305_ietf_decrypt(
        output, nil, nil, sealed, UInt64(sealed.count), ad, UInt64(ad.count), nonce, key.bytes) == 0
    }
  }
}

/// ChaCha20-Poly1305 (RFC 8439), for what other programs sealed: its nonces of 12 bytes are too short to be random.
public enum ChaCha20Poly1305 {
  /// Bytes in a key.
  public static let keySize = 32
  /// Bytes in a nonce.
  public static let nonceSize = 12
  /// Bytes of the tag at the end of a sealed text.
  public static let tagSize = 16

  /// Opens a sealed text.
  ///
  /// - Throws: ``CryptoError/invalidLength`` for a key, nonce or sealed text of the wrong length,
  ///   ``CryptoError/authenticationFailed`` when the tag does not match.
  public static func open(
    _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], ad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    guard key.count == keySize, nonce.count == nonceSize, sealed.count >= tagSize else { throw .invalidLength }
    var isAuthentic = false
    let plaintext = newBytes(sealed.count - tagSize) { output in
      isAuthentic = key.withUnsafeBytes { key in
        crypto_aead_chacha20poly1305_ietf_decrypt(
          output, nil, nil, sealed, UInt64(sealed.count), ad, UInt64(ad.count), nonce, key.bytes) == 0
      }
    }
    guard isAuthentic else { throw .authenticationFailed }
    return plaintext
  }
}
