public import CryptoPrimitives

/// The tree of Ed25519 keys (BIP32-Ed25519, ARC-52) that derives every Algorand account of a phrase.
public struct BIP32Ed25519: Sendable {
  /// How many high bits of the derivation's left half are dropped at each level.
  public enum Derivation: Int, Sendable, CaseIterable {
    /// 9 bits, Algorand's default: more entropy a level, at least 8 levels.
    case peikert = 9
    /// 32 bits, as in the paper of Khovratovich and Law: 2^26 levels.
    case khovratovich = 32
  }

  /// The purpose of an account: the second level of its path.
  public enum Context: UInt32, Sendable, CaseIterable {
    /// Algorand accounts: m/44'/283'/…
    case address = 283
    /// Identities: m/44'/0'/…
    case identity = 0
  }

  /// Bytes in a node: kL ‖ kR ‖ chain code.
  public static let nodeSize = 96

  /// The node that all others are derived from.
  public let root: ExtendedKey

  /// Takes a root of 96 bytes, as ``root(from:)`` makes it and the vault keeps it.
  ///
  /// - Throws: ``DeterministicKeysError/invalidRoot`` if the length is wrong, or the bits of kL are not those of a
  ///   root.
  public init(root: SecretBytes, derivation: Derivation = .peikert) throws(DeterministicKeysError) {
    let isRoot = root.withUnsafeBytes { root in
      root.count == Self.nodeSize && root[0] & 0b111 == 0 && root[31] & 0b1110_0000 == 0b0100_0000
    }
    guard isRoot else { throw .invalidRoot }
    self.root = try ExtendedKey(node: root, derivation: derivation)
  }

  /// The root (96 bytes) of a phrase: of its BIP39 seed, PBKDF2-HMAC-SHA512 with salt "mnemonic" and 2048 iterations.
  public static func root(from phrase: BIP39Phrase) throws(CryptoError) -> SecretBytes {
    try root(fromSeed: seed(of: phrase))
  }

  /// The BIP39 seed (64 bytes) of a phrase without a BIP39 passphrase.
  package static func seed(of phrase: BIP39Phrase) throws(CryptoError) -> SecretBytes {
    try PBKDF2SHA512.derive(password: phrase.utf8, salt: Array("mnemonic".utf8), iterations: 2048, count: 64)
  }

  /// The root of a seed: SHA-512, hashed on until bit 5 of kL's last byte is clear, then clamped.
  package static func root(fromSeed seed: SecretBytes) -> SecretBytes {
    SecretBytes(count: nodeSize) { node in
      seed.withUnsafeBytes { seed in
        let key = UnsafeMutableRawBufferPointer(rebasing: node[..<64])
        let (left, right) = (key[..<32], key[32...])
        SHA512.hash(seed, into: key)
        while key[31] & 0b0010_0000 != 0 {
          // HMAC has read its input when it writes its output, so both may be the same bytes.
          HMACSHA512.authenticate(
            UnsafeRawBufferPointer(rebasing: right), key: UnsafeRawBufferPointer(rebasing: left), into: key)
        }
        key[0] &= 0b1111_1000
        key[31] = key[31] & 0b0111_1111 | 0b0100_0000
        withUnsafeBytes(of: UInt8(1)) { one in
          SHA256.hash(one, seed, into: UnsafeMutableRawBufferPointer(rebasing: node[64...]))
        }
      }
    }
  }

  /// The index that derives a hardened child: its number with the highest bit set.
  public static func hardened(_ number: UInt32) -> UInt32 { number | 1 << 31 }

  /// The key at a path of indices below the root; an index from 2^31 on is hardened.
  ///
  /// - Throws: ``DeterministicKeysError/keyOverflow`` if the derivation cannot reach the path's depth with this root.
  public func key(at path: [UInt32]) throws(DeterministicKeysError) -> ExtendedKey {
    var key = root
    for index in path { key = try key.child(index) }
    return key
  }

  /// The key at m/44'/context'/account'/change/index.
  ///
  /// Without arguments it is the key of the first address of account 0: `AlgorandAddress(publicKey: key().publicKey)`.
  /// - Throws: ``DeterministicKeysError/indexOutOfRange`` if one of the three numbers is 2^31 or more.
  public func key(
    _ context: Context = .address, account: UInt32 = 0, change: UInt32 = 0, index: UInt32 = 0
  ) throws(DeterministicKeysError) -> ExtendedKey {
    guard max(account, change, index) < 1 << 31 else { throw .indexOutOfRange }
    return try key(
      at: [Self.hardened(44), Self.hardened(context.rawValue), Self.hardened(account), change, index])
  }
}
