public import CBOR
public import Recovery

/// What an authenticator says about a ceremony, and signs: WebAuthn §6.1.
public struct AuthenticatorData: Sendable, Equatable {
  /// The flags, one byte: WebAuthn §6.1.
  public struct Flags: OptionSet, Hashable, Sendable {
    /// The byte as it stands on the wire.
    public let rawValue: UInt8
    /// Takes the byte as it stands on the wire.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// UP: a person was present.
    public static let userPresent = Flags(rawValue: 1 << 0)
    /// UV: that person was verified.
    public static let userVerified = Flags(rawValue: 1 << 2)
    /// BE: the credential may exist on several machines.
    public static let backupEligible = Flags(rawValue: 1 << 3)
    /// BS: the credential can be brought back.
    public static let backupState = Flags(rawValue: 1 << 4)
    /// AT: attested credential data follow.
    public static let attestedCredentialData = Flags(rawValue: 1 << 6)
    /// ED: extension outputs follow.
    public static let extensionData = Flags(rawValue: 1 << 7)
  }

  /// SHA-256 of rp.id.
  public var rpIDHash: RPIDHash
  /// UP and UV as they happened, BE and BS of the credential; AT and ED follow from the members below.
  public var flags: Flags
  /// The signature counter.
  public var signCount: UInt32
  /// The new credential; in makeCredential only.
  public var attestedCredentialData: AttestedCredentialData?
  /// The outputs of the extensions; empty when none has one.
  public var extensions: CBORMap

  /// Makes authenticator data; AT and ED need not be given.
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
    var bytes = rpIDHash.bytes
    bytes.append(flags.rawValue)
    withUnsafeBytes(of: signCount.bigEndian) { bytes += $0 }
    if let attestedCredentialData { bytes += attestedCredentialData.bytes }
    if !extensions.isEmpty { bytes += CBOREncoder.encode(.map(extensions)) }
    return bytes
  }
}
