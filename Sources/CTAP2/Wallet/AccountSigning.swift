import CryptoPrimitives
import DeterministicKeys
import Recovery

// What an Algorand account and an association key sign: counted where it is made, and never without a consent.

extension AlgorandAccount {
  /// Signs with the account's key (64 bytes) what the person was asked for, and counts it.
  func signature(for message: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: message)
    counts.countAlgorand()
    return signature
  }
}

extension AssociationKey {
  /// ECDSA over SHA-256(data), in DER, and counts it; a person has seen the data and agreed.
  func signature(for data: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: data)
    counts.countAssociation()
    return signature
  }
}
