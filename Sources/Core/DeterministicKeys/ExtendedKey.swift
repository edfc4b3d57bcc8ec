public import CryptoPrimitives

/// A node of the tree: a signing key and a chain code.
public struct ExtendedKey: Sendable {
  /// kL ‖ kR ‖ chain code, 96 bytes: the scalar (little-endian), the key of the nonces, and the key of the children.
  package let node: SecretBytes
  /// The public key, 32 bytes.
  public let publicKey: [UInt8]
  private let derivation: BIP32Ed25519.Derivation

  init(node: SecretBytes, derivation: BIP32Ed25519.Derivation) throws(DeterministicKeysError) {
    self.node = node
    self.derivation = derivation
    do {
      publicKey = try node.withUnsafeBytes { node throws(CryptoError) in try Ed25519.multiplyBase(by: node[part: 0]) }
    } catch { throw .invalidPoint }
  }

  /// The public side of this node, from which the public keys of its soft children can be derived.
  public var publicNode: ExtendedPublicKey {
    ExtendedPublicKey(
      publicKey: publicKey, chainCode: node.withUnsafeBytes { Array($0[part: 2]) }, derivation: derivation)
  }

  /// The child of that index, hardened from 2^31 on.
  ///
  /// z and the child's chain code come from HMAC-SHA512 under this node's chain code; kL' = kL + 8·trunc(zL), kR' =
  /// (kR + zR) mod 2^256. Both HMACs' outputs are wiped before this returns.
  /// - Throws: ``DeterministicKeysError/keyOverflow`` if kL' would be 2^255 or more.
  public func child(_ index: UInt32) throws(DeterministicKeysError) -> ExtendedKey {
    let childNode = try node.withUnsafeBytes { node throws(DeterministicKeysError) in
      try withWipedBytes(count: 64) { z throws(DeterministicKeysError) in
        try SecretBytes(count: BIP32Ed25519.nodeSize) { child throws(DeterministicKeysError) in
          let isHardened = index >= 1 << 31
          let secret = isHardened ? UnsafeRawBufferPointer(rebasing: node[..<64]) : .init(start: nil, count: 0)
          let input = ChildInput(
            tag: isHardened ? 0 : 2, secret: secret, publicKey: isHardened ? [] : publicKey, index: index)
          input.chainCode(under: node[part: 2], into: child[part: 2])
          input.z(under: node[part: 2], into: z)
          derivation.multiplyBy8Truncated(z[part: 0])
          add(node[part: 0], UnsafeRawBufferPointer(z[part: 0]), into: child[part: 0])
          add(node[part: 1], UnsafeRawBufferPointer(z[part: 1]), into: child[part: 1])
          guard child[31] & 0x80 == 0 else { throw .keyOverflow }
        }
      }
    }
    return try ExtendedKey(node: childNode, derivation: derivation)
  }

  /// The Ed25519 signature (64 bytes) over `message`, the same each time, and verified.
  ///
  /// r = SHA-512(kR ‖ message), R = r·B, S = r + SHA-512(R ‖ A ‖ message) · kL. r and its digest are wiped.
  /// - Throws: `CryptoError.faultySignature` if the computation went wrong.
  public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
    let signature = try node.withUnsafeBytes { node throws(CryptoError) in
      try withWipedBytes(count: 64 + 32 + 32 + 32) { scratch throws(CryptoError) in
        let wide = UnsafeMutableRawBufferPointer(rebasing: scratch[..<64])
        let (nonce, hash, sum) = (scratch[part: 2], scratch[part: 3], scratch[part: 4])
        message.withUnsafeBytes { SHA512.hash(node[part: 1], $0, into: wide) }
        Ed25519.reduce(UnsafeRawBufferPointer(wide), into: nonce)
        let point = try Ed25519.multiplyBase(by: UnsafeRawBufferPointer(nonce))
        (point + publicKey + message).withUnsafeBytes { SHA512.hash($0, into: wide) }
        Ed25519.reduce(UnsafeRawBufferPointer(wide), into: hash)
        Ed25519.multiplyAdd(
          UnsafeRawBufferPointer(hash), node[part: 0], UnsafeRawBufferPointer(nonce), into: sum)
        return point + sum
      }
    }
    return try Ed25519.verified(signature, for: message, publicKey: publicKey)
  }
}

/// The public side of a node: enough to find, but not to use, the keys of its soft children.
public struct ExtendedPublicKey: Sendable, Hashable {
  /// The public key, 32 bytes.
  public let publicKey: [UInt8]
  /// The chain code, 32 bytes.
  ///
  /// With it and one child's private key, the parent's private key can be computed.
  public let chainCode: [UInt8]
  private let derivation: BIP32Ed25519.Derivation

