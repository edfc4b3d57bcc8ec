import CSodium

/// SipHash-2-4 with 128 bits, with a random key for each value: for comparing short inputs within one run.
package struct SipHash {
  private let key: [UInt8]

  /// Draws a key.
  package init() { self.init(key: randomBytes(Int(crypto_shorthash_siphashx24_KEYBYTES))) }

  /// Takes a key, 16 bytes.
  init(key: [UInt8]) {
    precondition(key.count == Int(crypto_shorthash_siphashx24_KEYBYTES))
    self.key = key
  }

  /// The hash of `message`: its 16 bytes as a number, the first the lowest.
  package func hash(_ message: [UInt8]) -> UInt128 {
    var hash: UInt128 = 0
    withUnsafeMutableBytes(of: &hash) { output in
      _ = crypto_shorthash_siphashx24(output.bytes, message, UInt64(message.count), key)
    }
    return UInt128(littleEndian: hash)
  }
}
