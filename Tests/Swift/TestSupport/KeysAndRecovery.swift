package import CryptoPrimitives
package import Recovery
package import TestVectors

/// The vectors in `keys-and-recovery.json`, all from one phrase.
package enum KeysAndRecovery {
  package static func load() throws -> Vector { try Vector("keys-and-recovery") }

  /// The keys of the vectors' phrase.
  package static func keys() throws -> CredentialKeys { CredentialKeys(mainKey: try load().input.mainKey.hex.secret) }

  /// The parameters in an element of the member `credentials`; `nil` if it is malformed.
  package static func parameters(of vector: Vector) -> CredentialParameters? {
    guard let algorithm: COSEAlgorithm = ["ES256": .es256, "EdDSA": .edDSA][vector.algorithm.text],
      let policy = CredentialPolicy(byte: vector.policy.bytes[0])
    else { return nil }
    let (userID, epoch) = (vector.userId.bytes, vector.epoch.integer(UInt16.self))
    return switch (vector.kind.text, vector.counter.optional, vector.salt.optional) {
    case ("discoverable", let counter?, nil):
      .discoverable(userID: userID, counter: counter.integer(), algorithm: algorithm, policy: policy)
    case ("non-discoverable", nil, let salt?):
      .nonDiscoverable(userID: userID, salt: salt.bytes, epoch: epoch, algorithm: algorithm, policy: policy)
    case ("u2f", nil, let salt?):
      .u2f(salt: salt.bytes, epoch: epoch)
    default: nil
    }
  }
}

extension Hex {
  /// The bytes as a secret.
  package var secret: SecretBytes { bytes.withUnsafeBytes(SecretBytes.init(copying:)) }
}

extension SecretBytes {
  /// The bytes of a published secret, for comparison.
  package var hex: Hex { withUnsafeBytes { Hex($0) } }
}
