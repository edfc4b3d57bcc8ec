import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

/// Tests of all members of `xhd-wallet.json` except ECDH and reserved tags.
@Suite struct BIP32Ed25519Tests {
  private let upstream: Vector
  private let computed: Vector
  private let peikert: BIP32Ed25519
  private let khovratovich: BIP32Ed25519

  init() throws {
    let vectors = try Vector("xhd-wallet")
    (upstream, computed) = (vectors.upstream, vectors.computed)
    let root = SecretBytes(upstream.rootKey.bytes)
    peikert = try BIP32Ed25519(root: root)
    khovratovich = try BIP32Ed25519(root: root, derivation: .khovratovich)
  }

  @Test func `the phrase gives the seed and the root`() throws {
    let phrase = try BIP39Phrase(upstream.phrase.text)
    #expect(try BIP32Ed25519.seed(of: phrase).revealed == upstream.bip39Seed.hex)
    #expect(BIP32Ed25519.root(fromSeed: SecretBytes(upstream.bip39Seed.bytes)).revealed == upstream.rootKey.hex)
    #expect(try BIP32Ed25519.root(from: phrase).revealed == upstream.rootKey.hex)
  }

  @Test func `a root is hashed until it is valid, and clamped`() throws {
    // About half of the 64 seeds need a second hash. All roots must be valid.
    for number in UInt8(0)..<64 {
      let root = BIP32Ed25519.root(fromSeed: SecretBytes(Array(repeating: number, count: 64)))
      #expect(try BIP32Ed25519(root: root).root.publicKey.count == 32)
      #expect(root.revealed.bytes.suffix(32) == SHA256.hash([1], Array(repeating: number, count: 64))[...])
    }
  }

  @Test(
    arguments: [
      { $0.removeLast() }, { $0.append(0) }, { $0 = [] }, { $0[0] |= 1 }, { $0[0] |= 4 }, { $0[31] |= 0x80 },
      { $0[31] |= 0x20 }, { $0[31] &= 0xbf },
    ] as [@Sendable (inout [UInt8]) -> Void]) func `an invalid root is refused`(
      _ damage: @Sendable (inout [UInt8]) -> Void
    )
  {
    var root = upstream.rootKey.bytes
    damage(&root)
    #expect(throws: DeterministicKeysError.invalidRoot) { try BIP32Ed25519(root: SecretBytes(root)) }
  }

  @Test func `a child key is derived from z as in the vectors`() throws {
    let hardened = upstream.deriveHardened
    let soft = upstream.deriveNonHardened
    #expect(hardened.kl.bytes + (hardened.kr.optional?.bytes ?? []) + hardened.cc.bytes == upstream.rootKey.bytes)
    for step in [soft, hardened] {
      for tree in [peikert, khovratovich] {
        let child = try tree.root.child(step.index.integer()).node.revealed.bytes
        #expect(child[64...] == step.childChainCodeFull64.bytes[32...])
        #expect(Array(child[32..<64]) == sum(upstream.rootKey.bytes[32..<64], step.z.bytes[32...]))
      }
      // kL of the default derivation: 8 · (zL with its high 9 bits cleared), added by doubling three times.
      var left = Array(step.z.bytes[..<32])
      left[31] = 0
      left[30] &= 0x7f
      for _ in 0..<3 { left = sum(left[...], left[...]) }
      let child = try peikert.root.child(step.index.integer()).node.revealed.bytes
      #expect(Array(child[..<32]) == sum(upstream.rootKey.bytes[..<32], left[...]))
    }
  }

  @Test func `the children of g = 32 are those of the vectors`() throws {
    let parent = try khovratovich.key(at: [BIP32Ed25519.hardened(44)])
    var key = parent
    #expect(upstream.deriveChildNodePrivate.array.count == 2)
    for vector in upstream.deriveChildNodePrivate.array {
      #expect(vector.g.integer() == 32)
      #expect(key.node.revealed == vector.extendedKey.hex)
      key = try key.child(vector.index.integer())
      #expect(key.node.revealed == vector.child.hex)
    }
  }

  @Test func `truncation clears the high bits`() throws {
    #expect(upstream.trunc256MinusGBits.array.map { $0.g.integer() } == [9, 32])
    for vector in upstream.trunc256MinusGBits.array {
      let derivation = try #require(BIP32Ed25519.Derivation(rawValue: vector.g.integer()))
      var bytes = vector.input.bytes
      bytes.withUnsafeMutableBytes { derivation.truncate($0) }
      #expect(Hex(bytes) == vector.output.hex)
    }
  }

  @Test func `every key of both derivations is that of the vectors, with its address`() throws {
    #expect(upstream.khovratovich_g32.array.count == 13)
    #expect(upstream.peikert_g9.array.count == 11)
    for (tree, leaves) in [(khovratovich, upstream.khovratovich_g32.array), (peikert, upstream.peikert_g9.array)] {
      for leaf in leaves {
        let context: BIP32Ed25519.Context = leaf.context.text == "Address" ? .address : .identity
        let key = try tree.key(
          context, account: leaf.account.integer(), change: leaf.change.integer(), index: leaf.keyIndex.integer())
        #expect(Hex(key.publicKey) == leaf.publicKey.hex)
        #expect(key.node.revealed == leaf.privateExtended.hex)
        #expect(AlgorandAddress(publicKey: key.publicKey).text == leaf.address.text)
      }
    }
  }

