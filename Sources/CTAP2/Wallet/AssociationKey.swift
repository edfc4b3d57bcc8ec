public import CryptoPrimitives
import DeterministicKeys

/// The key of one user of Keyri's protocols: P-256, from the phrase and the user's public id alone (Recovery §3).
public struct AssociationKey: Sendable {
  private let key: P256.PrivateKey
  private let counts: SignatureCounts

  /// The public half.
  public var publicKey: P256.PublicKey { key.publicKey }

  /// `mac("keyri", attempt ‖ publicUserId)` for the first attempt that is a scalar of the curve.
  init(_ keys: CredentialKeys, publicUserID: String, counts: SignatureCounts) throws(CryptoError) {
    self.counts = counts
    for attempt in UInt8.min...UInt8.max {
      do {
        key = try P256.PrivateKey(scalar: keys.secret(.keyri, [attempt] + publicUserID.utf8))
        return
      } catch .scalarOutOfRange {
        continue
      }
    }
    // One in 2^8192.
    throw .scalarOutOfRange
  }

  /// ECDSA over SHA-256(data), in DER, and counts it; a person has seen the data and agreed.
  func signature(for data: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: data)
    counts.countAssociation()
    return signature
  }
}

extension OpenVault {
  /// The key of one user.
  public func associationKey(publicUserID: String) throws(CryptoError) -> AssociationKey {
    try AssociationKey(keys, publicUserID: publicUserID, counts: signatures)
  }
}
