public import CryptoPrimitives

/// deterministic-P256: the keys that phone wallets derive too (Recovery §3).
public enum DeterministicP256 {
  /// The private scalar: the first 32 bytes of SHA-512(mainKey ‖ origin ‖ userHandle ‖ BE32(counter)), used as they are.
  ///
  /// Nothing separates origin from handle, so ("example.com", "alice") and ("example.co", "malice") are one key. Both
  /// are bytes: a `String` that compares or normalises would find another key.
  /// - Throws: ``CryptoError/scalarOutOfRange`` for one digest in 2^32; then the next counter is to be taken.
  public static func scalar(
    mainKey: SecretBytes, origin: [UInt8], userHandle: [UInt8], counter: UInt32
  ) throws(CryptoError) -> SecretBytes {
    let bigEndianCounter = withUnsafeBytes(of: counter.bigEndian) { Array($0) }
    return try inRange(
      SHA512.deriveSecret(mainKey, origin, userHandle, bigEndianCounter, count: P256.fieldSize))
  }

  /// The private key of that scalar.
  ///
  /// - Throws: as ``scalar(mainKey:origin:userHandle:counter:)``.
  public static func privateKey(
    mainKey: SecretBytes, origin: [UInt8], userHandle: [UInt8], counter: UInt32
  ) throws(CryptoError) -> P256.PrivateKey {
    try P256.PrivateKey(
      scalar: scalar(mainKey: mainKey, origin: origin, userHandle: userHandle, counter: counter))
  }

  /// The scalar itself, if it is one.
  ///
  /// Neither reduced nor replaced: every wallet must find the same key, or none.
  package static func inRange(_ scalar: SecretBytes) throws(CryptoError) -> SecretBytes {
    guard P256.isValidScalar(scalar) else { throw .scalarOutOfRange }
    return scalar
  }
}
