import CBOR

/// A slot of type 3: a FIDO2 security key computes its key with hmac-secret, for a credential and a salt (Recovery §1).
public struct SecurityKeySlot: Hashable, Sendable {
  /// The id of the credential, 1 to ``maximumCredentialIDSize`` bytes.
  public let credentialID: [UInt8]
  /// The salt of hmac-secret, ``saltSize`` bytes.
  public let salt: [UInt8]
  /// Whether the security key verifies its PIN first; the key of the slot depends on it.
  public let hasPIN: Bool
  /// Whether the authenticator unlocks with this slot when it starts; never with a PIN, which needs a dialog.
  public let autoUnlock: Bool
  /// The public key of the credential, X ‖ Y (64 bytes); `nil` in a slot that an earlier version made.
  public let publicKey: [UInt8]?

  static let saltSize = 32
  static let publicKeySize = 64
  static let maximumCredentialIDSize = 1024

  public init(credentialID: [UInt8], salt: [UInt8], hasPIN: Bool, autoUnlock: Bool, publicKey: [UInt8]?) {
    (self.credentialID, self.salt, self.hasPIN, self.publicKey) = (credentialID, salt, hasPIN, publicKey)
    self.autoUnlock = autoUnlock && !hasPIN
  }

  /// Takes the public data of a new slot, as `liquid-auth-protector` made it; `nil` for another form, or without a
  /// public key.
  public init?(publicData: [UInt8], autoUnlock: Bool) {
    let (flags, rest) = (publicData.first, publicData.dropFirst())
    let id = rest.dropFirst(Self.saltSize + Self.publicKeySize)
    guard flags == Self.keyFlag || flags == Self.keyFlag | Self.pinFlag, 1...Self.maximumCredentialIDSize ~= id.count
    else { return nil }
    self.init(
      credentialID: Array(id), salt: Array(rest.prefix(Self.saltSize)), hasPIN: flags != Self.keyFlag,
      autoUnlock: autoUnlock, publicKey: Array(rest.dropFirst(Self.saltSize).prefix(Self.publicKeySize)))
  }

  /// `nil` if the members are not those of such a slot.
  init?(_ members: CBORMap) throws(CBORError) {
    let (credentialID, salt) = (try members.requiredBytes(2), try members.requiredBytes(7))
    let (autoUnlock, hasPIN) = (try members.requiredBool(3), try members.requiredBool(4))
    let publicKey = try members.optionalBytes(8)
    guard members.count == (publicKey == nil ? 5 : 6), publicKey.map({ $0.count == Self.publicKeySize }) ?? true,
      salt.count == Self.saltSize, 1...Self.maximumCredentialIDSize ~= credentialID.count,
      !(autoUnlock && hasPIN)
    else { return nil }
    self.init(
      credentialID: credentialID, salt: salt, hasPIN: hasPIN, autoUnlock: autoUnlock, publicKey: publicKey)
  }

  /// The members of the slot, without nonce and sealed key.
  var members: CBORMap {
    var members: CBORMap = [
      1: 3, 2: .bytes(credentialID), 3: .bool(autoUnlock), 4: .bool(hasPIN), 7: .bytes(salt),
    ]
    members[8] = publicKey.map(CBORValue.bytes)
    return members
  }

  private static let pinFlag: UInt8 = 1
  private static let keyFlag: UInt8 = 2

  /// `flags ‖ salt (32) ‖ X ‖ Y (64), if bit 1 of the flags is set ‖ credential id`; bit 0 means a PIN.
  var publicData: [UInt8] {
    [(hasPIN ? Self.pinFlag : 0) | (publicKey == nil ? 0 : Self.keyFlag)] + salt + (publicKey ?? []) + credentialID
  }

  /// The same slot with another public key.
  func with(publicKey: [UInt8]?) -> SecurityKeySlot {
    SecurityKeySlot(
      credentialID: credentialID, salt: salt, hasPIN: hasPIN, autoUnlock: autoUnlock, publicKey: publicKey)
  }
}
