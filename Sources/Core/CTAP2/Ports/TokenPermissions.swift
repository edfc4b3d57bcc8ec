/// The permissions of a pinUvAuthToken: CTAP §6.5.5.7.
public struct TokenPermissions: OptionSet, Hashable, Sendable {
  /// The bits of the `permissions` member.
  public let rawValue: UInt64

  /// Takes the bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// mc: authenticatorMakeCredential.
  public static let makeCredential = Self(rawValue: 0x01)
  /// ga: authenticatorGetAssertion.
  public static let getAssertion = Self(rawValue: 0x02)
  /// cm: authenticatorCredentialManagement.
  public static let credentialManagement = Self(rawValue: 0x04)
  /// lbw: writing with authenticatorLargeBlobs.
  public static let largeBlobWrite = Self(rawValue: 0x10)
  /// acfg: authenticatorConfig.
  public static let authenticatorConfiguration = Self(rawValue: 0x20)
  /// pcmr: reading with authenticatorCredentialManagement, by a token that lasts until another PIN is set or the
  /// owner ends it.
  public static let persistentCredentialManagementReadOnly = Self(rawValue: 0x40)

  /// The permissions of a token that was requested without any: CTAP §6.5.5.7.1.
  static let ofLegacyToken: Self = [.makeCredential, .getAssertion]
  /// The permissions that require a relying party.
  static let needingRPID: Self = [.makeCredential, .getAssertion]
}
