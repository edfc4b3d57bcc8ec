import CryptoPrimitives

/// A credential that this phrase can sign with, from recognition or registration.
public struct Credential: Sendable, Equatable {
  /// Where the credential was found.
  public enum Provenance: Sendable, Equatable {
    /// A row of the store, with its record.
    case record(CredentialSource)
    /// A sealed id that opened, without a row.
    case sealedID
    /// A 32-byte id that is the hash of one of the user's own keys, without a row.
    case hashID
    /// A 32-byte id that a phone wallet made for an account of this vault: never stored, and the answer has no user.
    case phone
    /// An id of a Trezor with the same phrase (SLIP-0022): never stored.
    case slip22
  }

  /// The id as the relying party has it.
  public let id: [UInt8]
  /// The relying party, as the request names it.
  public let rpID: String
  /// The parameters from which the private key is derived.
  public let parameters: CredentialParameters
  /// Where the credential was found.
  public let provenance: Provenance
  /// SHA-256 of the relying party's id.
  public let rpIDHash: RPIDHash
  /// The private key, if making or recognising the credential derived it.
  let derivedKey: CredentialPrivateKey?
  /// CredRandom of hmac-secret, for an id of SLIP-0022.
  var slip22CredRandom: SecretBytes?

  /// The credential of a record.
  public init(record: CredentialSource) { self.init(record: record, derivedKey: nil) }

  init(record: CredentialSource, rpIDHash: RPIDHash? = nil, derivedKey: CredentialPrivateKey?) {
    self.init(
      id: record.id, rpID: record.rpID, parameters: record.parameters, provenance: .record(record), rpIDHash: rpIDHash,
      derivedKey: derivedKey)
  }

  /// - Parameters:
  ///   - rpIDHash: the hash of `rpID`, if it is known.
  ///   - derivedKey: the private key of `parameters`, if it is known.
  package init(
    id: [UInt8], rpID: String, parameters: CredentialParameters, provenance: Provenance, rpIDHash: RPIDHash? = nil,
    derivedKey: CredentialPrivateKey? = nil
  ) {
    self.id = id
    self.rpID = rpID
    self.parameters = parameters
    self.provenance = provenance
    self.rpIDHash = rpIDHash ?? RPIDHash(rpID: rpID)
    self.derivedKey = derivedKey
  }

  /// Discoverable, non-discoverable or U2F.
  public var kind: CredentialKind { parameters.kind }

  /// Whether its private key was imported, and is not derived.
  public var isImported: Bool { record?.isDerivable == false }

  /// The algorithm of the key.
  public var algorithm: COSEAlgorithm { parameters.algorithm }

  /// The policy, agreed at registration or set by the owner since.
  public var policy: CredentialPolicy { parameters.policy }

  /// The record, when the credential has a row.
  public var record: CredentialSource? {
    if case .record(let source) = provenance { source } else { nil }
  }

  /// The `id` of the answer's `user`: kind 1 only, and none for a phone wallet's id (Recovery §8).
  public var userHandle: [UInt8]? { kind == .discoverable && provenance != .phone ? parameters.userID : nil }

  /// Equal in every byte.
  public static func == (a: Self, b: Self) -> Bool {
    a.id == b.id && a.rpID.utf8.elementsEqual(b.rpID.utf8) && a.parameters == b.parameters
      && a.provenance == b.provenance
  }
}

/// SHA-256 of an rp.id as it was received: no case folding, no normalisation, no truncation.
///
/// It is the beginning of all authenticator data (WebAuthn §6.1) and part of every tag, seal and derived secret
/// (Recovery §2–6).
public struct RPIDHash: Hashable, Sendable {
  /// The 32 bytes.
  public let bytes: [UInt8]

  /// Hashes the UTF-8 of an rp.id.
  public init(rpID: String) {
    bytes = SHA256.hash(Array(rpID.utf8))
  }

  /// Takes a hash that came from outside, such as U2F's application parameter; `nil` unless it has 32 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }
}
