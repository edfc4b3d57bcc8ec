package import CryptoPrimitives
package import Recovery
package import TestVectors

/// `keys-and-recovery.json`: one phrase throughout.
///
/// The members that are not about credentials are read by the rooms that they are about.
package struct KeysAndRecovery: Decodable, Sendable {
  package let input: Input
  package let subkeys: [String: Hex]
  package let fingerprint: Hex
  package let credentials: [Case]
  package let idsThatMustNotOpen: [MustNotOpen]
  package let hmacSecretOutput: HMACSecretOutput
  package let rows: [Row]
  package let backup: Backup
  package let userIdText: [UserIDText]
  package let algorandAddressUserId: [AddressUserID]
  package let phoneCandidates: PhoneCandidates
  package let epochs: [[EpochEvent]]
  package let nextCounter: [NextCounter]
  package let live: [Live]
  package let merge: [Merge]

  private static let loaded = Result { try VectorFile("keys-and-recovery").decode(KeysAndRecovery.self) }

  package static func load() throws -> KeysAndRecovery { try loaded.get() }

  /// The keys of the phrase of the vectors.
  package static func keys() throws -> CredentialKeys { CredentialKeys(mainKey: try load().input.mainKey.secret) }

  package struct Input: Decodable, Sendable {
    package let mainKey: Hex
    package let ed25519Root: Hex
  }

  package struct Case: Decodable, Sendable, CustomStringConvertible {
    package let name: String
    package let kind: String
    package let algorithm: String
    package let rpId: String?
    package let rpIdHash: Hex
    package let userId: Hex
    package let counter: UInt32?
    package let salt: Hex?
    package let epoch: UInt16
    package let policy: Hex
    package let keyMessage: Hex?
    package let privateKey: Hex
    package let publicKey: Hex
    package let hashId: Hex?
    package let withHashId: Derived?
    package let sealed: Sealed?
    package let withSealedId: Derived?

    package var description: String { name }
  }

  package struct Sealed: Decodable, Sendable {
    package let plaintext: Hex
    package let associatedData: Hex
    package let nonce: Hex
    package let id: Hex
  }

  package struct Derived: Decodable, Sendable {
    package let rpTag: Hex
    package let accountTag: Hex
    package let credentialTag: Hex
    package let keyTag: Hex
    package let credRandomWithoutUV: Hex
    package let credRandomWithUV: Hex
    package let largeBlobKey: Hex
  }

  package struct MustNotOpen: Decodable, Sendable, CustomStringConvertible {
    package let why: String
    package let rpId: String
    package let id: Hex

    package var description: String { why }
  }

  package struct HMACSecretOutput: Decodable, Sendable {
    package let salt1: Hex
    package let outputWithoutUV: Hex
    package let outputWithUV: Hex
  }

  package struct Row: Decodable, Sendable {
    package let name: String
    package let associatedData: Hex
    package let nonce: Hex
    package let plaintext: Hex
    package let padded: Hex
    package let sealed: Hex
  }

  package struct Backup: Decodable, Sendable {
    package let associatedData: Hex
    package let nonce: Hex
    package let plaintext: Hex
    package let file: Hex
  }

  package struct UserIDText: Decodable, Sendable {
    package let userId: Hex
    package let text: String
  }

  package struct AddressUserID: Decodable, Sendable {
    package let userIdText: String
    package let address: Bool
  }

  package struct PhoneCandidates: Decodable, Sendable {
    package let rpId: String
    package let address: String
    package let ids: [String: Hex]
  }

  package struct EpochEvent: Decodable, Sendable {
    package let event: String
    package let idOrBackupEpoch: UInt16?
    package let epoch: UInt16
    package let floor: UInt16
  }

  package struct NextCounter: Decodable, Sendable, CustomStringConvertible {
    package let why: String
    package let epoch: UInt16
    package let known: UInt32?
    /// `nil` where the vectors say KEY_STORE_FULL.
    package let next: UInt32?

    enum CodingKeys: CodingKey { case why, epoch, known, next }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      why = try container.decode(String.self, forKey: .why)
      epoch = try container.decode(UInt16.self, forKey: .epoch)
      known = try container.decodeIfPresent(UInt32.self, forKey: .known)
      let isFull = try? container.decode(String.self, forKey: .next) == "KEY_STORE_FULL"
      next = isFull == true ? nil : try container.decode(UInt32.self, forKey: .next)
    }

    package var description: String { why }
  }

  package struct Live: Decodable, Sendable, CustomStringConvertible {
    package let why: String
    package let floor: UInt16
    package let idEpoch: UInt16
    package let kind: String
    package let counter: UInt32?
    package let known: UInt32?
    package let deleted: Bool?
    package let live: Bool

    package var description: String { why }
  }

  package struct Merge: Decodable, Sendable, CustomStringConvertible {
    package struct Entry: Decodable, Sendable {
      package let counter: UInt32
      package let changedAt: UInt64
      package let deleted: Bool
      package let plaintext: Hex
    }

    package let why: String
    package let entries: [Entry]
    package let winner: Int

    package var description: String { why }
  }
}

extension KeysAndRecovery.Case {
  /// The case in our own terms.
  package var parameters: CredentialParameters? {
    guard let algorithm: COSEAlgorithm = ["ES256": .es256, "EdDSA": .edDSA][algorithm],
      let policy = CredentialPolicy(byte: policy.bytes[0])
    else { return nil }
    return switch (kind, counter, salt) {
    case ("discoverable", let counter?, nil):
      .discoverable(userID: userId.bytes, counter: counter, algorithm: algorithm, policy: policy)
    case ("non-discoverable", nil, let salt?):
      .nonDiscoverable(userID: userId.bytes, salt: salt.bytes, epoch: epoch, algorithm: algorithm, policy: policy)
    case ("u2f", nil, let salt?):
      .u2f(salt: salt.bytes, epoch: epoch)
    default: nil
    }
  }
}

extension Hex {
  /// The bytes where they are taken as a secret.
  package var secret: SecretBytes { bytes.withUnsafeBytes(SecretBytes.init(copying:)) }
}

extension SecretBytes {
  /// The bytes of a secret that the vectors publish.
  package var hex: Hex { withUnsafeBytes { Hex($0) } }
}