  init(publicKey: [UInt8], chainCode: [UInt8], derivation: BIP32Ed25519.Derivation) {
    self.publicKey = publicKey
    self.chainCode = chainCode
    self.derivation = derivation
  }

  /// The soft child of that index: A' = A + (8·trunc(zL))·B.
  ///
  /// - Throws: ``DeterministicKeysError/hardenedIndex`` from 2^31 on, ``DeterministicKeysError/invalidPoint`` if this
  ///   node is not a point.
  public func child(_ index: UInt32) throws(DeterministicKeysError) -> ExtendedPublicKey {
    guard index < 1 << 31 else { throw .hardenedIndex }
    let input = ChildInput(tag: 2, secret: .init(start: nil, count: 0), publicKey: publicKey, index: index)
    var childChainCode = [UInt8](repeating: 0, count: 32)
    var z = [UInt8](repeating: 0, count: 64)
    chainCode.withUnsafeBytes { chainCode in
      childChainCode.withUnsafeMutableBytes { input.chainCode(under: chainCode, into: $0) }
      z.withUnsafeMutableBytes { z in
        input.z(under: chainCode, into: z)
        derivation.multiplyBy8Truncated(z[part: 0])
      }
    }
    do {
      let step = try SecretBytes(consuming: &z).withUnsafeBytes { z throws(CryptoError) in
        try Ed25519.multiplyBase(by: z[part: 0])
      }
      return ExtendedPublicKey(
        publicKey: try Ed25519.add(publicKey, step), chainCode: childChainCode, derivation: derivation)
    } catch { throw .invalidPoint }
  }
}

/// What the two HMACs of a child read: a tag, the parent (kL ‖ kR when hardened, A when soft) and the index, LE32.
private struct ChildInput {
  let tag: UInt8
  let secret: UnsafeRawBufferPointer
  let publicKey: [UInt8]
  let index: UInt32

  /// Writes z, 64 bytes.
  func z(under key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
    authenticate(tag: tag, key: key, into: output)
  }

  /// Writes the child's chain code: the second half of the HMAC under the next tag.
  func chainCode(under key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
    withWipedBytes(count: 64) { wide in
      authenticate(tag: tag + 1, key: key, into: wide)
      output.copyMemory(from: UnsafeRawBufferPointer(wide[part: 1]))
    }
  }

  private func authenticate(
    tag: UInt8, key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) {
    withUnsafeBytes(of: tag) { tag in
      withUnsafeBytes(of: index.littleEndian) { index in
        publicKey.withUnsafeBytes { publicKey in
          HMACSHA512.authenticate(tag, secret, publicKey, index, key: key, into: output)
        }
      }
    }
  }
}

extension BIP32Ed25519.Derivation {
  /// Replaces z (32 bytes, little-endian) by 8·trunc(z), where trunc clears the high bits that the derivation discards.
  package func multiplyBy8Truncated(_ z: UnsafeMutableRawBufferPointer) {
    truncate(z)
    for index in z.indices.reversed() { z[index] = z[index] << 3 | (index == 0 ? 0 : z[index - 1] >> 5) }
  }

  /// Clears the high 9 or 32 bits of 256.
  package func truncate(_ z: UnsafeMutableRawBufferPointer) {
    let (whole, bits) = (256 - rawValue).quotientAndRemainder(dividingBy: 8)
    for index in whole..<32 { z[index] &= index == whole ? UInt8(1 << bits - 1) : 0 }
  }
}

/// Writes (a + b) mod 2^256; 32 bytes each, little-endian.
///
/// The carry goes through all bytes, in constant time.
private func add(
  _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, into sum: UnsafeMutableRawBufferPointer
) {
  var carry: UInt16 = 0
  for index in 0..<32 {
    carry += UInt16(a[index]) + UInt16(b[index])
    sum[index] = UInt8(truncatingIfNeeded: carry)
    carry >>= 8
  }
}

extension UnsafeRawBufferPointer {
  /// The 32 bytes from 32 · `part` on.
  fileprivate subscript(part part: Int) -> UnsafeRawBufferPointer { .init(rebasing: self[32 * part..<32 * (part + 1)]) }
}

extension UnsafeMutableRawBufferPointer {
  /// The 32 bytes from 32 · `part` on.
  fileprivate subscript(part part: Int) -> UnsafeMutableRawBufferPointer {
    .init(rebasing: self[32 * part..<32 * (part + 1)])
  }
}
