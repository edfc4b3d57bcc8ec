public import CBOR
import CryptoPrimitives
public import Recovery

/// The data about a ceremony that a credential signs: WebAuthn §6.1.
public struct AuthenticatorData: Sendable, Equatable {
  /// The flags, one byte: WebAuthn §6.1.
  public struct Flags: OptionSet, Hashable, Sendable {
    /// The byte as on the wire.
    public let rawValue: UInt8
    /// Takes the byte as on the wire.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// UP: the user was present.
    public static let userPresent = Flags(rawValue: 1 << 0)
    /// UV: the user was verified.
    public static let userVerified = Flags(rawValue: 1 << 2)
    /// BE: the credential may exist on several machines.
    public static let backupEligible = Flags(rawValue: 1 << 3)
    /// BS: the credential can be recovered.
    public static let backupState = Flags(rawValue: 1 << 4)
    /// AT: attested credential data follow.
    public static let attestedCredentialData = Flags(rawValue: 1 << 6)
    /// ED: extension outputs follow.
    public static let extensionData = Flags(rawValue: 1 << 7)
  }

  /// SHA-256 of rp.id.
  public var rpIDHash: RPIDHash
  /// UP and UV of the ceremony, BE and BS of the credential; AT and ED follow from the members below.
  public var flags: Flags
  /// The signature counter.
  public var signCount: UInt32
  /// The new credential; in makeCredential only.
  public var attestedCredentialData: AttestedCredentialData?
  /// The outputs of the extensions; empty when none has one.
  public var extensions: CBORMap

  /// Makes authenticator data; AT and ED are set if there is content for them.
  public init(
    rpIDHash: RPIDHash, flags: Flags, signCount: UInt32, attestedCredentialData: AttestedCredentialData? = nil,
    extensions: CBORMap = CBORMap()
  ) {
    self.rpIDHash = rpIDHash
    self.flags = flags.subtracting([.attestedCredentialData, .extensionData])
    if attestedCredentialData != nil { self.flags.insert(.attestedCredentialData) }
    if !extensions.isEmpty { self.flags.insert(.extensionData) }
    self.signCount = signCount
    self.attestedCredentialData = attestedCredentialData
    self.extensions = extensions
  }

  /// rpIdHash (32) ‖ flags (1) ‖ signCount (BE32) ‖ attested credential data? ‖ extensions?; 37 bytes at least.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(37)
    bytes += rpIDHash.bytes
    bytes.append(flags.rawValue)
    withUnsafeBytes(of: signCount.bigEndian) { bytes += $0 }
    if let attestedCredentialData { bytes += attestedCredentialData.bytes }
    if !extensions.isEmpty { bytes += CBOREncoder.encode(.map(extensions)) }
    return bytes
  }
}

/// A new credential inside authenticator data: WebAuthn §6.5.1.
public struct AttestedCredentialData: Sendable, Equatable {
  /// The model of the authenticator.
  public var aaguid: AAGUID
  /// The credential id, at most 65 535 bytes; this authenticator's have 32 or 127.
  public var credentialID: [UInt8]
  /// The public key.
  public var publicKey: COSEKey

  public init(aaguid: AAGUID, credentialID: [UInt8], publicKey: COSEKey) {
    self.aaguid = aaguid
    self.credentialID = credentialID
    self.publicKey = publicKey
  }

  /// aaguid (16) ‖ BE16 of the id's length ‖ credential id ‖ COSE key.
  public var bytes: [UInt8] {
    let length = UInt16(truncatingIfNeeded: credentialID.count)
    return aaguid.bytes + [UInt8(length >> 8), UInt8(length & 0xFF)] + credentialID + publicKey.bytes
  }
}

/// The model of an authenticator, 16 bytes: WebAuthn §6.5.1.
public struct AAGUID: Hashable, Sendable {
  /// The 16 bytes of the UUID, in the order in which it is written.
  public let bytes: [UInt8]

  /// Liquid Auth for Linux, on every machine and in every version: 83e27e5d-962b-474d-be2c-9c194dd147a9.
  ///
  /// Chosen at random once. It identifies the model, never the user: every installation has the same.
  public static let liquidAuth = AAGUID(bytes: [
    0x83, 0xe2, 0x7e, 0x5d, 0x96, 0x2b, 0x47, 0x4d, 0xbe, 0x2c, 0x9c, 0x19, 0x4d, 0xd1, 0x47, 0xa9,
  ])
}

/// A public key in COSE form: RFC 9053 §7, with the members that WebAuthn §6.5.1.1 requires and no others.
public struct COSEKey: Hashable, Sendable {
  /// The key itself.
  public var publicKey: CredentialPublicKey

  /// Wraps a public key.
  public init(_ publicKey: CredentialPublicKey) { self.publicKey = publicKey }

  /// `{1: kty, 3: alg, -1: crv, -2: x, -3: y?}`.
  public var map: CBORMap {
    let algorithm = CBORValue(publicKey.algorithm.rawValue)
    return switch publicKey {
    case .es256(let point): [1: 2, 3: algorithm, -1: 1, -2: .bytes(point.x), -3: .bytes(point.y)]
    case .edDSA(let key): [1: 1, 3: algorithm, -1: 6, -2: .bytes(key)]
    }
  }

  /// The map's encoding: 77 bytes for ES256, 42 for EdDSA.
  public var bytes: [UInt8] { CBOREncoder.encode(.map(map)) }
}

extension COSEKey {
  /// The length of a key's one encoding, in bytes.
  static func encodedLength(_ algorithm: COSEAlgorithm) -> Int {
    switch algorithm {
    case .es256: 77
    case .edDSA: 42
    }
  }

  /// Reads a key: the members that its algorithm has, and no others.
  ///
  /// - Throws: ``/CBOR/CBORError/invalid(_:)`` for another key, or a point that is not on the curve.
  public init(_ map: CBORMap) throws(CBORError) {
    let x = try map.requiredBytes(-2)
    let publicKey: CredentialPublicKey
    switch COSEAlgorithm(rawValue: try map.requiredInt(3)) {
    case .es256:
      guard let point = try? P256.PublicKey(x: x, y: try map.requiredBytes(-3)) else {
        throw .invalid("not a point of P-256")
      }
      publicKey = .es256(point)
    case .edDSA:
      guard x.count == 32 else { throw .invalid("an Ed25519 key of \(x.count) bytes") }
      publicKey = .edDSA(x)
    case nil: throw .invalid("a key of an algorithm that is not supported")
    }
    self.init(publicKey)
    guard self.map == map else { throw .invalid("a key whose members do not match its algorithm") }
  }
}
