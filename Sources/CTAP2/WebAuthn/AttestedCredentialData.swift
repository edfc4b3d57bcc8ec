/// A new credential inside authenticator data: WebAuthn §6.5.1.
public struct AttestedCredentialData: Sendable, Equatable {
  /// The model of the authenticator.
  public var aaguid: AAGUID
  /// The credential id, at most 65 535 bytes; ours have 32 or 127.
  public var credentialID: [UInt8]
  /// The public key.
  public var publicKey: COSEKey

  /// Joins the three.
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
