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

  public static let saltSize = 32
  static let maximumCredentialIDSize = 1024

  public init(credentialID: [UInt8], salt: [UInt8], hasPIN: Bool, autoUnlock: Bool) {
    (self.credentialID, self.salt, self.hasPIN) = (credentialID, salt, hasPIN)
    self.autoUnlock = autoUnlock && !hasPIN
  }

  /// `nil` if the members are not those of such a slot.
  init?(_ members: CBORMap) throws(CBORError) {
    let (credentialID, salt) = (try members.requiredBytes(2), try members.requiredBytes(7))
    let (autoUnlock, hasPIN) = (try members.requiredBool(3), try members.requiredBool(4))
    guard members.count == 5, salt.count == Self.saltSize, 1...Self.maximumCredentialIDSize ~= credentialID.count,
      !(autoUnlock && hasPIN)
    else { return nil }
    self.init(credentialID: credentialID, salt: salt, hasPIN: hasPIN, autoUnlock: autoUnlock)
  }

  /// The members of the slot, without nonce and sealed key.
  var members: CBORMap {
    [1: 3, 2: .bytes(credentialID), 3: .bool(autoUnlock), 4: .bool(hasPIN), 7: .bytes(salt)]
  }

  /// `PIN (00 or 01) ‖ salt (32) ‖ credential id`.
  var publicData: [UInt8] { [hasPIN ? 1 : 0] + salt + credentialID }
}
