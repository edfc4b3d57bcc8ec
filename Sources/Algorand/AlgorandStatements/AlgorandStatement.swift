import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Recovery

/// Bytes that an Algorand account signs for a dApp, with the prefix of their kind.
public enum AlgorandStatement: Sendable, Equatable {
  /// A transaction in canonical msgpack.
  case transaction([UInt8])
  /// Any bytes. With their prefix they cannot be a transaction, a program or a challenge.
  case message([UInt8])

  /// The signed bytes: "TX" or "MX", then the statement's bytes.
  var signingInput: [UInt8] {
    switch self {
    case .transaction(let bytes): Array("TX".utf8) + bytes
    case .message(let bytes): Array("MX".utf8) + bytes
    }
  }
}

// MARK: - Signatures: each needs a consent and increments a counter

extension AlgorandAccount {
  /// Signs a message with the account's key after the user's consent, and counts the signature (64 bytes).
  func signature(for message: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: message)
    counts.countAlgorand()
    return signature
  }
}

extension AssociationKey {
  /// ECDSA over SHA-256(data) in DER, after the user has seen the data and agreed; counts the signature.
  func signature(for data: [UInt8], consent: borrowing UserConsent) throws(CryptoError) -> [UInt8] {
    let signature = try key.signature(for: data)
    counts.countAssociation()
    return signature
  }
}
