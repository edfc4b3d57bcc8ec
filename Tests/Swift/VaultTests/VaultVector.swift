import CryptoPrimitives
import TestVectors
import Vault

/// The member `vault` of `keys-and-recovery.json`.
enum VaultVector {
  static func load() throws -> Vector { try Vector("keys-and-recovery").vault }

  /// The members of the payload, cut out by their offsets.
  static func content() throws -> VaultContent {
    let bytes = try load().payload.bytes
    return try VaultContent(
      mainKey: secret(bytes[4..<68]), ed25519Root: secret(bytes[71..<167]), storeID: Array(bytes[169..<185]),
      created: bytes[187...].reduce(0) { $0 << 8 | UInt64($1) })
  }
}

/// A generator that returns given bytes, eight per draw.
struct ScriptedGenerator: RandomNumberGenerator {
  private var bytes: [UInt8]

  init(_ parts: [UInt8]...) { bytes = parts.flatMap { $0 } }

  mutating func next() -> UInt64 {
    defer { bytes.removeFirst(8) }
    return bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

func secret(_ bytes: some Sequence<UInt8>) -> SecretBytes {
  var copy = Array(bytes)
  return SecretBytes(consuming: &copy)
}

func secret(_ text: String) -> SecretBytes { secret(text.utf8) }

func hex(_ secret: SecretBytes) -> Hex { secret.withUnsafeBytes { Hex($0) } }
