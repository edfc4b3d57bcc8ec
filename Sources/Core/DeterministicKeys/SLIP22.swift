public import CryptoPrimitives

/// The keys of a phrase for the passkeys of a Trezor, SLIP-0022: its credential ids of FIDO2 hold the sealed data of the
/// passkey, and their tag is the path of its key.
///
/// They are two nodes, from which no other key of the phrase can be derived: m/"SLIP-0022"/version of SLIP-0021, and
/// m/10022'/version' of SLIP-0010 on P-256.
public struct SLIP22Keys: Sendable, Equatable {
  /// Bytes of both nodes.
  public static let size = 2 * nodeSize
  /// The first bytes of an id, the version of FIDO2; U2F has another one, which is not supported.
  public static let version: [UInt8] = [0xF1, 0xD0, 0x02, 0x00]
  private static let nodeSize = 64
  private static let nonceSize = 12

  /// The node of SLIP-0021 (64 bytes), then key and chain code of SLIP-0010 (64 bytes).
  public let bytes: SecretBytes

  /// Takes both nodes; `nil` unless they have 128 bytes.
  public init?(_ bytes: SecretBytes) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = bytes
  }

  /// Derives both nodes from a phrase, without a BIP39 passphrase.
  public init(phrase: BIP39Phrase) throws(CryptoError) { self.init(seed: try BIP32Ed25519.seed(of: phrase)) }

  /// Derives both nodes from the seed of BIP39, 64 bytes.
  package init(seed: SecretBytes) {
    bytes = SecretBytes(count: Self.size) { nodes in
      let symmetric = UnsafeMutableRawBufferPointer(rebasing: nodes[..<Self.nodeSize])
      let pair = UnsafeMutableRawBufferPointer(rebasing: nodes[Self.nodeSize...])
      seed.withUnsafeBytes { seed in
        Self.deriveMaster("Symmetric key seed", seed, symmetric)
        Self.deriveMaster("Nist256p1 seed", seed, pair)
      }
      Self.descend(symmetric, Array("SLIP-0022".utf8))
      Self.descend(symmetric, Self.version)
      // Once in 2³² the first 32 bytes are no scalar: SLIP-0010, "Master key generation".
      while !P256.isScalar(UnsafeRawBufferPointer(rebasing: pair[..<32])) {
        Array("Nist256p1 seed".utf8).withUnsafeBytes { key in
          HMACSHA512.authenticate(UnsafeRawBufferPointer(pair), key: key, into: pair)
        }
      }
      Self.descend(pair, 10022)
      Self.descend(pair, Self.number(Self.version[...]))
    }
  }

  // MARK: Passkeys

  /// The sealed data of a passkey, CBOR in canonical form; `nil` for an id of another form or phrase, or of another site.
  ///
  /// - Parameter rpIDHash: SHA-256 of the rp.id.
  public func open(_ id: [UInt8], rpIDHash: [UInt8]) -> [UInt8]? {
    let head = Self.version.count + Self.nonceSize
    guard id.starts(with: Self.version), id.count > head + ChaCha20Poly1305.tagSize else { return nil }
    let key = symmetricKey(["Encryption key"].map { Array($0.utf8) })
    return try? ChaCha20Poly1305.open(
      Array(id[head...]), key: key, nonce: Array(id[Self.version.count..<head]), ad: rpIDHash)
  }

  /// The private key of a passkey, which its id opens.
  public func privateKey(of id: [UInt8]) throws(CryptoError) -> P256.PrivateKey {
    let tag = id.suffix(ChaCha20Poly1305.tagSize)
    guard tag.count == ChaCha20Poly1305.tagSize else { throw .invalidLength }
    let scalar = SecretBytes(count: 32) { scalar in
      withWipedBytes(count: Self.nodeSize) { node in
        bytes.withUnsafeBytes { node.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Self.nodeSize...])) }
        for start in stride(from: tag.startIndex, to: tag.endIndex, by: 4) {
          Self.descend(node, Self.number(tag[start..<start + 4]))
        }
        scalar.copyMemory(from: UnsafeRawBufferPointer(rebasing: node[..<32]))
      }
    }
    return try P256.PrivateKey(scalar: scalar)
  }

  /// CredRandom (32 bytes) of hmac-secret, with and without verification of the user.
  public func credRandom(of id: [UInt8]) -> SecretBytes { symmetricKey([Array("hmac-secret".utf8), id]) }

  // MARK: Derivation

  /// Key(m/…) of SLIP-0021, below the first node.
  private func symmetricKey(_ labels: [[UInt8]]) -> SecretBytes {
    SecretBytes(count: 32) { key in
      withWipedBytes(count: Self.nodeSize) { node in
        bytes.withUnsafeBytes { node.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<Self.nodeSize])) }
        for label in labels { Self.descend(node, label) }
        key.copyMemory(from: UnsafeRawBufferPointer(rebasing: node[32...]))
      }
    }
  }

  private static func deriveMaster(
    _ key: String, _ seed: UnsafeRawBufferPointer, _ node: UnsafeMutableRawBufferPointer
  ) {
    Array(key.utf8).withUnsafeBytes { HMACSHA512.authenticate(seed, key: $0, into: node) }
  }

  /// A child of SLIP-0021, in place.
  private static func descend(_ node: UnsafeMutableRawBufferPointer, _ label: [UInt8]) {
    ([0] + label).withUnsafeBytes { label in
      // HMAC has read its key when it writes its output.
      HMACSHA512.authenticate(label, key: UnsafeRawBufferPointer(rebasing: node[..<32]), into: node)
    }
  }

  /// A hardened child of SLIP-0010, in place.
  private static func descend(_ node: UnsafeMutableRawBufferPointer, _ number: UInt32) {
    let (key, chain) = (
      UnsafeMutableRawBufferPointer(rebasing: node[..<32]), UnsafeRawBufferPointer(rebasing: node[32...])
    )
    withWipedBytes(count: nodeSize) { result in
      withUnsafeBytes(of: (number | 1 << 31).bigEndian) { index in
        withUnsafeBytes(of: UInt8(0)) {
          HMACSHA512.authenticate($0, UnsafeRawBufferPointer(key), index, key: chain, into: result)
        }
        // Once in 2³² there is no such child, and the next try takes its chain code: SLIP-0010.
        while !P256.add(UnsafeRawBufferPointer(rebasing: result[..<32]), to: key) {
          withUnsafeBytes(of: UInt8(1)) {
            HMACSHA512.authenticate(
              $0, UnsafeRawBufferPointer(rebasing: result[32...]), index, key: chain, into: result)
          }
        }
      }
      UnsafeMutableRawBufferPointer(rebasing: node[32...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: result[32...]))
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
