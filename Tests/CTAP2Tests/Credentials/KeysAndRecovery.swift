import CTAP2
import CryptoPrimitives
import TestVectors
import Testing

/// `keys-and-recovery.json`: one phrase throughout.
///
/// The members that are not about credentials are read by the rooms that they are about.
struct KeysAndRecovery: Decodable, Sendable {
  let input: Input
  let subkeys: [String: Hex]
  let fingerprint: Hex
  let credentials: [Case]
  let idsThatMustNotOpen: [MustNotOpen]
  let hmacSecretOutput: HMACSecretOutput
  let rows: [Row]
  let backup: Backup
  let userIdText: [UserIDText]
  let algorandAddressUserId: [AddressUserID]
  let phoneCandidates: PhoneCandidates
  let epochs: [[EpochEvent]]
  let nextCounter: [NextCounter]
  let live: [Live]
  let merge: [Merge]

  private static let loaded = Result { try VectorFile("keys-and-recovery").decode(KeysAndRecovery.self) }

  static func load() throws -> KeysAndRecovery { try loaded.get() }

  /// The keys of the phrase of the vectors.
  static func keys() throws -> CredentialKeys { CredentialKeys(mainKey: try load().input.mainKey.secret) }

  struct Input: Decodable, Sendable {
    let mainKey: Hex
    let ed25519Root: Hex
  }

  struct Case: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let kind: String
    let algorithm: String
    let rpId: String?
    let rpIdHash: Hex
    let userId: Hex
    let counter: UInt32?
    let salt: Hex?
    let epoch: UInt16
    let policy: Hex
    let keyMessage: Hex?
    let privateKey: Hex
    let publicKey: Hex
    let hashId: Hex?
    let withHashId: Derived?
    let sealed: Sealed?
    let withSealedId: Derived?

    var testDescription: String { name }
  }

  struct Sealed: Decodable, Sendable {
    let plaintext: Hex
    let associatedData: Hex
    let nonce: Hex
    let id: Hex
  }

  struct Derived: Decodable, Sendable {
    let rpTag: Hex
    let accountTag: Hex
    let credentialTag: Hex
    let keyTag: Hex
    let credRandomWithoutUV: Hex
    let credRandomWithUV: Hex
    let largeBlobKey: Hex
  }

  struct MustNotOpen: Decodable, Sendable, CustomTestStringConvertible {
    let why: String
    let rpId: String
    let id: Hex

    var testDescription: String { why }
  }

  struct HMACSecretOutput: Decodable, Sendable {
    let salt1: Hex
    let outputWithoutUV: Hex
    let outputWithUV: Hex
  }

  struct Row: Decodable, Sendable {
    let name: String
    let associatedData: Hex
    let nonce: Hex
    let plaintext: Hex
    let padded: Hex
    let sealed: Hex
  }

  struct Backup: Decodable, Sendable {
    let associatedData: Hex
    let nonce: Hex
    let plaintext: Hex
    let file: Hex
  }

  struct UserIDText: Decodable, Sendable {
    let userId: Hex
    let text: String
  }

  struct AddressUserID: Decodable, Sendable {
    let userIdText: String
    let address: Bool
  }

  struct PhoneCandidates: Decodable, Sendable {
    let rpId: String
    let address: String
    let ids: [String: Hex]
  }

  struct EpochEvent: Decodable, Sendable {
    let event: String
    let idOrBackupEpoch: UInt16?
    let epoch: UInt16
    let floor: UInt16
  }

  struct NextCounter: Decodable, Sendable, CustomTestStringConvertible {
    let why: String
    let epoch: UInt16
    let known: UInt32?
    /// `nil` where the vectors say KEY_STORE_FULL.
    let next: UInt32?

    enum CodingKeys: CodingKey { case why, epoch, known, next }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      why = try container.decode(String.self, forKey: .why)
      epoch = try container.decode(UInt16.self, forKey: .epoch)
      known = try container.decodeIfPresent(UInt32.self, forKey: .known)
      let isFull = try? container.decode(String.self, forKey: .next) == "KEY_STORE_FULL"
      next = isFull == true ? nil : try container.decode(UInt32.self, forKey: .next)
    }

    var testDescription: String { why }
  }

  struct Live: Decodable, Sendable, CustomTestStringConvertible {
    let why: String
    let floor: UInt16
    let idEpoch: UInt16
    let kind: String
    let counter: UInt32?
    let known: UInt32?
    let deleted: Bool?
    let live: Bool

    var testDescription: String { why }
  }

  struct Merge: Decodable, Sendable, CustomTestStringConvertible {
    struct Entry: Decodable, Sendable {
      let counter: UInt32
      let changedAt: UInt64
      let deleted: Bool
      let plaintext: Hex
    }

    let why: String
    let entries: [Entry]
    let winner: Int

    var testDescription: String { why }
  }
}

extension KeysAndRecovery.Case {
  /// The case in our own terms.
  var parameters: CredentialParameters? {
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
  var secret: SecretBytes { bytes.withUnsafeBytes(SecretBytes.init(copying:)) }
}

extension SecretBytes {
  /// The bytes of a secret that the vectors publish.
  var hex: Hex { withUnsafeBytes { Hex($0) } }
}