  @Test func `the default key is that of the first Algorand account`() throws {
    let vector = computed.challengeSignature
    let key = try peikert.key()
    #expect(Hex(key.publicKey) == vector.publicKey.hex)
    #expect(AlgorandAddress(publicKey: key.publicKey).text == vector.address.text)
    let signature = try key.signature(for: vector.challenge.bytes)
    #expect(Hex(signature) == vector.signature.hex)
    #expect(Ed25519.isValidSignature(signature, for: vector.challenge.bytes, publicKey: key.publicKey))
  }

  // Holds: CTAP2-8
  /// Flips bits of kL, one at a time, in the memory of the key.
  ///
  /// A changed kR gives a valid signature with another nonce.
  @Test func `a memory fault gives no signature`() throws {
    let key = try peikert.key()
    let good = try key.signature(for: [1])
    for bit in stride(from: 0, to: 256, by: 3) {
      key.node.withFlippedBit(bit) {
        #expect(throws: CryptoError.faultySignature, "bit \(bit)") { try key.signature(for: [1]) }
      }
    }
    #expect(try key.signature(for: [1]) == good)
  }

  @Test func `the transaction of the vectors gets their signature`() throws {
    let key = try khovratovich.key()
    let message = upstream.transaction.prefixEncodedTxBase64.base64
    #expect(AlgorandAddress(publicKey: key.publicKey).text == upstream.transaction.address.text)
    #expect(Hex(try key.signature(for: message)) == upstream.transaction.signature_computed.hex)
    #expect(
      Ed25519.isValidSignature(upstream.transaction.signature_computed.bytes, for: message, publicKey: key.publicKey))
  }

  // Holds: PEERKEY-2
  @Test func `the example app's phrase gives its address`() throws {
    let vector = computed.exampleApp
    let key = try BIP32Ed25519(root: BIP32Ed25519.root(from: BIP39Phrase(vector.phrase.text))).key()
    #expect(Hex(key.publicKey) == vector.publicKey.hex)
    #expect(AlgorandAddress(publicKey: key.publicKey).text == vector.address.text)
  }

  // Holds: PEERKEY-6
  @Test func `soft children are derived from the public node alone`() throws {
    let vector = computed.publicDerivation_g9
    let path = [44, 283, 0].map(BIP32Ed25519.hardened) + [0]
    let parent = try peikert.key(at: path)
    #expect(Hex(parent.publicNode.publicKey) == vector.parentPublic.hex)
    #expect(Hex(parent.publicNode.chainCode) == vector.parentChainCode.hex)
    #expect(vector.children.array.count == 3)
    for child in vector.children.array {
      let derived = try parent.publicNode.child(child.index.integer())
      #expect(Hex(derived.publicKey) == child.publicKey.hex)
      #expect(Hex(derived.chainCode) == child.chainCode.hex)
      #expect(try parent.child(child.index.integer()).publicNode == derived)
    }
    for tree in [peikert, khovratovich] {
      for index: UInt32 in [3, 255, 256, 65_536, 1 << 31 - 1] {
        #expect(try tree.root.publicNode.child(index) == tree.root.child(index).publicNode)
      }
    }
  }

  // Holds: PEERKEY-6
  @Test(arguments: [1 << 31, 1 << 31 + 1, .max] as [UInt32])
  func `a hardened child cannot be derived from the public node`(_ index: UInt32) throws {
    #expect(throws: DeterministicKeysError.hardenedIndex) { try peikert.root.publicNode.child(index) }
    #expect(try peikert.root.child(index).publicKey.count == 32)
  }

  // Holds: PEERKEY-6
  @Test func `a soft index has four bytes`() throws {
    let vector = computed.largeIndex.correct
    let key = try peikert.key(index: vector.keyIndex.integer())
    #expect(Hex(key.publicKey) == vector.publicKey.hex)
    #expect(AlgorandAddress(publicKey: key.publicKey).text == vector.address.text)
    #expect(try key.publicKey != peikert.key(index: 0).publicKey)
  }

  @Test func `a path refuses numbers from 2^31 on`() {
    #expect(throws: DeterministicKeysError.indexOutOfRange) { try peikert.key(account: 1 << 31) }
    #expect(throws: DeterministicKeysError.indexOutOfRange) { try peikert.key(change: 1 << 31) }
    #expect(throws: DeterministicKeysError.indexOutOfRange) { try peikert.key(index: .max) }
  }

  @Test func `hardening sets the highest bit`() {
    #expect(upstream.harden.members.count == 4)
    for (number, hardened) in upstream.harden.members {
      #expect(UInt32(number).map(BIP32Ed25519.hardened) == hardened.integer())
    }
  }

  @Test func `24 levels are derived, and the 25th overflows`() throws {
    let path = [44, 283, 0].map(BIP32Ed25519.hardened) + [0, 0]
    let deepest = try peikert.key(at: path + Array(repeating: 0, count: 19))
    #expect(throws: DeterministicKeysError.keyOverflow) { try deepest.child(0) }
    #expect(try khovratovich.key(at: path + Array(repeating: 0, count: 40)).publicKey.count == 32)
  }

  /// (a + b) mod 2^256, little-endian.
  private func sum(_ a: ArraySlice<UInt8>, _ b: ArraySlice<UInt8>) -> [UInt8] {
    var carry = 0
    return zip(a, b).map { a, b in
      carry += Int(a) + Int(b)
      defer { carry >>= 8 }
      return UInt8(carry & 0xff)
    }
  }
}
