import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors

@testable import PasskeyFiles

/// Keys and files for the tests, made here and by no other program.
enum Sample {
  /// A scalar of P-256 and a seed of Ed25519.
  static let secret = [UInt8](repeating: 0x42, count: 32)
  static var point: [UInt8] { get throws { try P256.PrivateKey(scalar: Hex(secret).secret).publicKey.raw } }

  static func tlv(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length: [UInt8] =
      content.count < 0x80
      ? [UInt8(content.count)]
      : content.count < 0x100 ? [0x81, UInt8(content.count)] : [0x82] + UInt16(content.count).bigEndianBytes
    return [tag] + length + content
  }

  static let p256: [UInt8] = [0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
  static let ecPublicKey: [UInt8] = [0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]

  /// PKCS #8 with this algorithm and content, and what follows them.
  static func info(_ algorithm: [UInt8], _ key: [UInt8], version: UInt8 = 0, end: [UInt8] = []) -> [UInt8] {
    tlv(0x30, [2, 1, version] + tlv(0x30, algorithm) + tlv(4, key) + end)
  }

  static func ecKey(_ scalar: [UInt8], end: [UInt8] = []) -> [UInt8] { tlv(0x30, [2, 1, 1] + tlv(4, scalar) + end) }

  /// A private key of P-256 as OpenSSL writes it, with the public key.
  static var der: [UInt8] {
    get throws { info(ecPublicKey + p256, ecKey(secret, end: tlv(0xA1, tlv(3, try [0, 4] + point)))) }
  }

  static func pem(_ der: [UInt8], lineEnd: String = "\n") -> String {
    var base64 = Base64URL.encode(der).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    base64 += [Character](repeating: "=", count: (3 - der.count % 3) % 3)
    let lines = stride(from: 0, to: base64.count, by: 64).map { String(base64[$0..<min($0 + 64, base64.count)]) }
    return (["-----BEGIN PRIVATE KEY-----"] + lines + ["-----END PRIVATE KEY-----", ""]).joined(separator: lineEnd)
  }

  static var pem: String { get throws { try pem(der) } }
  static var key: String { get throws { try Base64URL.encode(der) } }
  static let now: UInt64 = 1_800_000_000_000

  static func file(_ text: String) throws(PasskeyFileError) -> PasskeyFile {
    try PasskeyFile(Array(text.utf8), now: now)
  }

  /// The records that an import of the file stores, in the order of the file.
  static func records(_ file: PasskeyFile) throws -> [CredentialSource] {
    let keys = try KeysAndRecovery.keys()
    let store = InMemoryCredentialStore(keys: keys)
    let outcomes = try PasskeyImport(list: file.list.encoded, keys: keys).run(on: store, keys: keys, now: 9)
    precondition(outcomes.allSatisfy { $0 == .added })
    return try store.allCredentials().reversed()
  }

  /// The record of a passkey of this key.
  static func record(
    rpID: String = "example.com", userID: [UInt8] = [1, 2], name: String? = "alice", displayName: String? = nil,
    id: [UInt8], created: UInt64 = now, policy: UInt8 = 1, credBlob: [UInt8]? = nil, algorithm: COSEAlgorithm = .es256,
    key: [UInt8] = secret, credRandoms: [UInt8]? = nil
  ) -> CredentialSource? {
    CredentialSource(
      rpID: rpID, userID: userID, name: name, displayName: displayName, id: id, algorithm: algorithm, counter: 0,
      policy: CredentialPolicy(byte: policy).unsafelyUnwrapped, created: created, changed: 9, origin: .imported,
      credBlob: credBlob, importedKey: Hex(key).secret, credRandoms: credRandoms.map { Hex($0).secret })
  }
}
