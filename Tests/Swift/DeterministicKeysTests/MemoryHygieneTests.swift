import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

/// Released secrets leave no copy in memory, on a stack or on the heap of a library.
@Suite(.serialized) struct MemoryHygieneTests {
  /// A use of random secrets as in the products.
  enum Use: String, CaseIterable {
    case secretBytes, scratch, phrase, mainKey, ed25519Root, p256, ed25519, accountKey, algorandMnemonic, sealedBox,
      argon2id,
      hash

    func run(_ scan: MemoryScan) throws {
      switch self {
      case .secretBytes: Self.secretBytes(scan)
      case .scratch: Self.scratch(scan)
      case .phrase: try Self.phrase(scan)
      case .mainKey: try Self.mainKey(scan)
      case .ed25519Root: scan.remember(try BIP32Ed25519.root(from: .generate()))
      case .p256: try Self.p256(scan)
      case .ed25519: try Self.ed25519(scan)
      case .accountKey: try Self.accountKey(scan)
      case .algorandMnemonic: try Self.algorandMnemonic(scan)
      case .sealedBox: try Self.sealedBox(scan)
      case .argon2id: try Self.argon2id(scan)
      case .hash: Self.hash(scan)
      }
    }
  }

  @Test(arguments: Use.allCases) func `no copy of a released secret remains`(_ use: Use) throws {
    let scan = try MemoryScan()
    // A first run, because the dynamic linker saves registers on the stack at the first call of a function.
    try MemoryScan().run(use.run)
    try scan.run(use.run)
    #expect(try scan.copies() == 0)
  }

  @Test func `the scan finds each copy of a secret`() throws {
    let scan = try MemoryScan()
    let secret = SecretBytes.random(count: 32)
    scan.remember(secret)
    #expect(try scan.copies() == 2)
    let onTheHeap = secret.revealed.bytes
    #expect(try scan.copies() >= 4)
    let backwards = Array(onTheHeap.reversed())
    #expect(try scan.copies() >= 6)
    withExtendedLifetime((secret, onTheHeap, backwards)) {}
  }
}

extension MemoryHygieneTests.Use {
  fileprivate static func secretBytes(_ scan: MemoryScan) {
    let secret = SecretBytes.random(count: 64)
    scan.remember(secret)
    let copy = secret.withUnsafeBytes { SecretBytes(copying: $0) }
    _ = copy.isEqual(to: secret)
  }

  fileprivate static func scratch(_ scan: MemoryScan) {
    let secret = SecretBytes.random(count: 256)
    scan.remember(secret)
    withWipedBytes(count: secret.count) { scratch in secret.withUnsafeBytes { scratch.copyMemory(from: $0) } }
  }

  fileprivate static func phrase(_ scan: MemoryScan) throws {
    let phrase = BIP39Phrase.generate()
    scan.remember(phrase.utf8)
    _ = try BIP39Phrase(parsing: phrase.utf8)
  }

  fileprivate static func mainKey(_ scan: MemoryScan) throws {
    let phrase = BIP39Phrase.generate(words: 12)
    scan.remember(phrase.utf8)
    let mainKey = try MainKey.derive(from: phrase)
    scan.remember(mainKey)
    scan.remember(Subkey.credentialKey.derive(from: mainKey))
    let scalar = try DeterministicP256.scalar(mainKey: mainKey, origin: [1], userHandle: [2], counter: 3)
    scan.remember(scalar)
    scan.remember(HMACSHA512.Key(scalar).deriveSecret([1], count: 32))
  }

  fileprivate static func p256(_ scan: MemoryScan) throws {
    let scalar = SecretBytes.random(count: 32)
    scan.remember(scalar)
    let key = try P256.PrivateKey(scalar: scalar)
    _ = try key.signature(for: [1, 2, 3])
    _ = key.publicKey
    scan.remember(try key.sharedSecret(with: P256.PrivateKey.random().publicKey))
  }

  fileprivate static func ed25519(_ scan: MemoryScan) throws {
    let seed = SecretBytes.random(count: 32)
    scan.remember(seed)
    _ = try Ed25519.PrivateKey(seed: seed).signature(for: [1, 2, 3])
  }

  fileprivate static func accountKey(_ scan: MemoryScan) throws {
    let root = BIP32Ed25519.root(fromSeed: .random(count: 64))
    scan.remember(root)
    let key = try BIP32Ed25519(root: root).key()
    scan.remember(key.node.withUnsafeBytes { SecretBytes(copying: .init(rebasing: $0[..<64])) })
    _ = try key.signature(for: [1, 2, 3])
  }

  fileprivate static func algorandMnemonic(_ scan: MemoryScan) throws {
    let seed = SecretBytes.random(count: 32)
    scan.remember(seed)
    let text = try AlgorandMnemonic.text(of: seed)
    scan.remember(text)
    _ = try AlgorandMnemonic.seed(parsing: text)
  }

  fileprivate static func sealedBox(_ scan: MemoryScan) throws {
    let (key, secret) = (SecretBytes.random(count: 32), SecretBytes.random(count: 160))
    scan.remember(key)
    scan.remember(secret)
    let nonce = randomBytes(24)
    let sealed = try XChaCha20Poly1305.sealSecret(secret, key: key, nonce: nonce, ad: [])
    _ = try XChaCha20Poly1305.openSecret(sealed, key: key, nonce: nonce, ad: [])
  }

  fileprivate static func argon2id(_ scan: MemoryScan) throws {
    let passphrase = SecretBytes.random(count: 32)
    scan.remember(passphrase)
    scan.remember(
      try Argon2id.derive(
        passphrase: passphrase, salt: randomBytes(16), opsLimit: 1, memLimit: 1 << 20, count: 32))
  }

  fileprivate static func hash(_ scan: MemoryScan) {
    let secret = SecretBytes.random(count: 48)
    scan.remember(secret)
    scan.remember(SHA512.deriveSecret(secret, [1], count: 64))
    scan.remember(HKDFSHA256.derive(key: secret, salt: [1], info: [2], count: 80))
    scan.remember(HMACSHA512.Key(secret).deriveSecret([1], count: 32))
    _ = HMACSHA256.authenticate([1], key: secret)
  }
}
