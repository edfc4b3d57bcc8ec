public import CryptoPrimitives

/// Where Keyri's random values come from.
public struct KeyriChance: Sendable {
  /// That many bytes, for values that are no secret: nonces and salts.
  let bytes: @Sendable (Int) -> [UInt8]
  /// A fresh key.
  let key: @Sendable () throws(CryptoError) -> P256.PrivateKey

  /// Joins the two.
  public init(
    bytes: @escaping @Sendable (Int) -> [UInt8], key: @escaping @Sendable () throws(CryptoError) -> P256.PrivateKey
  ) {
    self.bytes = bytes
    self.key = key
  }

  /// The system's generator.
  public static let system = KeyriChance(bytes: randomBytes, key: P256.PrivateKey.random)
}
