import CryptoPrimitives
import Recovery

/// A pinUvAuthToken in use: CTAP §6.5.2.1.
///
/// It is in locked memory only, and lasts at most until the device is replugged or the vault is locked. There is one at a
/// time: a new token ends it.
struct PINUVAuthToken: Sendable {
  /// How long a token can wait for its first use.
  static let firstUse = Duration.seconds(30)
  /// How long a token can be used in all.
  static let lifetime = Duration.seconds(600)
  /// How long the user presence of a token's dialog counts.
  static let presence = Duration.seconds(30)

  let version: PINUVAuthProtocol
  /// The unlocking of the vault during which it was issued; it is invalid in any other.
  let unlocking: Unlocking
  private let kept: Unlocking.Secret
  /// 32 bytes, in both protocols; `nil` once the vault is locked, and after another token.
  var secret: SecretBytes? { kept.bytes }
  /// The permissions that are left.
  private(set) var permissions: TokenPermissions
  /// The relying party that the token is bound to, from the start or by its first use.
  private(set) var rpID: String?
  private var isPresenceFresh: Bool
  private var isPersonVerified = true
  private let issued: Duration
  private var isUsed = false

  /// beginUsingPinUvAuthToken(userIsPresent).
  init(
    version: PINUVAuthProtocol, permissions: TokenPermissions, rpID: String?, userPresent: Bool,
    unlocking: Unlocking, now: Duration
  ) {
    self.version = version
    self.unlocking = unlocking
    self.permissions = permissions
    self.rpID = rpID
    isPresenceFresh = userPresent
    issued = now
    kept = unlocking.keep(.random(count: 32))
  }

  /// Whether the usage timer still runs.
  func isInUse(at now: Duration) -> Bool {
    now - issued <= (isUsed ? Self.lifetime : Self.firstUse)
  }

  /// getUserPresentFlagValue().
  func userPresent(at now: Duration) -> Bool { isPresenceFresh && now - issued <= Self.presence }

  /// getUserVerifiedFlagValue().
  var userVerified: Bool { isPersonVerified }

  /// Checks a pinUvAuthParam and the token's permissions.
  ///
  /// - Throws: `pinAuthInvalid` if the token does not match.
  mutating func authorize(
    _ param: [UInt8], over message: [UInt8], for permission: TokenPermissions
  ) throws(CTAPError) {
    guard let secret, version.isAuthentic(param, over: message, key: secret) else {
      throw CTAPError(.pinAuthInvalid, "pinUvAuthParam does not match the token")
    }
    isUsed = true
    guard permissions.isSuperset(of: permission) else {
      throw CTAPError(.pinAuthInvalid, "the token does not permit this")
    }
  }

  /// Binds the token to the relying party of its first use.
  ///
  /// - Throws: `pinAuthInvalid` if it is bound to another one.
  mutating func bind(to rpID: String) throws(CTAPError) {
    guard self.rpID == nil || self.rpID.hasSameBytes(as: rpID) else {
      throw CTAPError(.pinAuthInvalid, "the token is for another relying party")
    }
    self.rpID = rpID
  }

  /// Clears what a ceremony uses up: clearUserPresentFlag(), clearUserVerifiedFlag(),
  /// clearPinUvAuthTokenPermissionsExceptLbw().
  mutating func useUp() {
    isPresenceFresh = false
    isPersonVerified = false
    permissions.formIntersection(.largeBlobWrite)
  }
}
